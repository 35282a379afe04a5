/* A figure for LaTeX by gnuplot's terminal cairolatex: texts in a picture environment, everything
 * else in a PDF that it includes. gnuplot writes both into a folder of their own, where the PDF's
 * path is not yet what it will be; from there they are copied to their places. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/infile.h"
#include "core/memory.h"
#include "results/plot.h"

/* The folder, and the two files in it. */
struct folder {
    char *path, *tex, *pdf;
};

static int open_folder(struct folder *d, const char *stem, int length, struct cc_error *e)
{
    const char *where = getenv("TMPDIR");
    if (where == NULL || where[0] == '\0')
        where = "/tmp";
    char *path;
    CC_TRY(cc_text(&path, e, "%s/commcomp-plot-XXXXXX", where));
    if (mkdtemp(path) == NULL) {
        const int status =
            cc_fail(e, "%s: no folder can be made there: %s", where, strerror(errno));
        free(path);
        return status;
    }
    d->path = path;
    CC_TRY(cc_text(&d->tex, e, "%s/%.*s.tex", path, length, stem));
    return cc_text(&d->pdf, e, "%s/%.*s.pdf", path, length, stem);
}

static void remove_folder(struct folder *d)
{
    if (d->tex != NULL)
        (void)unlink(d->tex);
    if (d->pdf != NULL)
        (void)unlink(d->pdf);
    if (d->path != NULL)
        (void)rmdir(d->path);
    free(d->path);
    free(d->tex);
    free(d->pdf);
}

static int draw(const struct cc_figure *f, const struct cc_page *page, const struct folder *d,
                struct cc_error *e)
{
    const struct cc_canvas canvas = {.terminal = "tex", .page = *page, .output = d->tex};
    FILE *nothing = cc_file_temporary("gnuplot's output", e);
    if (nothing == NULL)
        return CC_FAIL;
    const int status = cc_plot_draw(f, &canvas, nothing, e);
    (void)fclose(nothing);
    return status;
}

/* Copies a file, without the folder's path and the slash after it wherever they are in it. */
static int copy(const char *from, const char *folder, const char *to, struct cc_error *e)
{
    struct cc_bytes data = {0};
    struct cc_outfile file;
    const size_t length = strlen(folder);
    CC_TRY(cc_file_read(from, &data, e));
    int status = cc_file_create(&file, to, e);
    if (status == CC_OK) {
        for (size_t i = 0; i < data.size; i++) {
            const bool found = data.size - i > length &&
                               memcmp(data.data + i, folder, length) == 0 &&
                               data.data[i + length] == '/';
            if (found)
                i += length;
            else
                (void)fputc(data.data[i], file.f);
        }
        status = cc_file_commit(&file, e);
    }
    cc_bytes_free(&data);
    return status;
}

int cc_plot_tex(const struct cc_figure *f, const struct cc_page *page, const char *path,
                struct cc_error *e)
{
    const char *slash = strrchr(path, '/'), *stem = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(stem) - strlen(".tex");
    struct folder d = {NULL, NULL, NULL};
    int status = CC_OK;
    if (cc_file_is_stream(path) || length == 0 ||
        strspn(stem, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+") < length)
        return cc_usage(e,
                        "'%s': a picture for LaTeX is two files, and its name, before .tex, only "
                        "letters, digits, - and +, which \\includegraphics takes",
                        path);
    char *pdf;
    CC_TRY(cc_text(&pdf, e, "%.*s.pdf", (int)(strlen(path) - strlen(".tex")), path));
    CC_TRY_OUT(cc_file_can_create(path, e));
    CC_TRY_OUT(cc_file_can_create(pdf, e));
    CC_TRY_OUT(open_folder(&d, stem, (int)length, e));
    CC_TRY_OUT(draw(f, page, &d, e));
    CC_TRY_OUT(copy(d.pdf, d.path, pdf, e));
    CC_TRY_OUT(copy(d.tex, d.path, path, e));
out:
    remove_folder(&d);
    free(pdf);
    return status;
}
