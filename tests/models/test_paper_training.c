/* Measured trainings (models/paper/paper_training.c) against sums by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "models/paper/paper.h"

static void assert_near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.9g is not %.9g", a, b);
}

static struct cc_paper *solved(const char *name)
{
    struct cc_paper *p;
    struct cc_error e;
    if (cc_paper_open(name, &p, &e) != CC_OK || cc_paper_solve(p, &e) != CC_OK)
        fail_msg("%s", e.text);
    return p;
}

/* Sentences per second of BERT-large on 4, 16 and 32 hosts of 16 GPUs as printed, and by hand: 64
 * sentences by 16, 4 and 2 micro-batches; 336 million halves over 96% of 800 Gbit/s. */
static void training_of_size(void **state)
{
    (void)state;
    struct cc_paper *p = solved("nvidia-bert-fp16");
    const double printed[] = {13192.00, 48223.00, 86673.64}, gpus[] = {64, 256, 512};
    const double update_s = 1e-3 * cc_paper_constant_value(p, "update_ms");
    double exchange_s[3], step_s[3];
    for (int i = 0; i < 3; i++)
        exchange_s[i] = 2 * (1 - 1 / gpus[i]) * 336e6 * 16 / (0.96 * 800e9);
    step_s[0] = 64 * 16 * 64 / printed[0];
    const double micro_s = (step_s[0] - update_s - exchange_s[0]) / 16;
    for (int i = 1; i < 3; i++) {
        step_s[i] = (i == 1 ? 4 : 2) * micro_s + update_s + exchange_s[i];
        assert_near(p->row[0].model[i - 1], step_s[0] / step_s[i], 1e-4);
        assert_near(p->row[0].figure[i - 1], printed[i] / printed[0], 1e-4);
    }
    cc_paper_free(p);
}

/* VGG-16 on two P100 by hand, where the exchange of the last message alone does not hide: 154
 * images/s and 64 a batch, and 16 ms that a step takes more on several GPUs. The messages are full
 * before a tensor that does not fit; what is left after the backward pass is less than 2 ms. */
static void training_of_net(void **state)
{
    (void)state;
    struct cc_paper *p = solved("tensorflow-dgx1"), *horovod = solved("horovod-512");
    const double step_s = 64.0 / 154;
    assert_true(p->held_out && !horovod->held_out);
    assert_true(p->row[0].model[0] < 2 * step_s / (step_s + 16e-3));
    assert_true(p->row[0].model[0] > 2 * step_s / (step_s + 18e-3));
    /* 512 GPUs of ResNet-101: an efficiency in percent, and a whole exchange is an upper bound of
     * what a step takes more: 44.5 million floats twice over 70% of 25 Gbit/s. */
    const double one_s = 64 / 103.55, all_s = 2 * 44.55e6 * 32 / (0.7 * 25e9);
    assert_true(horovod->row[0].model[0] < 100);
    assert_true(horovod->row[0].model[0] > 100 * one_s / (one_s + all_s));
    cc_paper_free(p);
    cc_paper_free(horovod);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_of_size),
        cmocka_unit_test(training_of_net),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
