#include "models/place.h"

#include <gsl/gsl_heapsort.h>

const char *const cc_placement_names[] = {"split", "round-robin", "lpt", NULL};

/* Sorts the larger one first; of equal ones, the one that stands first. */
static int larger_first(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x != *y ? (*x < *y) - (*x > *y) : (x > y) - (x < y);
}

void cc_by_size(const double *size, size_t count, size_t *order)
{
    (void)gsl_heapsort_index(order, size, count, sizeof *size, larger_first);
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
