/* Assertions about numbers, for cmocka. */
#ifndef CC_TESTS_LIB_NUMBER_H
#define CC_TESTS_LIB_NUMBER_H

/* Fail the test, saying what is wrong, unless the number differs from what it should be by no more
 * than the tolerance, relative to that. close_to_at says in which of several cases, too. */
void close_to(double is, double should, double tolerance, const char *what);
void close_to_at(double is, double should, double tolerance, const char *what, int at);

#endif
