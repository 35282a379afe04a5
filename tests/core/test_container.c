/* Containers: one written by hand, every way to damage it, and writing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bytes.h"
#include "core/file.h"
#include "core/format/container.h"
#include "core/format/crc32.h"
#include "core/infile.h"
#include "tests/lib/text.h"

/* The example of docs/container.md. */
static const uint8_t example[] = {
    0x43, 0x43, 0x4f, 0x4d, 0x50, 0x0d, 0x0a, 0x1a, 1,    0,    0,    0,    1,
    0,    0,    0, /* magic, counts */
    1,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0,    0,    0,                                                       /* seed, rank */
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0, /* step, direction */
    3,    0,    0,    0,    '3',  'l',  'c',  0,    0,    0,    0,       /* scheme, metadata */
    0xb7, 0x1e, 0xfd, 0xfe,                                              /* checksum */
    1,    0,    0,    0,    'a',  1,    0,    0,    0,    5,    0,    0,    0,
    0,    0,    0,    0,                                                          /* name, shape */
    5,    0,    0,    0,    0,    0,    0,    0,    0x00, 0x00, 0x80, 0x3f, 0x61, /* payload */
    0xf2, 0x68, 0xaf, 0x26,                                                       /* checksum */
};
enum { HEAD = 55, TENSOR = HEAD + 4 };

static char path[] = "/tmp/test_container_XXXXXX";

/* A copy in memory of its exact size, so that tools see a read beyond it. */
static int read_copy(const uint8_t *data, size_t bytes, struct cc_error *e)
{
    uint8_t *copy = malloc(bytes + 1);
    assert_non_null(copy);
    memcpy(copy + 1, data, bytes);
    struct cc_container c = {.tensor_count = 0};
    int status = cc_container_read(copy + 1, bytes, &c, e);
    if (status == CC_OK)
        cc_container_free(&c);
    free(copy);
    return status;
}

static void crc_is_zips(void **state)
{
    (void)state;
    assert_int_equal(cc_crc32(0, "123456789", 9), 0xcbf43926u);
    assert_int_equal(cc_crc32(cc_crc32(0, "1234", 4), "56789", 5), 0xcbf43926u);
    assert_int_equal(cc_crc32(0, "", 0), 0);
}

static void reads_the_example(void **state)
{
    (void)state;
    struct cc_container c;
    struct cc_error e = {""};
    assert_int_equal(cc_container_read(example, sizeof example, &c, &e), CC_OK);
    assert_string_equal(c.head.scheme, "3lc");
    assert_int_equal(c.head.seed, 1);
    assert_int_equal(c.head.rank, 0);
    assert_int_equal(c.head.step, 0);
    assert_int_equal(c.head.direction, CC_PUSH);
    assert_int_equal(c.head.pair_count, 0);
    assert_int_equal(c.tensor_count, 1);
    assert_string_equal(c.tensors[0].name, "a");
    assert_int_equal(c.tensors[0].shape.ndim, 1);
    assert_int_equal(c.tensors[0].shape.n, 5);
    assert_int_equal(c.tensors[0].payload_bytes, 5);
    assert_int_equal(c.tensors[0].offset, 84);
    assert_memory_equal(c.tensors[0].payload, example + 84, 5);
    cc_container_free(&c);
}

static void every_changed_byte_is_refused(void **state)
{
    (void)state;
    uint8_t bad[sizeof example];
    for (size_t i = 0; i < sizeof example; i++) {
        for (unsigned v = 0; v < 256; v++) {
            memcpy(bad, example, sizeof bad);
            bad[i] = (uint8_t)v;
            struct cc_error e = {""};
            int status = read_copy(bad, sizeof bad, &e);
            assert_int_equal(status, v == example[i] ? CC_OK : CC_FAIL);
            assert_true(status == CC_OK || strstr(e.text, "byte ") != NULL);
        }
    }
}

static void every_truncation_and_any_tail_is_refused(void **state)
{
    (void)state;
    uint8_t longer[sizeof example + 1] = {0};
    struct cc_error e;
    for (size_t n = 0; n < sizeof example; n++)
        assert_int_equal(read_copy(example, n, &e), CC_FAIL);
    memcpy(longer, example, sizeof example);
    assert_int_equal(read_copy(longer, sizeof longer, &e), CC_FAIL);
    assert_string_equal(e.text, "byte 93: 1 bytes follow the last tensor");
}

/* Changes one byte and repairs the checksums, so that the checks behind them are reached. */
static void refused(size_t at, uint8_t v, const char *message)
{
    uint8_t bad[sizeof example];
    memcpy(bad, example, sizeof bad);
    bad[at] = v;
    cc_put_u32(bad + HEAD, cc_crc32(0, bad, HEAD));
    cc_put_u32(bad + sizeof bad - 4, cc_crc32(0, bad + TENSOR, sizeof bad - TENSOR - 4));
    struct cc_error e = {""};
    assert_int_equal(read_copy(bad, sizeof bad, &e), CC_FAIL);
    assert_contains(e.text, message);
}

static void good_checksums_do_not_excuse_bad_fields(void **state)
{
    (void)state;
    refused(0, 'x', "byte 0: this is not a file");
    refused(8, 2, "byte 8: the format has version 2");
    refused(12, 0, "byte 59: 34 bytes follow the last tensor");
    refused(12, 2, "byte 59: the tensors needs");
    refused(31, 0x80, "byte 24: rank");
    refused(40, 2, "byte 40: direction 2");
    refused(44, 200, "the scheme needs");
    refused(48, 0, "byte 48: the scheme is not UTF-8");
    refused(48, 0xff, "byte 48: the scheme is not UTF-8");
    refused(54, 0xff, "the metadata needs");
    refused(TENSOR, 255, "tensor 1 of 1: byte 63: the name needs 255 bytes");
    refused(TENSOR + 4, 0xc0, "tensor 1 of 1: byte 63: the name is not UTF-8");
    refused(TENSOR + 5, 9, "tensor 'a': byte 64: 9 dimensions");
    refused(TENSOR + 16, 0xff, "tensor 'a': byte 64: a shape whose");
    refused(TENSOR + 17, 6, "tensor 'a': byte 90: the checksum needs");
    refused(TENSOR + 17, 4, "tensor 'a': byte 88: the checksum");
    refused(TENSOR + 24, 0xff, "tensor 'a': byte 84: the payload needs");
}

/* Damages every byte and repairs the checksums: the container is read or refused, and tools that
 * watch memory report nothing. */
static void nothing_is_harmful_behind_good_checksums(void **state)
{
    (void)state;
    uint8_t bad[sizeof example];
    for (size_t i = 0; i < sizeof example; i++) {
        for (unsigned v = 0; v < 256; v++) {
            memcpy(bad, example, sizeof bad);
            bad[i] = (uint8_t)v;
            cc_put_u32(bad + HEAD, cc_crc32(0, bad, HEAD));
            cc_put_u32(bad + sizeof bad - 4, cc_crc32(0, bad + TENSOR, sizeof bad - TENSOR - 4));
            (void)read_copy(bad, sizeof bad, NULL);
        }
    }
}

static const struct cc_pair pairs[] = {{"step", "7"}, {"n\xc3\xa4me", ""}};
static const struct cc_container_head head = {.scheme = "local:inner=(3lc:s=1.75)",
                                              .seed = UINT64_MAX,
                                              .rank = -1,
                                              .direction = CC_PULL,
                                              .step = 7,
                                              .pairs = pairs,
                                              .pair_count = 2};

static void writes_what_it_reads(void **state)
{
    (void)state;
    struct cc_container_writer *w;
    struct cc_container c;
    struct cc_bytes m;
    const struct cc_shape scalar = {.n = 1}, empty = {.n = 0, .dim = {3, 0}, .ndim = 2};
    uint64_t bytes;
    assert_int_equal(cc_container_begin(path, &head, 2, &w, NULL), CC_OK);
    assert_int_equal(cc_container_add(w, "s", &scalar, (const uint8_t *)"abcd", 4, NULL), CC_OK);
    assert_int_equal(cc_container_add(w, "b", &empty, NULL, 0, NULL), CC_OK);
    assert_int_equal(cc_container_finish(w, &bytes, NULL), CC_OK);
    assert_int_equal(cc_file_read(path, &m, NULL), CC_OK);
    assert_int_equal(m.size, bytes);
    assert_int_equal(cc_container_read(m.data, m.size, &c, NULL), CC_OK);
    assert_string_equal(c.head.scheme, head.scheme);
    assert_true(c.head.seed == UINT64_MAX);
    assert_int_equal(c.head.rank, -1);
    assert_int_equal(c.head.direction, CC_PULL);
    assert_int_equal(c.head.step, 7);
    assert_int_equal(c.head.pair_count, 2);
    assert_string_equal(c.head.pairs[1].key, pairs[1].key);
    assert_string_equal(c.head.pairs[0].value, "7");
    assert_int_equal(c.tensor_count, 2);
    assert_string_equal(c.tensors[0].name, "s");
    assert_memory_equal(c.tensors[0].payload, "abcd", 4);
    assert_int_equal(c.tensors[0].shape.ndim, 0);
    assert_int_equal(c.tensors[1].shape.dim[0], 3);
    assert_int_equal(c.tensors[1].shape.n, 0);
    cc_container_free(&c);
    cc_bytes_free(&m);
}

static void duplicate_names_are_refused(void **state)
{
    (void)state;
    struct cc_container_writer *w;
    struct cc_bytes m;
    struct cc_error e;
    const struct cc_shape scalar = {.n = 1};
    uint64_t bytes;
    assert_int_equal(cc_container_begin(path, &head, 2, &w, NULL), CC_OK);
    assert_int_equal(cc_container_add(w, "a", &scalar, (const uint8_t *)"abcd", 4, NULL), CC_OK);
    assert_int_equal(cc_container_add(w, "a", &scalar, (const uint8_t *)"abcd", 4, NULL), CC_OK);
    assert_int_equal(cc_container_finish(w, &bytes, NULL), CC_OK);
    assert_int_equal(cc_file_read(path, &m, NULL), CC_OK);
    assert_int_equal(read_copy(m.data, m.size, &e), CC_FAIL);
    assert_string_equal(e.text, "the tensor 'a' is there twice");
    cc_bytes_free(&m);
}

static void an_unfinished_file_does_not_appear(void **state)
{
    (void)state;
    struct cc_container_writer *w;
    struct cc_error e;
    uint64_t bytes;
    (void)unlink(path);
    assert_int_equal(cc_container_begin(path, &head, 1, &w, &e), CC_OK);
    assert_int_equal(cc_container_finish(w, &bytes, &e), CC_FAIL);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(cc_container_begin(path, &head, 1, &w, &e), CC_OK);
    cc_container_abandon(w);
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc_is_zips),
        cmocka_unit_test(reads_the_example),
        cmocka_unit_test(every_changed_byte_is_refused),
        cmocka_unit_test(every_truncation_and_any_tail_is_refused),
        cmocka_unit_test(good_checksums_do_not_excuse_bad_fields),
        cmocka_unit_test(nothing_is_harmful_behind_good_checksums),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(duplicate_names_are_refused),
        cmocka_unit_test(an_unfinished_file_does_not_appear),
    };
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
