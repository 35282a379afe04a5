/* Codec sets: every codec gets the buffers that were requested, in one block, and nothing
 * overlaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "schemes/codec_set.h"
#include "tests/lib/text.h"

static struct cc_spec *parse(const char *text)
{
    struct cc_spec *spec;
    struct cc_error e = {""};
    if (cc_spec_parse(text, &spec, &e) != CC_OK)
        fail_msg("%s", e.text);
    return spec;
}

static const size_t lengths[] = {1000, 0, 1, 77, 5000};
enum { COUNT = sizeof lengths / sizeof lengths[0] };

static void open_set(struct cc_codec_set *set, const struct cc_spec *spec,
                     const struct cc_codec_memory *memory)
{
    assert_int_equal(cc_codec_set_init(set, COUNT, NULL), CC_OK);
    for (size_t i = 0; i < COUNT; i++) {
        const struct cc_shape shape = cc_shape_flat(lengths[i]);
        set->item[i] = cc_codec_item(spec, &shape);
    }
    assert_int_equal(cc_codec_set_allocate(set, memory, NULL), CC_OK);
}

/* Checks that a buffer is aligned and lies within the block, and fills it. */
static void fill(const struct cc_codec_set *set, void *buffer, size_t bytes, int byte)
{
    if (bytes == 0) {
        assert_null(buffer);
        return;
    }
    const uint8_t *begin = set->memory;
    assert_int_equal((uintptr_t)buffer % CC_ALIGN, 0);
    assert_true((uint8_t *)buffer >= begin);
    assert_true((uint8_t *)buffer + bytes <= begin + set->memory_bytes);
    memset(buffer, byte, bytes);
}

static void assert_filled(const uint8_t *buffer, size_t bytes, int byte)
{
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(buffer[i], byte);
}

static void each(void **state)
{
    static const struct cc_codec_memory memory = {
        .state = true, .scratch = CC_EACH, .payload = CC_EACH};
    (void)state;
    struct cc_spec *spec = parse("topk");
    struct cc_codec_set set;
    open_set(&set, spec, &memory);
    assert_int_equal(set.memory_bytes, cc_codec_bytes(set.item, COUNT, &memory));
    for (size_t i = 0; i < COUNT; i++) {
        const struct cc_codec_item *item = &set.item[i];
        assert_int_equal(item->bound, cc_bound(&item->codec));
        fill(&set, item->codec.state, cc_state_bytes(&item->codec), (int)(3 * i + 1));
        fill(&set, item->codec.scratch, cc_scratch_bytes(&item->codec), (int)(3 * i + 2));
        fill(&set, item->payload, item->bound, (int)(3 * i + 3));
    }
    for (size_t i = 0; i < COUNT; i++) {
        const struct cc_codec_item *item = &set.item[i];
        assert_filled(item->codec.state, cc_state_bytes(&item->codec), (int)(3 * i + 1));
        assert_filled(item->codec.scratch, cc_scratch_bytes(&item->codec), (int)(3 * i + 2));
        assert_filled(item->payload, item->bound, (int)(3 * i + 3));
    }
    cc_codec_set_free(&set);
    assert_null(set.memory);
    assert_null(set.item);
    cc_spec_free(spec);
}

static void shared(void **state)
{
    static const struct cc_codec_memory memory = {.scratch = CC_SHARED, .payload = CC_SHARED};
    (void)state;
    struct cc_spec *spec = parse("topk");
    struct cc_codec_set set;
    open_set(&set, spec, &memory);
    assert_int_equal(set.state_bytes, 0);
    for (size_t i = 0; i < COUNT; i++) {
        assert_null(set.item[i].codec.state);
        assert_ptr_equal(set.item[i].codec.scratch, set.item[0].codec.scratch);
        assert_ptr_equal(set.item[i].payload, set.item[0].payload);
    }
    fill(&set, set.item[0].codec.scratch, set.scratch_bytes, 1);
    fill(&set, set.item[0].payload, set.payload_bytes, 2);
    assert_filled(set.item[0].codec.scratch, set.scratch_bytes, 1);
    assert_int_equal(set.payload_bytes, set.item[COUNT - 1].bound);
    cc_codec_set_free(&set);
    cc_spec_free(spec);
}

/* Opening a set again resets the states and keeps memory that suffices. */
static void again(void **state)
{
    static const struct cc_codec_memory memory = {
        .state = true, .scratch = CC_SHARED, .payload = CC_EACH};
    (void)state;
    struct cc_spec *spec = parse("3lc");
    struct cc_codec_set set = {0};
    const struct cc_shape large = cc_shape_flat(900), small = cc_shape_flat(100);
    assert_int_equal(cc_codec_set_single(&set, spec, &large, &memory, NULL), CC_OK);
    void *block = set.memory;
    memset(set.item[0].codec.state, 0x5a, cc_state_bytes(&set.item[0].codec));
    memset(set.item[0].payload, 0x5a, set.item[0].bound);
    assert_int_equal(cc_codec_set_single(&set, spec, &small, &memory, NULL), CC_OK);
    assert_ptr_equal(set.memory, block);
    assert_filled(set.item[0].codec.state, cc_state_bytes(&set.item[0].codec), 0);
    fill(&set, set.item[0].payload, set.item[0].bound, 1);
    cc_codec_set_free(&set);
    cc_spec_free(spec);
}

static void refused(void **state)
{
    static const struct cc_codec_memory all = {
        .state = true, .scratch = CC_SHARED, .payload = CC_EACH};
    (void)state;
    struct cc_spec *spec = parse("fp32");
    struct cc_codec_set set = {0};
    struct cc_error e = {""};
    const struct cc_shape beyond = cc_shape_flat(SIZE_MAX / 2);
    const struct cc_codec_item item = cc_codec_item(spec, &beyond);
    assert_int_equal(item.bound, SIZE_MAX);
    assert_int_equal(cc_codec_bytes(&item, 1, &all), SIZE_MAX);
    assert_int_equal(cc_codec_set_single(&set, spec, &beyond, &all, &e), CC_FAIL);
    assert_contains(e.text, "are too many");
    cc_codec_set_free(&set);
    cc_spec_free(spec);
}

/* A set without codecs, and one of an empty tensor, need no memory. */
static void nothing(void **state)
{
    static const struct cc_codec_memory all = {
        .state = true, .scratch = CC_EACH, .payload = CC_EACH};
    (void)state;
    struct cc_codec_set set;
    assert_int_equal(cc_codec_set_init(&set, 0, NULL), CC_OK);
    assert_int_equal(cc_codec_set_allocate(&set, &all, NULL), CC_OK);
    assert_int_equal(set.memory_bytes, 0);
    cc_codec_set_free(&set);
    struct cc_spec *spec = parse("3lc");
    const struct cc_shape empty = cc_shape_flat(0);
    size_t len = 1;
    assert_int_equal(cc_codec_set_single(&set, spec, &empty, &all, NULL), CC_OK);
    assert_int_equal(cc_encode(&set.item[0].codec, &(struct cc_context){0}, NULL,
                               set.item[0].payload, set.item[0].bound, &len, NULL),
                     CC_OK);
    assert_int_equal(len, 0);
    cc_codec_set_free(&set);
    cc_spec_free(spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each),    cmocka_unit_test(shared),  cmocka_unit_test(again),
        cmocka_unit_test(refused), cmocka_unit_test(nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
