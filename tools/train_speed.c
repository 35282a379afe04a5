/* Images per second of training: forward and backward pass and the optimizer. For
 * tools/train_torch.py, which measures PyTorch, and compares gradients with its.
 *
 *   train_speed NET CHANNELSxHEIGHTxWIDTH BATCH THREADS [SECONDS]
 *   train_speed NET CHANNELSxHEIGHTxWIDTH BATCH dump FILE
 *
 * The first prints the best of three rounds, which stands for the machine without its other work;
 * the time is one thread's own, or with more threads the clock's. The second prints the loss of a
 * batch and the tensors' names and shapes, and writes float32 weights, images and gradient to the
 * file; label i is i mod 10. A language model's dimensions are 1x1xCONTEXT, its images tokens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/isa.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/tensor.h"
#include "train/gpt.h"
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
    cc_optimizer_apply(&sgd, t->layout, 0, t->layout->values, 0.01, 0, t->gradient, t->weights,
                       t->state, t->threads);
}

/* One thread's own time does not count what others do meanwhile. */
static double now_of(const struct training *t)
{
    return t->threads == 1 ? cc_thread_now() : cc_now();
}

/* Images per second over at least `seconds` seconds. */
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

/* Random values, so that no gradient is 0 by symmetry. */
static void fill(struct training *t, size_t values)
{
    const struct cc_random_id id = {.seed = 1};
    for (size_t i = 0; i < values; i++)
        t->images[i] = t->layout->labels > 1
                           ? (float)(cc_random(cc_key(&id, 0), (uint32_t)i) % CC_GPT_TOKENS)
                           : 2 * cc_unit(cc_random(cc_key(&id, 0), (uint32_t)i)) - 1;
    for (size_t i = 0; i < t->batch * t->layout->labels; i++)
        t->labels[i] = (int32_t)(i % 10);
}

static int dump(struct training *t, size_t values, const char *path)
{
    FILE *f = fopen(path, "wb");
    size_t n = t->layout->values;
    cc_model_begin(t->model, t->images, t->labels, t->batch);
    cc_model_forward(t->model, t->weights, t->stats, t->layout->count);
    cc_model_backward(t->model, t->weights, t->gradient, 0);
    printf("%.9g\n", cc_model_score(t->model).loss);
    for (size_t i = 0; i < t->layout->count; i++) {
        char shape[192];
        cc_shape_print(&t->layout->tensors[i].shape, shape, sizeof shape);
        printf("%s %s\n", t->layout->tensors[i].name, shape);
    }
    int written = f != NULL && fwrite(t->weights, sizeof(float), n, f) == n &&
                  fwrite(t->images, sizeof(float), values, f) == values &&
                  fwrite(t->gradient, sizeof(float), n, f) == n;
    if ((f != NULL && fclose(f) != 0) || !written) {
        perror(path);
        return 1;
    }
    return 0;
}

static void measure(struct training *t, char **argv, double seconds)
{
    double best = 0;
    step(t);
    for (int i = 0; i < 3; i++) {
        double speed = round_of(t, seconds);
        best = speed > best ? speed : best;
    }
    printf("%s %s batch %s, %s threads, %s: %.0f images/s, %.1f MB\n", argv[1], argv[2], argv[3],
           argv[4], cc_isa_name(cc_isa()), best, 1e-6 * (double)cc_model_bytes(t->model));
}

int main(int argc, char **argv)
{
    struct cc_model_config c = {0};
    struct cc_error e;
    if ((argc != 5 && argc != 6) ||
        sscanf(argv[2], "%zux%zux%zu", &c.channels, &c.height, &c.width) != 3) {
        (void)fprintf(stderr, "usage: train_speed NET 3x16x16 BATCH THREADS [SECONDS]\n"
                              "       train_speed NET 3x16x16 BATCH dump FILE\n");
        return 2;
    }
    int dumps = strcmp(argv[4], "dump") == 0 && argc == 6;
    c.net = argv[1];
    c.classes = cc_gpt_is(c.net) ? CC_GPT_TOKENS : 10;
    c.batch = strtoul(argv[3], NULL, 10);
    c.threads = dumps ? 1 : (int)strtol(argv[4], NULL, 10);
    struct training t = {.batch = c.batch, .threads = c.threads};
    if (c.batch == 0 || c.threads < 1 || cc_isa_init(&e) != CC_OK ||
        cc_model_open(&c, &t.model, &e) != CC_OK) {
        (void)fprintf(stderr, "train_speed: %s\n",
                      c.batch == 0 || c.threads < 1 ? "a batch and threads are 1 or more" : e.text);
        cc_model_close(t.model);
        return 1;
    }
    size_t values = c.batch * c.channels * c.height * c.width;
    t.layout = cc_model_layout(t.model);
    t.weights = floats(t.layout->values);
    t.gradient = floats(t.layout->values);
    t.state = floats(t.layout->values);
    t.stats = floats(t.layout->stats);
    t.images = floats(values);
    t.labels = (int32_t *)floats(c.batch * t.layout->labels);
    cc_model_init(t.model, 1, t.weights, t.stats);
    fill(&t, values);
    int status = 0;
    if (dumps)
        status = dump(&t, values, argv[5]);
    else
        measure(&t, argv, argc == 6 ? strtod(argv[5], NULL) : 1);
    cc_model_close(t.model);
    free(t.weights);
    free(t.gradient);
    free(t.state);
    free(t.stats);
    free(t.images);
    free(t.labels);
    return status;
}
