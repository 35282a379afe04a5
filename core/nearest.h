/* Lists of words: finding one, a word that is there twice, and advice after an unknown one: "did
 * you mean", or the words that there are. */
#ifndef CC_CORE_NEAREST_H
#define CC_CORE_NEAREST_H

#include <stddef.h>

#include "core/error.h"

/* The entry of a list, which ends with NULL, that `word` was most likely meant to be; NULL if none
 * is near. The distance counts inserted, deleted and changed characters and transposed neighbours,
 * ignoring case; at most a third of the word's characters may differ (but one in any case, and one
 * more where the first half agrees). Among equally near entries, the one with the longest common
 * prefix wins. An entry that begins with the word counts as near, too, if no other does and the
 * word has three characters or more. */
const char *cc_nearest(const char *word, const char *const *list);

/* The index of a word in a list, which ends with NULL; -1 if it is not there. */
int cc_word_find(const char *const *list, const char *word);
/* Sorts the texts; returns one that is there twice, or NULL. */
const char *cc_word_twice(const char **text, size_t count);

/* Writes "a, b, c" into out[0, cap), cut off if it does not fit. cap > 0. */
void cc_word_list(const char *const *list, char *out, size_t cap);

#endif
