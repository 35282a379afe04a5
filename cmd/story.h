/* --timeline: what the ranks report of what they did when, as a file. */
#ifndef CC_CMD_STORY_H
#define CC_CMD_STORY_H

#include "cmd/plan.h"
#include "results/timeline.h"

#define CC_STORY_OPTION                                                                            \
    {                                                                                              \
        .name = "timeline", .value = "FILE",                                                       \
        .help = "write what every rank did when, for ui.perfetto.dev or chrome://tracing "         \
                "(docs/timeline.md)"                                                               \
    }

struct cc_story {
    const char *path; /* NULL: nobody asks, and nothing happens */
    struct cc_timeline *file;
    const char *how; /* "sim, alpha-beta": part of the rows' names */
    size_t rows;     /* that are in it */
};

/* Creates the file if the options ask for it: before anything is measured. `how` may be written
 * until there are rows. */
int cc_story_open(struct cc_story *s, const struct cc_args *args, const char *how,
                  struct cc_error *e);
/* Lets the jobs of a plan ask for moments, if there is a file for them. */
void cc_story_follow(struct cc_story *s, struct cc_plan *p);
/* Of a rank in a row of a setting, rank after rank. p->story must be there. */
int cc_story_take(const struct cc_plan *p, const struct cc_planned *setting,
                  const struct cc_report_moments *m, struct cc_error *e);
/* Completes the file with what there is, also after an error or an interrupt; none if there is
 * nothing. Returns `status`, or what went wrong with the file. */
int cc_story_close(struct cc_story *s, struct cc_record *record, int status, struct cc_error *e);

#endif
