/* The version of the program and of the library. */
#ifndef CC_CORE_VERSION_H
#define CC_CORE_VERSION_H

/* With the commit behind it if it was built in a git repository: "0.2.0 (0123abc)". Valid for ever.
 */
const char *cc_version(void);

#endif
