/* Figures of schemes on a net's gradients: settled payload sizes of its tensors and of sums over
 * several workers, and errors. They are measured on the net's own tensors, of a captured trace or
 * drawn at random, and those of drawn ones are kept beside the codec profile, as they are the same
 * on every machine. */
#ifndef CC_CMD_INPUT_FIGURES_H
#define CC_CMD_INPUT_FIGURES_H

#include "bench/update_error.h"
#include "cmd/cli/progress.h"
#include "core/element.h"
#include "core/trace/synth.h"
#include "models/net.h"
#include "models/payload_cost.h"

/* The gradients that are drawn, as `bench` draws them without options. */
enum { CC_FIGURES_STEPS = 8 };

struct cc_figures_config {
    const struct cc_net *net;
    struct cc_trace *trace; /* has the net's tensors; NULL: they are drawn */
    const bool *raw;        /* by tensor: travels as fp32 whatever the scheme */
    const struct cc_spec_list *schemes;
    struct cc_synth drawn; /* how values are drawn, but for steps and ranks */
    enum cc_element dtype; /* of the gradients, drawn or captured: they are rounded to it */
    bool sums;             /* also measure the sizes of sums */
    bool errors;           /* also measure errors, which takes longer than sizes */
    bool remeasure, quiet;
    struct cc_progress *progress;
};

/* The figures of one scheme. */
struct cc_figure_set {
    double *bits; /* per value, by tensor of the net: the settled mean of a step */
    bool settled; /* the sizes */
    size_t steps; /* steps that settling took */
    /* Bits per value of sums, by tensor. NULL: not asked for, or all payloads of the scheme have
     * the same size. */
    struct cc_sum_sizes *sums;
    bool has_sums; /* they were asked for */
    bool sums_settled;
    struct cc_update_error error;
    bool has_error; /* false: not asked for */
};

struct cc_figures {
    struct cc_figure_set *of; /* by scheme */
    size_t count;
    char *trace; /* the gradients' name, and their steps */
    size_t steps;
    size_t part; /* sizes are those of so many of the values; 0: of all */
};

/* Whether the figures of all schemes are kept, so that nothing is measured. */
bool cc_figures_kept(const struct cc_figures_config *config);
/* Measures what is not kept yet, and sets the type of config->trace. The figures of a scheme that
 * cannot be encoded, or has no code, are unknown: bits is NULL, error NaN. An interrupt is a
 * failure. *out is to be freed also after one, if it was zeroed before. */
int cc_figures_open(const struct cc_figures_config *config, struct cc_figures *out,
                    struct cc_error *e);
void cc_figures_free(struct cc_figures *f);

/* The files in which figures of drawn gradients are kept, one for each scheme and net: a cache,
 * which is used if it fits and otherwise ignored. Loads those of scheme number `scheme`; without a
 * file of this net, type, seed and version, *out stays as it is. */
void cc_figures_load(const struct cc_figures_config *config, size_t scheme,
                     struct cc_figure_set *out);
/* Keeps figures whose bits are known. Fails if the file cannot be written; nothing is lost but the
 * time of the next measurement. */
int cc_figures_save(const struct cc_figures_config *config, size_t scheme,
                    const struct cc_figure_set *f, struct cc_error *e);

#endif
