/* The keys of results: the names that JSON and CSV have, each with one meaning in all commands. */
#ifndef CC_RESULTS_KEY_H
#define CC_RESULTS_KEY_H

#include <stdbool.h>
#include <stddef.h>

/* How a value was obtained. */
enum cc_origin {
    CC_ORIGIN_UNKNOWN,
    CC_ORIGIN_GIVEN,     /* by options and input */
    CC_ORIGIN_MEASURED,  /* in this run, or in that of the codec profile */
    CC_ORIGIN_COMPUTED,  /* by formulas, also a difference or ratio of figures of other origins */
    CC_ORIGIN_SIMULATED, /* by a simulated clock */
    CC_ORIGIN_PUBLISHED, /* printed in a paper */
    CC_ORIGIN_TRAINED,   /* by training */
    CC_ORIGINS
};

/* The word of an origin, such as "measured", and its explanation. */
const char *cc_origin_word(enum cc_origin o);
const char *cc_origin_help(enum cc_origin o);
/* The origin with this word; CC_ORIGIN_UNKNOWN if there is none. */
enum cc_origin cc_origin_of_word(const char *word);

/* A key. Numbers are in the unit that the name says: seconds (_s), bytes (_bytes), bits per second
 * (_bps). A table titles the column by `head`, or by the name if `head` is NULL; it multiplies
 * numbers by `scale`, so that they are in `unit` ("" if none), and prints them by `format`: a
 * printf format for one double, "%.6g" if it is NULL. Of the decimals of "%.3f" it prints those
 * among the first four digits. CC_RATE prints bits per second with their unit, such as 10 Gbit/s.
 * Truth values are "yes" and "no", or with a format that text and nothing. */
#define CC_RATE "rate"
struct cc_result_key {
    const char *name;
    enum cc_origin origin; /* the origin of its values, unless a command or a row says otherwise */
    const char *head, *unit, *format;
    double scale;
    const char *help; /* the meaning, in one line */
};

/* The table is results/keys.def. CC_KEY(step_s) is the address of a key, for initializers too; a
 * name that the table lacks does not compile. */
enum cc_result_key_index {
#define KEY(name, origin, head, unit, format, scale, help) CC_KEY_##name,
#include "results/keys.def"
#undef KEY
    CC_KEYS
};
extern const struct cc_result_key cc_result_keys[CC_KEYS];
#define CC_KEY(name) (&cc_result_keys[CC_KEY_##name])

/* The name that a key has now which results of schema commcomp/1 called `name`: it can depend on
 * the command that wrote them. */
const char *cc_key_renamed(const char *command, const char *name);

#endif
