/* Memory: allocation aligned for the widest vectors, growing lists, sizes checked for overflow. */
#ifndef CC_CORE_MEMORY_H
#define CC_CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* The alignment, in bytes, of buffers of values, of codec states and of scratch memory. */
#define CC_ALIGN 64

/* Allocate memory aligned to CC_ALIGN, its contents undefined (cc_alloc) or zero (cc_alloc0). Zero
 * bytes give a valid pointer. NULL with a message if memory runs out, also where the system would
 * promise more than it has. Release with free(). */
void *cc_alloc(size_t bytes, struct cc_error *e);
void *cc_alloc0(size_t bytes, struct cc_error *e);

/* CC_NEW sets a pointer to `count` elements, all zero, as cc_alloc0 allocates them; CC_FAIL, and
 * NULL, after an error. */
#define CC_NEW(list, count, e)                                                                     \
    (((list) = cc_new_list(count, sizeof *(list), e)) != NULL ? CC_OK : CC_FAIL)
void *cc_new_list(size_t count, size_t element_bytes, struct cc_error *e);

/* Allocates n float32 values, all zero, as cc_alloc0 does. *out is NULL after an error. */
int cc_alloc_floats(size_t n, float **out, struct cc_error *e);

/* CC_GROW makes a list, a pointer from malloc or NULL, hold at least `count` elements: it
 * reallocates the list with at least twice its capacity if it is too small. CC_OK, or CC_FAIL with
 * a message, and list and *capacity as before. The compound literal rejects anything but a pointer
 * to the elements. cc_grow_bytes is for elements whose type only the caller's caller knows: `list`
 * is the address of the pointer. */
#define CC_GROW(list, capacity, count, e)                                                          \
    cc_grow_bytes((__typeof__(*(list)) **){&(list)}, capacity, count, sizeof *(list), e)
int cc_grow_bytes(void *list, size_t *capacity, size_t count, size_t element_bytes,
                  struct cc_error *e);

/* A copy of a string, to be released with free(); NULL with a message if memory runs out. */
char *cc_strdup(const char *s, struct cc_error *e);
/* Sets *out to a text that is printed, to be released with free(); to NULL if memory runs out. */
int cc_text(char **out, struct cc_error *e, const char *fmt, ...) CC_PRINTF(3, 4);
/* Prints a text behind the one that is in out[0, cap), cut off where it does not fit. */
void cc_append(char *out, size_t cap, const char *fmt, ...) CC_PRINTF(3, 4);
/* The same for a list: the separator comes before the text unless the list is empty. */
void cc_list_add(char *list, size_t cap, const char *separator, const char *fmt, ...)
    CC_PRINTF(4, 5);

/* The number behind `name` at the beginning of a line of a file such as /proc/meminfo; `otherwise`
 * if there is none. */
size_t cc_memory_counter(const char *path, const char *name, size_t otherwise);

/* Bytes of memory that the system has available; close to SIZE_MAX if it does not report them. */
size_t cc_memory_available(void);

/* Fails if `bytes` is more than nine tenths of the memory available, before the system's
 * out-of-memory killer ends the program. `what` begins the message: "the states of 9 schemes". */
int cc_memory_check(size_t bytes, const char *what, struct cc_error *e);

static inline size_t cc_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t cc_larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Rounds a size up to a multiple of CC_ALIGN; SIZE_MAX when that overflows. */
static inline size_t cc_align_up(size_t bytes)
{
    return bytes > SIZE_MAX - (CC_ALIGN - 1) ? SIZE_MAX
                                             : (bytes + CC_ALIGN - 1) & ~(size_t)(CC_ALIGN - 1);
}

/* Sets *out = a * b; returns false and leaves *out if that overflows. */
static inline bool cc_mul(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

/* Sums and products of sizes in bytes; SIZE_MAX: more than a size can hold, also in an operand. */
static inline size_t cc_bytes_sum(size_t a, size_t b)
{
    size_t bytes;
    return __builtin_add_overflow(a, b, &bytes) ? SIZE_MAX : bytes;
}

static inline size_t cc_bytes_product(size_t a, size_t b)
{
    size_t bytes;
    return cc_mul(a, b, &bytes) ? bytes : SIZE_MAX;
}

/* Bytes of n float32 values, as above. */
static inline size_t cc_float_bytes(size_t n)
{
    return cc_bytes_product(n, sizeof(float));
}

#endif
