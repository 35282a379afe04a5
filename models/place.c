#include "models/place.h"

const char *const cc_placement_names[] = {"split", "round-robin", "lpt", NULL};

/* A bottom-up merge sort between the two halves of order[]: stable, and fast enough for nets of
 * many tensors. */
void cc_by_size(const double *size, size_t count, size_t *order)
{
    size_t *from = order, *to = order + count;
    for (size_t i = 0; i < count; i++)
        from[i] = i;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = middle + width < count ? middle + width : count;
            size_t a = low, b = middle;
            for (size_t k = low; k < high; k++)
                to[k] = a < middle && (b == high || size[from[a]] >= size[from[b]]) ? from[a++]
                                                                                    : from[b++];
        }
        size_t *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < count && from != order; i++)
        order[i] = from[i];
}

static int least_loaded(const double *load, int servers)
{
    int best = 0;
    for (int s = 1; s < servers; s++)
        if (load[s] < load[best])
            best = s;
    return best;
}

void cc_place(enum cc_placement placement, const double *size, size_t count, int servers,
              int *server, double *load, size_t *order)
{
    for (int s = 0; s < servers; s++)
        load[s] = 0;
    if (placement == CC_LPT)
        cc_by_size(size, count, order);
    for (size_t i = 0; i < count; i++) {
        size_t t = placement == CC_LPT ? order[i] : i;
        if (placement == CC_SPLIT) {
            server[t] = CC_EVERY_SERVER;
            for (int s = 0; s < servers; s++)
                load[s] += size[t] / servers;
        } else {
            server[t] =
                placement == CC_LPT ? least_loaded(load, servers) : (int)(t % (size_t)servers);
            load[server[t]] += size[t];
        }
    }
}

double cc_imbalance(const double *load, int servers)
{
    double sum = 0, most = 0;
    for (int s = 0; s < servers; s++) {
        sum += load[s];
        most = load[s] > most ? load[s] : most;
    }
    return sum > 0 ? most * servers / sum : 1;
}
