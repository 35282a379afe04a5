/* Any bytes as results: read, and plotted in every kind of figure, up to the script. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "results/plot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void draw(const struct cc_figure *f)
{
    static const char *const terminals[] = {"svg", "tex"};
    struct cc_error e = {""};
    FILE *out = fopen("/dev/null", "w");
    if (out == NULL)
        return;
    for (int i = 0; i < 2; i++) {
        const struct cc_canvas canvas = {.terminal = terminals[i], .page = {.width = 300}};
        const int status = cc_plot_script(f, &canvas, out, &e);
        if (status != CC_OK && (status != CC_USAGE || e.text[0] == '\0'))
            abort(); /* only a page can be too small */
    }
    if (cc_plot_text(f, 80, 20, out, &e) != CC_OK)
        abort();
    (void)fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cc_sheet s;
    struct cc_error e = {""};
    const struct cc_plot_filter all = {0};
    const char *text = (const char *)data;
    int status = size > 0 && *text == '{' ? cc_sheet_parse_json("f", text, size, &s, &e)
                                          : cc_sheet_parse_csv("f", text, size, &s, &e);
    if (status != CC_OK) {
        if (e.text[0] == '\0')
            abort(); /* a refusal without a reason */
        return 0;
    }
    for (int kind = 0; kind < CC_PLOT_KINDS; kind++) {
        struct cc_figure f;
        e.text[0] = '\0';
        if (cc_figure_make(&s, (enum cc_plot_kind)kind, &all, &f, &e) == CC_OK) {
            draw(&f);
            cc_figure_free(&f);
        } else if (e.text[0] == '\0') {
            abort();
        }
    }
    cc_sheet_free(&s);
    return 0;
}
