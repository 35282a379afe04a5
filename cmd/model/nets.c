/* `commcomp nets`: the built-in nets, or the tensors of some. */
#include <string.h>

#include "cmd/cli/command.h"
#include "core/memory.h"
#include "models/device.h"
#include "models/net.h"

static const struct cc_option_use options[] = {{.rows = NULL}};

static const struct cc_column columns[] = {
    CC_COLUMN(net, CC_SETTING),
    CC_COLUMN(tensor, CC_SETTING),
    CC_COLUMN(shape, CC_ANSWER),
    CC_COLUMN(tensors, CC_MAIN),
    CC_COLUMN(values, CC_ANSWER),
    CC_COLUMN(float_bytes, CC_MAIN),
    CC_COLUMN(largest, CC_PART),
    CC_COLUMN(compute_s, CC_ANSWER, .note = "the preset of --compute; null without one"),
    CC_COLUMN(compute_source, CC_DETAIL),
    CC_COLUMN(papers, CC_PART),
    CC_COLUMN(reference, CC_DETAIL),
    CC_COLUMN(compute_share, CC_ANSWER),
    {.key = NULL},
};

static int set_papers(struct cc_record *r, size_t row, const struct cc_net *net, struct cc_error *e)
{
    char text[400] = "";
    for (size_t i = 0; i < net->paper_count; i++)
        cc_list_add(text, sizeof text, "; ", "%s: %s", net->papers[i].paper, net->papers[i].says);
    return text[0] != '\0' ? cc_record_text(r, row, CC_KEY(papers), text, e) : CC_OK;
}

static int net_row(struct cc_record *r, const char *name, const struct cc_net *net,
                   struct cc_error *e)
{
    size_t row;
    CC_TRY(cc_record_add(r, &row, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(net), name, e));
    cc_record_number(r, row, CC_KEY(tensors), (double)net->count);
    cc_record_number(r, row, CC_KEY(values), (double)net->values);
    cc_record_number(r, row, CC_KEY(float_bytes), 4 * (double)net->values);
    cc_record_number(r, row, CC_KEY(largest), (double)net->largest);
    if (net->compute_s > 0)
        cc_record_number(r, row, CC_KEY(compute_s), net->compute_s);
    if (net->compute_source[0] != '\0')
        CC_TRY(cc_record_text(r, row, CC_KEY(compute_source), net->compute_source, e));
    if (net->reference[0] != '\0')
        CC_TRY(cc_record_text(r, row, CC_KEY(reference), net->reference, e));
    return set_papers(r, row, net, e);
}

static int tensor_row(struct cc_record *r, const char *name, const struct cc_net *net, size_t i,
                      struct cc_error *e)
{
    char shape[192];
    const struct cc_tensor_info *t = &net->tensors[i];
    size_t row;
    CC_TRY(cc_record_add(r, &row, e));
    cc_shape_print(&t->shape, shape, sizeof shape);
    CC_TRY(cc_record_text(r, row, CC_KEY(net), name, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(tensor), t->name, e));
    CC_TRY(cc_record_text(r, row, CC_KEY(shape), shape, e));
    cc_record_number(r, row, CC_KEY(values), (double)t->shape.n);
    cc_record_number(r, row, CC_KEY(float_bytes), 4 * (double)t->shape.n);
    cc_record_number(r, row, CC_KEY(compute_share), net->share[i]);
    return CC_OK;
}

static int list_all(struct cc_record *r, struct cc_error *e)
{
    for (size_t i = 0; cc_net_names[i] != NULL; i++) {
        struct cc_net *net;
        CC_TRY(cc_net_open(cc_net_names[i], &net, e));
        const int status = net_row(r, cc_net_names[i], net, e);
        cc_net_free(net);
        CC_TRY(status);
    }
    cc_record_title(r, "%zu nets; `commcomp nets resnet50` lists the tensors of one", r->row_count);
    return CC_OK;
}

/* Notes the compute times of --device. */
static int note_devices(struct cc_record *r, const char *net, struct cc_error *e)
{
    for (size_t i = 0; cc_device_names[i] != NULL; i++) {
        const struct cc_throughput *t;
        struct cc_device *d;
        int status = CC_OK;
        CC_TRY(cc_device_open(cc_device_names[i], &d, e));
        if (cc_device_throughput(d, net, &t, NULL) == CC_OK)
            status = cc_record_note(r, e, "  --device %s: %.3g s for %.0f %s, %s (%s)",
                                    cc_device_names[i], t->batch / t->per_s, t->batch, t->unit,
                                    t->precision, t->source);
        cc_device_free(d);
        CC_TRY(status);
    }
    return CC_OK;
}

static int list_tensors(struct cc_record *r, const char *name, const struct cc_net *net,
                        struct cc_error *e)
{
    for (size_t i = 0; i < net->count; i++)
        CC_TRY(tensor_row(r, name, net, i, e));
    CC_TRY(cc_record_note(r, e, "%s: %zu values in %zu tensors, %.6g MB as float32.", name,
                          net->values, net->count, 4e-6 * (double)net->values));
    if (net->reference[0] != '\0')
        CC_TRY(cc_record_note(r, e, "  layers: %s", net->reference));
    if (net->compute_s > 0)
        CC_TRY(cc_record_note(r, e, "  compute: %.3g s a step, %s", net->compute_s,
                              net->compute_source));
    CC_TRY(note_devices(r, net->name, e));
    for (size_t i = 0; i < net->paper_count; i++)
        CC_TRY(cc_record_note(r, e, "  %s says: %s", net->papers[i].paper, net->papers[i].says));
    return CC_OK;
}

static int run(struct cc_args *args, struct cc_error *e)
{
    struct cc_net *net[CC_MAX_OPERANDS] = {NULL};
    int status = CC_OK;
    if (args->operands == 0)
        return list_all(&args->record, e);
    for (int i = 0; i < args->operands; i++)
        CC_TRY_OUT(cc_net_open(args->operand[i], &net[i], e));
    for (int i = 0; i < args->operands; i++)
        CC_TRY_OUT(list_tensors(&args->record, args->operand[i], net[i], e));
out:
    for (int i = 0; i < args->operands; i++)
        cc_net_free(net[i]);
    return status;
}

const struct cc_command cc_command_nets = {
    .name = "nets",
    .summary = "the built-in nets, and the tensors of a net",
    .operands = "[NET ...]",
    .max_operands = CC_MAX_OPERANDS,
    .description =
        "Lists the built-in nets with their exact sizes and the sizes according to papers. With "
        "operands, lists the tensors of these nets in the order of their layers, each with its "
        "share of the computation.\n\nA net is a built-in one, a .json file (docs/traces.md), a "
        ".safetensors file, or the .safetensors.index.json of a net in several files; of these, "
        "only the headers are read.",
    .examples = "  commcomp nets                        # all of them\n"
                "  commcomp nets resnet110              # its tensors\n"
                "  commcomp nets model.safetensors      # of a file: the shapes alone\n"
                "  commcomp nets --format json          # for programs, with the sources\n",
    .page = "docs/traces.md",
    .options = options,
    .columns = columns,
    .run = run,
};
