/* Advice after an unknown word: "did you mean", or the words that there are. */
#ifndef CC_CORE_NEAREST_H
#define CC_CORE_NEAREST_H

#include <stddef.h>

/* The entry of a list, which ends with NULL, that `word` was most likely meant to be; NULL if none
 * is near. The distance counts inserted, deleted and changed characters and transposed neighbours,
 * ignoring case; at most a third of the word's characters may differ (but one in any case, and one
 * more where the first half agrees). Among equally near entries, the one with the longest common
 * prefix wins. An entry that begins with the word counts as near, too, if no other does and the
 * word has three characters or more. */
const char *cc_nearest(const char *word, const char *const *list);

/* Writes "a, b, c" into out[0, cap), cut off if it does not fit. cap > 0. */
void cc_word_list(const char *const *list, char *out, size_t cap);

#endif
