/* Measuring the settings of an experiment, one after the other, and what their ranks report. */
#include <stdio.h>

#include "cmd/measure/experiment.h"
#include "core/clock.h"
#include "core/interrupt.h"

int cc_experiment_take_report(struct cc_experiment *x, const struct cc_report *report,
                              struct cc_error *e)
{
    switch (report->kind) {
    case CC_REPORT_HELLO:
        (void)snprintf(x->mpi, sizeof x->mpi, "%s", report->text);
        if (x->record != NULL)
            (void)snprintf(x->record->mpi, sizeof x->record->mpi, "%s", report->text);
        return CC_OK;
    case CC_REPORT_ROW_BEGIN:
        x->row = report->row;
        x->step = 0;
        x->began = cc_now();
        return CC_OK;
    case CC_REPORT_STEP:
        x->step = report->step + 1;
        return CC_OK;
    case CC_REPORT_ROW:
        x->row = x->now->rows;
        return CC_OK;
    case CC_REPORT_EVENTS:
        return cc_timeline_output_add(x, x->now, &report->events, e);
    default: /* an error is what the launch returns */
        return CC_OK;
    }
}

int cc_experiment_all(struct cc_experiment *x, struct cc_error *e)
{
    int status = CC_OK;
    cc_progress_begin(&x->progress, x->input->quiet);
    for (size_t i = 0; i < x->settings && status == CC_OK && !cc_interrupted(); i++) {
        const size_t first = x->measured_rows;
        x->now = &x->setting[i];
        x->row = x->now->rows;
        x->began = cc_now();
        status = x->ops->measure(x->arg, x->now, e);
        /* An interrupt makes it fail, but is not an error here: main reports it. */
        if (status == CC_OK || cc_interrupted())
            status = cc_experiment_note_setting(x, x->now, first, e);
    }
    cc_progress_end(&x->progress);
    return status;
}
