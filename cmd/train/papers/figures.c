/* --paper: the trainings of 3LC's tables and figures and of the thesis', with the paper's numbers
 * beside, and the choice between these and Pipe-SGD's (frameworks.c). 3LC's Figures 3 to 6
 * are drawn: numbers are those of its tables, which are the figures' ends and means. */
#include <math.h>
#include <string.h>

#include "cmd/train/papers/papers.h"
#include "cmd/train/times/times.h"
#include "core/units.h"
#include "models/paper/paper.h"

const char *const cc_train_figures[] = {"3lc-table1",      "3lc-table2",
                                        "3lc-figure3",     "3lc-figure4",
                                        "3lc-figure5",     "3lc-figure6",
                                        "pipe-sgd-mlp",    "pipe-sgd-convnet",
                                        "pipe-sgd-resnet", "pipe-sgd-convex",
                                        "thesis-5.7",      "thesis-5.8",
                                        CC_TRAIN_TABLE,    NULL};

#define ALL_S      "3lc:s=1.0/1.5/1.75/1.9"
#define RATES      "10mbps,100mbps,1gbps"
#define SETTINGS   "net,data,values,workers,batch,rate,latency_s,bw_bps,scheme,seeds,diverged,step,"
#define DIFFERENCE "difference,difference_low,difference_high,difference_paper"
#define TIME       "time_s,speedup,speedup_paper"

#define THESIS                                                                                     \
    "net,data,values,workers,servers,batch,rate,bw_bps,consistency,staleness,communicate,scheme,"  \
    "seeds,diverged,"

/* The text says of Figure 4 that it has the most representative scheme of each kind, and not which
 * quantization that is: both of fewer than 2 bits are trained. */
static const struct cc_train_figure figures[] = {
    {.name = "3lc-table1",
     .title = "Table 1: speedup and accuracy with all steps",
     .columns = SETTINGS "accuracy,accuracy_paper," DIFFERENCE "," TIME,
     .schemes = "paper",
     .bw = RATES},
    {.name = "3lc-table2",
     .title = "Table 2: bits per value of 3LC, the mean of all steps",
     .columns = SETTINGS "bits_push,bits_pull,bits_compressed,bits_paper",
     .schemes = "3lc:zre=0," ALL_S,
     .says = "zero-run encoding halves the traffic at s = 1"},
    {.name = "3lc-figure3",
     .title = "Figure 3: time and accuracy of trainings of 25, 50, 75 and 100% of the steps",
     .columns = SETTINGS TIME ",accuracy,accuracy_low,accuracy_high,accuracy_paper,difference",
     .schemes = "paper",
     .bw = RATES,
     .quarters = true,
     .says = "at 10 Mbit/s 3LC with s = 1.75 has the best time and keeps the accuracy with all "
             "steps, and s = 1 is more accurate with fewer; at 100 Mbit/s 5% sparsification "
             "(sparse) is always better than the stochastic 3-value quantization (ternary), unlike "
             "at 10; at 1 Gbit/s 3LC reaches the baseline's accuracy before all others"},
    {.name = "3lc-figure4",
     .title = "Figure 4: loss and accuracy over the steps",
     .columns = SETTINGS "train_loss,loss,accuracy,accuracy_low,accuracy_high",
     .schemes = "fp32,ternary,mqe1bit,sparse,local,3lc",
     .points = 20,
     .says =
         "all but 3LC tend to have a higher training loss than the baseline, and their accuracy "
         "increases more slowly"},
    {.name = "3lc-figure5",
     .title = "Figure 5: time and accuracy of trainings of 25, 50, 75 and 100% of the steps, by s",
     .columns = SETTINGS "time_s,accuracy,accuracy_low,accuracy_high,accuracy_paper",
     .schemes = ALL_S,
     .bw = "10mbps",
     .quarters = true,
     .says = "a high s takes less time and converges more slowly with few steps; with all steps "
             "s = 1.9 alone is less accurate"},
    {.name = "3lc-figure6",
     .title = "Figure 6: bits per value of pushes and pulls over the steps",
     .columns = SETTINGS "bits_push,bits_pull",
     .schemes = "3lc,3lc:s=1.75",
     .points = 40,
     .says = "pushes are smaller than pulls until the later stage, and larger from 70% of the "
             "steps on"},
    {.name = "thesis-5.7",
     .recipe = "thesis",
     .title = "Figure 5.7: accuracy over the iterations",
     .columns = THESIS "step,train_loss,loss,accuracy,accuracy_low,accuracy_high,bits_push",
     .points = 20,
     .says = "for the same iterations TensorFlow (bulk, fp32) is slightly more accurate than all "
             "together (stale, top 1%); figures are drawn, not printed"},
    {.name = "thesis-5.8",
     .recipe = "thesis",
     .title = "Figure 5.8: time to accuracy",
     .columns = THESIS "step,accuracy,accuracy_low,accuracy_high,bits_push,staleness_mean,step_s,"
                       "speedup_bulk,target_step,target_s,target_speedup_bulk",
     .points = 20,
     .summary = true,
     .says = "all together (stale, top 1%) reaches the same accuracy within 43% of TensorFlow's "
             "(bulk, fp32) time, a speedup of 2.33 to the target; the rest is drawn, not printed"},
};

static bool is_of_3lc(const struct cc_train_figure *f)
{
    return f->recipe == NULL;
}

static const struct cc_train_figure *find(const char *name)
{
    const struct cc_train_figure *f = cc_train_pipe_figures;
    for (; f->name != NULL; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    for (f = figures; strcmp(f->name, name) != 0;)
        f++;
    return f;
}

int cc_train_paper_set(struct cc_args *args, const struct cc_train_figure **out, struct cc_error *e)
{
    const char *name = cc_arg(args, "paper"), *on = cc_arg(args, "on");
    *out = NULL;
    if (name == NULL)
        return CC_OK;
    *out = find(name);
    const char *recipe = (*out)->recipe != NULL ? (*out)->recipe : "3lc";
    if (cc_arg(args, "recipe") != NULL)
        return cc_usage(e, "--paper and --recipe exclude each other: %s has the recipe %s", name,
                        recipe);
    if (on != NULL && strcmp(on, "local") != 0 && (*out)->evaluations == 0)
        return cc_usage(e, "--paper %s trains once for all links: leave out --on %s", name, on);
    cc_arg_set(args, "recipe", recipe);
    if ((*out)->bw != NULL && cc_arg(args, "bw") == NULL)
        cc_arg_set(args, "bw", (*out)->bw);
    return args->schemes.count == 0 && (*out)->schemes != NULL && (*out)->evaluations == 0
               ? cc_spec_list_parse((*out)->schemes, &args->schemes, e)
               : CC_OK;
}

/* Computing takes the share of the baseline's traffic at 10 Mbit/s that the paper's has, and goes
 * on beside the exchange to the same share. */
static int set_compute(struct cc_train *t, const struct cc_paper *p, struct cc_error *e)
{
    struct cc_train_options *o = &t->options;
    struct cc_link link = o->link[0];
    double comm_s;
    CC_TRY(cc_parse_rate("10mbps", &link.bw_bps, e));
    CC_TRY(cc_train_raw_comm_s(t, &link, &comm_s, e));
    o->compute_s = cc_paper_constant_value(p, "compute") * comm_s;
    if (o->training.mode == CC_SEQUENTIAL)
        o->hidden_share = cc_paper_constant_value(p, "overlap");
    return CC_OK;
}

int cc_train_paper_open(struct cc_train *t, struct cc_error *e)
{
    if (t->options.figure == NULL)
        return CC_OK;
    if (t->frameworks != NULL)
        return cc_train_framework_open(t, e);
    if (!is_of_3lc(t->options.figure)) {
        cc_record_title(t->record, "The thesis, %s", t->options.figure->title);
        return cc_record_choose_usual(t->record, t->options.figure->columns, e);
    }
    CC_TRY(cc_paper_open("3lc-table1", &t->paper[0], e));
    CC_TRY(cc_paper_open("3lc-table2", &t->paper[1], e));
    CC_TRY(cc_paper_solve(t->paper[0], e));
    cc_record_title(t->record, "3LC, %s", t->options.figure->title);
    CC_TRY(cc_record_choose_usual(t->record, t->options.figure->columns, e));
    if (t->options.links == 0 || cc_arg(t->args, "compute") != NULL)
        return CC_OK;
    return set_compute(t, t->paper[0], e);
}

void cc_train_paper_free(struct cc_train *t)
{
    cc_paper_free(t->paper[0]);
    cc_paper_free(t->paper[1]);
}

struct cc_train_printed cc_train_paper_printed(const struct cc_train *t, size_t variant,
                                               const struct cc_link *link)
{
    const struct cc_train_options *o = &t->options;
    struct cc_train_printed out = {NAN, NAN, NAN, NAN};
    const char *scheme = cc_train_spec(t, variant)->name;
    if (o->figure == NULL || cc_train_length(t, variant) != &o->length[o->lengths - 1])
        return out;
    if (t->frameworks != NULL) {
        out.accuracy = cc_train_framework_accuracy(t, variant);
        return out;
    }
    if (!is_of_3lc(o->figure))
        return out;
    const struct cc_paper *accuracies = t->paper[0];
    const struct cc_paper_row *row = cc_paper_row_of(accuracies, scheme);
    out.bits = cc_paper_figure(t->paper[1], scheme, "bits", NAN);
    if (cc_spec_is_raw(cc_train_spec(t, variant)))
        out.accuracy = accuracies->baseline_accuracy / 100;
    if (row == NULL)
        return out;
    out.accuracy = row->accuracy / 100;
    out.difference = (row->accuracy - accuracies->baseline_accuracy) / 100;
    if (link != NULL)
        out.speedup = cc_paper_figure(accuracies, scheme, "speedup", link->bw_bps / 1e6);
    return out;
}

int cc_train_paper_notes(const struct cc_train *t, struct cc_error *e)
{
    const struct cc_train_options *o = &t->options;
    char compute[32];
    if (o->figure == NULL)
        return CC_OK;
    if (t->frameworks != NULL)
        return cc_train_framework_notes(t, e);
    if (!is_of_3lc(o->figure)) {
        CC_TRY(cc_record_note(t->record, e,
                              "the thesis trains ResNet on CIFAR-10, 4 machines with GPUs at 1 "
                              "Gbit/s, 20,000 iterations; here computing has its proportion to the "
                              "net's size (74 ms for 1.73 M parameters, its Table 1.1)"));
        return cc_record_note(t->record, e, "the thesis' text: %s", o->figure->says);
    }
    CC_TRY(cc_record_note(
        t->record, e,
        "the paper's numbers are those of its Tables 1 and 2, of ResNet-110 on CIFAR-10 with 10 "
        "workers and 25,600 steps: compare differences and order"));
    if (o->figure->says != NULL)
        CC_TRY(cc_record_note(t->record, e, "the paper's text: %s", o->figure->says));
    if (o->links == 0 || cc_arg(t->args, "compute") != NULL)
        return CC_OK;
    cc_print_si(o->compute_s, "s", compute, sizeof compute);
    return cc_record_note(
        t->record, e,
        "computing takes %s, %.2f%% of what fp32's traffic takes at 10 Mbit/s, and %.0f%% of it "
        "goes on beside the exchange: the paper's proportions, which are fitted to its Table 1 "
        "(`commcomp paper 3lc-table1`); --compute changes that",
        compute, 100 * cc_paper_constant_value(t->paper[0], "compute"), 100 * o->hidden_share);
}
