/* The journal of a recipe: FILE.journal beside the result, a line of JSON for each call that was
 * complete, with its rows and notes. A run that goes on reads them back as they were, so that the
 * result is that of a run without an interruption.
 *
 * A line begins with its head, all that decides the rows: the program's version, the command, the
 * call's words, and a checksum of its set-up, which are the members of the recipe that the command
 * itself reads, and the state of the files that it reads. A call is done if a line has its head.
 * Members that are applied to the rows of all calls, such as "published" and "computed", are
 * applied to those of the journal, too, and may change. A line ends with its own checksum. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/terminal.h"
#include "cmd/recipe/recipe.h"
#include "core/file.h"
#include "core/format/crc32.h"
#include "core/format/json.h"
#include "core/infile.h"
#include "core/memory.h"
#include "core/memory_text.h"
#include "core/version.h"

#define SCHEMA "commcomp-journal/1"
#define BEGIN  "{\"schema\":\"" SCHEMA "\","
#define SETUP  ",\"setup\":\""
#define SUM    ",\"crc32\":\""

static const char what[] = "the journal of a recipe";

/* --- the head of a call --- */

static int put_setup(FILE *f, const struct cc_recipe_command *c, const struct cc_args *args,
                     struct cc_error *e)
{
    const cJSON *const members[] = {c->computing, c->frameworks, c->passes, c->notes};
    const struct cc_recipe_command *root = cc_recipe_root(c);
    fprintf(f, "%s\n%s\n", c->recipe->name, root->recipe->name);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        char *text = members[i] != NULL ? cJSON_PrintUnformatted(members[i]) : NULL;
        if (text == NULL && members[i] != NULL)
            return cc_fail(e, "out of memory: %s", what);
        fprintf(f, "%s\n", text != NULL ? text : "");
        free(text);
    }
    for (const cJSON *o = cc_recipe_first(root->options); o != NULL; o = o->next)
        fprintf(f, "%s\n", o->string); /* a note of `train` lists those of the recipe */
    return cc_args_put_inputs(args, f, e);
}

static int sum_setup(const struct cc_recipe_command *c, const struct cc_args *args, uint32_t *sum,
                     struct cc_error *e)
{
    struct cc_memory_text text;
    CC_TRY(cc_memory_text_begin(&text, what, e));
    CC_TRY(cc_memory_text_end(&text, put_setup(text.f, c, args, e), e));
    *sum = cc_crc32(0, text.text, text.bytes);
    free(text.text);
    return CC_OK;
}

static int put_texts(FILE *f, char *const *text, size_t count, struct cc_error *e)
{
    for (size_t i = 0; i < count; i++) {
        fputs(i > 0 ? "," : "", f);
        CC_TRY(cc_json_put_text(f, text[i], e));
    }
    return CC_OK;
}

static int put_head(FILE *f, const struct cc_recipe_call *call, const struct cc_recipe_command *c,
                    uint32_t setup, struct cc_error *e)
{
    fputs(BEGIN "\"version\":", f);
    CC_TRY(cc_json_put_text(f, cc_version(), e));
    fputs(",\"command\":", f);
    CC_TRY(cc_json_put_text(f, c->name, e));
    fputs(",\"options\":[", f);
    CC_TRY(put_texts(f, call->word, call->words, e));
    fprintf(f, "]" SETUP "%08" PRIx32 "\"", setup);
    return CC_OK;
}

/* Sets j->head to the head of this call, which was parsed into *args. */
static int set_head(struct cc_recipe_journal *j, const struct cc_recipe_calls *calls,
                    const struct cc_recipe_call *call, const struct cc_args *args,
                    struct cc_error *e)
{
    struct cc_memory_text text;
    uint32_t setup;
    free(j->head);
    j->head = NULL;
    CC_TRY(sum_setup(calls->command, args, &setup, e));
    CC_TRY(cc_memory_text_begin(&text, what, e));
    CC_TRY(cc_memory_text_end(&text, put_head(text.f, call, calls->command, setup, e), e));
    j->head = text.text;
    return CC_OK;
}

/* --- reading a line --- */

/* Adds a value, or [value, origin] where it has one of its own. */
static int take_value(const cJSON *item, struct cc_record *r, size_t row, struct cc_error *e)
{
    const cJSON *v = cJSON_IsArray(item) ? item->child : item;
    size_t c = 0;
    while (c < r->column_count && strcmp(r->columns[c].key->name, item->string) != 0)
        c++;
    if (c == r->column_count)
        return cc_fail(e, "\"%.60s\" is not a column", item->string);
    const struct cc_result_key *key = r->columns[c].key;
    CC_TRY(cc_recipe_set_value(r, row, key, v, e));
    if (v == item)
        return CC_OK;
    const char *word = cJSON_GetStringValue(v->next);
    const enum cc_origin origin = word != NULL ? cc_origin_of_word(word) : CC_ORIGIN_UNKNOWN;
    if (origin == CC_ORIGIN_UNKNOWN || v->next->next != NULL)
        return cc_fail(e, "\"%s\" is not a value with its origin", key->name);
    cc_record_origin(r, row, key, origin);
    return CC_OK;
}

static int take_row(const cJSON *row, struct cc_record *r, struct cc_error *e)
{
    const char *word;
    bool detail;
    if (!cJSON_IsObject(row))
        return cc_fail(e, "a row is not an object");
    size_t at;
    CC_TRY(cc_record_add(r, &at, e));
    CC_TRY(cc_json_need_bool(row, "detail row", &detail, e));
    CC_TRY(cc_json_text(row, "origin of the row", &word, e));
    if (word != NULL && cc_origin_of_word(word) == CC_ORIGIN_UNKNOWN)
        return cc_fail(e, "\"%.60s\" is not an origin", word);
    if (word != NULL)
        r->rows[at].origin = cc_origin_of_word(word);
    if (detail)
        r->rows[at].detail = true;
    for (const cJSON *v = row->child; v != NULL; v = v->next)
        if (strcmp(v->string, "detail row") != 0 && strcmp(v->string, "origin of the row") != 0)
            CC_TRY(take_value(v, r, at, e));
    return CC_OK;
}

/* Adds what a line has to the record. */
static int take_line(const cJSON *line, struct cc_record *r, struct cc_error *e)
{
    const char *title, *mpi;
    const cJSON *rows = cc_recipe_get(line, "rows"), *notes = cc_recipe_get(line, "notes");
    if (!cJSON_IsArray(rows) || !cJSON_IsArray(notes))
        return cc_fail(e, "\"rows\" or \"notes\" is not a list");
    for (const cJSON *row = rows->child; row != NULL; row = row->next)
        CC_TRY(take_row(row, r, e));
    for (const cJSON *n = notes->child; n != NULL; n = n->next) {
        if (!cJSON_IsString(n))
            return cc_fail(e, "a note is not a text");
        CC_TRY(cc_record_note(r, e, "%s", n->valuestring));
    }
    CC_TRY(cc_json_text(line, "title", &title, e));
    CC_TRY(cc_json_text(line, "mpi", &mpi, e));
    cc_record_title(r, "%s", title != NULL ? title : "");
    (void)snprintf(r->mpi, sizeof r->mpi, "%s", mpi != NULL ? mpi : "");
    return CC_OK;
}

/* Fails unless the text, a line, ends with the checksum of what stands before it. */
static int check_sum(const char *text, size_t length, struct cc_error *e)
{
    char end[32];
    const size_t n = sizeof SUM - 1 + sizeof "01234567\"}" - 1;
    const size_t before = length > n ? length - n : 0;
    (void)snprintf(end, sizeof end, SUM "%08" PRIx32 "\"}", cc_crc32(0, text, before));
    return length > n && memcmp(text + before, end, n) == 0 ? CC_OK
                                                            : cc_fail(e, "its checksum is wrong");
}

/* --- opening --- */

/* Checks a line, and sets *other to the version of another program that wrote it, or NULL; the text
 * belongs to *out. The rows of commands other than this one are checked by its own. */
static int check_line(const char *text, size_t length, const struct cc_recipe_calls *calls,
                      cJSON **out, const char **other, struct cc_error *e)
{
    static const char *const keys[] = {"schema", "version", "command", "options", "setup", "title",
                                       "mpi",    "rows",    "notes",   "crc32",   NULL};
    const struct cc_command *command = calls->args->command;
    const char *version, *name;
    struct cc_record r;
    *other = NULL;
    CC_TRY(cc_json_parse(text, length, out, e));
    CC_TRY(cc_json_schema(*out, SCHEMA, "see docs/recipes.md", e));
    CC_TRY(cc_json_need_text(*out, "version", &version, e));
    if (strcmp(version, cc_version()) != 0) {
        *other = version;
        return CC_OK;
    }
    CC_TRY(check_sum(text, length, e));
    CC_TRY(cc_json_keys(*out, keys, e));
    CC_TRY(cc_json_need_text(*out, "command", &name, e));
    if (strcmp(name, calls->command->name) != 0)
        return CC_OK;
    cc_record_init(&r, command->name, command->columns, 0, NULL);
    const int status = take_line(*out, &r, e);
    cc_record_free(&r);
    return status;
}

/* Copies the lines that hold to `to`, and says which do not; *left: how many. */
static void copy_lines(const char *path, const struct cc_recipe_calls *calls,
                       const struct cc_bytes *file, FILE *to, size_t *left)
{
    const char *text = (const char *)file->data, *const end = text + file->size;
    char version[64] = "";
    size_t others = 0;
    for (size_t n = 1; text < end; n++) {
        struct cc_error why = {""};
        cJSON *line = NULL;
        const char *other, *next = memchr(text, '\n', (size_t)(end - text));
        const size_t length = (size_t)((next != NULL ? next : end) - text);
        const int status = check_line(text, length, calls, &line, &other, &why);
        if (status != CC_OK && !calls->args->quiet)
            cc_say("%s: line %zu: %s; its call is done again", path, n, why.text);
        if (status == CC_OK && other != NULL && others++ == 0)
            (void)snprintf(version, sizeof version, "%s", other);
        if (status == CC_OK && other == NULL) {
            fwrite(text, 1, length, to);
            fputc('\n', to);
        }
        *left += status != CC_OK || other != NULL;
        cJSON_Delete(line);
        text += length + 1;
    }
    if (others > 0 && !calls->args->quiet)
        cc_say("%s: commcomp %s wrote it, and this is %s: %zu %s done again", path, version,
               cc_version(), others, others == 1 ? "call is" : "calls are");
}

static int save(const struct cc_recipe_journal *j, struct cc_error *e)
{
    struct cc_outfile file;
    CC_TRY(cc_file_create(&file, j->path, e));
    fputs(j->text, file.f);
    return cc_file_commit(&file, e);
}

/* Copies what holds of a journal, if it is there. */
static int read_journal(const char *path, const struct cc_recipe_calls *calls, FILE *to,
                        size_t *left, struct cc_error *e)
{
    struct cc_bytes file;
    if (access(path, F_OK) != 0)
        return CC_OK;
    CC_TRY(cc_file_read(path, &file, e));
    int status = CC_OK;
    if (file.size > 0 && strstr((const char *)file.data, BEGIN) == NULL)
        status = cc_fail(e,
                         "%s: it is not the journal of a recipe (\"schema\" must be \"%s\"); move "
                         "it, or name another --output",
                         path, SCHEMA);
    else
        copy_lines(path, calls, &file, to, left);
    cc_bytes_free(&file);
    return status;
}

/* Calls each(path, arg) for the journals of the parts of this one: FILE.journal.N, in any order. */
static int each_part(const char *journal,
                     int (*each)(const char *path, void *arg, struct cc_error *e), void *arg,
                     struct cc_error *e)
{
    const char *slash = strrchr(journal, '/'), *name = slash != NULL ? slash + 1 : journal;
    const size_t length = strlen(name);
    char *folder;
    int status = CC_OK;
    CC_TRY(cc_text(&folder, e, "%.*s", slash != NULL ? (int)(slash + 1 - journal) : 1,
                   slash != NULL ? journal : "."));
    DIR *d = opendir(folder);
    for (struct dirent *f; d != NULL && status == CC_OK && (f = readdir(d)) != NULL;) {
        const char *number = f->d_name + length + 1;
        char *path;
        if (strncmp(f->d_name, name, length) != 0 || f->d_name[length] != '.' ||
            number[0] == '\0' || number[strspn(number, "0123456789")] != '\0')
            continue;
        status = cc_text(&path, e, "%s.%s", journal, number);
        if (status == CC_OK)
            status = each(path, arg, e);
        free(path);
    }
    if (d != NULL)
        (void)closedir(d);
    free(folder);
    return status;
}

/* Where the lines of parts are copied to. */
struct copying {
    const struct cc_recipe_calls *calls;
    FILE *to;
    size_t left;
};

static int copy_part(const char *path, void *arg, struct cc_error *e)
{
    struct copying *c = arg;
    return read_journal(path, c->calls, c->to, &c->left, e);
}

int cc_recipe_journal_open(struct cc_recipe_journal *j, const struct cc_recipe_calls *calls,
                           const char *output, const struct cc_recipe_part *part,
                           struct cc_error *e)
{
    struct cc_memory_text text;
    struct copying c = {.calls = calls};
    *j = (struct cc_recipe_journal){.path = NULL};
    CC_TRY(cc_recipe_journal_path(output, &j->path, e));
    if (j->path == NULL)
        return CC_OK;
    if (part != NULL) {
        char *own;
        CC_TRY(cc_text(&own, e, "%s.%zu", j->path, part->wanted));
        free(j->path);
        j->path = own;
    }
    if (access(j->path, F_OK) != 0)
        CC_TRY(cc_file_can_create(j->path, e));
    CC_TRY(cc_memory_text_begin(&text, what, e));
    c.to = text.f;
    int status = read_journal(j->path, calls, c.to, &c.left, e);
    const size_t left = c.left;
    if (status == CC_OK && part == NULL)
        status = each_part(j->path, copy_part, &c, e);
    CC_TRY(cc_memory_text_end(&text, status, e));
    j->text = text.text;
    return left > 0 ? save(j, e) : CC_OK;
}

/* --- the calls --- */

int cc_recipe_journal_find(struct cc_recipe_journal *j, const struct cc_recipe_calls *calls,
                           const struct cc_recipe_call *call, struct cc_args *args, bool *found,
                           struct cc_error *e)
{
    cJSON *line = NULL;
    bool changed = false;
    *found = false;
    if (j->path == NULL)
        return CC_OK;
    CC_TRY(set_head(j, calls, call, args, e));
    const size_t head = strlen(j->head);
    const size_t words = (size_t)(strstr(j->head, SETUP) - j->head) + sizeof SETUP - 1;
    const char *at = j->text, *end = NULL;
    for (; at != NULL && *at != '\0'; at = end + 1) {
        end = strchr(at, '\n');
        if (strncmp(at, j->head, head) == 0)
            break;
        changed = changed || strncmp(at, j->head, words) == 0;
    }
    *found = at != NULL && *at != '\0';
    if (!*found) {
        if (changed && !calls->args->quiet)
            cc_say("%s: the recipe, or a file that it reads, has changed: %s is done again",
                   j->path, calls->command->name);
        return CC_OK;
    }
    int status = cc_json_parse(at, (size_t)(end - at), &line, e);
    if (status == CC_OK)
        status = take_line(line, &args->record, e);
    cJSON_Delete(line);
    return status;
}

/* --- writing --- */

static int put_row(FILE *f, const struct cc_record *r, size_t row, struct cc_error *e)
{
    const enum cc_origin origin = r->rows[row].origin;
    fprintf(f, "{\"detail row\":%s", r->rows[row].detail ? "true" : "false");
    if (origin != CC_ORIGIN_UNKNOWN)
        fprintf(f, ",\"origin of the row\":\"%s\"", cc_origin_word(origin));
    for (size_t c = 0; c < r->column_count; c++) {
        const struct cc_value *v = cc_record_value(r, row, r->columns[c].key);
        if (v->kind == CC_NULL)
            continue;
        fprintf(f, ",\"%s\":%s", r->columns[c].key->name,
                v->origin != CC_ORIGIN_UNKNOWN ? "[" : "");
        if (v->kind == CC_TEXT)
            CC_TRY(cc_json_put_text(f, v->text, e));
        else if (v->kind == CC_BOOL)
            fputs(v->number != 0 ? "true" : "false", f);
        else
            cc_json_put_number(f, v->number);
        if (v->origin != CC_ORIGIN_UNKNOWN)
            fprintf(f, ",\"%s\"]", cc_origin_word(v->origin));
    }
    fputc('}', f);
    return CC_OK;
}

static int put_line(FILE *f, const char *head, const struct cc_record *r, struct cc_error *e)
{
    fprintf(f, "%s,\"title\":", head);
    CC_TRY(cc_json_put_text(f, r->title, e));
    fputs(",\"mpi\":", f);
    CC_TRY(cc_json_put_text(f, r->mpi, e));
    fputs(",\"rows\":[", f);
    for (size_t row = 0; row < r->row_count; row++) {
        fputs(row > 0 ? "," : "", f);
        CC_TRY(put_row(f, r, row, e));
    }
    fputs("],\"notes\":[", f);
    CC_TRY(put_texts(f, r->notes, r->note_count, e));
    fputc(']', f);
    return CC_OK;
}

int cc_recipe_journal_add(struct cc_recipe_journal *j, const struct cc_record *r,
                          struct cc_error *e)
{
    struct cc_memory_text line;
    char *all = NULL;
    if (j->path == NULL)
        return CC_OK;
    CC_TRY(cc_memory_text_begin(&line, what, e));
    CC_TRY(cc_memory_text_end(&line, put_line(line.f, j->head, r, e), e));
    const int status =
        cc_text(&all, e, "%s%s" SUM "%08" PRIx32 "\"}\n", j->text != NULL ? j->text : "", line.text,
                cc_crc32(0, line.text, line.bytes));
    free(line.text);
    CC_TRY(status);
    free(j->text);
    j->text = all;
    return save(j, e);
}

static int remove_part(const char *path, void *arg, struct cc_error *e)
{
    (void)arg;
    (void)e;
    (void)unlink(path);
    return CC_OK;
}

void cc_recipe_journal_remove(const char *output)
{
    char *path;
    if (cc_recipe_journal_path(output, &path, NULL) == CC_OK && path != NULL) {
        (void)unlink(path);
        (void)each_part(path, remove_part, NULL, NULL);
    }
    free(path);
}

void cc_recipe_journal_close(struct cc_recipe_journal *j)
{
    free(j->path);
    free(j->text);
    free(j->head);
    *j = (struct cc_recipe_journal){.path = NULL};
}
