/* Which samples a step has, and the images that it makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/lib/text.h"
#include "train/data/batch.h"
#include "train/data/data.h"
#include "train/data/order.h"

/* --- order --- */

static struct cc_samples labelled(uint16_t *label, size_t count)
{
    for (size_t i = 0; i < count; i++)
        label[i] = (uint16_t)(i % 10);
    return (struct cc_samples){.count = count, .label = label};
}

/* An epoch has every sample once, but for those that do not fill a step. */
static void every_sample_once(void **state)
{
    enum { COUNT = 1000 };
    uint16_t label[COUNT];
    const struct cc_samples s = labelled(label, COUNT);
    (void)state;
    for (size_t by_class = 0; by_class <= 2; by_class++) {
        const struct cc_order_config config = {
            .workers = 4, .batch = 6, .by_class = by_class, .seed = 3};
        struct cc_order *o;
        assert_int_equal(cc_order_open(&s, &config, &o, NULL), CC_OK);
        const size_t steps = cc_order_steps(o);
        assert_int_equal(steps, 41); /* 1000 / 24, and 250 / 6 */
        uint32_t before[6];
        for (size_t epoch = 0; epoch < 3; epoch++) {
            int seen[COUNT] = {0};
            for (size_t step = 0; step < steps; step++)
                for (size_t w = 0; w < 4; w++)
                    for (size_t i = 0; i < 6; i++)
                        seen[cc_order_batch(o, epoch * steps + step, w)[i]]++;
            size_t once = 0;
            for (size_t i = 0; i < COUNT; i++) {
                assert_in_range(seen[i], 0, 1);
                once += (size_t)seen[i];
            }
            assert_int_equal(once, steps * 24);
            const uint32_t *first = cc_order_batch(o, epoch * steps, 0);
            if (epoch > 0)
                assert_memory_not_equal(first, before, sizeof before);
            memcpy(before, first, sizeof before);
        }
        cc_order_close(o);
    }
}

/* Four workers' batches of a step are one worker's of four times the size. */
static void workers_share_a_batch(void **state)
{
    enum { COUNT = 500 };
    uint16_t label[COUNT];
    const struct cc_samples s = labelled(label, COUNT);
    struct cc_order *four, *one;
    (void)state;
    assert_int_equal(cc_order_open(&s,
                                   &(struct cc_order_config){.workers = 4, .batch = 8, .seed = 9},
                                   &four, NULL),
                     CC_OK);
    assert_int_equal(cc_order_open(&s,
                                   &(struct cc_order_config){.workers = 1, .batch = 32, .seed = 9},
                                   &one, NULL),
                     CC_OK);
    for (size_t step = 0; step < 40; step++)
        for (size_t w = 0; w < 4; w++)
            assert_memory_equal(cc_order_batch(four, step, w), cc_order_batch(one, step, 0) + 8 * w,
                                8 * sizeof(uint32_t));
    cc_order_close(four);
    cc_order_close(one);
}

/* With one shard each, ten workers and ten classes, a worker has a single class. */
static void by_class(void **state)
{
    enum { COUNT = 1000 };
    uint16_t label[COUNT];
    const struct cc_samples s = labelled(label, COUNT);
    const struct cc_order_config config = {.workers = 10, .batch = 20, .by_class = 1, .seed = 1};
    struct cc_order *o;
    int seen[10] = {0};
    (void)state;
    assert_int_equal(cc_order_open(&s, &config, &o, NULL), CC_OK);
    for (size_t w = 0; w < 10; w++) {
        const uint16_t class = label[cc_order_batch(o, 0, w)[0]];
        seen[class]++;
        for (size_t step = 0; step < 12; step++)
            for (size_t i = 0; i < 20; i++)
                assert_int_equal(label[cc_order_batch(o, step, w)[i]], class);
    }
    for (size_t c = 0; c < 10; c++)
        assert_int_equal(seen[c], 1);
    cc_order_close(o);
    struct cc_error e = {""};
    const struct cc_order_config large = {.workers = 10, .batch = 101};
    assert_int_equal(cc_order_open(&s, &large, &o, &e), CC_FAIL);
    assert_contains(e.text, "1000 samples are too few for 10 workers with batches of 101");
}

/* --- batches --- */

/* Images of one channel, 2 x 3, not normalized. */
static struct cc_data small(uint8_t *byte, size_t count, uint16_t *label)
{
    static float mean[] = {0}, scale[] = {1};
    return (struct cc_data){.channels = 1,
                            .height = 2,
                            .width = 3,
                            .classes = 2,
                            .train = {.count = count, .byte = byte, .label = label},
                            .mean = mean,
                            .scale = scale};
}

static void batches(void **state)
{
    uint8_t byte[] = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
    uint16_t label[] = {1, 0};
    const struct cc_data d = small(byte, 2, label);
    const uint32_t index[] = {1, 0};
    /* PyTorch 1.13: interpolate([[1, 2, 3], [4, 5, 6]], (4, 2), mode='bilinear') */
    static const float resized[] = {1.25f, 2.75f, 2, 3.5f, 3.5f, 5, 4.25f, 5.75f};
    float room[6], out[16];
    int32_t got[2];
    (void)state;
    cc_batch(&d, &d.train, index, 2, NULL, 2, 3, room, out, got);
    for (size_t i = 0; i < 6; i++) {
        assert_float_equal(out[i], (float)byte[6 + i], 0);
        assert_float_equal(out[6 + i], (float)byte[i], 0);
    }
    assert_int_equal(got[0], 0);
    assert_int_equal(got[1], 1);
    cc_batch(&d, &d.train, index, 2, NULL, 4, 2, room, out, got);
    for (size_t i = 0; i < 8; i++)
        assert_float_equal(out[8 + i], resized[i], 1e-6);
}

/* Over many epochs an image comes as each of its shifts and mirrors about equally often, and as
 * nothing else. */
static void augmentation(void **state)
{
    uint8_t byte[] = {1, 2, 3, 4, 5, 6};
    uint16_t label[] = {0};
    const struct cc_data d = small(byte, 1, label);
    const uint32_t index[] = {0};
    size_t count[18] = {0};
    (void)state;
    for (uint64_t epoch = 0; epoch < 3600; epoch++) {
        const struct cc_augment a = {.flip = true, .shift = 1, .seed = 5, .epoch = epoch};
        float room[6], out[6];
        int32_t got;
        bool found = false;
        cc_batch(&d, &d.train, index, 1, &a, 2, 3, room, out, &got);
        for (int k = 0; k < 18 && !found; k++) {
            const int down = k % 3 - 1, right = k / 3 % 3 - 1;
            found = true;
            for (int y = 0; y < 2; y++)
                for (int x = 0; x < 3; x++) {
                    const int row = y + down, column = (k < 9 ? x : 2 - x) + right;
                    const bool inside = row >= 0 && row < 2 && column >= 0 && column < 3;
                    const float want = inside ? (float)byte[3 * row + column] : 0.0f;
                    found = found && out[3 * y + x] == want;
                }
            count[k] += found;
        }
        assert_true(found);
    }
    for (int k = 0; k < 18; k++)
        assert_in_range(count[k], 140, 260);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_once), cmocka_unit_test(workers_share_a_batch),
        cmocka_unit_test(by_class),          cmocka_unit_test(batches),
        cmocka_unit_test(augmentation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
