/* The record as Markdown and LaTeX, against documents written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>

#include "tests/lib/records.h"
#include "tests/lib/text.h"

static const struct cc_column list[] = {
    RECORDS_COLUMN("name", "na_me", "", NULL, 1, "a text", CC_SETTING),
    RECORDS_COLUMN("net", "net", "%", NULL, 1, "a text above the table", CC_SETTING),
    RECORDS_COLUMN("off", "+-", "us", "%+.1f", 1, "a number", CC_ANSWER),
    {.key = NULL},
};

/* A record with every character that Markdown or LaTeX has a meaning for. */
static void special_characters(struct cc_record *r)
{
    static const char *const line[] = {"commcomp", "model"};
    static const char *const names[] = {"a_b*c", "\\{x}$&#^~", "[1]<2>|`\"%\n", "\xc2\xb5"};
    cc_record_init(r, "model", list, 2, line);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(records_new_row(r), i);
        assert_int_equal(cc_record_text(r, i, records_key(r, "name"), names[i], NULL), CC_OK);
        assert_int_equal(cc_record_text(r, i, records_key(r, "net"), "x_y", NULL), CC_OK);
        if (i < 3)
            cc_record_number(r, i, records_key(r, "off"), (double)i - 1);
    }
    cc_record_title(r, "3. a title_");
    assert_int_equal(cc_record_note(r, NULL, "  - a note\n\\end{document}"), CC_OK);
    r->partial = true;
}

static void markdown(void **state)
{
    (void)state;
    struct cc_record r;
    special_characters(&r);
    records_expect(&r, CC_FORMAT_MARKDOWN,
                   "3\\. a title\\_\n"
                   "\n"
                   "- net: x\\_y %\n"
                   "\n"
                   "| na\\_me | +- (us) |\n"
                   "| :--- | ---: |\n"
                   "| a\\_b\\*c | -1.0 |\n"
                   "| \\\\{x}$&amp;\\#^\\~ | 0.0 |\n"
                   "| \\[1\\]&lt;2&gt;\\|\\`\"%\\\\n | +1.0 |\n"
                   "| \xc2\xb5 | - |\n"
                   "\n"
                   "- \\- a note\\\\n\\\\end{document}\n"
                   "- partial: interrupted; these are the results until then\n");
    r.row_count = 1; /* a table of one row, not a list */
    char *got = records_printed(&r, CC_FORMAT_MARKDOWN);
    assert_contains(got, "| :--- | ---: |\n| a\\_b\\*c | -1.0 |\n");
    free(got);
    r.row_count = 4;
    cc_record_free(&r);
}

static void latex(void **state)
{
    (void)state;
    struct cc_record r;
    special_characters(&r);
    records_expect(
        &r, CC_FORMAT_LATEX,
        "% \\usepackage{booktabs}\n"
        "% commcomp model\n"
        "% 3. a title_\n"
        "% net: x_y %\n"
        "\\begin{tabular}{lr}\n"
        "\\toprule\n"
        "na\\_me & $\\pm$ \\\\\n"
        " & $\\mu$s \\\\\n"
        "\\midrule\n"
        "a\\_b{*}c & $-$1.0 \\\\\n"
        "\\textbackslash{}\\{x\\}\\$\\&\\#\\textasciicircum{}\\textasciitilde{} & 0.0 \\\\\n"
        "{[}1]\\textless{}2\\textgreater{}\\textbar{}`\"\\%\\textbackslash{}n"
        " & +1.0 \\\\\n"
        "\xc2\xb5 & -- \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "%   - a note\\n\\end{document}\n"
        "% partial: interrupted; these are the results until then\n");
    cc_record_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markdown),
        cmocka_unit_test(latex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
