/* Reads the list that is linked in. Rows of a setting follow one another and have the same text in
 * the column `setting`. */
#include "cmd/input/evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/embed.h"

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

int cc_evidence_open(const struct cc_net *net, enum cc_exchange exchange,
                     struct cc_evidence_list *out, struct cc_error *e)
{
    const char *kind = kind_of(net);
    const bool servers = cc_exchange_has(exchange, CC_X_SERVERS);
    int best = -1;
    *out = (struct cc_evidence_list){.setting = 0};
    CC_TRY(cc_sheet_parse_csv("evidence.csv", text.begin, cc_embedded_size(&text), &out->sheet, e));
    for (size_t i = 0; i < out->sheet.rows; i++) {
        const bool ps = strcmp(text_at(&out->sheet, i, "exchange"), "ps") == 0;
        if (strcmp(text_at(&out->sheet, i, "kind"), kind) == 0 && (ps == servers) > best) {
            best = ps == servers;
            out->known = true;
            out->setting = i;
        }
    }
    return CC_OK;
}

void cc_evidence_close(struct cc_evidence_list *l)
{
    if (l->sheet.rows > 0)
        cc_sheet_free(&l->sheet);
}

bool cc_evidence_find(const struct cc_evidence_list *l, const char *scheme, struct cc_evidence *out)
{
    const struct cc_sheet *s = &l->sheet;
    const char *setting = text_at(s, l->setting, "setting");
    for (size_t i = l->setting; l->known && i < s->rows; i++)
        if (strcmp(text_at(s, i, "setting"), setting) == 0 &&
            strcmp(text_at(s, i, "scheme"), scheme) == 0) {
            *out = (struct cc_evidence){.about = setting,
                                        .lost = number_at(s, i, "lost"),
                                        .low = number_at(s, i, "lost_low"),
                                        .high = number_at(s, i, "lost_high"),
                                        .diverged = number_at(s, i, "diverged")};
            return true;
        }
    return false;
}

void cc_evidence_print(const struct cc_evidence_list *l, const char *scheme, const char *more,
                       char *out, size_t cap)
{
    static const char trial[] = "a trial of your own training decides (docs/trial.md)";
    struct cc_evidence found;
    if (!cc_evidence_find(l, scheme, &found))
        (void)snprintf(out, cap, "untried: %s, in the nearest of our own trainings%s; %s", scheme,
                       more, trial);
    else if (found.diverged > 0)
        (void)snprintf(out, cap,
                       "evidence: %s diverged in the nearest of our own trainings, %s%s; %s",
                       scheme, found.about, more, trial);
    else
        (void)snprintf(out, cap,
                       "evidence: %s ended %.2f points of accuracy %s fp32 (%+.2f to %+.2f) in the "
                       "nearest of our own trainings, %s%s; %s",
                       scheme, 100 * fabs(found.lost), found.lost > 0 ? "below" : "above",
                       -100 * found.high, -100 * found.low, found.about, more, trial);
}
