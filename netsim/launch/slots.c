#include "netsim/launch/slots.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/launch/host_names.h"

enum { SHOWN = 100 }; /* bytes of a text that a message shows */

/* --- lists --- */

/* Adds a host whose name must not be one that the list has. */
static int append(struct cc_slot_list *list, const char *name, size_t length, int count,
                  struct cc_error *e)
{
    struct cc_error why;
    char *copy;
    if (list->count == CC_SLOTS_HOSTS)
        return cc_fail(e, "more than %d hosts", CC_SLOTS_HOSTS);
    CC_TRY(CC_GROW(list->host, &list->capacity, list->count + 1, e));
    CC_TRY(cc_text(&copy, e, "%.*s", (int)length, name));
    if (cc_host_list_check(copy, &why) != CC_OK) {
        free(copy);
        return cc_fail(e, "'%.*s' is not the name of a host",
                       (int)(length < SHOWN ? length : SHOWN), name);
    }
    list->host[list->count++] = (struct cc_slots){copy, count};
    return CC_OK;
}

/* Adds slots of a host, which the list may have already. */
static int add(struct cc_slot_list *list, const char *name, size_t length, int count,
               struct cc_error *e)
{
    for (size_t i = 0; i < list->count; i++) {
        struct cc_slots *h = &list->host[i];
        if (strlen(h->name) != length || memcmp(h->name, name, length) != 0)
            continue;
        h->count = h->count == 0 || count == 0 ? 0 : h->count + count;
        return h->count <= CC_SLOTS_HOSTS
                   ? CC_OK
                   : cc_fail(e, "%s: more than %d slots", h->name, CC_SLOTS_HOSTS);
    }
    return append(list, name, length, count, e);
}

void cc_slots_free(struct cc_slot_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->host[i].name);
    free(list->host);
    *list = (struct cc_slot_list){.host = NULL};
}

/* Reads digits up to `end`; -1 if there are none, or if the number exceeds `most`. */
static long read_number(const char **at, const char *end, long most)
{
    long value = -1;
    for (; *at < end && isdigit((unsigned char)**at); (*at)++) {
        value = 10 * (value < 0 ? 0 : value) + (**at - '0');
        if (value > most)
            return -1;
    }
    return value;
}

int cc_slots_of_list(const char *text, struct cc_slot_list *list, struct cc_error *e)
{
    for (size_t n;; text += n + 1) {
        n = strcspn(text, ",");
        /* "[fe80::1]:2" */
        const char *end = text + n, *bracket = memchr(text, ']', n);
        const char *from = bracket != NULL ? bracket : text;
        const char *colon = memchr(from, ':', (size_t)(end - from));
        const char *at = colon != NULL ? colon + 1 : end;
        long count = 1;
        const size_t left = (size_t)(end - at);
        const bool any = colon != NULL &&
                         ((left == 1 && *at == '*') || (left == 4 && strncmp(at, "auto", 4) == 0));
        const bool number = colon != NULL && at < end && isdigit((unsigned char)*at);
        if (number)
            count = read_number(&at, end, CC_SLOTS_HOSTS);
        else if (any)
            count = 0;
        if (colon != NULL && !any && (!number || (count >= 0 && at != end) || count == 0))
            return cc_fail(e, "'%.*s': a number of workers, from 1, follows the colon",
                           (int)(n < SHOWN ? n : SHOWN), text);
        if (count < 0)
            return cc_fail(e, "'%.*s': more than %d slots", (int)(n < SHOWN ? n : SHOWN), text,
                           CC_SLOTS_HOSTS);
        CC_TRY(add(list, text, (size_t)((colon != NULL ? colon : end) - text), (int)count, e));
        if (*end == '\0')
            return CC_OK;
    }
}

/* --- hostfiles --- */

/* Reads a line's words; false if there is anything but a host and its slots. */
static bool read_line(const char *line, const char *end, const char **name, size_t *length,
                      int *count)
{
    static const char slots[] = "slots=";
    *length = 0;
    *count = 0;
    while (line < end) {
        while (line < end && isspace((unsigned char)*line))
            line++;
        const char *word = line;
        while (line < end && !isspace((unsigned char)*line))
            line++;
        if (word == line || *word == '#')
            return true;
        if (*length == 0) {
            *name = word;
            *length = (size_t)(line - word);
            if (memchr(word, '@', *length) != NULL || *word == '^' || *word == '+' ||
                memchr(word, ':', *length) != NULL)
                return false;
            continue;
        }
        if ((size_t)(line - word) <= strlen(slots) || memcmp(word, slots, strlen(slots)) != 0)
            return false;
        const char *at = word + strlen(slots);
        const long n = read_number(&at, line, CC_SLOTS_HOSTS);
        if (n < 1 || at != line)
            return false;
        *count = (int)n;
    }
    return true;
}

int cc_slots_of_hostfile(const char *text, size_t length, struct cc_slot_list *list,
                         struct cc_error *e)
{
    const char *const end = text + length;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline != NULL ? newline : end, *name = NULL;
        size_t n;
        int count;
        if (!read_line(text, stop, &name, &n, &count)) {
            cc_slots_free(list);
            return CC_OK;
        }
        if (n > 0)
            CC_TRY(add(list, name, n, count, e));
        text = stop + 1;
    }
    return CC_OK;
}

/* --- Slurm --- */

/* A name whose part before `at` is fixed. */
struct name {
    char text[256];
    size_t length;
};

static int put(struct name *n, const char *text, size_t length, struct cc_error *e)
{
    if (length >= sizeof n->text - n->length)
        return cc_fail(e, "a host's name has more than %zu bytes", sizeof n->text - 1);
    memcpy(n->text + n->length, text, length);
    n->length += length;
    n->text[n->length] = '\0';
    return CC_OK;
}

/* The end of the element that begins here: a comma outside brackets, or the text's end. */
static const char *element_end(const char *at)
{
    for (int depth = 0; *at != '\0' && (*at != ',' || depth > 0); at++)
        depth += (*at == '[') - (*at == ']');
    return at;
}

static int expand(const struct name *before, const char *at, const char *end,
                  struct cc_slot_list *list, struct cc_error *e);

/* Expands "01-03,7", behind which the name goes on at `rest`. */
static int expand_ranges(const struct name *before, const char *at, const char *close,
                         const char *end, struct cc_slot_list *list, struct cc_error *e)
{
    for (;; at++) {
        const char *digits = at;
        long low = read_number(&at, close, 1000000000), high = low;
        const int width = (int)(at - digits);
        if (at < close && *at == '-') {
            at++;
            high = read_number(&at, close, 1000000000);
        }
        if (low < 0 || high < low || (at < close && *at != ','))
            return cc_fail(e, "'%.*s' is not a list of numbers as 01-03,7", (int)(close - digits),
                           digits);
        if (high - low >= CC_SLOTS_HOSTS)
            return cc_fail(e, "more than %d hosts", CC_SLOTS_HOSTS);
        for (long i = low; i <= high; i++) {
            struct name name = *before;
            char number[24];
            const int n = snprintf(number, sizeof number, "%0*ld", width < 10 ? width : 10, i);
            CC_TRY(put(&name, number, (size_t)n, e));
            CC_TRY(expand(&name, close + 1, end, list, e));
        }
        if (at == close)
            return CC_OK;
    }
}

static int expand(const struct name *before, const char *at, const char *end,
                  struct cc_slot_list *list, struct cc_error *e)
{
    struct name name = *before;
    const char *open = memchr(at, '[', (size_t)(end - at));
    CC_TRY(put(&name, at, (size_t)((open != NULL ? open : end) - at), e));
    if (open == NULL)
        return append(list, name.text, name.length, 0, e);
    const char *close = memchr(open, ']', (size_t)(end - open));
    if (close == NULL || memchr(open + 1, '[', (size_t)(close - open - 1)) != NULL)
        return cc_fail(e, "'[' without ']'");
    return expand_ranges(&name, open + 1, close, end, list, e);
}

/* Reads "4(x2),3" into the hosts from `first` on. */
static int read_tasks(const char *text, struct cc_slot_list *list, size_t first, struct cc_error *e)
{
    const char *at = text, *const end = text + strlen(text);
    size_t host = first;
    for (;; at++) {
        const long count = read_number(&at, end, CC_SLOTS_HOSTS);
        long times = 1;
        if (strncmp(at, "(x", 2) == 0) {
            at += 2;
            times = read_number(&at, end, CC_SLOTS_HOSTS);
            times = *at == ')' ? times : -1;
            at++;
        }
        if (count < 1 || times < 1 || (*at != ',' && *at != '\0'))
            return cc_fail(e, "'%.*s' is not a list of numbers as 4(x2),3", SHOWN, text);
        for (; times > 0 && host < list->count; times--)
            list->host[host++].count = (int)count;
        if (times > 0)
            return cc_fail(e, "'%.*s' is of more than %zu hosts", SHOWN, text, list->count - first);
        if (*at == '\0')
            break;
    }
    return host == list->count ? CC_OK
                               : cc_fail(e, "'%.*s' is of %zu hosts, and the list of nodes has %zu",
                                         SHOWN, text, host - first, list->count - first);
}

int cc_slots_of_slurm(const char *nodes, const char *tasks, struct cc_slot_list *list,
                      struct cc_error *e)
{
    static const struct name empty;
    const size_t first = list->count;
    for (const char *at = nodes, *end;; at = end + 1) {
        end = element_end(at);
        CC_TRY_IN(expand(&empty, at, end, list, e), e, "'%.*s'",
                  (int)(end - at < SHOWN ? end - at : SHOWN), at);
        if (*end == '\0')
            break;
    }
    return tasks != NULL ? read_tasks(tasks, list, first, e) : CC_OK;
}

int cc_slots_of_allocation(struct cc_slot_list *list, struct cc_error *e)
{
    const char *nodes = getenv("SLURM_JOB_NODELIST"), *tasks = getenv("SLURM_TASKS_PER_NODE");
    if (nodes == NULL || nodes[0] == '\0')
        return CC_OK;
    const int status = cc_slots_of_slurm(nodes, tasks, list, e);
    if (status != CC_OK)
        cc_error_in(e,
                    "SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE (--hosts or --hostfile replaces "
                    "them)");
    return status;
}

/* --- mpirun's list --- */

int cc_slots_put(const struct cc_slot_list *list, const struct cc_slots_wanted *wanted,
                 bool with_counts, FILE *f, struct cc_error *e)
{
    const struct cc_slots *small = NULL;
    int left = wanted->hosts, left_servers = wanted->servers;
    bool any = false;
    for (size_t i = 0; i < list->count && left + left_servers > 0; i++) {
        const struct cc_slots *h = &list->host[i];
        const int ranks = left > 0 ? wanted->per_host : 1;
        if (h->count > 0 && h->count < ranks) {
            small = small != NULL ? small : h;
            continue;
        }
        (void)fprintf(f, "%s%s", any ? "," : "", h->name);
        if (with_counts)
            (void)fprintf(f, ":%d", ranks);
        any = true;
        *(left > 0 ? &left : &left_servers) -= 1;
    }
    if (left + left_servers == 0)
        return CC_OK;
    if (small != NULL)
        return cc_fail(e, "%d hosts with %d workers each are needed, and %s has room for %d",
                       wanted->hosts, wanted->per_host, small->name, small->count);
    return cc_fail(e, "%d hosts are needed, and there are %zu", wanted->hosts + wanted->servers,
                   list->count);
}
