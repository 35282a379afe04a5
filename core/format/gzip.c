#include "core/format/gzip.h"

#include <limits.h>
#define ZLIB_CONST
#include <zlib.h>

#include "core/bytes.h"

enum { GZIP_ONLY = 16 + MAX_WBITS, LENGTH_BYTES = 4 };

bool cc_is_gzip(const uint8_t *in, size_t size)
{
    return size >= 2 && in[0] == 0x1f && in[1] == 0x8b;
}

static int bad_gzip(const z_stream *z, const uint8_t *in, struct cc_error *e, const char *why)
{
    return cc_fail(e, "gzip, byte %zu: %s", (size_t)(z->next_in - in), why);
}

/* Inflates until the output is full, the stream ends or the input is used up. zlib counts in ints.
 */
static int inflate_to(z_stream *z, const uint8_t *in, size_t size, const uint8_t *end)
{
    int status = Z_OK;
    while (status == Z_OK && z->next_out < end) {
        const size_t room = (size_t)(end - z->next_out), left = size - (size_t)(z->next_in - in);
        z->avail_out = room > INT_MAX ? INT_MAX : (unsigned)room;
        z->avail_in = left > INT_MAX ? INT_MAX : (unsigned)left;
        if (left == 0)
            return Z_BUF_ERROR;
        status = inflate(z, Z_NO_FLUSH);
    }
    return status;
}

int cc_gunzip_check(const uint8_t *in, size_t size, size_t n, struct cc_error *e)
{
    if (size < LENGTH_BYTES)
        return cc_fail(e, "gzip, byte %zu: the file is cut off", size);
    const uint32_t length = cc_get_u32(in + size - LENGTH_BYTES);
    if (length == (uint32_t)n)
        return CC_OK;
    return cc_fail(e,
                   "gzip, byte %zu: %u bytes of contents by the length here, and they should be "
                   "%zu: the file is cut off, or something follows, or it begins wrongly; fetch it "
                   "again",
                   size - LENGTH_BYTES, length, n);
}

int cc_gunzip(const uint8_t *in, size_t size, uint8_t *out, size_t n, bool whole,
              struct cc_error *e)
{
    if (whole)
        CC_TRY(cc_gunzip_check(in, size, n, e));
    z_stream z = {.next_in = in, .next_out = out};
    uint8_t more;
    if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
        return cc_fail(e, "out of memory");
    int status = CC_OK, end = inflate_to(&z, in, size, out + n);
    if (end != Z_OK && end != Z_STREAM_END)
        status = bad_gzip(&z, in, e, z.msg != NULL ? z.msg : "the file is cut off");
    else if (z.next_out < out + n)
        status = cc_fail(e, "gzip: the contents end after %zu of %zu bytes",
                         (size_t)(z.next_out - out), n);
    if (status == CC_OK && whole && end == Z_OK) { /* the checksum is still to come */
        z.next_out = &more;
        end = inflate_to(&z, in, size, &more + 1);
        if (z.next_out > &more)
            status = bad_gzip(&z, in, e, "the contents go on after the last value");
        else if (end != Z_STREAM_END)
            status = bad_gzip(&z, in, e, z.msg != NULL ? z.msg : "the file is cut off");
    }
    if (status == CC_OK && whole && (size_t)(z.next_in - in) < size)
        status = bad_gzip(&z, in, e, "something follows the compressed contents");
    (void)inflateEnd(&z);
    return status;
}
