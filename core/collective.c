#include "core/collective.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"

const char *const cc_moved_names[] = {"gradients", "parameters", "differences", NULL};
const char *const cc_among_names[] = {"all", "host", "hosts", NULL};
const char *const cc_when_names[] = {"updated", "forward", "backward", "computed", NULL};
const char *const cc_scheme_role_names[] = {"plain", "gradient", "weight", NULL};

void cc_collective_print(const struct cc_collective *c, char *out, size_t cap)
{
    static const char *const among[] = {"", " inside hosts", " across hosts"};
    static const char *const when[] = {", after the update", ", before forward",
                                       ", before backward", ""};
    (void)snprintf(out, cap, "%s of %s%s%s", cc_operation_names[c->op], cc_moved_names[c->what],
                   among[c->among], when[c->when]);
}

bool cc_collectives_keep(struct cc_collectives *c)
{
    int kept = 0;
    for (int i = 0; i < c->count; i++)
        if (c->item[i].when != CC_WHEN_BACKWARD)
            c->item[kept++] = c->item[i];
    const bool left_out = kept < c->count;
    c->count = kept;
    return left_out;
}

int cc_collective_times(const struct cc_collective *c, int micro_steps)
{
    return c->when == CC_WHEN_UPDATED || c->last ? 1 : micro_steps;
}

enum cc_exchange cc_collective_exchange(const struct cc_collective *c, enum cc_exchange own,
                                        bool several, bool coded)
{
    const bool levels = several && c->among == CC_AMONG_ALL;
    if (coded && c->levels && levels)
        return CC_HIERARCHICAL;
    if (own == CC_HIERARCHICAL && levels)
        return own;
    return (coded && c->op != CC_ALL_GATHER) || own == CC_HIERARCHICAL ? CC_TWOSHOT : own;
}

/* --- plans --- */

/* The making of a plan: its collectives, and where it has come to. */
struct making {
    const struct cc_collectives *c;
    size_t units;
    bool overlaps;
    struct cc_step_plan *plan;
};

static int add(struct making *m, enum cc_action_kind act, size_t item, struct cc_error *e)
{
    struct cc_step_plan *p = m->plan;
    CC_TRY(CC_GROW(p->action, &p->capacity, p->count + 1, e));
    p->action[p->count++] = (struct cc_action){act, item};
    return CC_OK;
}

/* Begins a unit's messages of the collectives of a time, or waits for them. */
static int add_all(struct making *m, enum cc_action_kind act, enum cc_when when, size_t unit,
                   bool last, struct cc_error *e)
{
    for (int i = 0; i < m->c->count; i++) {
        const struct cc_collective *c = &m->c->item[i];
        const size_t message = (size_t)i * m->units + unit;
        if (c->when != when || (c->last && !last))
            continue;
        CC_TRY(add(m, act, message, e));
        if (act == CC_ACT_START && !m->overlaps)
            CC_TRY(add(m, CC_ACT_WAIT, message, e));
    }
    return CC_OK;
}

static int await(struct making *m, enum cc_when when, size_t unit, bool last, struct cc_error *e)
{
    return m->overlaps ? add_all(m, CC_ACT_WAIT, when, unit, last, e) : CC_OK;
}

/* The gathering after an update: all units are begun; those that are not ahead are awaited. */
static int begin_step(struct making *m, struct cc_error *e)
{
    for (size_t u = 0; u < m->units; u++)
        CC_TRY(add_all(m, CC_ACT_START, CC_WHEN_UPDATED, u, true, e));
    for (int i = 0; i < m->c->count && m->overlaps; i++)
        for (size_t u = 0; u < m->units; u++)
            if (m->c->item[i].when == CC_WHEN_UPDATED && !m->c->item[i].ahead)
                CC_TRY(add(m, CC_ACT_WAIT, (size_t)i * m->units + u, e));
    return CC_OK;
}

/* Waits for what a unit's forward pass needs of the gathering after the update. */
static int await_ahead(struct making *m, size_t unit, struct cc_error *e)
{
    for (int i = 0; i < m->c->count && m->overlaps; i++)
        if (m->c->item[i].when == CC_WHEN_UPDATED && m->c->item[i].ahead)
            CC_TRY(add(m, CC_ACT_WAIT, (size_t)i * m->units + unit, e));
    return CC_OK;
}

/* The units of one pass in its order, of which `k` is the k-th. */
static size_t unit_at(const struct making *m, bool forward, size_t k)
{
    return forward ? k : m->units - 1 - k;
}

static int add_pass(struct making *m, bool forward, bool first, bool last, struct cc_error *e)
{
    const enum cc_when when = forward ? CC_WHEN_FORWARD : CC_WHEN_BACKWARD;
    CC_TRY(m->overlaps ? add_all(m, CC_ACT_START, when, unit_at(m, forward, 0), last, e) : CC_OK);
    for (size_t k = 0; k < m->units; k++) {
        const size_t unit = unit_at(m, forward, k), next = k + (m->overlaps ? 1 : 0);
        if (next < m->units)
            CC_TRY(add_all(m, CC_ACT_START, when, unit_at(m, forward, next), last, e));
        CC_TRY(await(m, when, unit, last, e));
        if (forward && first)
            CC_TRY(await_ahead(m, unit, e));
        CC_TRY(add(m, forward ? CC_ACT_FORWARD : CC_ACT_BACKWARD, unit, e));
        if (!forward)
            CC_TRY(add_all(m, CC_ACT_START, CC_WHEN_COMPUTED, unit, last, e));
    }
    return CC_OK;
}

int cc_step_plan_make(const struct cc_collectives *c, size_t units, int micro_steps, bool overlaps,
                      struct cc_step_plan *out, struct cc_error *e)
{
    struct making m = {.c = c, .units = units, .overlaps = overlaps, .plan = out};
    *out = (struct cc_step_plan){.action = NULL};
    CC_TRY(begin_step(&m, e));
    for (int i = 0; i < micro_steps; i++) {
        const bool last = i + 1 == micro_steps;
        CC_TRY(add_pass(&m, true, i == 0, last, e));
        CC_TRY(add_pass(&m, false, i == 0, last, e));
        for (size_t k = 0; k < units; k++)
            CC_TRY(await(&m, CC_WHEN_COMPUTED, unit_at(&m, false, k), last, e));
    }
    return add(&m, CC_ACT_UPDATE, 0, e);
}

void cc_step_plan_free(struct cc_step_plan *p)
{
    free(p->action);
    *p = (struct cc_step_plan){.action = NULL};
}
