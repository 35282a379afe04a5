/* Generated text against a model that is evaluated here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/lib/trainee.h"
#include "train/generate.h"

enum { CONTEXT = 16, TOKENS = 256 };

#define NET "gpt:layers=1,width=16,heads=2,context=16"

static struct trainee open_net(void)
{
    const struct cc_model_config c = {.net = NET,
                                      .channels = 1,
                                      .height = 1,
                                      .width = CONTEXT,
                                      .classes = TOKENS,
                                      .batch = 1,
                                      .threads = 1};
    return trainee_open(&c);
}

/* Without temperature the next byte is that whose label costs least at the last place, by the
 * losses of the model: 256 evaluations for each. Beyond the context, too. */
static void likeliest(void **state)
{
    (void)state;
    struct trainee t = open_net();
    const struct cc_generate_config c = {
        .net = NET, .weights = t.weights, .values = t.layout->values};
    uint8_t all[3 + 20] = "abc";
    assert_int_equal(cc_generate(&c, all, 3, all + 3, 20, NULL), CC_OK);
    for (size_t at = 3; at < sizeof all; at++) {
        const size_t seen = at < CONTEXT ? at : CONTEXT;
        float token[CONTEXT] = {0};
        int32_t label[CONTEXT] = {0};
        double least = 1e9;
        int32_t best = 0;
        for (size_t i = 0; i < seen; i++)
            token[i] = (float)all[at - seen + i];
        for (int32_t next = 0; next < TOKENS; next++) {
            label[seen - 1] = next;
            const double loss = cc_model_evaluate(t.model, t.weights, NULL, token, label, 1).loss;
            best = loss < least ? next : best;
            least = loss < least ? loss : least;
        }
        assert_int_equal(all[at], best);
    }
    trainee_close(&t);
}

static void draws(void **state)
{
    (void)state;
    struct trainee t = open_net();
    struct cc_generate_config c = {
        .net = NET, .weights = t.weights, .values = t.layout->values, .temperature = 1, .seed = 3};
    uint8_t a[64], b[64];
    assert_int_equal(cc_generate(&c, (const uint8_t *)"x", 1, a, sizeof a, NULL), CC_OK);
    assert_int_equal(cc_generate(&c, (const uint8_t *)"x", 1, b, sizeof b, NULL), CC_OK);
    assert_memory_equal(a, b, sizeof a);
    c.seed = 4;
    assert_int_equal(cc_generate(&c, (const uint8_t *)"x", 1, b, sizeof b, NULL), CC_OK);
    assert_memory_not_equal(a, b, sizeof a);
    /* Outputs that are all 0 make every byte as likely: 4,096 of them have each about 16 times. */
    memset(t.weights, 0, t.layout->values * sizeof *t.weights);
    uint8_t many[4096];
    size_t count[TOKENS] = {0};
    assert_int_equal(cc_generate(&c, (const uint8_t *)"x", 1, many, sizeof many, NULL), CC_OK);
    for (size_t i = 0; i < sizeof many; i++)
        count[many[i]]++;
    for (size_t i = 0; i < TOKENS; i++)
        assert_in_range(count[i], 2, 40);
    c.values--;
    struct cc_error e;
    assert_int_equal(cc_generate(&c, (const uint8_t *)"x", 1, b, 1, &e), CC_FAIL);
    trainee_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(likeliest), cmocka_unit_test(draws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
