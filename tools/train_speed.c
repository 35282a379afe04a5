/* Images per second of training: forward and backward pass and the optimizer, as
 * tools/train_speed.py measures PyTorch.
 *
 *   train_speed NET CHANNELSxHEIGHTxWIDTH BATCH THREADS [SECONDS]
 *
 * Prints the best of three rounds, which stand for the machine without its other work. */
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/isa.h"
#include "core/memory.h"
#include "train/model.h"
#include "train/optimizer.h"

struct training {
    struct cc_model *model;
    const struct cc_model_layout *layout;
    float *weights, *stats, *gradient, *state, *images;
    int32_t *labels;
    size_t batch;
    int threads;
};

static float *floats(size_t n)
{
    struct cc_error e;
    float *p = cc_alloc0(n * sizeof *p, &e);
    if (p == NULL) {
        (void)fprintf(stderr, "train_speed: %s\n", e.text);
        exit(1);
    }
    return p;
}

static void step(struct training *t)
{
    const struct cc_optimizer sgd = {.kind = CC_SGD, .momentum = 0.9f, .decay = 1e-4f};
    cc_model_begin(t->model, t->images, t->labels, t->batch);
    cc_model_forward(t->model, t->weights, t->stats, t->layout->count);
    cc_model_backward(t->model, t->weights, t->gradient, 0);
    cc_optimizer_apply(&sgd, t->layout, 0, t->layout->count, 0.01, 0, t->gradient, t->weights,
                       t->state, t->threads);
}

/* One thread's own time does not count what others do meanwhile. */
static double now_of(const struct training *t)
{
    return t->threads == 1 ? cc_thread_now() : cc_now();
}

/* Images per second over at least so many seconds. */
static double round_of(struct training *t, double seconds)
{
    size_t steps = 0;
    double begin = now_of(t), now;
    do {
        step(t);
        steps++;
        now = now_of(t);
    } while (now - begin < seconds);
    return (double)(steps * t->batch) / (now - begin);
}

int main(int argc, char **argv)
{
    struct cc_model_config c = {.classes = 10};
    struct cc_error e;
    if ((argc != 5 && argc != 6) ||
        sscanf(argv[2], "%zux%zux%zu", &c.channels, &c.height, &c.width) != 3) {
        (void)fprintf(stderr, "usage: train_speed NET 3x16x16 BATCH THREADS [SECONDS]\n");
        return 2;
    }
    c.net = argv[1];
    c.batch = strtoul(argv[3], NULL, 10);
    c.threads = (int)strtol(argv[4], NULL, 10);
    struct training t = {.batch = c.batch, .threads = c.threads};
    if (cc_isa_init(&e) != CC_OK || cc_model_open(&c, &t.model, &e) != CC_OK) {
        (void)fprintf(stderr, "train_speed: %s\n", e.text);
        cc_model_close(t.model);
        return 1;
    }
    t.layout = cc_model_layout(t.model);
    t.weights = floats(t.layout->values);
    t.gradient = floats(t.layout->values);
    t.state = floats(t.layout->values);
    t.stats = floats(t.layout->stats);
    t.images = floats(c.batch * c.channels * c.height * c.width);
    t.labels = cc_alloc0(c.batch * sizeof *t.labels, NULL);
    cc_model_init(t.model, 1, t.weights, t.stats);
    for (size_t i = 0; i < c.batch * c.channels * c.height * c.width; i++)
        t.images[i] = (float)(i * 37 % 101) / 101.0f;
    for (size_t i = 0; t.labels != NULL && i < c.batch; i++)
        t.labels[i] = (int32_t)(i % 10);
    double seconds = argc == 6 ? strtod(argv[5], NULL) : 1, best = 0;
    step(&t);
    for (int i = 0; i < 3; i++) {
        double speed = round_of(&t, seconds);
        best = speed > best ? speed : best;
    }
    printf("%s %s batch %s, %s threads, %s: %.0f images/s\n", argv[1], argv[2], argv[3], argv[4],
           cc_isa_name(cc_isa()), best);
    cc_model_close(t.model);
    free(t.weights);
    free(t.gradient);
    free(t.state);
    free(t.stats);
    free(t.images);
    free(t.labels);
    return 0;
}
