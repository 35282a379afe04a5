#include "core/exchange.h"

#include "core/memory.h"
#include "core/nearest.h"

#define NAME(id, symbol, word, flags, rounds, help) word,
const char *const cc_exchange_names[] = {CC_EXCHANGES(NAME) NULL};

/* Message times on the critical path, as an upper bound for planning memory: push and pull; P - 1;
 * 2 (P - 1); 2 + 2 ceil(log2 P). */
static int rounds_two(int workers)
{
    (void)workers;
    return 2;
}

static int rounds_linear(int workers)
{
    return workers - 1;
}

static int rounds_twice(int workers)
{
    return 2 * (workers - 1);
}

static int rounds_logarithm(int workers)
{
    int rounds = 2; /* before and after, for ranks beyond a power of two */
    for (int power = 1; power < workers; power *= 2)
        rounds += 2;
    return rounds;
}

#define INFO(id, symbol, name, flags, rounds, help) {name, help, flags, rounds_##rounds},
static const struct cc_exchange_info infos[] = {CC_EXCHANGES(INFO)};

const char *const cc_operation_names[] = {"allreduce", "reduce-scatter", "all-gather", NULL};
const char *const cc_stage_exchange_names[] = {"twoshot", "ring", NULL};
const char *const cc_reduction_names[] = {"decode", "sum", "merge", NULL};
const char *const cc_wire_names[] = {"auto", "pairs", NULL};
const char *const cc_via_names[] = {"hops", "allgather", NULL};
const char *const cc_step_names[] = {"sequential", "overlap", "pipe", NULL};
const char *const cc_pull_names[] = {"ready", "forward", NULL};
const char *const cc_consistency_names[] = {"bulk", "stale", "async", NULL};
const char *const cc_communicate_names[] = {"step", "bound", "norm", NULL};

const struct cc_exchange_info *cc_exchange_info(enum cc_exchange x)
{
    return &infos[x];
}

bool cc_exchange_has(enum cc_exchange x, enum cc_exchange_flag flag)
{
    return (infos[x].flags & (unsigned)flag) != 0;
}

bool cc_consistency_is_bounded(enum cc_consistency how)
{
    return how == CC_STALE;
}

uint64_t cc_consistency_lead(enum cc_consistency how, int staleness)
{
    return how == CC_ASYNC ? UINT64_MAX : cc_consistency_is_bounded(how) ? (uint64_t)staleness : 0;
}

void cc_exchange_list(enum cc_exchange_flag flag, char *out, size_t cap)
{
    int left = 0;
    for (int x = 0; x < CC_EXCHANGE_COUNT; x++)
        left += cc_exchange_has((enum cc_exchange)x, flag);
    out[0] = '\0';
    for (int x = 0; x < CC_EXCHANGE_COUNT; x++)
        if (cc_exchange_has((enum cc_exchange)x, flag))
            cc_list_add(out, cap, --left > 0 ? ", " : " and ", "%s", infos[x].name);
}

int cc_exchange_find(const char *name)
{
    return cc_word_find(cc_exchange_names, name);
}

void cc_exchange_counts_print(const uint64_t count[CC_EXCHANGE_COUNT], char *out, size_t cap)
{
    bool taken[CC_EXCHANGE_COUNT] = {false};
    out[0] = '\0';
    for (;;) {
        size_t most = CC_EXCHANGE_COUNT;
        for (size_t i = 0; i < CC_EXCHANGE_COUNT; i++)
            if (!taken[i] && count[i] > 0 && (most == CC_EXCHANGE_COUNT || count[i] > count[most]))
                most = i;
        if (most == CC_EXCHANGE_COUNT)
            return;
        taken[most] = true;
        cc_list_add(out, cap, ", ", "%s %llu", cc_exchange_names[most],
                    (unsigned long long)count[most]);
    }
}
