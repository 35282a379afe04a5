#include "train/data/byte_pairs.h"

#include <string.h>

/* Replaces a pair from left to right, so that of three alike the first two go together. */
static size_t replace(const struct cc_byte_pair *p, uint8_t *text, size_t n)
{
    size_t to = 0;
    for (size_t i = 0; i < n; to++) {
        const bool both = text[i] == p->left && i + 1 < n && text[i + 1] == p->right;
        text[to] = both ? p->token : text[i];
        i += both ? 2 : 1;
    }
    return to;
}

/* The most frequent pair of a text, as left 256 + right; *times how often it occurs, where
 * occurrences do not overlap. */
static unsigned most_frequent(const uint8_t *text, size_t n, uint32_t *count, uint32_t *times)
{
    unsigned most = 0;
    memset(count, 0, CC_TOKEN_PAIRS * sizeof *count);
    for (size_t i = 1; i < n; i++) {
        count[text[i - 1] * CC_TOKENS_MOST + text[i]]++;
        if (i + 1 < n && text[i] == text[i - 1] && text[i + 1] == text[i])
            i++; /* the second pair of three alike is none */
    }
    for (unsigned pair = 1; pair < CC_TOKEN_PAIRS; pair++)
        most = count[pair] > count[most] ? pair : most;
    *times = count[most];
    return most;
}

size_t cc_byte_pairs_learn(struct cc_byte_pairs *p, uint8_t *text, size_t n,
                           const bool used[CC_TOKENS_MOST], size_t tokens,
                           uint32_t count[CC_TOKEN_PAIRS])
{
    size_t have = 0;
    p->count = 0;
    for (size_t b = 0; b < CC_TOKENS_MOST; b++)
        have += used[b];
    for (size_t b = 0; b < CC_TOKENS_MOST && have < tokens; b++) {
        uint32_t times;
        if (used[b])
            continue;
        const unsigned pair = most_frequent(text, n, count, &times);
        if (times < 2)
            break;
        struct cc_byte_pair *const next = &p->pair[p->count++];
        *next = (struct cc_byte_pair){.token = (uint8_t)b,
                                      .left = (uint8_t)(pair / CC_TOKENS_MOST),
                                      .right = (uint8_t)(pair % CC_TOKENS_MOST)};
        n = replace(next, text, n);
        have++;
    }
    return n;
}

size_t cc_byte_pairs_encode(const struct cc_byte_pairs *p, uint8_t *text, size_t n)
{
    for (size_t i = 0; i < p->count; i++)
        n = replace(&p->pair[i], text, n);
    return n;
}

size_t cc_byte_pairs_decode(const struct cc_byte_pairs *p, uint8_t token, uint8_t *out, size_t cap)
{
    /* Tokens still to be written, the next one on top: each pair's depth adds at most one. */
    uint8_t stack[CC_TOKENS_MOST + 1];
    size_t height = 1, bytes = 0;
    stack[0] = token;
    while (height > 0) {
        const uint8_t next = stack[--height];
        size_t i = 0;
        while (i < p->count && p->pair[i].token != next)
            i++;
        if (i < p->count) {
            stack[height++] = p->pair[i].right;
            stack[height++] = p->pair[i].left;
        } else {
            if (bytes < cap)
                out[bytes] = next;
            bytes++;
        }
    }
    return bytes;
}
