/* Assertions about texts, for cmocka. */
#ifndef CC_TESTS_LIB_TEXT_H
#define CC_TESTS_LIB_TEXT_H

/* Fail the test, printing the text, unless it contains the part, or does not contain it. */
void assert_contains(const char *text, const char *part);
void assert_lacks(const char *text, const char *part);

#endif
