/* The reader of recipes: those that the program carries, what it makes of a text, and what it
 * refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "models/recipe.h"

#define BEGIN "{\"schema\": \"commcomp-recipe/1\", \"about\": \"x\", \"commands\": ["
#define END   "]}"

static void test_carried(void **state)
{
    (void)state;
    for (size_t i = 0; cc_recipe_names[i] != NULL; i++) {
        struct cc_recipe *r;
        struct cc_error e = {""};
        if (cc_recipe_open(cc_recipe_names[i], &r, &e) != CC_OK)
            fail_msg("%s: %s", cc_recipe_names[i], e.text);
        assert_string_equal(r->name, cc_recipe_names[i]);
        assert_true(r->count > 0);
        cc_recipe_free(r);
    }
}

static void test_parsed(void **state)
{
    static const char text[] =
        BEGIN "{\"command\": \"trace info\", \"options\": {\"a\": 1, \"b\": [\"x\", 2]}},"
              "{\"command\": \"sim\", \"name\": \"other\", \"notes\": [\"n\"]}" END;
    struct cc_recipe *r;
    struct cc_error e = {""};
    (void)state;
    assert_int_equal(cc_recipe_parse(text, strlen(text), &r, &e), CC_OK);
    assert_int_equal(r->count, 2);
    assert_string_equal(r->about, "x");
    assert_null(r->source);
    assert_string_equal(r->item[0].command, "trace info");
    assert_string_equal(r->item[0].name, "trace info");
    assert_int_equal(cJSON_GetArraySize(r->item[0].options), 2);
    assert_null(r->item[0].notes);
    assert_string_equal(r->item[1].name, "other");
    assert_string_equal(r->item[1].notes->child->valuestring, "n");
    cc_recipe_free(r);
}

static void test_refused(void **state)
{
    static const char *const cases[][2] = {
        {"[]", "not a JSON object"},
        {"{\"schema\": \"commcomp-recipe/2\"}", "\"schema\" must be \"commcomp-recipe/1\""},
        {"{\"schema\": \"commcomp-recipe/1\", \"commands\": [{\"command\": \"sim\"}]}",
         "\"about\" is missing"},
        {"{\"schema\": \"commcomp-recipe/1\", \"about\": \"\", \"commands\": [{\"command\": "
         "\"sim\"}]}",
         "\"about\": not a text"},
        {"{\"schema\": \"commcomp-recipe/1\", \"about\": \"x\"}", "\"commands\" is missing"},
        {"{\"schema\": \"commcomp-recipe/1\", \"about\": \"x\", \"abuot\": 1, \"commands\": []}",
         "\"abuot\""},
        {BEGIN END, "\"commands\": not a list of at least one element"},
        {BEGIN "{}" END, "element 0: \"command\" is missing"},
        {BEGIN "{\"command\": 3}" END, "\"command\": not a text"},
        {BEGIN "{\"command\": \"a\\u0007\"}" END, "control characters"},
        {BEGIN "{\"command\": \"sim\"}, {\"command\": \"sim\"}" END, "both called \"sim\""},
        {BEGIN "{\"command\": \"sim\", \"name\": \"../x\"}" END, "has no '/'"},
        {BEGIN "{\"command\": \"sim\", \"options\": []}" END, "\"options\": not an object"},
        {BEGIN "{\"command\": \"sim\", \"options\": {\"a\": false}}" END, "\"a\": neither a text"},
        {BEGIN "{\"command\": \"sim\", \"options\": {\"a\": null}}" END, "\"a\": neither a text"},
        {BEGIN "{\"command\": \"sim\", \"options\": {\"\": 1}}" END, "has no name"},
        {BEGIN "{\"command\": \"sim\", \"options\": {\"a\": [true]}}" END, "element 0: not a text"},
        {BEGIN "{\"command\": \"sim\", \"options\": {\"a\": {\"table\": \"t\"}}}" END,
         "\"a\": \"constant\" is missing"},
        {BEGIN
         "{\"command\": \"sim\", \"options\": {\"a\": {\"value\": 1, \"if\": {\"b\": 2}}}}" END,
         "\"if\": \"b\": not a list"},
        {BEGIN "{\"command\": \"sim\", \"each\": [{}]}" END, "\"each\": element 0: not a list"},
        {BEGIN "{\"command\": \"sim\", \"each\": [[{\"row\": {}}]]}" END, "\"options\" is missing"},
        {BEGIN "{\"command\": \"sim\", \"each\": [[{\"options\": {}, \"row\": {\"a\": []}}]]}" END,
         "\"row\": \"a\": neither a text, a number nor a truth value"},
        {BEGIN "{\"command\": \"sim\", \"computed\": [{\"key\": \"a\"}]}" END,
         "\"product\" is missing"},
        {BEGIN "{\"command\": \"sim\", \"computed\": [{\"key\": \"a\", \"product\": [null]}]}" END,
         "\"product\": element 0: not a text"},
        {BEGIN "{\"command\": \"sim\", \"published\": [{\"where\": {}, \"set\": {\"a\": 1}}]}" END,
         "\"source\" is missing"},
        {BEGIN "{\"command\": \"sim\", \"published\": [{\"table\": \"t\", \"key\": \"a\"}]}" END,
         "\"quantity\" is missing"},
        {BEGIN "{\"command\": \"sim\", \"published\": [3]}" END, "element 0: not an object"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cc_recipe *r;
        struct cc_error e = {""};
        assert_int_equal(cc_recipe_parse(cases[i][0], strlen(cases[i][0]), &r, &e), CC_FAIL);
        if (strstr(e.text, cases[i][1]) == NULL)
            fail_msg("%s: '%s' lacks '%s'", cases[i][0], e.text, cases[i][1]);
    }
}

static void test_names(void **state)
{
    struct cc_recipe *r;
    struct cc_error e = {""};
    (void)state;
    assert_int_equal(cc_recipe_open("thesis-5.4", &r, &e), CC_OK);
    assert_string_equal(r->name, "sim/thesis-5.4");
    cc_recipe_free(r);
    assert_int_equal(cc_recipe_open("sim/thesis-5.6", &r, &e), CC_USAGE);
    assert_non_null(strstr(e.text, "did you mean 'sim/thesis-5."));
    assert_int_equal(cc_recipe_open("missing.json", &r, &e), CC_FAIL);
    assert_non_null(strstr(e.text, "missing.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_carried),
        cmocka_unit_test(test_parsed),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
