/* Which rank, step and direction a file of a trace holds: by its members, or by its name. */
#include "core/trace/trace_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/trace/trace.h"

/* Parses digits at the start of the text; false if there are none or the number exceeds 64 bits. */
static bool parse_u64(const char *text, char **end, uint64_t *out)
{
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *out = strtoull(text, end, 10);
    return errno == 0;
}

static void identify_by_name(const char *path, struct cc_file_id *id)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    bool push = strncmp(name, "push-step", 9) == 0;
    char *end;
    uint64_t step, rank;
    if ((!push && strncmp(name, "pull-step", 9) != 0) || !parse_u64(name + 9, &end, &step))
        return;
    if (push) {
        if (strncmp(end, "-rank", 5) != 0 || !parse_u64(end + 5, &end, &rank) || rank > INT64_MAX)
            return;
        id->rank = (int64_t)rank;
    }
    if (*end != '.')
        return;
    id->direction = push ? CC_PUSH : CC_PULL;
    id->step = step;
    id->has_step = true;
}

static int check_schema(const struct cc_contents *c, struct cc_error *e)
{
    const char *schema = cc_contents_meta(c, "schema");
    if (schema != NULL && strcmp(schema, CC_TRACE_SCHEMA) != 0)
        return cc_fail(e, "its schema is \"%.60s\"; this program reads " CC_TRACE_SCHEMA, schema);
    return CC_OK;
}

static int take_direction(const char *text, struct cc_file_id *id, struct cc_error *e)
{
    if (text == NULL)
        return CC_OK;
    if (strcmp(text, "push") != 0 && strcmp(text, "pull") != 0)
        return cc_fail(e, "metadata direction=\"%.60s\": neither push nor pull", text);
    id->direction = strcmp(text, "push") == 0 ? CC_PUSH : CC_PULL;
    return CC_OK;
}

static int take_rank(const char *text, struct cc_file_id *id, struct cc_error *e)
{
    if (id->direction == CC_PULL) {
        id->rank = -1;
        if (text != NULL && strcmp(text, "-1") != 0)
            return cc_fail(e, "metadata rank=\"%.60s\": a pull is the server's, whose rank is -1",
                           text);
        return CC_OK;
    }
    uint64_t rank;
    char *end;
    if (text == NULL)
        return CC_OK;
    if (!parse_u64(text, &end, &rank) || *end != '\0' || rank > INT64_MAX)
        return cc_fail(e, "metadata rank=\"%.60s\": a push has a rank from 0", text);
    id->rank = (int64_t)rank;
    return CC_OK;
}

int cc_file_identify(const char *path, const struct cc_contents *c, struct cc_file_id *out,
                     struct cc_error *e)
{
    struct cc_file_id id = {.direction = CC_PUSH};
    identify_by_name(path, &id);
    CC_TRY(check_schema(c, e));
    CC_TRY(take_direction(cc_contents_meta(c, "direction"), &id, e));
    CC_TRY(take_rank(cc_contents_meta(c, "rank"), &id, e));
    const char *step = cc_contents_meta(c, "step");
    char *end;
    if (step != NULL) {
        if (!parse_u64(step, &end, &id.step) || *end != '\0')
            return cc_fail(e, "metadata step=\"%.60s\": not a whole number from 0", step);
        id.has_step = true;
    }
    *out = id;
    return CC_OK;
}

int cc_file_id_compare(const struct cc_file_id *a, const struct cc_file_id *b)
{
    if (a->direction != b->direction)
        return a->direction < b->direction ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->step > b->step) - (a->step < b->step);
}

bool cc_file_id_same_stream(const struct cc_file_id *a, const struct cc_file_id *b)
{
    return a->direction == b->direction && a->rank == b->rank;
}
