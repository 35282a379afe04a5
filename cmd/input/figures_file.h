/* The files in which figures of drawn gradients are kept, one for each scheme and net: a cache,
 * which is used if it fits and otherwise ignored. */
#ifndef CC_CMD_INPUT_FIGURES_FILE_H
#define CC_CMD_INPUT_FIGURES_FILE_H

#include "cmd/input/figures.h"

/* Takes the figures that are kept of scheme number `scheme`. Without a file of this net, seed and
 * version, *out stays as it is. */
void cc_figures_load(const struct cc_figures_config *config, size_t scheme,
                     struct cc_figure_set *out);

/* Keeps the figures, whose bits are known. Fails if the file cannot be written; nothing is lost but
 * the time of the next measurement. */
int cc_figures_save(const struct cc_figures_config *config, size_t scheme,
                    const struct cc_figure_set *f, struct cc_error *e);

#endif
