// BytePS' compressors and commcomp's codecs behind plain functions that take the time of one call,
// for byteps.py, which compiles this file together with BytePS' own.
//
// BytePS is built as its server is: a payload decodes to the compressor's own buffer, and sums are
// the server's CpuReducer. Payloads are decoded by a compressor of their own, as by another
// process.
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "binding/commcomp.h"
#include "compressor/compressor_registry.h"
#include "cpu_reducer.h"

namespace
{

using byteps::common::BYTEPS_FLOAT32;
using byteps::common::CpuReducer;
using namespace byteps::common::compressor;

struct Pair {
    std::unique_ptr<Compressor> encoder, decoder;
    std::unique_ptr<CpuReducer> reducer;
    tensor_t payload;
    std::vector<float> x; // BytePS adds the residual in place
    size_t bytes;         // of the tensor
    int threads;
};

// The median of the seconds of several calls in a row, without the first if there are several.
template <typename Prepare, typename Call> double seconds(int calls, Prepare prepare, Call call)
{
    std::vector<double> taken;
    for (int i = 0; i < calls; i++) {
        prepare();
        auto begin = std::chrono::steady_clock::now();
        call();
        std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        if (i > 0 || calls == 1)
            taken.push_back(spent.count());
    }
    std::sort(taken.begin(), taken.end());
    return taken[taken.size() / 2];
}

void nothing()
{
}

} // namespace

extern "C" {

// parameters: "key value key value", as BytePS names them; "ef_type vanilla" adds error feedback,
// which opens the file lr.s, the learning rate as a double, in the working directory.
void *peers_byteps_new(const char *parameters, size_t values, int threads)
{
    std::istringstream words(parameters);
    kwargs_t kwargs;
    for (std::string key, value; words >> key >> value;)
        kwargs[key] = value;
    setenv("BYTEPS_OMP_THREAD_PER_GPU", std::to_string(threads).c_str(), 1);
    std::unique_ptr<Pair> pair(new Pair());
    pair->bytes = values * sizeof(float);
    pair->threads = threads;
    pair->x.resize(values);
    pair->encoder = CompressorRegistry::Create(kwargs, pair->bytes, BYTEPS_FLOAT32);
    kwargs.erase("ef_type");
    pair->decoder = CompressorRegistry::Create(kwargs, pair->bytes, BYTEPS_FLOAT32);
    pair->reducer.reset(new CpuReducer(nullptr));
    return pair.release();
}

void peers_byteps_free(void *handle)
{
    delete static_cast<Pair *>(handle);
}

// Encodes x. *bytes is the payload's size.
double peers_byteps_encode(void *handle, int calls, const float *x, size_t *bytes)
{
    Pair *pair = static_cast<Pair *>(handle);
    omp_set_num_threads(pair->threads);
    double taken = seconds(
        calls, [&] { memcpy(pair->x.data(), x, pair->bytes); },
        [&] {
            tensor_t tensor(pair->x.data(), pair->bytes, BYTEPS_FLOAT32);
            pair->payload = pair->encoder->Compress(tensor);
        });
    *bytes = pair->payload.size;
    return taken;
}

// Decodes the last payload; *out is where the values are, until the next call.
double peers_byteps_decode(void *handle, int calls, const float **out)
{
    Pair *pair = static_cast<Pair *>(handle);
    omp_set_num_threads(pair->threads);
    tensor_t decoded;
    double taken =
        seconds(calls, nothing, [&] { decoded = pair->decoder->Decompress(pair->payload); });
    *out = reinterpret_cast<const float *>(decoded.data);
    return taken;
}

// Decodes the last payload and adds it to sum, as a server does.
double peers_byteps_decode_add(void *handle, int calls, float *sum)
{
    Pair *pair = static_cast<Pair *>(handle);
    omp_set_num_threads(pair->threads);
    return seconds(calls, nothing, [&] {
        tensor_t decoded = pair->decoder->Decompress(pair->payload);
        pair->reducer->sum(sum, decoded.data, pair->bytes, BYTEPS_FLOAT32);
    });
}

// commcomp's calls, from the library that the Python package has loaded; below 0: a call failed.

double peers_own_encode(decltype(&commcomp_encode) encode, int calls, commcomp_codec *codec,
                        uint64_t step, const float *x, void *payload, size_t room, size_t *bytes,
                        char *error)
{
    int status = COMMCOMP_OK;
    double taken = seconds(calls, nothing,
                           [&] { status |= encode(codec, step, x, payload, room, bytes, error); });
    return status == COMMCOMP_OK ? taken : -1;
}

double peers_own_decode(decltype(&commcomp_decode) decode, int calls, commcomp_codec *codec,
                        uint64_t step, const void *payload, size_t bytes, float *y, char *error)
{
    int status = COMMCOMP_OK;
    double taken =
        seconds(calls, nothing, [&] { status |= decode(codec, step, payload, bytes, y, error); });
    return status == COMMCOMP_OK ? taken : -1;
}

double peers_own_decode_add(decltype(&commcomp_decode_add) decode_add, int calls,
                            commcomp_codec *codec, uint64_t step, const void *payload, size_t bytes,
                            float *y, char *error)
{
    int status = COMMCOMP_OK;
    double taken = seconds(
        calls, nothing, [&] { status |= decode_add(codec, step, payload, bytes, 1.0f, y, error); });
    return status == COMMCOMP_OK ? taken : -1;
}
}
