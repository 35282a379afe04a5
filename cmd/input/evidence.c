/* Reads the list that is linked in. Rows of a setting follow one another and have the same text in
 * the column `setting`. */
#include "cmd/input/evidence.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/embed.h"
#include "core/memory.h"

CC_EMBED(cc_evidence_text, "cmd/input/evidence.csv");
static const struct cc_embedded text = CC_EMBEDDED(cc_evidence_text);

static const char *text_at(const struct cc_sheet *s, size_t row, const char *key)
{
    const char *found = cc_sheet_value(s, row, cc_sheet_column(s, key))->text;
    return found != NULL ? found : "";
}

static double number_at(const struct cc_sheet *s, size_t row, const char *key)
{
    struct cc_error e;
    double v = NAN;
    (void)cc_sheet_number(s, row, cc_sheet_column(s, key), &v, &e);
    return v;
}

/* The kind of a net by its tensors, in the words of the column `kind`. */
static const char *kind_of(const struct cc_net *net)
{
    static const char *const attention[] = {"attention", "attn", "query", "qkv", "q_proj"};
    static const char *const recurrent[] = {"lstm", "gru", "rnn"};
    bool convolutions = false;
    for (size_t k = 0; k < sizeof recurrent / sizeof *recurrent; k++)
        if (strstr(net->name, recurrent[k]) != NULL)
            return "recurrent";
    for (size_t i = 0; i < net->count; i++) {
        for (size_t k = 0; k < sizeof attention / sizeof *attention; k++)
            if (strstr(net->tensors[i].name, attention[k]) != NULL)
                return "attention";
        convolutions = convolutions || net->tensors[i].shape.ndim == 4;
    }
    return convolutions ? "convolutions" : "dense";
}

bool cc_evidence_attends(const struct cc_net *net)
{
    return strcmp(kind_of(net), "attention") == 0;
}

static struct cc_evidence read_row(const struct cc_sheet *s, size_t row)
{
    const char *scheme = text_at(s, row, "scheme"), *about = text_at(s, row, "setting");
    if (number_at(s, row, "diverged") > 0)
        return (struct cc_evidence){scheme, about, INFINITY, NAN, NAN};
    return (struct cc_evidence){scheme, about, number_at(s, row, "lost"),
                                number_at(s, row, "lost_low"), number_at(s, row, "lost_high")};
}

int cc_evidence_open(const struct cc_net *net, struct cc_evidence_list *out, struct cc_error *e)
{
    const char *kind = kind_of(net);
    int best[2] = {-1, -1};
    *out = (struct cc_evidence_list){.setting = {NULL}};
    CC_TRY(cc_sheet_parse_csv("evidence.csv", text.begin, cc_embedded_size(&text), &out->sheet, e));
    CC_TRY(CC_NEW(out->row, out->sheet.rows, e));
    for (size_t i = 0; i < out->sheet.rows; i++) {
        out->row[i] = read_row(&out->sheet, i);
        if (strcmp(text_at(&out->sheet, i, "kind"), kind) != 0)
            continue;
        const int by_servers = strcmp(text_at(&out->sheet, i, "exchange"), "ps") == 0;
        for (int servers = 0; servers < 2; servers++) {
            const int alike = by_servers == servers;
            if (alike > best[servers]) {
                best[servers] = alike;
                out->setting[servers] = out->row[i].about;
            }
        }
    }
    return CC_OK;
}

void cc_evidence_close(struct cc_evidence_list *l)
{
    free(l->row);
    if (l->sheet.rows > 0)
        cc_sheet_free(&l->sheet);
}

/* Whether a row's setting counts. */
static bool counts(const struct cc_evidence_list *l, enum cc_exchange exchange, const char *setting)
{
    const bool servers = cc_exchange_has(exchange, CC_X_SERVERS);
    const bool both = cc_exchange_has(exchange, CC_X_RECODES);
    for (int k = 0; k < 2; k++)
        if ((k == servers || both) &&
            (l->setting[k] == NULL || strcmp(setting, l->setting[k]) == 0))
            return true;
    return false;
}

bool cc_evidence_find(const struct cc_evidence_list *l, enum cc_exchange exchange,
                      const char *scheme, struct cc_evidence *out)
{
    bool found = false;
    for (size_t i = 0; i < l->sheet.rows; i++) {
        const struct cc_evidence *row = &l->row[i];
        if (strcmp(row->scheme, scheme) != 0 || !counts(l, exchange, row->about))
            continue;
        if (!found || row->lost > out->lost)
            *out = *row;
        found = true;
    }
    return found;
}

void cc_evidence_print(const struct cc_evidence_list *l, enum cc_exchange exchange,
                       const char *scheme, char *out, size_t cap)
{
    static const char trial[] = "a trial of your own training decides (docs/trial.md)";
    const bool known = l->setting[cc_exchange_has(exchange, CC_X_SERVERS)] != NULL;
    const char *where =
        known ? "the nearest of our own trainings"
              : "the hardest for it of our own trainings, as none is of a net of this kind";
    struct cc_evidence found;
    if (!cc_evidence_find(l, exchange, scheme, &found))
        (void)snprintf(out, cap, "untried: no training of ours has %s; %s", scheme, trial);
    else if (isinf(found.lost))
        (void)snprintf(out, cap, "evidence: %s diverged in %s (%s); %s", scheme, where, found.about,
                       trial);
    else
        (void)snprintf(out, cap,
                       "evidence: %s ended %.2f points of accuracy %s fp32 (%+.2f to %+.2f) in %s "
                       "(%s); %s",
                       scheme, 100 * fabs(found.lost), found.lost > 0 ? "below" : "above",
                       -100 * found.high, -100 * found.low, where, found.about, trial);
}
