#include "tests/fuzz/contents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_contents(CC_SAFETENSORS, data, size);
    return 0;
}
