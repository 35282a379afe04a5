#include "core/format/crc32.h"

#include <pthread.h>

#include "core/bytes.h"

enum { SLICES = 8 };

/* slice[k][b]: what byte b changes in the checksum when k more bytes follow it. */
static uint32_t slice[SLICES][256];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t c = b;
        for (int bit = 0; bit < 8; bit++)
            c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
        slice[0][b] = c;
    }
    for (size_t k = 1; k < SLICES; k++)
        for (uint32_t b = 0; b < 256; b++)
            slice[k][b] = slice[k - 1][b] >> 8 ^ slice[0][slice[k - 1][b] & 0xff];
}

uint32_t cc_crc32(uint32_t crc, const void *data, size_t bytes)
{
    (void)pthread_once(&filled, fill);
    const uint8_t *p = data;
    uint32_t c = ~crc;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        uint32_t low = cc_get_u32(p) ^ c, high = cc_get_u32(p + 4);
        c = 0;
        for (unsigned k = 0; k < 4; k++)
            c ^= slice[7 - k][low >> 8 * k & 0xff] ^ slice[3 - k][high >> 8 * k & 0xff];
    }
    for (; bytes > 0; bytes--)
        c = c >> 8 ^ slice[0][(c ^ *p++) & 0xff];
    return ~c;
}
