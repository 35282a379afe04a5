/* Errors. Functions that can fail return a status and take a struct cc_error for the message. The
 * function that finds the fault writes the message; its callers pass the status on, and may put a
 * place before the message; only main prints it. A message names the file or tensor, the place in
 * it, and the remedy. */
#ifndef CC_CORE_ERROR_H
#define CC_CORE_ERROR_H

/* The status of every function that can fail. The values are the program's exit codes. */
enum cc_status {
    CC_OK = 0,
    CC_FAIL = 1,     /* bad input, no memory, a failed system call or check */
    CC_USAGE = 2,    /* a mistake on the command line */
    CC_DIVERGED = 3, /* a training's values, or their sum, are not finite. Not an exit code: where
                        nothing trains, it becomes CC_FAIL */
};

struct cc_error {
    char text[512]; /* one line without a newline; empty while nothing is wrong */
};

#define CC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Writes the message, cut to the size of e->text, with what a terminal must not get
 * (core/utf8.h) replaced by '?'. e may be NULL if the caller needs no message. */
void cc_error_set(struct cc_error *e, const char *fmt, ...) CC_PRINTF(2, 3);

/* Write the message and have the value CC_FAIL, CC_USAGE or CC_DIVERGED: `return cc_fail(e, "%s:
 * empty", path);`. Macros, so that compilers and analyzers know the value. */
#define cc_fail(e, ...)     (cc_error_set(e, __VA_ARGS__), (int)CC_FAIL)
#define cc_usage(e, ...)    (cc_error_set(e, __VA_ARGS__), (int)CC_USAGE)
#define cc_diverged(e, ...) (cc_error_set(e, __VA_ARGS__), (int)CC_DIVERGED)

/* Passes a failure on: returns the status of a call that did not give CC_OK. For functions that
 * have nothing to release at that point. */
#define CC_TRY(call)                                                                               \
    do {                                                                                           \
        const int cc_try_status = (call);                                                          \
        if (cc_try_status != CC_OK)                                                                \
            return cc_try_status;                                                                  \
    } while (0)

/* The same for functions with something to release: stores the status of the call in the local
 * variable `status` and, unless it is CC_OK, goes to the label `out`, the function's only exit. */
#define CC_TRY_OUT(call)                                                                           \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CC_OK)                                                                       \
            goto out;                                                                              \
    } while (0)

/* Puts "PLACE: " before the message that e has. e may be NULL. */
void cc_error_in(struct cc_error *e, const char *fmt, ...) CC_PRINTF(2, 3);
/* The same after a failure, for the end of a function: `return cc_status_in(status, e, "%s",
 * path);` has the value of the status. */
int cc_status_in(int status, struct cc_error *e, const char *fmt, ...) CC_PRINTF(3, 4);

/* CC_TRY that puts a place before the message: CC_TRY_IN(read(path, e), e, "%s", path). */
#define CC_TRY_IN(call, e, ...)                                                                    \
    do {                                                                                           \
        const int cc_try_status = (call);                                                          \
        if (cc_try_status != CC_OK) {                                                              \
            cc_error_in(e, __VA_ARGS__);                                                           \
            return cc_try_status;                                                                  \
        }                                                                                          \
    } while (0)

#endif
