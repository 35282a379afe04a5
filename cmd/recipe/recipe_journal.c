/* The journal of a recipe: FILE.journal beside the result, a line of JSON for each call that was
 * complete, with its rows and notes. A run that goes on reads them back as they were, so that the
 * result is that of a run without an interruption. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/recipe/recipe.h"
#include "core/file.h"
#include "core/format/json.h"
#include "core/infile.h"
#include "core/memory.h"
#include "core/memory_text.h"
#include "core/version.h"

#define SCHEMA "commcomp-journal/1"

static char *path_of(const char *output)
{
    char *path;
    return asprintf(&path, "%s.journal", output) >= 0 ? path : NULL;
}

static int take_lines(struct cc_recipe_journal *j, const char *text, size_t size,
                      struct cc_error *e)
{
    static const char help[] =
        "it is not the journal of a recipe; move it, or name another --output";
    for (const char *at = text, *end; at < text + size; at = end + 1) {
        cJSON *line;
        end = memchr(at, '\n', (size_t)(text + size - at));
        if (end == NULL)
            return cc_fail(e, "it ends within a line; remove it to begin again");
        CC_TRY(cc_json_parse(at, (size_t)(end - at), &line, e));
        if (cc_json_schema(line, SCHEMA, help, e) != CC_OK ||
            !cJSON_AddItemToArray(j->done, line)) {
            cJSON_Delete(line);
            return CC_FAIL;
        }
    }
    j->text = cc_alloc(size + 1, e);
    if (j->text == NULL)
        return CC_FAIL;
    memcpy(j->text, text, size);
    j->text[size] = '\0';
    return CC_OK;
}

int cc_recipe_journal_open(struct cc_recipe_journal *j, const char *output, struct cc_error *e)
{
    struct cc_bytes file;
    *j = (struct cc_recipe_journal){.path = NULL};
    if (output == NULL || cc_file_is_stream(output))
        return CC_OK;
    j->path = path_of(output);
    j->done = cJSON_CreateArray();
    if (j->path == NULL || j->done == NULL)
        return cc_fail(e, "out of memory: the journal of a recipe");
    if (access(j->path, F_OK) != 0)
        return cc_file_can_create(j->path, e);
    CC_TRY(cc_file_read(j->path, &file, e));
    const int status = take_lines(j, (const char *)file.data, file.size, e);
    cc_bytes_free(&file);
    if (status != CC_OK)
        cc_error_in(e, "%s", j->path);
    return status;
}

/* --- a call --- */

/* Whether a line is of this call, of this version. */
static bool is_of(const cJSON *line, const struct cc_recipe_calls *calls,
                  const struct cc_recipe_call *call)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(line, "version");
    const cJSON *command = cJSON_GetObjectItemCaseSensitive(line, "command");
    const cJSON *words = cJSON_GetObjectItemCaseSensitive(line, "options");
    size_t i = 0;
    if (!cJSON_IsString(version) || strcmp(version->valuestring, cc_version()) != 0 ||
        !cJSON_IsString(command) || strcmp(command->valuestring, calls->command->name) != 0 ||
        !cJSON_IsArray(words) || (size_t)cJSON_GetArraySize(words) != call->words)
        return false;
    for (const cJSON *w = words->child; w != NULL; w = w->next, i++)
        if (!cJSON_IsString(w) || strcmp(w->valuestring, call->word[i]) != 0)
            return false;
    return true;
}

static int take_row(const cJSON *row, struct cc_record *r, struct cc_error *e)
{
    const cJSON *origin = cJSON_GetObjectItemCaseSensitive(row, "origin of the row");
    const size_t at = cc_record_add(r, e);
    if (at == SIZE_MAX)
        return CC_FAIL;
    if (cJSON_IsString(origin))
        cc_record_row_origin(r, at, cc_origin_of_word(origin->valuestring));
    for (size_t c = 0; c < r->column_count; c++) {
        const struct cc_result_key *key = r->columns[c].key;
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(row, key->name);
        origin = cJSON_GetArrayItem(v, 1); /* where the value has its own */
        if (cJSON_IsArray(v))
            v = v->child;
        if (cJSON_IsString(v))
            CC_TRY(cc_record_text(r, at, key, v->valuestring, e));
        else if (cJSON_IsBool(v))
            cc_record_bool(r, at, key, cJSON_IsTrue(v) != 0);
        else if (cJSON_IsNumber(v))
            cc_record_number(r, at, key, v->valuedouble);
        if (cJSON_IsString(origin))
            cc_record_origin(r, at, key, cc_origin_of_word(origin->valuestring));
    }
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "detail row")))
        cc_record_detail(r, at);
    return CC_OK;
}

int cc_recipe_journal_find(const struct cc_recipe_journal *j, const struct cc_recipe_calls *calls,
                           const struct cc_recipe_call *call, struct cc_record *r, bool *found,
                           struct cc_error *e)
{
    const cJSON *line = j->done != NULL ? j->done->child : NULL, *item;
    while (line != NULL && !is_of(line, calls, call))
        line = line->next;
    *found = line != NULL;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(line, "rows"))
        CC_TRY(take_row(item, r, e));
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(line, "notes"))
    {
        if (cJSON_IsString(item))
            CC_TRY(cc_record_note(r, e, "%s", item->valuestring));
    }
    item = cJSON_GetObjectItemCaseSensitive(line, "title");
    if (cJSON_IsString(item))
        cc_record_title(r, "%s", item->valuestring);
    item = cJSON_GetObjectItemCaseSensitive(line, "mpi");
    if (cJSON_IsString(item))
        (void)snprintf(r->mpi, sizeof r->mpi, "%s", item->valuestring);
    return CC_OK;
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

static int put_line(FILE *f, const struct cc_recipe_calls *calls, const struct cc_recipe_call *call,
                    const struct cc_record *r, struct cc_error *e)
{
    fprintf(f, "{\"schema\":\"" SCHEMA "\",\"version\":");
    CC_TRY(cc_json_put_text(f, cc_version(), e));
    fputs(",\"command\":", f);
    CC_TRY(cc_json_put_text(f, calls->command->name, e));
    for (size_t i = 0; i < call->words; i++) {
        fputs(i == 0 ? ",\"options\":[" : ",", f);
        CC_TRY(cc_json_put_text(f, call->word[i], e));
    }
    fputs(call->words > 0 ? "],\"title\":" : ",\"options\":[],\"title\":", f);
    CC_TRY(cc_json_put_text(f, r->title, e));
    fputs(",\"mpi\":", f);
    CC_TRY(cc_json_put_text(f, r->mpi, e));
    fputs(",\"rows\":[", f);
    for (size_t row = 0; row < r->row_count; row++) {
        fputs(row > 0 ? "," : "", f);
        CC_TRY(put_row(f, r, row, e));
    }
    fputs("],\"notes\":[", f);
    for (size_t i = 0; i < r->note_count; i++) {
        fputs(i > 0 ? "," : "", f);
        CC_TRY(cc_json_put_text(f, r->notes[i], e));
    }
    fputs("]}\n", f);
    return CC_OK;
}

int cc_recipe_journal_add(struct cc_recipe_journal *j, const struct cc_recipe_calls *calls,
                          const struct cc_recipe_call *call, const struct cc_record *r,
                          struct cc_error *e)
{
    static const char what[] = "the journal of a recipe";
    struct cc_memory_text text;
    struct cc_outfile file;
    if (j->path == NULL)
        return CC_OK;
    CC_TRY(cc_memory_text_begin(&text, what, e));
    fputs(j->text != NULL ? j->text : "", text.f);
    int status = put_line(text.f, calls, call, r, e);
    if (cc_memory_text_end(&text, what, e) != CC_OK)
        status = CC_FAIL;
    free(j->text);
    j->text = text.text;
    CC_TRY(status);
    CC_TRY(cc_file_create(&file, j->path, e));
    if (fputs(j->text, file.f) != EOF)
        return cc_file_commit(&file, e);
    status = cc_file_check(&file, e);
    cc_file_abort(&file);
    return status;
}

void cc_recipe_journal_remove(const char *output)
{
    char *path = output != NULL && !cc_file_is_stream(output) ? path_of(output) : NULL;
    if (path != NULL)
        (void)unlink(path);
    free(path);
}

void cc_recipe_journal_close(struct cc_recipe_journal *j)
{
    free(j->path);
    free(j->text);
    cJSON_Delete(j->done);
    *j = (struct cc_recipe_journal){.path = NULL};
}
