/* Results in pages: what is written is read again, to the byte; what is damaged is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "results/page_data.h"

static struct cc_error e;

/* Sets *page to a page of these results alone, and *length to its size. */
static void page_of(const struct cc_results *r, char **page, size_t *length)
{
    FILE *out = open_memstream(page, length);
    assert_non_null(out);
    cc_page_put_count(r->count, out);
    for (size_t i = 0; i < r->count; i++)
        cc_page_put_result(&r->of[i], out);
    assert_int_equal(fclose(out), 0);
}

static void assert_same(const struct cc_results *a, const struct cc_results *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_string_equal(a->of[i].name, b->of[i].name);
        assert_int_equal(a->of[i].length, b->of[i].length);
        assert_memory_equal(a->of[i].text, b->of[i].text, a->of[i].length);
    }
}

/* Texts out of pieces that look like markup and like escapes. */
static void random_texts(void **state)
{
    (void)state;
    static const char *const piece[] = {"<",    "\\u003c", "\\u003C", "\\",   "</script>",
                                        "<!--", "u003c",   "\"",      "&lt;", "&",
                                        ">",    "\n",      "x",       "\\\\"};
    const size_t pieces = sizeof piece / sizeof piece[0];
    srand(7);
    for (int round = 0; round < 500; round++) {
        struct cc_results r = {.of = NULL}, back = {.of = NULL};
        for (int i = 0; i < 3; i++) {
            char text[512] = "", name[64] = "dir/";
            for (int k = rand() % 40; k > 0; k--)
                (void)strcat(text, piece[(size_t)rand() % pieces]);
            for (int k = rand() % 5; k > 0; k--)
                (void)strcat(name, piece[5 + (size_t)rand() % 5]);
            assert_int_equal(cc_results_add(&r, name, text, strlen(text), &e), CC_OK);
        }
        size_t length;
        char *page;
        page_of(&r, &page, &length);
        /* No text ends its element or begins another one. */
        size_t begun = 0, ended = 0;
        for (const char *p = page; (p = strstr(p, "<script")) != NULL; p++)
            begun++;
        for (const char *p = page; (p = strstr(p, "</script")) != NULL; p++)
            ended++;
        assert_int_equal(begun, 3);
        assert_int_equal(ended, 3);
        assert_null(strstr(page, "<!--"));
        assert_int_equal(cc_page_read("p.html", page, length, &back, &e), CC_OK);
        assert_same(&r, &back);
        cc_results_free(&r);
        cc_results_free(&back);
        free(page);
    }
}

static const char json[] = "{\"a\": \"<b>\\u003c</b>\", \"n\": 12}";

/* Every beginning of a page and every changed byte of a result is refused, with the path. */
static void damage(void **state)
{
    (void)state;
    struct cc_results r = {.of = NULL}, back = {.of = NULL};
    assert_int_equal(cc_results_add(&r, "a.json", json, sizeof json - 1, &e), CC_OK);
    assert_int_equal(cc_results_add(&r, "b.json", json, sizeof json - 1, &e), CC_OK);
    size_t length;
    char *page;
    page_of(&r, &page, &length);
    assert_non_null(strstr(page, "data-kept=\"1\""));
    for (size_t cut = 0; cut + 2 < length; cut++) {
        char *part = strndup(page, cut);
        assert_int_equal(cc_page_read("p.html", part, cut, &back, &e), CC_FAIL);
        assert_int_equal(strncmp(e.text, "p.html: ", 8), 0);
        cc_results_free(&back);
        free(part);
    }
    const size_t from = (size_t)(strstr(page, ">{") + 1 - page),
                 to = (size_t)(strstr(page, "}<") - page);
    for (size_t at = from; at < to; at++) {
        page[at] ^= 1;
        assert_int_equal(cc_page_read("p.html", page, length, &back, &e), CC_FAIL);
        cc_results_free(&back);
        page[at] ^= 1;
    }
    cc_results_free(&r);
    free(page);
}

/* A page as a browser saves it again, with attributes that it adds, is the same page; one that has
 * several results is none of a single one. */
static void others(void **state)
{
    (void)state;
    struct cc_results r = {.of = NULL}, back = {.of = NULL};
    assert_int_equal(cc_results_add(&r, "a.json", json, sizeof json - 1, &e), CC_OK);
    size_t length;
    char *page, saved[1024];
    page_of(&r, &page, &length);
    /* A name that looks like an attribute. */
    free(page);
    assert_int_equal(cc_results_add(&back, "x data-bytes=", json, sizeof json - 1, &e), CC_OK);
    page_of(&back, &page, &length);
    cc_results_free(&back);
    assert_int_equal(cc_page_read_one("p.html", page, length, &back, &e), CC_OK);
    assert_string_equal(back.of[0].name, "x data-bytes=");
    cc_results_free(&back);
    free(page);
    page_of(&r, &page, &length);
    (void)snprintf(saved, sizeof saved, "<html><script>var x;</script><script nonce=\"\"%s",
                   strstr(page, " type="));
    assert_int_equal(cc_page_read("p.html", saved, strlen(saved), &back, &e),
                     CC_FAIL); /* no count */
    cc_results_free(&back);
    (void)snprintf(saved, sizeof saved,
                   "<meta content=\"1\" name=\"commcomp-results\"><script nonce=\"\"%s",
                   strstr(page, " type="));
    assert_int_equal(cc_page_read_one("p.html", saved, strlen(saved), &back, &e), CC_OK);
    assert_same(&r, &back);
    cc_results_free(&back);
    free(page);
    assert_int_equal(cc_results_add(&r, "b.json", json, sizeof json - 1, &e), CC_OK);
    page_of(&r, &page, &length);
    assert_int_equal(cc_page_read_one("p.html", page, length, &back, &e), CC_FAIL);
    assert_string_equal(e.text,
                        "p.html: the page has 2 results: take one out with `commcomp report "
                        "p.html --only 1 -o one.json`");
    cc_results_free(&r);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_texts),
        cmocka_unit_test(damage),
        cmocka_unit_test(others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
