/* The pieces that the readers of data sets share: keys of a data set's text, the shape of a sample,
 * and samples that are set aside for testing. */
#include "train/data/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "core/tensor.h"
#include "core/units.h"

int cc_data_dims(const char *text, struct cc_data *d, struct cc_error *e)
{
    struct cc_shape shape;
    CC_TRY(cc_shape_parse(text, &shape, e));
    if (shape.n == 0 || (shape.ndim != 1 && shape.ndim != 3))
        return cc_usage(e, "a sample has channels, height and width, as in 3x32x32, or one number "
                           "of features");
    d->channels = shape.dim[0];
    d->height = shape.ndim == 3 ? shape.dim[1] : 1;
    d->width = shape.ndim == 3 ? shape.dim[2] : 1;
    return CC_OK;
}

static int parse(const struct cc_data_key *k, const char *value, void *to, struct cc_error *e)
{
    const unsigned long long least = k->least, most = k->most;
    uint64_t *count = to;
    double *number = to;
    char *end;
    switch (k->form) {
    case CC_KEY_COUNT:
        CC_TRY(cc_parse_count(value, count, e));
        if (*count < least || *count > most)
            return cc_usage(e, "%s is not between %llu and %llu", value, least, most);
        return CC_OK;
    case CC_KEY_FEATURES:
        *count = strtoul(value, &end, 10);
        if (*end != '\0' || value[0] == '-' || *count < least || *count > most)
            return cc_usage(e, "from %llu to %llu features", least, most);
        return CC_OK;
    case CC_KEY_NUMBER:
        *number = strtod(value, &end);
        if (!cc_is_decimal(value, strlen(value)) || *end != '\0' ||
            !(*number >= 0 && *number <= (double)most))
            return cc_usage(e, "'%s' is not a number from 0 to %llu", value, most);
        return CC_OK;
    case CC_KEY_SHARE:
        return cc_parse_share(value, number, e);
    case CC_KEY_PATH:
        free(*(char **)to);
        *(char **)to = cc_strdup(value, e);
        return *(char **)to != NULL ? CC_OK : CC_FAIL;
    case CC_KEY_FIRST:
        *(bool *)to = strcmp(value, "first") == 0;
        return *(bool *)to || strcmp(value, "last") == 0
                   ? CC_OK
                   : cc_usage(e, "'%s' is not first or last", value);
    case CC_KEY_DIMS:
        break;
    }
    return cc_data_dims(value, *(struct cc_data **)to, e);
}

static int set(const char *word, const char *value, const struct cc_data_key *table, void *out,
               struct cc_error *e)
{
    char names[128] = "";
    size_t used = 0;
    for (const struct cc_data_key *k = table; k->name != NULL && used < sizeof names; k++) {
        if (strcmp(k->name, word) == 0)
            return parse(k, value, (char *)out + k->at, e);
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", k == table ? "" : ", ",
                                 k->name);
    }
    return cc_usage(e, "there is no key '%s'; there are %s", word, names);
}

int cc_data_keys(const char *keys, const struct cc_data_key *table, void *out, struct cc_error *e)
{
    char *copy = cc_strdup(keys != NULL ? keys : "", e), *rest = copy, *save;
    int status = CC_OK;
    if (copy == NULL)
        return CC_FAIL;
    for (char *word; status == CC_OK && (word = strtok_r(rest, ",", &save)) != NULL; rest = NULL) {
        char *value = strchr(word, '=');
        if (value == NULL) {
            status = cc_usage(e, "'%s' should be a key and a value, as in key=value", word);
            break;
        }
        *value++ = '\0';
        status = set(word, value, table, out, e);
        if (status != CC_OK)
            cc_error_in(e, "%s=%s", word, value);
    }
    free(copy);
    return status;
}

enum { EVERY = 5 };

static bool tests(size_t i, size_t count)
{
    const struct cc_random_id id = {.rank = -1};
    const size_t run = i / EVERY;
    return run < count / EVERY &&
           i % EVERY ==
               (size_t)((uint64_t)cc_random(cc_key(&id, run), (uint32_t)run) * EVERY >> 32);
}

static int split_values(struct cc_data *d, struct cc_error *e)
{
    struct cc_samples *t = &d->test;
    const size_t each = cc_data_values(d) * (d->train.byte != NULL ? 1 : sizeof(float));
    uint8_t *from = d->train.byte != NULL ? d->train.byte : (void *)d->train.value;
    uint8_t *to = cc_alloc(d->train.count / EVERY * each, e);
    size_t tested = 0, kept = 0;
    *(d->train.byte != NULL ? (void **)&t->byte : (void **)&t->value) = to;
    if (to == NULL)
        return CC_FAIL;
    for (size_t i = 0; i < d->train.count; i++) {
        const bool moves = tests(i, d->train.count);
        memmove(moves ? to + tested * each : from + kept * each, from + i * each, each);
        *(moves ? &tested : &kept) += 1;
    }
    return CC_OK;
}

static int split_rows(struct cc_data *d, struct cc_error *e)
{
    const size_t count = d->train.count;
    bool *moves;
    CC_TRY(CC_NEW(moves, count, e));
    for (size_t i = 0; i < count; i++)
        moves[i] = tests(i, count);
    const int status = cc_rows_move(&d->train.rows, moves, &d->test.rows, e);
    free(moves);
    return status;
}

int cc_data_split(struct cc_data *d, struct cc_error *e)
{
    const size_t all = d->train.count;
    size_t kept = 0;
    CC_TRY(CC_NEW(d->test.label, all / EVERY, e));
    CC_TRY(d->train.rows.count > 0 ? split_rows(d, e) : split_values(d, e));
    for (size_t i = 0; i < all; i++) {
        if (tests(i, all))
            d->test.label[d->test.count++] = d->train.label[i];
        else
            d->train.label[kept++] = d->train.label[i];
    }
    d->train.count = kept;
    return CC_OK;
}
