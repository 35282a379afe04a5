#include "models/exchange_formula.h"

#include <math.h>

int cc_log2(int p)
{
    return 31 - __builtin_clz((unsigned)p);
}

int cc_power_below(int p)
{
    return 1 << cc_log2(p);
}

int cc_log2_up(int p)
{
    return cc_log2(p) + (cc_power_below(p) < p);
}

int cc_most_summed(int held, int extra)
{
    return held + (held < extra ? held : extra);
}

double cc_framed(const struct cc_link *l, double bytes)
{
    return bytes + l->message_bytes;
}

void cc_add_rounds(const struct cc_exchange_case *k, double count, double bytes, bool sent,
                   struct cc_cost *c)
{
    double wire = count * cc_framed(k->link, bytes);
    c->push_latency_s += count * k->link->latency_s;
    c->push_transfer_s += wire * cc_link_byte_s(k->link);
    c->rounds += count;
    if (sent) {
        c->messages += count;
        c->wire_bytes += wire * (1 + k->link->overhead);
    }
}

void cc_encode_once(const struct cc_exchange_case *k, struct cc_cost *c)
{
    if (k->reduction == CC_REDUCE_SUM && k->message->verbatim == k->message->values)
        return;
    c->encode_s = k->message->push_encode_s;
    c->decode_s = k->message->push_decode_s;
}

enum cc_exchange cc_cost_fastest(const struct cc_exchange_case *k,
                                 const struct cc_exchange_candidate *candidate, size_t count,
                                 struct cc_cost *c)
{
    size_t best = 0;
    for (size_t i = 0; i < count; i++) {
        struct cc_cost cost = {0};
        candidate[i].cost(k, &cost);
        if (i > 0 && cc_cost_comm(&cost) >= cc_cost_comm(c))
            continue;
        *c = cost;
        best = i;
    }
    return candidate[best].exchange;
}

double cc_union_size(const struct cc_cluster *c, double n, double k, int m)
{
    if (c->overlap == CC_UNION_SAME)
        return k;
    if (c->overlap == CC_UNION_DISJOINT)
        return fmin(n, m * k);
    if (c->overlap == CC_UNION_MEASURED && c->unions != NULL && c->unions->points > 0)
        return fmin(n, k * cc_unions_growth(c->unions, m));
    /* n (1 - (1 - k/n)^m), exact also where k/n is tiny. */
    return n > 0 ? -n * expm1(m * log1p(-fmin(1, k / n))) : 0;
}
