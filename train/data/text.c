/* Text: documents, one after the other, and every sixteenth of them for testing. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/embed.h"
#include "core/format/gzip.h"
#include "core/infile.h"
#include "core/memory.h"
#include "train/data/sources.h"

#define HELD_OUT 16
#define FEWEST   ((size_t)32) /* documents; fewer are cut */
#define CLASSES  256

/* The New Testament in the King James Version of 1611, whose copyright is expired, as prepared by
 * C. Chapin ("Users may copy, modify or distribute this file at will", train/data/text/README): 260
 * chapters with a form feed between them, a verse on each line. */
CC_EMBED(cc_carried_text, "train/data/text/new-testament.txt.gz");
#define CARRIED_BYTES ((size_t)949739)

void cc_documents_free(struct cc_documents *t)
{
    free(t->byte);
    free(t->end);
    *t = (struct cc_documents){0};
}

static int append(struct cc_documents *to, const uint8_t *from, size_t n, struct cc_error *e)
{
    if (n == 0)
        return CC_OK;
    CC_TRY(CC_GROW(to->byte, &to->capacity, to->bytes + n, e));
    CC_TRY(CC_GROW(to->end, &to->end_capacity, to->count + 1, e));
    memcpy(to->byte + to->bytes, from, n);
    to->bytes += n;
    to->end[to->count++] = to->bytes;
    return CC_OK;
}

int cc_documents_add(struct cc_documents *to, const uint8_t *file, size_t size, struct cc_error *e)
{
    while (size > 0) {
        const uint8_t *feed = memchr(file, '\f', size);
        const size_t n = feed != NULL ? (size_t)(feed - file) : size;
        CC_TRY(append(to, file, n, e));
        file += feed != NULL ? n + 1 : n;
        size -= feed != NULL ? n + 1 : n;
    }
    return CC_OK;
}

/* Cuts all that is there into FEWEST pieces, each of which ends with a line if it has one. */
static int cut(struct cc_documents *t, struct cc_error *e)
{
    size_t count = 0, begin = 0;
    CC_TRY(CC_GROW(t->end, &t->end_capacity, FEWEST, e));
    for (size_t i = 0; i < FEWEST; i++) {
        size_t end = t->bytes * (i + 1) / FEWEST;
        const uint8_t *line = end > begin ? memrchr(t->byte + begin, '\n', end - begin) : NULL;
        if (line != NULL && i + 1 < FEWEST)
            end = (size_t)(line - t->byte) + 1;
        if (end > begin)
            t->end[count++] = begin = end;
    }
    t->count = count;
    return CC_OK;
}

/* Samples begin up to a context later (cc_batch_text), and the byte after the last one is read. */
static size_t samples_of(size_t bytes, size_t context, bool shifts)
{
    const size_t beyond = shifts ? context : 1;
    return bytes > beyond ? (bytes - beyond) / context : 0;
}

int cc_documents_split(struct cc_documents *t, size_t context, struct cc_data *d,
                       struct cc_error *e)
{
    if (t->count < FEWEST)
        CC_TRY(cut(t, e));
    CC_TRY(CC_NEW(d->test.byte, t->bytes + 1, e));
    size_t kept = 0;
    for (size_t i = 0, begin = 0; i < t->count; begin = t->end[i++]) {
        const size_t n = t->end[i] - begin;
        if (i % HELD_OUT == HELD_OUT - 1) {
            memcpy(d->test.byte + d->test.bytes, t->byte + begin, n);
            d->test.bytes += n;
        } else {
            memmove(t->byte + kept, t->byte + begin, n);
            kept += n;
        }
    }
    d->train.byte = t->byte;
    d->train.bytes = kept;
    t->byte = NULL;
    d->train.count = samples_of(kept, context, true);
    d->test.count = samples_of(d->test.bytes, context, false);
    d->channels = d->height = 1;
    d->width = d->context = context;
    d->classes = CLASSES;
    return CC_OK;
}

/* Makes bytes tokens. */
static int use_pairs(struct cc_data *d, size_t tokens, struct cc_error *e)
{
    struct cc_samples *const text[] = {&d->train, &d->test};
    bool used[CC_TOKENS_MOST] = {false};
    size_t have = 0;
    uint32_t *room;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < text[k]->bytes; i++)
            used[text[k]->byte[i]] = true;
    for (size_t b = 0; b < CC_TOKENS_MOST; b++)
        have += used[b];
    if (tokens < have)
        return cc_fail(e, "vocab=%zu: the text has %zu different bytes, each of which is a token",
                       tokens, have);
    CC_TRY(CC_NEW(d->pairs, 1, e));
    CC_TRY(CC_NEW(room, CC_TOKEN_PAIRS, e));
    d->text_bytes = d->test.bytes;
    d->train.bytes =
        cc_byte_pairs_learn(d->pairs, d->train.byte, d->train.bytes, used, tokens, room);
    d->test.bytes = cc_byte_pairs_encode(d->pairs, d->test.byte, d->test.bytes);
    d->train.count = samples_of(d->train.bytes, d->context, true);
    d->test.count = samples_of(d->test.bytes, d->context, false);
    free(room);
    return CC_OK;
}

static int add_carried(struct cc_documents *t, struct cc_error *e)
{
    const struct cc_embedded file = CC_EMBEDDED(cc_carried_text);
    uint8_t *text;
    CC_TRY(CC_NEW(text, CARRIED_BYTES, e));
    int status = cc_gunzip((const uint8_t *)file.begin, cc_embedded_size(&file), text,
                           CARRIED_BYTES, true, e);
    if (status == CC_OK)
        status = cc_documents_add(t, text, CARRIED_BYTES, e);
    free(text);
    return status;
}

static int add_file(struct cc_documents *t, const char *path, struct cc_error *e)
{
    struct cc_bytes file;
    CC_TRY(cc_file_read(path, &file, e));
    const int status = cc_documents_add(t, file.data, file.size, e);
    cc_bytes_free(&file);
    return status;
}

/* The regular files of a folder, in the order of their names. */
static int add_folder(struct cc_documents *t, const char *path, struct cc_error *e)
{
    struct dirent **name = NULL;
    const int count = scandir(path, &name, NULL, alphasort);
    int status = count < 0 ? cc_fail(e, "%s: the folder cannot be read", path) : CC_OK;
    for (int i = 0; i < count; i++) {
        char *file = NULL;
        struct stat st;
        if (status == CC_OK && asprintf(&file, "%s/%s", path, name[i]->d_name) < 0) {
            file = NULL;
            status = cc_fail(e, "out of memory");
        }
        if (status == CC_OK && stat(file, &st) == 0 && S_ISREG(st.st_mode))
            status = add_file(t, file, e);
        free(file);
        free(name[i]);
    }
    free(name);
    return status;
}

int cc_data_text(const char *path, size_t context, size_t tokens, struct cc_data *d,
                 struct cc_error *e)
{
    struct cc_documents t = {0};
    struct stat st;
    int status;
    if (path == NULL)
        status = add_carried(&t, e);
    else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        status = add_folder(&t, path, e);
    else
        status = add_file(&t, path, e);
    if (status == CC_OK && t.bytes == 0)
        status = cc_fail(e, "%s: there is no text in it", path);
    if (status == CC_OK)
        status = cc_documents_split(&t, context, d, e);
    if (status == CC_OK && tokens > 0)
        status = use_pairs(d, tokens, e);
    cc_documents_free(&t);
    return status;
}
