/* The header of .npy is a Python dictionary, which is scanned strictly: three keys, each once, in
 * any order, and blanks. */
#include "core/format/npy.h"

#include <stdbool.h>
#include <string.h>

#include "core/bytes.h"
#include "core/memory.h"

#define MAX_HEADER 65536

/* The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } */
struct scan {
    const uint8_t *start, *p, *end;
    bool whole; /* whole numbers are read, too */
    struct cc_error *e;
};

static int bad(const struct scan *s, const char *what)
{
    return cc_fail(s->e, ".npy header, byte %zu: %s", (size_t)(s->p - s->start), what);
}

static void skip_space(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n'))
        s->p++;
}

/* Skips space and consumes `c` if it is next; whether it was. */
static bool take(struct scan *s, char c)
{
    skip_space(s);
    if (s->p == s->end || *s->p != (uint8_t)c)
        return false;
    s->p++;
    return true;
}

static bool take_word(struct scan *s, const char *word)
{
    skip_space(s);
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
        return false;
    s->p += n;
    return true;
}

static int take_string(struct scan *s, char *out, size_t cap)
{
    skip_space(s);
    if (s->p == s->end || (*s->p != '\'' && *s->p != '"'))
        return bad(s, "a quoted string is missing");
    uint8_t quote = *s->p++;
    size_t n = 0;
    for (; s->p < s->end && *s->p != quote; s->p++) {
        if (n + 1 == cap || *s->p < 0x20 || *s->p >= 0x7f || *s->p == '\\')
            return bad(s, "not a string that .npy headers have");
        out[n++] = (char)*s->p;
    }
    if (s->p == s->end)
        return bad(s, "the string does not end");
    s->p++;
    out[n] = '\0';
    return CC_OK;
}

static int take_size(struct scan *s, size_t *out)
{
    skip_space(s);
    size_t v = 0;
    const uint8_t *from = s->p;
    for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
        if (!cc_mul(v, 10, &v) || __builtin_add_overflow(v, (size_t)(*s->p - '0'), &v))
            return bad(s, "a dimension that is too large");
    if (s->p == from)
        return bad(s, "a whole number is missing");
    *out = v;
    return CC_OK;
}

static int take_shape(struct scan *s, struct cc_shape *out)
{
    if (!take(s, '('))
        return bad(s, "the shape is not a tuple");
    size_t dim[CC_MAX_DIMS];
    int ndim = 0;
    while (!take(s, ')')) {
        if (ndim == CC_MAX_DIMS)
            return bad(s, "the shape has more than 8 dimensions");
        CC_TRY(take_size(s, &dim[ndim++]));
        if (take(s, ','))
            continue;
        if (!take(s, ')') || ndim == 1)
            return bad(s, "the shape is not a tuple");
        break;
    }
    return cc_shape_make(dim, ndim, out, s->e);
}

static int take_dtype(struct scan *s, enum cc_dtype *out)
{
    skip_space(s);
    if (s->p < s->end && *s->p == '[')
        return bad(s, "a structured array; save one field of it, as x['field']");
    char descr[16];
    CC_TRY(take_string(s, descr, sizeof descr));
    static const struct {
        const char *descr;
        enum cc_dtype dtype;
    } known[] = {{"<f4", CC_F32}, {"<f2", CC_F16}, {"<f8", CC_F64}, {"|b1", CC_U8},
                 {"|i1", CC_I8},  {"|u1", CC_U8},  {"<i2", CC_I16}, {"<u2", CC_U16},
                 {"<i4", CC_I32}, {"<u4", CC_U32}, {"<i8", CC_I64}, {"<u8", CC_U64}};
    const size_t floats = 3, all = sizeof known / sizeof known[0];
    for (size_t i = 0; i < (s->whole ? all : floats); i++) {
        if (strcmp(descr, known[i].descr) == 0) {
            *out = known[i].dtype;
            return CC_OK;
        }
    }
    if (s->whole)
        return cc_fail(s->e,
                       "its dtype is '%s'; little-endian floats and whole numbers are read: save "
                       "x.astype('<f4')",
                       descr);
    return cc_fail(s->e,
                   "its dtype is '%s'; only '<f4', '<f2' and '<f8' are read: save "
                   "x.astype('<f4')",
                   descr);
}

static int take_order(struct scan *s)
{
    if (take_word(s, "True"))
        return cc_fail(s->e, "it is stored in Fortran order; save numpy.ascontiguousarray(x)");
    return take_word(s, "False") ? CC_OK : bad(s, "fortran_order is neither True nor False");
}

static int parse_dictionary(struct scan *s, enum cc_dtype *dtype, struct cc_shape *shape)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    bool seen[3] = {false};
    if (!take(s, '{'))
        return bad(s, "not a dictionary");
    while (!take(s, '}')) {
        char key[32];
        CC_TRY(take_string(s, key, sizeof key));
        unsigned k = 0;
        while (k < 3 && strcmp(key, keys[k]) != 0)
            k++;
        if (k == 3 || seen[k])
            return bad(s, k == 3 ? "an unknown key" : "a key that occurs twice");
        seen[k] = true;
        if (!take(s, ':'))
            return bad(s, "a colon must follow the key");
        int status = k == 0 ? take_dtype(s, dtype) : k == 1 ? take_order(s) : take_shape(s, shape);
        if (status != CC_OK)
            return status;
        if (take(s, ','))
            continue;
        if (!take(s, '}'))
            return bad(s, "a comma or } is missing");
        break;
    }
    if (!seen[0] || !seen[1] || !seen[2])
        return cc_fail(s->e, ".npy header: %s is missing", keys[!seen[0] ? 0 : !seen[1] ? 1 : 2]);
    skip_space(s);
    return s->p == s->end ? CC_OK : bad(s, "something follows the dictionary");
}

/* Sets where the header's text begins and how long it says it is. */
static int find_header(const uint8_t *bytes, size_t size, size_t *start, size_t *length,
                       struct cc_error *e)
{
    if (size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return cc_fail(e, "not a .npy file: it does not begin with \\x93NUMPY");
    unsigned version = bytes[6];
    if (version < 1 || version > 3 || bytes[7] != 0)
        return cc_fail(e, "version %u.%u of the .npy format; 1.0, 2.0 and 3.0 are read", version,
                       bytes[7]);
    *start = version == 1 ? 10 : 12;
    if (size < *start)
        return cc_fail(e, "the file is cut short in its header");
    *length = version == 1 ? cc_get_u16(bytes + 8) : cc_get_u32(bytes + 8);
    if (*length > MAX_HEADER || *length > size - *start)
        return cc_fail(e, "its header should have %zu bytes: more than %s", *length,
                       *length > MAX_HEADER ? "an array of floats can need" : "the file has");
    return CC_OK;
}

size_t cc_npy_head(const uint8_t *first, size_t file_size)
{
    size_t start, length;
    if (find_header(first, file_size, &start, &length, NULL) == CC_OK)
        return start + length;
    return file_size < CC_HEAD_FIRST ? file_size : CC_HEAD_FIRST;
}

static int parse(const uint8_t *bytes, size_t size, bool whole, struct cc_contents *out,
                 struct cc_error *e)
{
    size_t start, length;
    CC_TRY(find_header(bytes, size, &start, &length, e));
    struct scan s = {
        .start = bytes, .p = bytes + start, .end = bytes + start + length, .whole = whole, .e = e};
    enum cc_dtype dtype = CC_F32;
    struct cc_shape shape = {0};
    CC_TRY(parse_dictionary(&s, &dtype, &shape));
    size_t have = size - start - length, want;
    if (!cc_mul(shape.n, cc_dtype_bytes(dtype), &want) || want != have)
        return cc_fail(e,
                       "%zu bytes of data do not make %zu values of %zu bytes: the file is cut "
                       "short, or something was appended",
                       have, shape.n, cc_dtype_bytes(dtype));
    return cc_contents_add(out, CC_ONLY_TENSOR, &shape, dtype, start + length, e);
}

int cc_npy_parse(const uint8_t *bytes, size_t size, struct cc_contents *out, struct cc_error *e)
{
    return parse(bytes, size, false, out, e);
}

int cc_npy_parse_numbers(const uint8_t *bytes, size_t size, struct cc_contents *out,
                         struct cc_error *e)
{
    return parse(bytes, size, true, out, e);
}

void cc_npy_put_header(FILE *f, enum cc_dtype dtype, const struct cc_shape *shape)
{
    char text[CC_MAX_DIMS * 22 + 128] = "";
    cc_append(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
              dtype == CC_F16 ? "<f2" : "<f4");
    for (int d = 0; d < shape->ndim; d++)
        cc_append(text, sizeof text, d == 0 ? "%zu" : ", %zu", shape->dim[d]);
    cc_append(text, sizeof text, shape->ndim == 1 ? ",), }" : "), }");
    const size_t n = strlen(text);
    /* Padded so that the data begins at a multiple of 64, as the format asks. */
    size_t length = (10 + n + 1 + 63) / 64 * 64 - 10;
    uint8_t head[10] = "\x93NUMPY\x01";
    cc_put_u16(head + 8, (uint16_t)length);
    (void)fwrite(head, 1, sizeof head, f);
    (void)fprintf(f, "%s%*s\n", text, (int)(length - n - 1), "");
}
