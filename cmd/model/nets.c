/* `commcomp nets`: the built-in nets, or the tensors of some. */
#include <stdio.h>
#include <string.h>

#include "cmd/cli/command.h"
#include "models/device.h"
#include "models/net.h"

static const struct cc_option options[] = {{.name = NULL}};

static const struct cc_column columns[] = {
    {"net", "net", "", NULL, 0, "the name, as --net takes it", CC_SETTING},
    {"tensor", "tensor", "", NULL, 0, "with operands: the tensor's name", CC_SETTING},
    {"shape", "shape", "", NULL, 0, "with operands: its dimensions", CC_ANSWER},
    {"tensors", "tensors", "", "%.0f", 0, "number of tensors", CC_MAIN},
    {"values", "values", "", "%.0f", 0, "number of float32 values, of the net or of the tensor",
     CC_ANSWER},
    {"bytes", "size", "MB", "%.6f", 1e-6, "size as float32, 4 bytes per value", CC_MAIN},
    {"largest", "largest tensor", "", "%.0f", 0, "values of the largest tensor", CC_PART},
    {"compute_s", "compute", "s", "%.3g", 0,
     "preset of --compute: seconds of computation in a step; null without one", CC_ANSWER},
    {"compute_source", NULL, "", NULL, 0, "where the preset comes from", CC_DETAIL},
    {"papers", "papers say", "", NULL, 0, "the size according to papers, rounded as in them",
     CC_PART},
    {"reference", NULL, "", NULL, 0, "the paper or program that the layers are taken from",
     CC_DETAIL},
    {"compute_share", "compute", "%", "%.4f", 100,
     "with operands: its share of the computation of a step, equal in the forward and backward "
     "pass",
     CC_ANSWER},
    {.key = NULL},
};

static int set_papers(struct cc_record *r, size_t row, const struct cc_net *net, struct cc_error *e)
{
    char text[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < net->paper_count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s: %s", i == 0 ? "" : "; ",
                                 net->papers[i].paper, net->papers[i].says);
    return used > 0 ? cc_record_text(r, row, "papers", text, e) : CC_OK;
}

static int net_row(struct cc_record *r, const char *name, const struct cc_net *net,
                   struct cc_error *e)
{
    const size_t row = cc_record_add(r, e);
    if (row == SIZE_MAX)
        return CC_FAIL;
    CC_TRY(cc_record_text(r, row, "net", name, e));
    cc_record_number(r, row, "tensors", (double)net->count);
    cc_record_number(r, row, "values", (double)net->values);
    cc_record_number(r, row, "bytes", 4 * (double)net->values);
    cc_record_number(r, row, "largest", (double)net->largest);
    if (net->compute_s > 0)
        cc_record_number(r, row, "compute_s", net->compute_s);
    if (net->compute_source[0] != '\0')
        CC_TRY(cc_record_text(r, row, "compute_source", net->compute_source, e));
    if (net->reference[0] != '\0')
        CC_TRY(cc_record_text(r, row, "reference", net->reference, e));
    return set_papers(r, row, net, e);
}

static int tensor_row(struct cc_record *r, const char *name, const struct cc_net *net, size_t i,
                      struct cc_error *e)
{
    char shape[192];
    const struct cc_tensor_info *t = &net->tensors[i];
    const size_t row = cc_record_add(r, e);
    if (row == SIZE_MAX)
        return CC_FAIL;
    cc_shape_print(&t->shape, shape, sizeof shape);
    CC_TRY(cc_record_text(r, row, "net", name, e));
    CC_TRY(cc_record_text(r, row, "tensor", t->name, e));
    CC_TRY(cc_record_text(r, row, "shape", shape, e));
    cc_record_number(r, row, "values", (double)t->shape.n);
    cc_record_number(r, row, "bytes", 4 * (double)t->shape.n);
    cc_record_number(r, row, "compute_share", net->share[i]);
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

/* The tensors of a net, and notes on the net. */
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
    .options = options,
    .columns = columns,
    .run = run,
};
