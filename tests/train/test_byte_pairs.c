/* Byte pairs worked out by hand, and a text that comes back from its tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "train/data/data.h"

/* Learns from a text in place. */
static size_t learn(struct cc_byte_pairs *p, char *text, size_t tokens)
{
    bool used[CC_TOKENS_MOST] = {false};
    uint32_t *room = malloc(CC_TOKEN_PAIRS * sizeof *room);
    assert_non_null(room);
    for (size_t i = 0; text[i] != '\0'; i++)
        used[(uint8_t)text[i]] = true;
    const size_t n = cc_byte_pairs_learn(p, (uint8_t *)text, strlen(text), used, tokens, room);
    free(room);
    return n;
}

/* Gage's example: aaabdaaabac. "aa" occurs twice without overlapping, as does "ab", and four times
 * otherwise; the lowest pair is aa = 0; then 0a = 1 (of 0a and ab), then 1b = 2: 2 d 2 a c. */
static void by_hand(void **state)
{
    (void)state;
    char text[] = "aaabdaaabac";
    struct cc_byte_pairs p;
    const struct cc_byte_pair pairs[] = {{0, 'a', 'a'}, {1, 0, 'a'}, {2, 1, 'b'}};
    assert_int_equal(learn(&p, text, 100), 5); /* no other pair occurs twice */
    assert_int_equal(p.count, 3);
    assert_memory_equal(p.pair, pairs, sizeof pairs);
    assert_memory_equal(text, "\2d\2ac", 5);
    uint8_t bytes[8];
    assert_int_equal(cc_byte_pairs_decode(&p, 2, bytes, sizeof bytes), 4);
    assert_memory_equal(bytes, "aaab", 4);
    assert_int_equal(cc_byte_pairs_decode(&p, 2, bytes, 1), 4);
    assert_int_equal(cc_byte_pairs_decode(&p, 'd', bytes, sizeof bytes), 1);
    uint8_t other[] = "aaaaab"; /* 0 0 a b, 0 1 b, 0 2 */
    assert_int_equal(cc_byte_pairs_encode(&p, other, 6), 2);
    assert_true(other[0] == 0 && other[1] == 2);
}

/* As many tokens as are asked for. */
static void tokens(void **state)
{
    (void)state;
    char text[] = "aaabdaaabac";
    struct cc_byte_pairs p;
    assert_int_equal(learn(&p, text, 5), 9);
    assert_int_equal(p.count, 1);
}

static char *decoded(const struct cc_data *d, const struct cc_samples *s, size_t *n)
{
    size_t room = 0;
    char *text = NULL;
    *n = 0;
    for (size_t i = 0; i < s->bytes; i++) {
        assert_int_equal(CC_GROW(text, &room, *n + 4096, NULL), CC_OK);
        *n += cc_byte_pairs_decode(d->pairs, s->byte[i], (uint8_t *)text + *n, 4096);
    }
    return text;
}

static void comes_back(void **state)
{
    (void)state;
    struct cc_data *plain, *paired;
    size_t n;
    assert_int_equal(cc_data_open_text("text", 16, &plain, NULL), CC_OK);
    assert_int_equal(cc_data_open_text("text,vocab=128", 16, &paired, NULL), CC_OK);
    char *train = decoded(paired, &paired->train, &n);
    assert_int_equal(n, plain->train.bytes);
    assert_memory_equal(train, plain->train.byte, n);
    char *test = decoded(paired, &paired->test, &n);
    assert_int_equal(n, plain->test.bytes);
    assert_memory_equal(test, plain->test.byte, n);
    assert_int_equal(paired->text_bytes, n);
    assert_true(paired->test.count == (paired->test.bytes - 1) / 16);
    assert_true(cc_data_tokens_a_byte(paired) < 0.65 && cc_data_tokens_a_byte(plain) == 1);
    free(train);
    free(test);
    cc_data_free(plain);
    cc_data_free(paired);
}

static void refused(void **state)
{
    (void)state;
    static const char *const usage[] = {"text,vocab=257", "text,vocab=", "text,vocab=2x",
                                        "text,x=1", "text,vocab=1"};
    struct cc_data *d;
    struct cc_error e;
    for (size_t i = 0; i < sizeof usage / sizeof usage[0]; i++)
        assert_int_equal(cc_data_open_text(usage[i], 16, &d, &e), CC_USAGE);
    assert_int_equal(cc_data_open_text("text,vocab=60", 16, &d, &e), CC_FAIL);
    assert_non_null(strstr(e.text, "has 63 different bytes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(tokens),
        cmocka_unit_test(comes_back),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests_name("byte_pairs", tests, NULL, NULL);
}
