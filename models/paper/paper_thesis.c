/* The thesis on the modularized parameter server (docs/papers.md): traffic of nets (Table 1.1),
 * placement strategies (Figures 5.1 to 5.3), and all techniques together (Figure 5.4), for which
 * the predictions of models/predict.h are used. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/memory.h"
#include "models/paper/paper_formula.h"

/* Table 1.1: the values or bits that a worker generates. */
int cc_formula_traffic(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    if (c->row->net == NULL)
        return cc_fail(e, "it needs a net");
    *out = (double)c->row->net->values;
    if (cc_case_is(c, "bps"))
        *out *= 32 * cc_case(c, "steps_per_s");
    return CC_OK;
}

/* Bytes that the busiest server gets from one machine, headers included. */
static double busiest(const struct cc_net *net, enum cc_placement placement, int servers,
                      double header, double *imbalance, struct cc_error *e)
{
    double *size = cc_alloc((net->count + 2 * (size_t)servers) * sizeof *size, e), most = NAN;
    size_t *order = cc_alloc(2 * net->count * sizeof *order, e);
    int *server = cc_alloc(net->count * sizeof *server, e);
    if (size != NULL && order != NULL && server != NULL) {
        double *load = size + net->count, *bytes = load + servers;
        for (size_t i = 0; i < net->count; i++)
            size[i] = (double)net->tensors[i].shape.n;
        cc_place(placement, size, net->count, servers, server, load, order);
        *imbalance = cc_imbalance(load, servers);
        for (int s = 0; s < servers; s++)
            bytes[s] = 4 * load[s] + (placement == CC_SPLIT ? (double)net->count * header : 0);
        for (size_t i = 0; i < net->count && placement != CC_SPLIT; i++)
            bytes[server[i]] += header;
        most = bytes[0];
        for (int s = 1; s < servers; s++)
            most = fmax(most, bytes[s]);
    }
    free(size);
    free(order);
    free(server);
    return most;
}

/* Figures 5.1 to 5.3: 1 if a statement of the text about the strategies holds, else 0. */
int cc_formula_placement(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    double bytes[3], imbalance[3] = {1, 1, 1}; /* by placement */
    if (c->row->net == NULL)
        return cc_fail(e, "it needs a net");
    for (int i = 0; i < 3; i++) {
        bytes[i] = busiest(c->row->net, (enum cc_placement)i, cc_case_whole(c, "machines"),
                           cc_case(c, "message_bytes"), &imbalance[i], e);
        if (isnan(bytes[i]))
            return CC_FAIL;
    }
    if (cc_case_is(c, "split_slowest"))
        *out = bytes[CC_SPLIT] > fmax(bytes[CC_ROUND_ROBIN], bytes[CC_LPT]);
    else if (cc_case_is(c, "split_fastest"))
        *out = bytes[CC_SPLIT] < fmin(bytes[CC_ROUND_ROBIN], bytes[CC_LPT]);
    else if (cc_case_is(c, "lpt_faster"))
        *out = bytes[CC_LPT] < bytes[CC_ROUND_ROBIN];
    else
        *out = imbalance[CC_LPT] < imbalance[CC_ROUND_ROBIN];
    return CC_OK;
}

static int predict(struct cc_paper_case *c, const struct cc_setting *s, double bits,
                   struct cc_prediction *out, struct cc_error *e)
{
    struct cc_codec_model codec_model =
        cc_codec_model_given("fp32", CC_REDUCE_DECODED, bits, 0, 0, 0);
    struct cc_step_payloads payloads;
    if (cc_step_payloads_make(s->net, &codec_model, &codec_model, NULL, &payloads, e) != CC_OK)
        return CC_FAIL;
    int status = cc_predict(c->predictor, s, &payloads, out, e);
    cc_step_payloads_free(&payloads);
    return status;
}

static void set_cluster(struct cc_paper_case *c, struct cc_setting *s)
{
    int machines = cc_case_whole(c, "machines");
    cc_setting_defaults(c->row->net, s);
    s->cluster.workers = s->cluster.servers = machines;
    s->cluster.colocated = true;
    s->placement = CC_LPT;
    s->link.bw_bps = 1e9 * cc_case(c, "gbps");
    s->link.latency_s = cc_case(c, "latency_s");
    s->link.overhead = cc_case(c, "overhead");
    s->timing.compute_s = 1 / cc_case(c, "steps_per_s");
}

/* Figure 5.4 as the text quotes it: wait-free against traditional backpropagation, and all
 * techniques together against one machine. */
int cc_formula_combined(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    struct cc_setting s;
    struct cc_prediction one_by_one, overlapped;
    if (c->row->net == NULL)
        return cc_fail(e, "it needs a net");
    set_cluster(c, &s);
    bool all = cc_case_is(c, "speedup");
    double bits = all ? cc_case(c, "top_bits") : 32;
    CC_TRY(predict(c, &s, bits, &one_by_one, e));
    s.timing.mode = CC_OVERLAP;
    CC_TRY(predict(c, &s, bits, &overlapped, e));
    *out = (all ? s.cluster.workers * s.timing.compute_s : one_by_one.step_s) / overlapped.step_s;
    return CC_OK;
}
