/* Reading the host, the command line and the notes of a JSON document. */
#include "results/provenance.h"

#include <stdlib.h>
#include <string.h>

#include "core/format/json.h"
#include "core/memory.h"
#include "core/memory_text.h"
#include "results/record.h"

static int read_host(const cJSON *host, struct cc_provenance *p, struct cc_error *e)
{
    const cJSON *item;
    const int count = cJSON_GetArraySize(host);
    CC_TRY(CC_NEW(p->host, (size_t)count + 1, e));
    cJSON_ArrayForEach(item, host)
    {
        char number[CC_NUMBER_CAP] = "";
        if (cJSON_IsNumber(item))
            cc_number_print(item->valuedouble, number);
        else if (!cJSON_IsString(item))
            return cc_fail(e, "host: '%.100s' should be a text or a number", item->string);
        p->host[p->host_count].key = cc_strdup(item->string, e);
        p->host[p->host_count].value =
            cc_strdup(cJSON_IsString(item) ? item->valuestring : number, e);
        p->host_count++;
        if (p->host[p->host_count - 1].key == NULL || p->host[p->host_count - 1].value == NULL)
            return CC_FAIL;
    }
    return CC_OK;
}

/* Prints a word so that a shell takes it as one. */
static void put_word(const char *word, FILE *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        (void)fputs(word, out);
        return;
    }
    (void)fputc('\'', out);
    for (; *word != '\0'; word++)
        if (*word == '\'')
            (void)fputs("'\\''", out);
        else
            (void)fputc(*word, out);
    (void)fputc('\'', out);
}

static int read_argv(const cJSON *argv, struct cc_provenance *p, struct cc_error *e)
{
    struct cc_memory_text t;
    const cJSON *item;
    CC_TRY(cc_memory_text_begin(&t, "a command line", e));
    cJSON_ArrayForEach(item, argv)
    {
        if (!cJSON_IsString(item))
            continue;
        const char *slash = item == argv->child ? strrchr(item->valuestring, '/') : NULL;
        if (item != argv->child)
            (void)fputc(' ', t.f);
        put_word(slash != NULL ? slash + 1 : item->valuestring, t.f);
    }
    CC_TRY(cc_memory_text_end(&t, "a command line", e));
    p->argv = t.text;
    return CC_OK;
}

static int read_notes(const cJSON *notes, struct cc_provenance *p, struct cc_error *e)
{
    const cJSON *item;
    CC_TRY(CC_NEW(p->note, (size_t)cJSON_GetArraySize(notes) + 1, e));
    cJSON_ArrayForEach(item, notes)
    {
        if (!cJSON_IsString(item))
            return cc_fail(e, "notes: %zu: it should be a text", p->notes + 1);
        p->note[p->notes] = cc_strdup(item->valuestring, e);
        if (p->note[p->notes++] == NULL)
            return CC_FAIL;
    }
    return CC_OK;
}

static int read_document(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_provenance *p = out;
    const char *command, *error = NULL;
    if (cc_json_schema(root, CC_RECORD_SCHEMA_1, "", NULL) != CC_OK)
        CC_TRY(cc_json_schema(root, CC_RECORD_SCHEMA, "the JSON that commands write has it", e));
    CC_TRY(cc_json_need_text(root, "command", &command, e));
    p->command = cc_strdup(command, e);
    if (p->command == NULL)
        return CC_FAIL;
    p->partial = cJSON_GetObjectItemCaseSensitive(root, "partial") != NULL;
    p->rows = (size_t)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "rows"));
    CC_TRY(cc_json_text(root, "error", &error, e));
    if (error != NULL && (p->error = cc_strdup(error, e)) == NULL)
        return CC_FAIL;
    CC_TRY(read_notes(cJSON_GetObjectItemCaseSensitive(root, "notes"), p, e));
    CC_TRY(read_argv(cJSON_GetObjectItemCaseSensitive(root, "argv"), p, e));
    return read_host(cJSON_GetObjectItemCaseSensitive(root, "host"), p, e);
}

int cc_provenance_parse(const char *text, size_t length, struct cc_provenance *out,
                        struct cc_error *e)
{
    struct cc_provenance p = {.command = NULL};
    const int status = cc_json_parse_as(text, length, read_document, &p, e);
    if (status == CC_OK)
        *out = p;
    else
        cc_provenance_free(&p);
    return status;
}

void cc_provenance_free(struct cc_provenance *p)
{
    for (size_t i = 0; i < p->host_count; i++) {
        free(p->host[i].key);
        free(p->host[i].value);
    }
    for (size_t i = 0; i < p->notes; i++)
        free(p->note[i]);
    free(p->host);
    free(p->note);
    free(p->error);
    free(p->argv);
    free(p->command);
    *p = (struct cc_provenance){.command = NULL};
}

const char *cc_provenance_host(const struct cc_provenance *p, const char *key)
{
    for (size_t i = 0; i < p->host_count; i++)
        if (strcmp(p->host[i].key, key) == 0)
            return p->host[i].value;
    return NULL;
}
