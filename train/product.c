#include "train/product.h"

#include "core/parallel.h"
#include "train/share.h"

struct parts {
    const struct cc_product *product;
    int count;
};

static void run_part(void *arg, int part)
{
    const struct parts *t = arg;
    size_t rows = t->product->rows; /* cut between the kernel's tiles */
    k_dense()->product(t->product, cc_part_begin(rows, t->count, part, 8),
                       cc_part_begin(rows, t->count, part + 1, 8));
}

void cc_product_run(const struct cc_product *product, int threads)
{
    size_t least = CC_TRAIN_PART_WORK / (product->cols * product->depth + 1) + 8;
    struct parts t = {.product = product, .count = cc_parts(threads, product->rows, least)};
    cc_parallel(t.count, run_part, &t);
}

void cc_product_weights(const struct cc_columns *c, const float *dy, const float *x, float *turned,
                        float *dw, int threads)
{
    const size_t turned_row = cc_train_groups(c->in) * CC_TRAIN_GROUP;
    const struct cc_product product = {.rows = c->out,
                                       .cols = c->in,
                                       .depth = c->count,
                                       .a = dy,
                                       .a_row = c->row,
                                       .a_col = 1,
                                       .b = turned,
                                       .b_row = turned_row,
                                       .c = dw,
                                       .c_row = c->in};
    k_dense()->transpose(x, c->in, c->count, c->row, turned, turned_row);
    cc_product_run(&product, threads);
}

void cc_product_input(const struct cc_columns *c, const float *w, const float *dy, float *dx,
                      bool add, int threads)
{
    const struct cc_product product = {.rows = c->in,
                                       .cols = c->count,
                                       .depth = c->out,
                                       .a = w,
                                       .a_row = 1,
                                       .a_col = c->in,
                                       .b = dy,
                                       .b_row = c->row,
                                       .c = dx,
                                       .c_row = c->row,
                                       .add = add};
    cc_product_run(&product, threads);
}
