/* The default picture of a sheet as part of a page: gnuplot's SVG without the XML declaration, with
 * identifiers that are unique in the page. */
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"
#include "results/plot.h"

/* Copies SVG. Within tags, identifiers and references to them get the prefix; gnuplot writes names
 * of schemes as text between tags only, with < and & escaped. */
static void put_prefixed(const char *svg, const char *prefix, FILE *out)
{
    static const char *const before[] = {" id='", " id=\"", "href='#", "href=\"#", "url(#"};
    bool tag = false;
    while (*svg != '\0') {
        size_t length = 1;
        bool name = false;
        for (size_t i = 0; tag && i < sizeof before / sizeof before[0] && !name; i++)
            if (strncmp(svg, before[i], strlen(before[i])) == 0) {
                name = true;
                length = strlen(before[i]);
            }
        tag = (tag || *svg == '<') && *svg != '>';
        (void)fwrite(svg, 1, length, out);
        if (name)
            (void)fprintf(out, "%s-", prefix);
        svg += length;
    }
}

static int draw(const struct cc_figure *f, char **svg, struct cc_error *e)
{
    size_t length = 0;
    int status = CC_OK;
    FILE *picture = NULL, *script = cc_file_temporary("gnuplot's script", e);
    if (script == NULL)
        return CC_FAIL;
    picture = open_memstream(svg, &length);
    if (picture == NULL) {
        status = cc_fail(e, "out of memory");
        goto out;
    }
    CC_TRY_OUT(cc_plot_script(f, &(struct cc_canvas){.terminal = "svg"}, script, e));
    CC_TRY_OUT(cc_gnuplot_run(script, picture, e));
out:
    if (picture != NULL && fclose(picture) != 0 && status == CC_OK)
        status = cc_fail(e, "out of memory");
    (void)fclose(script);
    return status;
}

int cc_plot_svg(const struct cc_sheet *s, const char *prefix, FILE *out, struct cc_error *e)
{
    enum cc_plot_kind kind = CC_PLOT_SPEEDUP;
    struct cc_figure f;
    char *svg = NULL;
    CC_TRY(cc_plot_guess(s, &kind, e));
    CC_TRY(cc_figure_make(s, kind, &(struct cc_plot_filter){0}, &f, e));
    int status = draw(&f, &svg, e);
    const char *begin = svg != NULL ? strstr(svg, "<svg") : NULL;
    if (status == CC_OK && begin != NULL)
        put_prefixed(begin, prefix, out);
    free(svg);
    cc_figure_free(&f);
    return status;
}
