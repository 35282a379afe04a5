#include "models/system_file.h"

#include <stdio.h>
#include <string.h>

#include "core/format/json.h"

static const char *const algorithms[] = {"exchange", "levels", NULL};
static const char *const waits[] = {"all", "own", NULL};
static const char *const micro_steps[] = {"each", "last", NULL};
static const char *const divided[] = {"none", "optimizer", "gradients", "parameters", NULL};
static const char *const messages[] = {"layers", "step", NULL};

/* A word of an optional field, the first where it is missing. */
static int word_of(const cJSON *object, const char *key, const char *const *words, int *out,
                   struct cc_error *e)
{
    *out = 0;
    return cJSON_GetObjectItemCaseSensitive(object, key) == NULL
               ? CC_OK
               : cc_json_need_word(object, key, words, out, e);
}

/* How the words of a collective fit each other. */
static int check(const struct cc_collective *c, const cJSON *item, struct cc_error *e)
{
    const bool gradients = c->what == CC_MOVES_GRADIENTS;
    if (gradients != (c->when == CC_WHEN_COMPUTED))
        return cc_fail(e, "\"when\": gradients are exchanged when they are \"computed\", and %s %s",
                       cc_moved_names[c->what],
                       "\"updated\", or before \"forward\" or \"backward\"");
    if (gradients == (c->op == CC_ALL_GATHER))
        return cc_fail(e, "\"operation\": %s",
                       gradients ? "gradients go by \"reduce-scatter\" or \"allreduce\""
                                 : "parameters and differences go by \"all-gather\"");
    if (c->role == (gradients ? CC_ROLE_WEIGHT : CC_ROLE_GRADIENT))
        return cc_fail(e, "\"scheme\": that of %s is \"%s\", or \"plain\"", cc_moved_names[c->what],
                       cc_scheme_role_names[gradients ? CC_ROLE_GRADIENT : CC_ROLE_WEIGHT]);
    if (c->levels && (!gradients || c->among != CC_AMONG_ALL || c->op != CC_REDUCE_SCATTER))
        return cc_fail(e,
                       "\"algorithm\": \"levels\" is of a reduce-scatter of gradients among all");
    if (cJSON_GetObjectItemCaseSensitive(item, "wait") != NULL && c->when != CC_WHEN_UPDATED)
        return cc_fail(e, "\"wait\" is of what is gathered once parameters are \"updated\"");
    if (cJSON_GetObjectItemCaseSensitive(item, "micro_steps") != NULL && !gradients)
        return cc_fail(e, "\"micro_steps\" is of gradients");
    return CC_OK;
}

static int read_collective(const cJSON *item, void *out, struct cc_error *e)
{
    static const char *const keys[] = {"what", "operation", "group",       "algorithm", "scheme",
                                       "when", "follows",   "micro_steps", "wait",      NULL};
    struct cc_system *system = out;
    struct cc_collective *c = &system->collectives.item[system->collectives.count];
    int what, op, among, when, role, levels, ahead, last;
    if (system->collectives.count == CC_MOST_COLLECTIVES)
        return cc_fail(e, "a step has at most %d collectives", CC_MOST_COLLECTIVES);
    CC_TRY(cc_json_keys(item, keys, e));
    CC_TRY(cc_json_need_word(item, "what", cc_moved_names, &what, e));
    CC_TRY(cc_json_need_word(item, "operation", cc_operation_names, &op, e));
    CC_TRY(cc_json_need_word(item, "group", cc_among_names, &among, e));
    CC_TRY(cc_json_need_word(item, "when", cc_when_names, &when, e));
    CC_TRY(cc_json_need_word(item, "scheme", cc_scheme_role_names, &role, e));
    CC_TRY(word_of(item, "algorithm", algorithms, &levels, e));
    CC_TRY(word_of(item, "wait", waits, &ahead, e));
    CC_TRY(word_of(item, "micro_steps", micro_steps, &last, e));
    *c = (struct cc_collective){.what = (enum cc_moved)what,
                                .op = (enum cc_operation)op,
                                .among = (enum cc_among)among,
                                .when = (enum cc_when)when,
                                .role = (enum cc_scheme_role)role,
                                .levels = levels != 0,
                                .ahead = ahead != 0,
                                .last = last != 0};
    if (cJSON_GetObjectItemCaseSensitive(item, "follows") != NULL)
        CC_TRY(cc_json_need_bool(item, "follows", &c->follows, e));
    if (c->follows && system->collectives.count == 0)
        return cc_fail(e, "\"follows\": the first collective follows none");
    system->collectives.count++;
    return check(c, item, e);
}

/* All workers' gradients must meet: among all, or inside hosts and then across them. */
static int check_reduced(const struct cc_system *s, struct cc_error *e)
{
    bool all = false, inside = false, across = false, divides = false, gathers = false;
    for (int i = 0; i < s->collectives.count; i++) {
        const struct cc_collective *c = &s->collectives.item[i];
        const struct cc_collective *before = i > 0 ? c - 1 : NULL;
        const bool gradients = c->what == CC_MOVES_GRADIENTS;
        if (before != NULL && c->follows && (before->what != c->what || before->when != c->when))
            return cc_fail(e,
                           "\"follows\": collective %d does not move what the one before it does, "
                           "at the same time",
                           i);
        if (gradients && (all || across))
            return cc_fail(e, "collective %d adds gradients that are whole sums already", i);
        across |= gradients && inside && c->among == CC_AMONG_HOSTS && c->op == CC_ALLREDUCE &&
                  c->follows;
        all |= gradients && c->among == CC_AMONG_ALL;
        inside |= gradients && c->among == CC_AMONG_HOST;
        divides |= gradients && c->op == CC_REDUCE_SCATTER;
        gathers |= !gradients;
    }
    if (divides && !gathers)
        return cc_fail(e, "gradients are divided by \"reduce-scatter\", and no collective gathers "
                          "the parameters");
    return all || (inside && across)
               ? CC_OK
               : cc_fail(e, "no collective adds the gradients of all workers: add one with "
                            "\"group\": \"all\", or one in \"host\" and behind it an allreduce "
                            "among \"hosts\" that \"follows\"");
}

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    static const char *const keys[] = {"schema",   "name",        "divided", "inside_hosts",
                                       "messages", "collectives", NULL};
    struct cc_system_file *f = out;
    const char *name;
    const cJSON *list;
    size_t count;
    int sharding, whole;
    CC_TRY(cc_json_schema(root, CC_SYSTEM_SCHEMA, "see docs/sharded.md", e));
    CC_TRY(cc_json_keys(root, keys, e));
    CC_TRY(cc_json_need_text(root, "name", &name, e));
    CC_TRY(cc_json_need_word(root, "divided", divided, &sharding, e));
    CC_TRY(word_of(root, "messages", messages, &whole, e));
    if (strlen(name) >= sizeof f->name)
        return cc_fail(e, "\"name\": at most %zu bytes", sizeof f->name - 1);
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    f->system = (struct cc_system){.name = f->name,
                                   .title = "a list of your own",
                                   .exchange = CC_RING,
                                   .mode = CC_OVERLAP,
                                   .pulls = CC_PULL_READY,
                                   .fuse_bytes = whole != 0 ? 1e18 : -1,
                                   .first_fuse_bytes = -1,
                                   .fuse_gradients = true,
                                   .in_turn = true,
                                   .messages = messages[whole],
                                   .sharding = (enum cc_sharding)sharding,
                                   .keeps_gradients = true};
    if (cJSON_GetObjectItemCaseSensitive(root, "inside_hosts") != NULL)
        CC_TRY(cc_json_need_bool(root, "inside_hosts", &f->system.in_host, e));
    CC_TRY(cc_json_need_list(root, "collectives", "collectives", &list, &count, e));
    CC_TRY(cc_json_each(list, "collective", read_collective, &f->system, e));
    return check_reduced(&f->system, e);
}

int cc_system_file_read(const char *path, struct cc_system_file *out, struct cc_error *e)
{
    return cc_json_read_as(path, parse_root, out, e);
}
