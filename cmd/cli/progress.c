#include "cmd/cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "core/clock.h"

void cc_progress_begin(struct cc_progress *p, bool quiet)
{
    *p = (struct cc_progress){.on = !quiet && isatty(STDERR_FILENO), .began = cc_now()};
}

void cc_progress_part(struct cc_progress *p, double share)
{
    p->before += p->share;
    p->share = share * (1 - p->before);
}

void cc_progress_left(struct cc_progress *p, const char *what, double done, double left_s)
{
    enum { BAR = 30 };
    const bool minutes = left_s >= 600;
    const double now = p->on ? cc_now() : 0;
    if (!p->on || now - p->shown < 0.1)
        return;
    p->shown = now;
    const int filled = (int)(done * BAR);
    fprintf(stderr, "\r%-24.24s [%.*s%*s] %3.0f%% %4.0f %s left ", what, filled,
            "##############################", BAR - filled, "", 100 * done,
            minutes ? left_s / 60 : left_s, minutes ? "min" : "s");
}

void cc_progress_show(struct cc_progress *p, const char *what, double done)
{
    const double passed = p->on ? cc_now() - p->began : 0;
    if (p->share > 0)
        done = p->before + done * p->share;
    cc_progress_left(p, what, done, done > 0.02 ? passed * (1 - done) / done : 0);
}

void cc_progress_clear(struct cc_progress *p)
{
    if (p->on && p->shown > 0)
        fprintf(stderr, "\r%76s\r", "");
    p->shown = 0;
}

void cc_progress_end(struct cc_progress *p)
{
    cc_progress_clear(p);
    p->on = false;
}
