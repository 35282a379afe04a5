/* Cosines by their Taylor series in double, below an eighth of a turn: the C library's may differ
 * in the last place from machine to machine, and payloads must not. */
#include "schemes/basis.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* 1 - x^2/2! + x^4/4! ..., or with `odd` x - x^3/3! ..., for 0 <= x <= pi / 4. */
static double series(double x, int odd)
{
    const double square = x * x;
    double sum = 0;
    for (int k = 20 + odd; k > 1; k -= 2)
        sum = -(1 + sum) * square / (k * (k - 1));
    return odd ? x * (1 + sum) : 1 + sum;
}

/* cos(pi m / (2 n)) */
static double cosine(size_t m, size_t n)
{
    const size_t turn = m % (4 * n), half = turn > 2 * n ? 4 * n - turn : turn;
    const size_t quarter = half > n ? 2 * n - half : half;
    const double step = PI / (2 * (double)n);
    const double v = 2 * quarter <= n ? series((double)quarter * step, 0)
                                      : series((double)(n - quarter) * step, 1);
    return half > n ? -v : v;
}

void cc_basis_make(struct cc_basis *b, size_t n)
{
    double cosines[4 * CC_BASIS];
    memset(b, 0, sizeof *b);
    b->n = n;
    for (size_t m = 0; m < 4 * n; m++)
        cosines[m] = cosine(m, n);
    for (size_t u = 0; u < n; u++) {
        const double norm = sqrt((u == 0 ? 1.0 : 2.0) / (double)n);
        for (size_t i = 0; i < n; i++) {
            const size_t turn = (2 * i + 1) * u % (4 * n); // NOLINT(clang-analyzer-core.DivideZero)
            b->c[CC_BASIS * u + i] = (float)(norm * cosines[turn]);
        }
        for (size_t i = 0; i < n - n / 2; i++)
            (u % 2 == 0 ? b->even : b->odd)[CC_BASIS_HALF * i + u / 2] = b->c[CC_BASIS * u + i];
    }
}
