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
