/* model --solve bw: the bandwidth that a compute utilization takes. */
#ifndef CC_CMD_MODEL_SOLVE_H
#define CC_CMD_MODEL_SOLVE_H

#include "cmd/model/forecast.h"

struct cc_solve_options {
    struct cc_given given;
    enum { CC_SOLVE_NOTHING, CC_SOLVE_BW } solve;
    double *cu; /* shares */
    size_t cus;
    size_t not_found; /* rows so far that no bandwidth is enough for */
};
extern const struct cc_option cc_solve_options[];

/* Reads --solve and --cu, which go together and with one --bw; free with cc_options_free. */
int cc_solve_parse(const struct cc_args *args, const struct cc_forecast *f,
                   struct cc_solve_options *out, struct cc_error *e);

/* Adds a row for each utilization that is wanted of a scheme in a setting: the bandwidth that it
 * takes, with the step there. */
int cc_solve_rows(struct cc_forecast *f, struct cc_solve_options *o, struct cc_record *r,
                  size_t scheme, const struct cc_setting *s, struct cc_error *e);
/* Notes which scheme needs least, and the rows that no bandwidth is enough for. */
int cc_solve_note(const struct cc_solve_options *o, const struct cc_forecast *f,
                  struct cc_record *r, struct cc_error *e);

#endif
