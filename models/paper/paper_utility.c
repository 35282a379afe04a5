/* Agarwal et al., On the utility of gradient compression in distributed training systems (MLSys
 * 2022): each setting's step with a scheme against the same with DistributedDataParallel.
 *
 * The baseline is DDP as system.h has it. A scheme works after the backward pass, on the whole
 * gradient: its step is computation, encoding, exchange and decoding one after the other. Low-rank
 * factors are summed in a ring, twice; what cannot be summed is gathered by all workers. */
#include <math.h>

#include "models/paper/paper_formula.h"
#include "models/system.h"

/* Bytes of the factors of a tensor as a matrix of its first dimension and the others; a vector is
 * sent as it is. */
static double factor_bytes(const void *arg, const struct cc_shape *shape)
{
    const double rank = *(const double *)arg, n = (double)shape->n;
    const double rows = shape->ndim > 1 ? (double)shape->dim[0] : n;
    return 4 * fmin(n, rank * (rows + n / rows));
}

static int step(struct cc_paper_case *c, const struct cc_setting *s,
                const struct cc_codec_model *codec_model, double *out, struct cc_error *e)
{
    struct cc_codec_model raw = cc_codec_model_given("fp32", CC_REDUCE_SUM, 32, 0, 0, 0);
    struct cc_step_payloads payloads;
    struct cc_prediction p;
    raw.verbatim = true;
    CC_TRY(cc_step_payloads_make(s->net, codec_model != NULL ? codec_model : &raw, &raw, NULL,
                                 &payloads, e));
    const int status = cc_predict(c->predictor, s, &payloads, &p, e);
    cc_step_payloads_free(&payloads);
    *out = status == CC_OK ? p.step_s : NAN;
    return status;
}

/* DDP's step / that of the scheme of the row. codec_scale: 0 for a codec that takes no time. */
static int speedup(struct cc_paper_case *c, double codec_scale, double *out, struct cc_error *e)
{
    const struct cc_net *net = c->row->net;
    struct cc_setting s;
    double ddp = NAN, with = NAN, rank = 0;
    if (net == NULL)
        return cc_fail(e, "it needs a net");
    cc_setting_defaults(net, &s);
    s.cluster.workers = cc_case_whole(c, "workers");
    s.link.bw_bps = 1e9 * cc_case(c, "gbps");
    s.link.latency_s = cc_case(c, "latency_s");
    s.link.overhead = cc_case(c, "overhead");
    s.timing.compute_s = cc_case(c, "batch") / cc_case(c, "samples_per_s");
    const double ns = codec_scale * 1e6 * cc_case(c, "codec_ms") / cc_case(c, "codec_values");
    const double index = cc_case(c, "index_bits");
    cc_system_apply(&cc_systems[CC_SYSTEM_DDP], &s);
    CC_TRY(step(c, &s, NULL, &ddp, e));
    s.timing.mode = CC_SEQUENTIAL;
    s.timing.fuse_bytes = s.timing.first_fuse_bytes = -1;
    struct cc_codec_model m = cc_codec_model_given("x", CC_REDUCE_DECODED, 32, ns, 0, 0);
    s.exchange = CC_ALLGATHER;
    if (cc_case_has(c, "rank")) {
        rank = cc_case(c, "rank");
        m.shape_bytes = factor_bytes;
        m.shape_arg = &rank;
        m.reduction = CC_REDUCE_SUM;
        m.sum_rounds = 2;
        s.exchange = CC_RING;
    } else {
        const double bits =
            cc_case_has(c, "top") ? cc_case(c, "top") * (32 + index) : cc_case(c, "bits");
        m.push_point.bits_per_value = m.pull_point.bits_per_value = bits;
    }
    CC_TRY(step(c, &s, &m, &with, e));
    *out = ddp / with;
    return CC_OK;
}

/* Counts the table's settings, of a batch if the row has one; those that gain, with codecs that
 * take codec_scale times as long if the row has that; or those that would with codecs that take no
 * time.
 */
static int count(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    const struct cc_paper *p = c->paper;
    const double given = cc_case_has(c, "codec_scale") ? cc_case(c, "codec_scale") : 1;
    const double scale = cc_case_is(c, "gains_free") ? 0 : given;
    *out = 0;
    for (size_t r = 0; r < p->rows; r++)
        for (size_t k = 0; k < p->columns; k++) {
            struct cc_paper_case one = {
                .paper = p, .row = &p->row[r], .column = &p->column[k], .predictor = c->predictor};
            double gain = 0;
            if (p->row[r].net == NULL || !cc_case_is(&one, "speedup") ||
                (cc_case_has(c, "batch") && cc_case(c, "batch") != cc_case(&one, "batch")))
                continue;
            CC_TRY(speedup(&one, scale, &gain, e));
            *out += cc_case_is(c, "settings") || gain > 1;
        }
    return CC_OK;
}

int cc_formula_utility(struct cc_paper_case *c, double *out, struct cc_error *e)
{
    return cc_case_is(c, "speedup") ? speedup(c, 1, out, e) : count(c, out, e);
}
