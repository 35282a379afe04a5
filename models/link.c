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
#define ROCE       (82.0 / 4096) /* preamble, gap, Ethernet, check sum 38; IP 20, UDP 8, BTH, ICRC */

static const char *const overhead_names[] = {"tc",   "ethernet", "jumbo", "infiniband",
                                             "roce", "none",     NULL};
static const double overheads[] = {TC, ETHERNET, JUMBO, INFINIBAND, ROCE, 0};

/* A hop of a ring between hosts by NCCL's constants (src/graph/tuning.cc, protocol Simple). */
#define RDMA_LATENCY 14e-6

const struct cc_link_class cc_link_classes[] = {
    {"tcp", "TCP through the kernel", 0, CC_LINK_LATENCY, TC},
    {"rdma", "RDMA over Ethernet", 10e9, RDMA_LATENCY, ROCE},
    {.name = NULL},
};

void cc_link_classify(struct cc_link *l)
{
    if (!l->bare)
        return;
    for (const struct cc_link_class *c = cc_link_classes; c->name != NULL; c++)
        if (l->bw_bps > c->above_bps)
            l->of_class = c;
    if (l->of_class == NULL)
        return;
    l->latency_s = l->of_class->latency_s;
    l->overhead = l->of_class->overhead;
}

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
        link.bare = true;
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

double cc_link_intra_latency(const struct cc_link *l)
{
    for (size_t i = 0; cc_intra_names[i] != NULL; i++)
        if (strcmp(l->name, cc_intra_names[i]) == 0)
            return intra_presets[i].latency_s;
    return strcmp(l->name, CC_LINK_MEMORY) == 0 ? l->latency_s : CC_INTRA_LATENCY;
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
                    "'%.60s' is not tc, ethernet, jumbo, infiniband, roce, none, or the bytes "
                    "HEADER/PAYLOAD of a segment as in 66/1448, each up to 1000000%s%s%s",
                    text, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                    near != NULL ? "'?" : "");
}

/* --- calibration files --- */

/* A link as the file has it. */
struct entry {
    struct cc_link link;
    const char *name, *source;
    double up_bps, down_bps; /* 0: bw_bps */
};

#define NUMBER(member)                                                                             \
    {                                                                                              \
        .key = #member, .kind = CC_JSON_AMOUNT, .at = offsetof(struct entry, link.member)          \
    }
#define NUMBERS                                                                                    \
    NUMBER(bw_bps), NUMBER(latency_s), NUMBER(message_s), NUMBER(overhead), NUMBER(message_bytes), \
        NUMBER(burst_bytes), NUMBER(reduce_byte_s)
static const struct cc_json_member numbers[] = {NUMBERS, {.key = NULL}};

#define TEXTS CC_JSON_AT(struct entry, name, CC_JSON_TEXT)
#define WAYS                                                                                       \
    CC_JSON_AT(struct entry, up_bps, CC_JSON_AMOUNT),                                              \
        CC_JSON_AT(struct entry, down_bps, CC_JSON_AMOUNT)
#define ROOT CC_JSON_KEY("schema"), CC_JSON_AT(struct entry, source, CC_JSON_TEXT)
static const struct cc_json_member members_1[] = {ROOT, TEXTS, NUMBERS, {.key = NULL}};
static const struct cc_json_member members[] = {
    ROOT, TEXTS, NUMBERS, WAYS, CC_JSON_KEY("inside"), {.key = NULL}};
static const struct cc_json_member inside_members[] = {TEXTS, NUMBERS, {.key = NULL}};

/* Reads a link's members; of `up_bps` and `down_bps`, `bw_bps` is the slower one. */
static int parse_entry(const cJSON *object, const struct cc_json_member *from, struct cc_link *out,
                       struct cc_error *e)
{
    struct entry got = {.link = {.latency_s = -1}};
    struct cc_link *l = &got.link;
    CC_TRY(cc_json_members(object, from, &got, e));
    if (got.name == NULL || got.name[0] == '\0' ||
        snprintf(l->name, sizeof l->name, "%s", got.name) >= (int)sizeof l->name)
        return cc_fail(e, "\"name\" must be a text of 1 to %zu bytes", sizeof l->name - 1);
    if (l->bw_bps == 0)
        return cc_fail(e, "\"bw_bps\" must be there and above 0: bits per second");
    if (l->latency_s < 0)
        return cc_fail(e, "\"latency_s\" is missing");
    const double up = got.up_bps, down = got.down_bps, slower = up < down ? up : down;
    if ((up > 0 || down > 0) &&
        !(slower >= l->bw_bps * (1 - 1e-9) && slower <= l->bw_bps * (1 + 1e-9)))
        return cc_fail(e, "\"up_bps\" and \"down_bps\" go together, and \"bw_bps\" is the slower "
                          "one of them");
    if (slower > 0) {
        l->up_factor = up > slower ? up / slower : 1;
        l->down_factor = down > slower ? down / slower : 1;
    }
    *out = got.link;
    return CC_OK;
}

static bool is_schema(const cJSON *root, const char *schema)
{
    struct cc_error ignored;
    return cc_json_schema(root, schema, "", &ignored) == CC_OK;
}

static int parse_root(const cJSON *root, void *out, struct cc_error *e)
{
    struct cc_calibrated_links found = {.inside = {.bw_bps = 0}};
    const bool first = is_schema(root, CC_LINK_SCHEMA_1);
    if (!first)
        CC_TRY(cc_json_schema(root, CC_LINK_SCHEMA, "see docs/model.md", e));
    CC_TRY(parse_entry(root, first ? members_1 : members, &found.between, e));
    const cJSON *inside = cJSON_GetObjectItemCaseSensitive(root, "inside");
    if (inside != NULL)
        CC_TRY_IN(parse_entry(inside, inside_members, &found.inside, e), e, "\"inside\"");
    *(struct cc_calibrated_links *)out = found;
    return CC_OK;
}

int cc_link_parse_json(const char *text, size_t length, struct cc_calibrated_links *out,
                       struct cc_error *e)
{
    return cc_json_parse_as(text, length, parse_root, out, e);
}

int cc_link_read(const char *path, struct cc_calibrated_links *out, struct cc_error *e)
{
    return cc_json_read_as(path, parse_root, out, e);
}

/* Writes a link's name and numbers. */
static int put_link(FILE *f, const struct cc_link *l, struct cc_error *e)
{
    const struct entry from = {.link = *l};
    (void)fputs("\"name\": ", f);
    CC_TRY(cc_json_put_text(f, l->name, e));
    for (const struct cc_json_member *m = numbers; m->key != NULL; m++) {
        (void)fprintf(f, ",\n \"%s\": ", m->key);
        cc_json_put_number(f, *(const double *)((const char *)&from + m->at));
    }
    return CC_OK;
}

static int put_classes(FILE *f, const struct cc_calibrated_links *l, const char *source,
                       struct cc_error *e)
{
    (void)fputs("{\"schema\": \"" CC_LINK_SCHEMA "\", ", f);
    CC_TRY(put_link(f, &l->between, e));
    if (cc_link_asymmetric(&l->between)) {
        (void)fputs(",\n \"up_bps\": ", f);
        cc_json_put_number(f, cc_link_up_bps(&l->between));
        (void)fputs(",\n \"down_bps\": ", f);
        cc_json_put_number(f, cc_link_down_bps(&l->between));
    }
    if (l->inside.bw_bps > 0) {
        (void)fputs(",\n \"inside\": {", f);
        CC_TRY(put_link(f, &l->inside, e));
        (void)fputs("}", f);
    }
    (void)fputs(",\n \"source\": ", f);
    CC_TRY(cc_json_put_text(f, source, e));
    (void)fputs("}\n", f);
    return CC_OK;
}

int cc_link_write(const struct cc_calibrated_links *l, const char *source, const char *path,
                  struct cc_error *e)
{
    struct cc_outfile o;
    CC_TRY(cc_file_create(&o, path, e));
    return cc_file_end(&o, put_classes(o.f, l, source, e), e);
}
