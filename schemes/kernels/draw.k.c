#include "schemes/kernels/draw.h"

static void permute(const struct cc_key key[CC_DRAW_ROUNDS], unsigned b, uint64_t *v, size_t n)
{
    const struct cc_key k0 = key[0], k1 = key[1], k2 = key[2], k3 = key[3];
    const uint32_t mask = (UINT32_C(1) << b) - 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t l = (uint32_t)(v[i] >> b), r = (uint32_t)v[i] & mask;
        l ^= cc_random(k0, r) & mask; /* each round's swap is in the names */
        r ^= cc_random(k1, l) & mask;
        l ^= cc_random(k2, r) & mask;
        r ^= cc_random(k3, l) & mask;
        v[i] = (uint64_t)l << b | r;
    }
}

const struct k_draw CC_K(k_draw) = {.permute = permute};
