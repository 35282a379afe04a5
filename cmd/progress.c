#include "cmd/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "core/clock.h"

void cc_progress_begin(struct cc_progress *p, bool quiet)
{
    *p = (struct cc_progress){.on = !quiet && isatty(STDERR_FILENO), .began = cc_now()};
}

void cc_progress_show(struct cc_progress *p, const char *what, double done)
{
    enum { BAR = 30 };
    double now = p->on ? cc_now() : 0;
    if (!p->on || now - p->shown < 0.1)
        return;
    p->shown = now;
    int filled = (int)(done * BAR);
    double left = done > 0.02 ? (now - p->began) * (1 - done) / done : 0;
    fprintf(stderr, "\r%-24.24s [%.*s%*s] %3.0f%% %4.0f s left ", what, filled,
            "##############################", BAR - filled, "", 100 * done, left);
}

void cc_progress_end(struct cc_progress *p)
{
    if (p->on && p->shown > 0)
        fprintf(stderr, "\r%76s\r", "");
    p->on = false;
}
