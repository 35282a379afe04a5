/* Files that are linked into the program. */
#ifndef CC_CORE_EMBED_H
#define CC_CORE_EMBED_H

#include <stddef.h>

/* Links a file in; used at file scope. `path` is relative to the top of the source tree. */
#define CC_EMBED(symbol, path)                                                                     \
    __asm__(".section .rodata\n" #symbol "_begin: .incbin \"" path "\"\n" #symbol                  \
            "_end: .byte 0\n.previous\n");                                                         \
    extern const char symbol##_begin[], symbol##_end[]

/* The bytes of an embedded file, and an initializer for them. */
struct cc_embedded {
    const char *begin, *end;
};
#define CC_EMBEDDED(symbol)                                                                        \
    {                                                                                              \
        symbol##_begin, symbol##_end                                                               \
    }

/* For lists of such files, whose rows are X(symbol, name): the names, for cc_nearest and others. */
#define CC_EMBED_NAME(symbol, name) name,

static inline size_t cc_embedded_size(const struct cc_embedded *f)
{
    return (size_t)(f->end - f->begin);
}

#endif
