#include "train/share.h"

#include "core/parallel.h"

struct shares {
    struct cc_layer *layer;
    const struct cc_pass *pass;
    void (*work)(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to);
    size_t n, multiple;
    int parts;
};

static void run_part(void *arg, int part)
{
    const struct shares *s = arg;
    size_t from = cc_part_begin(s->n, s->parts, part, s->multiple);
    size_t to = cc_part_begin(s->n, s->parts, part + 1, s->multiple);
    if (from < to)
        s->work(s->layer, s->pass, from, to);
}

void cc_share(struct cc_layer *l, const struct cc_pass *p, size_t n, size_t cost, size_t multiple,
              void (*work)(struct cc_layer *l, const struct cc_pass *p, size_t from, size_t to))
{
    size_t least = CC_TRAIN_PART_WORK / (cost > 0 ? cost : 1) + multiple;
    struct shares s = {.layer = l,
                       .pass = p,
                       .work = work,
                       .n = n,
                       .multiple = multiple,
                       .parts = cc_parts(p->threads, n, least)};
    cc_parallel(s.parts, run_part, &s);
}
