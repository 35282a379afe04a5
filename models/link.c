/* Links: the presets, words for bandwidth and overhead, and the files of `commcomp calibrate`. */
#include "models/link.h"

#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/format/json.h"
#include "core/nearest.h"
#include "core/units.h"

/* Header bytes over payload bytes of a full segment. */
#define TC         CC_LINK_OVERHEAD /* a frame as tc counts it: 14 + 20 + 32 bytes before 1,448 */
#define ETHERNET   (90.0 / 1448)    /* and check sum, preamble and gap: 1,538 on the wire */
#define JUMBO      (90.0 / 8948)
#define INFINIBAND (26.0 / 4096) /* LRH 8, BTH 12, ICRC 4, VCRC 2 */

static const char *const overhead_names[] = {"tc", "ethernet", "jumbo", "infiniband", "none", NULL};
static const double overheads[] = {TC, ETHERNET, JUMBO, INFINIBAND, 0};

/* X(name, bits per second, latency, overhead, source of the figures) */
/* clang-format off */
#define PRESETS(X) \
    X("wan", 100e6, 25e-3, ETHERNET, "100 Mbit/s over half a continent: 50 ms there and back") \
    X("ethernet", 10e9, 50e-6, ETHERNET, "10 Gbit/s Ethernet with TCP through the kernel") \
    X("infiniband", 100e9, 1.5e-6, INFINIBAND, "EDR: 100 Gbit/s, MPI's small-message latency") \
    X("3lc", 1e9, 50e-6, TC, "3LC: 1 Gbit/s, shaped by tc to 10 and 100 Mbit/s too; latency assumed") \
    X("sparcml-daint", 50e9, 1.5e-6, 0, "SparCML: Piz Daint (Cray Aries), 50 Gbit/s of payload by ping-pong; latency assumed") \
    X("sparcml-greina-ib", 40e9, 1.5e-6, 0, "SparCML: Greina, InfiniBand FDR, 40 Gbit/s by ping-pong; latency assumed") \
    X("sparcml-greina-ge", 1e9, 50e-6, 0, "SparCML: Greina, Gigabit Ethernet, 1 Gbit/s by ping-pong; latency assumed") \
    X("sparcml-ec2", 4e9, 50e-6, 0, "SparCML: Amazon EC2, saturates at 4 Gbit/s; latency assumed") \
    X("pipesgd", 10e9, 50e-6, ETHERNET, "Pipe-SGD: four nodes, 10 Gbit/s Ethernet; latency assumed") \
    X("thesis", 1e9, 50e-6, ETHERNET, "modularized parameter server: four machines, 1 Gbit/s Ethernet; latency assumed")
/* clang-format on */

/* Inside a host: rates of one accelerator's port in each direction. Latencies are those of NCCL's
 * constants for a hop of a ring with its protocol Simple (src/graph/tuning.cc). */
/* clang-format off */
#define INTRA_PRESETS(X) \
    X("nvlink3", 2400e9, CC_INTRA_LATENCY, 0, "A100: 12 links of 25 GB/s each way (NVIDIA A100 whitepaper: 600 GB/s both ways)") \
    X("nvlink4", 3600e9, CC_INTRA_LATENCY, 0, "H100: 18 links of 25 GB/s each way (NVIDIA H100 whitepaper: 900 GB/s both ways)") \
    X("pcie4", 252e9, 5.7e-6, 24.0 / 256, "16 lanes of 16 GT/s with 128b/130b; 24 bytes of headers for each 256 (PCI Express 4.0)") \
    X("shm", 80e9, 1e-6, 0, "assumed: shared memory, which a core copies at 10 GB/s")
/* clang-format on */

#define PRESET(label, rate, latency, headers, text)                                                \
    {.name = label, .bw_bps = rate, .latency_s = latency, .overhead = headers},
static const struct cc_link presets[] = {PRESETS(PRESET)};
static const struct cc_link intra_presets[] = {INTRA_PRESETS(PRESET)};

#define NAME(label, rate, latency, headers, text) label,
const char *const cc_link_names[] = {PRESETS(NAME) NULL};
const char *const cc_intra_names[] = {INTRA_PRESETS(NAME) NULL};

/* A rate, which completes `link`, or one of the presets. */
static int parse_link(const char *text, struct cc_link link, const struct cc_link *preset,
                      const char *const *names, const char *some, struct cc_link *out,
                      struct cc_error *e)
{
    struct cc_error not_a_rate = {""};
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = preset[i];
            return CC_OK;
        }
    if (cc_parse_rate(text, &link.bw_bps, &not_a_rate) == CC_OK) {
        cc_print_rate(link.bw_bps, link.name, sizeof link.name);
        *out = link;
        return CC_OK;
    }
    const char *near = cc_nearest(text, names);
    if (near != NULL)
        return cc_usage(e, "'%.60s' is neither a rate nor a link known by name; did you mean '%s'?",
                        text, near);
    if (text[0] >= '0' && text[0] <= '9')
        return cc_usage(e, "%s", not_a_rate.text);
    return cc_usage(e, "%.300s, nor a link known by name: %s", not_a_rate.text, some);
}

int cc_link_parse(const char *text, struct cc_link *out, struct cc_error *e)
{
    const struct cc_link link = {.latency_s = CC_LINK_LATENCY, .overhead = CC_LINK_OVERHEAD};
    return parse_link(text, link, presets, cc_link_names, "wan, ethernet, infiniband, 3lc, ...",
                      out, e);
}

int cc_link_parse_intra(const char *text, struct cc_link *out, struct cc_error *e)
{
    const struct cc_link link = {.latency_s = CC_INTRA_LATENCY};
    char all[80];
    cc_word_list(cc_intra_names, all, sizeof all);
    return parse_link(text, link, intra_presets, cc_intra_names, all, out, e);
}

void cc_link_set_rates(struct cc_link *l, double up_bps, double down_bps)
{
    char up[24], down[24];
    l->bw_bps = up_bps < down_bps ? up_bps : down_bps;
    l->up_factor = up_bps / l->bw_bps;
    l->down_factor = down_bps / l->bw_bps;
    if (!cc_link_asymmetric(l))
        return;
    cc_print_rate(up_bps, up, sizeof up);
    cc_print_rate(down_bps, down, sizeof down);
    (void)snprintf(l->name, sizeof l->name, "%s up, %s down", up, down);
}

/* Parses a whole number of bytes up to a million; returns its end, or NULL if there is none. */
static const char *segment_bytes(const char *text, double *out)
{
    size_t digits = strspn(text, "0123456789");
    *out = 0;
    if (digits == 0 || digits > 7)
        return NULL;
    for (size_t i = 0; i < digits; i++)
        *out = 10 * *out + (text[i] - '0');
    return *out <= 1000000 ? text + digits : NULL;
}

int cc_overhead_parse(const char *text, double *out, struct cc_error *e)
{
    double header, payload;
    for (size_t i = 0; overhead_names[i] != NULL; i++)
        if (strcmp(text, overhead_names[i]) == 0) {
            *out = overheads[i];
            return CC_OK;
        }
    const char *slash = segment_bytes(text, &header);
    const char *end = slash != NULL && *slash == '/' ? segment_bytes(slash + 1, &payload) : NULL;
    if (end != NULL && *end == '\0' && payload > 0) {
        *out = header / payload;
        return CC_OK;
    }
    const char *near = cc_nearest(text, overhead_names);
    return cc_usage(e,
                    "'%.60s' is not tc, ethernet, jumbo, infiniband, none, or the bytes "
                    "HEADER/PAYLOAD of a segment as in 66/1448, each up to 1000000%s%s%s",
                    text, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                    near != NULL ? "'?" : "");
}

/* --- calibration files --- */

#define NUMBER(member) CC_JSON_AT(struct cc_link, member, CC_JSON_AMOUNT)
static const struct cc_json_member members[] = {
    CC_JSON_KEY("schema"), CC_JSON_KEY("name"),   NUMBER(bw_bps),        NUMBER(latency_s),
    NUMBER(message_s),     NUMBER(overhead),      NUMBER(message_bytes), NUMBER(burst_bytes),
    NUMBER(reduce_byte_s), CC_JSON_KEY("source"), {.key = NULL}};

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_link link = {.latency_s = -1};
    const char *name, *source;
    CC_TRY(cc_json_schema(root, CC_LINK_SCHEMA, "see docs/model.md", e));
    CC_TRY(cc_json_members(root, members, &link, e));
    CC_TRY(cc_json_text(root, "name", &name, e));
    CC_TRY(cc_json_text(root, "source", &source, e));
    if (name == NULL || name[0] == '\0' ||
        snprintf(link.name, sizeof link.name, "%s", name) >= (int)sizeof link.name)
        return cc_fail(e, "\"name\" must be a text of 1 to %zu bytes", sizeof link.name - 1);
    if (link.bw_bps == 0)
        return cc_fail(e, "\"bw_bps\" must be there and above 0: bits per second");
    if (link.latency_s < 0)
        return cc_fail(e, "\"latency_s\" is missing");
    *(struct cc_link *)out = link;
    return CC_OK;
}

int cc_link_parse_json(const char *text, size_t length, struct cc_link *out, struct cc_error *e)
{
    return cc_json_parse_as(text, length, parse_root, out, e);
}

int cc_link_read(const char *path, struct cc_link *out, struct cc_error *e)
{
    return cc_json_read_as(path, parse_root, out, e);
}

static int put_link(FILE *f, const struct cc_link *l, const char *source, struct cc_error *e)
{
    (void)fputs("{\"schema\": \"" CC_LINK_SCHEMA "\", \"name\": ", f);
    CC_TRY(cc_json_put_text(f, l->name, e));
    for (const struct cc_json_member *m = members; m->key != NULL; m++)
        if (m->kind == CC_JSON_AMOUNT) {
            (void)fprintf(f, ",\n \"%s\": ", m->key);
            cc_json_put_number(f, *(const double *)((const char *)l + m->at));
        }
    (void)fputs(",\n \"source\": ", f);
    CC_TRY(cc_json_put_text(f, source, e));
    (void)fputs("}\n", f);
    return CC_OK;
}

int cc_link_write(const struct cc_link *l, const char *source, const char *path, struct cc_error *e)
{
    struct cc_outfile o;
    CC_TRY(cc_file_create(&o, path, e));
    return cc_file_end(&o, put_link(o.f, l, source, e), e);
}
