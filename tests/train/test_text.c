/* Text: which bytes train, which test, and where samples lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/scratch.h"
#include "tests/lib/text.h"
#include "train/data/batch.h"
#include "train/data/data.h"
#include "train/data/ngram.h"
#include "train/data/sources.h"
#include "train/task.h"

enum { CONTEXT = 16 };

static struct cc_data *open_text(const char *text)
{
    struct cc_data *d = NULL;
    struct cc_error e = {""};
    if (cc_data_open_text(text, CONTEXT, &d, &e) != CC_OK)
        fail_msg("%s: %s", text, e.text);
    return d;
}

/* The New Testament has 260 chapters; every sixteenth, from Matthew 16 on, is held out. */
static void carried(void **state)
{
    (void)state;
    static const char first[] = "The book of the generation of Jesus Christ, the son of David";
    static const char held[] = "The Pharisees also with the Sadducees came, and tempting";
    struct cc_data *d = open_text("text");
    size_t verses = 0;
    assert_memory_equal(d->train.byte, first, sizeof first - 1);
    assert_memory_equal(d->test.byte, held, sizeof held - 1);
    for (size_t i = 0; i < d->train.bytes; i++)
        verses += d->train.byte[i] == '\n';
    for (size_t i = 0; i < d->test.bytes; i++)
        verses += d->test.byte[i] == '\n';
    assert_int_equal(verses, 7957); /* of the King James Version's New Testament */
    assert_int_equal(d->classes, 256);
    assert_true(d->channels == 1 && d->height == 1 && d->width == CONTEXT);
    cc_data_free(d);
}

/* 33 documents: those with the numbers 16 and 32 test. */
static void documents(void **state)
{
    char text[33 * 30], *to = text;
    for (int i = 1; i <= 33; i++)
        to += sprintf(to, "%s%02d abcdefghijklmnopqrstuvwx", i > 1 ? "\f" : "", i);
    char set[512];
    const char *path = scratch_write(state, "a.txt", text, (size_t)(to - text));
    (void)snprintf(set, sizeof set, "text:%s", path);
    struct cc_data *d = open_text(set);
    assert_int_equal(d->train.bytes, 31 * 27);
    assert_int_equal(d->test.bytes, 2 * 27);
    assert_memory_equal(d->test.byte, "16 abcdefghijklmnopqrstuvwx32 a", 31);
    assert_memory_equal(d->train.byte + 15 * 27, "17 a", 4);
    assert_int_equal(d->test.count, 53 / CONTEXT);
    assert_int_equal(d->train.count, (31 * 27 - CONTEXT) / CONTEXT);
    cc_data_free(d);
}

/* One file of 64 lines is cut into 32 pieces of two. */
static void cut(void **state)
{
    char text[64 * 11 + 1], *to = text, set[512];
    for (int i = 0; i < 64; i++)
        to += sprintf(to, "line %05d\n", i);
    (void)snprintf(set, sizeof set, "text:%s",
                   scratch_write(state, "b.txt", text, (size_t)(to - text)));
    struct cc_data *d = open_text(set);
    assert_int_equal(d->test.bytes, 2 * 22);
    assert_memory_equal(d->test.byte, "line 00030\nline 00031\nline 00062\nline 00063\n", 44);
    cc_data_free(d);
}

static void folder(void **state)
{
    char path[256], set[300], name[320];
    (void)snprintf(path, sizeof path, "%s", scratch_path(state, "texts"));
    assert_int_equal(mkdir(path, 0777), 0);
    for (int i = 32; i > 0; i--) {
        (void)snprintf(name, sizeof name, "texts/%02d", i);
        (void)scratch_write(state, name, "0123456789abcdef0123456789abcdef", (size_t)i);
    }
    (void)snprintf(set, sizeof set, "text:%s", path);
    struct cc_data *d = open_text(set);
    assert_int_equal(d->test.bytes, 16 + 32);
    assert_int_equal(d->train.bytes, 32 * 33 / 2 - 48);
    cc_data_free(d);
}

static void batches(void **state)
{
    (void)state;
    struct cc_data *d = open_text("text");
    const uint32_t index[] = {3, 0};
    float x[2 * CONTEXT];
    int32_t label[2 * CONTEXT];
    cc_batch_text(d, &d->train, index, 2, 5, x, label);
    for (size_t k = 0; k < CONTEXT; k++) {
        assert_true(x[k] == (float)d->train.byte[3 * CONTEXT + 5 + k]);
        assert_int_equal(label[k], d->train.byte[3 * CONTEXT + 6 + k]);
        assert_true(x[CONTEXT + k] == (float)d->train.byte[5 + k]);
        assert_int_equal(label[CONTEXT + k], d->train.byte[6 + k]);
    }
    size_t seen[CONTEXT] = {0}, all = 0;
    for (uint64_t epoch = 0; epoch < 200; epoch++)
        seen[cc_text_shift(d, 1, epoch)]++;
    for (size_t i = 0; i < CONTEXT; i++)
        all += seen[i] > 0;
    assert_int_equal(all, CONTEXT);
    cc_data_free(d);
}

/* "abab" trains, "ab" tests: a and b have 1/256 by nothing; unigrams (2 + 2/256) / 6 each; bigrams
 * for b after a (2 + (2 + 2/256) / 6) / 3. The carried text's figures are about those of a count in
 * Python. */
static void ngrams(void **state)
{
    (void)state;
    uint8_t train[] = "abab", test[] = "ab";
    const struct cc_data two = {.train = {.byte = train, .bytes = 4},
                                .test = {.byte = test, .bytes = 2}};
    double bits[CC_NGRAM_MOST];
    assert_int_equal(cc_ngram_bits(&two, bits, NULL), CC_OK);
    const double one = (2 + 2.0 / 256) / 6, next = (2 + one) / 3;
    assert_true(fabs(bits[0] + log2(one)) < 1e-12);
    assert_true(fabs(bits[1] + (log2(one) + log2(next)) / 2) < 1e-12);
    assert_true(fabs(bits[4] - bits[1]) < 1e-12);
    struct cc_data *d = open_text("text");
    assert_int_equal(cc_ngram_bits(d, bits, NULL), CC_OK);
    assert_true(fabs(bits[0] - 4.33) < 0.01 && fabs(bits[1] - 3.27) < 0.02);
    assert_true(bits[1] > bits[2] && bits[2] > bits[3] && bits[3] > bits[4]);
    cc_data_free(d);
}

static void refused(void **state)
{
    struct cc_data *d = NULL;
    struct cc_error e = {""};
    char set[512];
    assert_int_equal(cc_data_open_text("digits", CONTEXT, &d, &e), CC_USAGE);
    assert_int_equal(cc_data_open("text", &d, &e), CC_USAGE);
    assert_contains(e.text, "goes with --net gpt");
    (void)snprintf(set, sizeof set, "text:%s", scratch_write(state, "e.txt", "\f\f", 2));
    assert_int_equal(cc_data_open_text(set, CONTEXT, &d, &e), CC_FAIL);
    assert_contains(e.text, "there is no text in it");
    (void)snprintf(set, sizeof set, "text:%s", scratch_write(state, "s.txt", "too short", 9));
    assert_int_equal(cc_data_open_text(set, CONTEXT, &d, &e), CC_FAIL);
    assert_contains(e.text, "too few");
    d = open_text("text");
    struct cc_task *t;
    struct cc_task_config c = {.net = "gpt:context=16",
                               .data = d,
                               .height = 1,
                               .width = CONTEXT,
                               .workers = 1,
                               .batch = 1,
                               .by_class = 2,
                               .threads = 1};
    assert_int_equal(cc_task_open(&c, &t, &e), CC_USAGE);
    assert_contains(e.text, "neither classes");
    cc_data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carried),
        cmocka_unit_test_setup_teardown(documents, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(cut, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(folder, scratch_setup, scratch_teardown),
        cmocka_unit_test(batches),
        cmocka_unit_test(ngrams),
        cmocka_unit_test_setup_teardown(refused, scratch_setup, scratch_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
