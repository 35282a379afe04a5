/* The rig: buffers between guard pages, moved and filled with other bytes between calls, so that an
 * access outside, a state that depends on its address, or contents of scratch memory that matter
 * are found. */
#include "tests/lib/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "tests/lib/settings.h"

bool rig_open(struct rig *r, const char *setting)
{
    *r = (struct rig){.spec = setting_open(setting)};
    if (r->spec == NULL)
        return false;
    return true;
}

void rig_close(struct rig *r)
{
    guard_close(&r->state);
    guard_close(&r->scratch);
    guard_close(&r->x);
    guard_close(&r->payload);
    guard_close(&r->y);
    cc_spec_free(r->spec);
}

static void *place(const struct rig *r, struct guard *g, size_t bytes, size_t align)
{
    return r->front ? guard_front(g, bytes) : guard_back(g, bytes, align);
}

void rig_shape(struct rig *r, const struct cc_shape *shape)
{
    r->codec = cc_codec_item(r->spec, shape).codec;
    r->codec.input = r->input;
    const size_t state = cc_state_bytes(&r->codec), scratch = cc_scratch_bytes(&r->codec);
    r->codec.state = state == 0 ? NULL : place(r, &r->state, state, 8);
    r->codec.scratch = scratch == 0 ? NULL : place(r, &r->scratch, scratch, CC_ALIGN);
    if (state > 0)
        memset(r->codec.state, 0x5a, state);
    rig_dirty(r, 0xa5);
    if (shape->n > 0)
        cc_codec_reset(&r->codec);
}

void rig_dirty(struct rig *r, int byte)
{
    if (r->codec.scratch != NULL)
        memset(r->codec.scratch, byte, cc_scratch_bytes(&r->codec));
}

void rig_move_state(struct rig *r)
{
    const size_t bytes = cc_state_bytes(&r->codec);
    if (bytes == 0)
        return;
    struct guard old = r->state;
    r->state = (struct guard){0};
    void *from = r->codec.state;
    /* The new state lies at the other end of its pages, so that the alignment changes as well. */
    r->codec.state =
        old.low == from ? guard_back(&r->state, bytes, 8) : guard_front(&r->state, bytes);
    memcpy(r->codec.state, from, bytes);
    guard_close(&old);
}

int rig_encode(struct rig *r, const struct cc_context *ctx, const float *x, const uint8_t **payload,
               size_t *len)
{
    const size_t n = r->codec.shape.n, bound = n == 0 ? 0 : cc_bound(&r->codec);
    const size_t bytes = n * cc_element_bytes[r->input];
    void *in = place(r, &r->x, bytes, cc_element_bytes[r->input]), *copy = malloc(bytes + 1);
    assert_non_null(copy);
    uint8_t *out = r->front ? (uint8_t *)guard_front(&r->payload, bound + 1) + 1
                            : guard_back(&r->payload, bound, 1);
    cc_narrow(r->input, x, n, in);
    cc_narrow(r->input, x, n, copy);
    memset(out, 0xee, bound);
    *len = SIZE_MAX;
    r->e.text[0] = '\0';
    const struct cc_elements from = {in, r->input};
    int status = cc_encode_from(&r->codec, ctx, from, out, bound, len, &r->e);
    if (status == CC_OK && *len > bound)
        fail_msg("%s, n %zu: %zu bytes, but the bound is %zu", r->spec->name, n, *len, bound);
    if (memcmp(in, copy, bytes) != 0)
        fail_msg("%s, n %zu: encoding changed its input", r->spec->name, n);
    free(copy);
    *payload = out;
    return status;
}

static struct cc_codec receiver(const struct rig *r)
{
    struct cc_codec c = r->codec;
    c.state = NULL;
    return c;
}

/* Copies a received payload next to the guard page that a read beyond it would touch. */
static const uint8_t *deliver(struct rig *r, const uint8_t *payload, size_t len)
{
    uint8_t *in = r->front ? (uint8_t *)guard_front(&r->x, len + 1) + 1 : guard_back(&r->x, len, 1);
    if (len > 0)
        memcpy(in, payload, len);
    return in;
}

int rig_decode(struct rig *r, const struct cc_context *ctx, const uint8_t *payload, size_t len,
               const float **y)
{
    const size_t n = r->codec.shape.n;
    const struct cc_codec c = receiver(r);
    const uint8_t *in = deliver(r, payload, len);
    float *out = place(r, &r->y, n * sizeof *out, sizeof *out);
    memset(out, 0x7b, n * sizeof *out);
    *y = out;
    r->e.text[0] = '\0';
    return cc_decode(&c, ctx, in, len, out, &r->e);
}

float rig_before_add(size_t i)
{
    return 1.0f + (float)(i % 7);
}

int rig_decode_add(struct rig *r, const struct cc_context *ctx, const uint8_t *payload, size_t len,
                   float scale, const float **y)
{
    const size_t n = r->codec.shape.n;
    const struct cc_codec c = receiver(r);
    const uint8_t *in = deliver(r, payload, len);
    float *out = place(r, &r->y, n * sizeof *out, sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = rig_before_add(i);
    *y = out;
    r->e.text[0] = '\0';
    return cc_decode_add(&c, ctx, in, len, scale, out, &r->e);
}

const float *rig_residual(const struct rig *r)
{
    const char *id = r->spec->scheme->id;
    const size_t bytes = cc_state_bytes(&r->codec), own = r->codec.shape.n * sizeof(float);
    if ((r->spec->scheme->flags & CC_FEEDBACK) == 0 || bytes < own || strcmp(id, "local") == 0 ||
        strcmp(id, "dgc") == 0)
        return NULL;
    if (setting_has(r->spec, "ef") && setting_int(r->spec, "ef") != 1)
        return NULL;
    const uint8_t *state = r->codec.state;
    return (const float *)(const void *)(strcmp(id, "powersgd") == 0 ? state + bytes - own : state);
}

struct cc_context rig_context(uint64_t step)
{
    return (struct cc_context){.seed = 42,
                               .rank = step % 3 == 2 ? -1 : 3,
                               .direction = step % 3 == 2 ? CC_PULL : CC_PUSH,
                               .step = step,
                               .tensor = 5,
                               .offset = UINT64_C(4294963200),
                               .name = "layer1.weight"};
}

bool rig_same(float a, float b)
{
    uint32_t p, q;
    memcpy(&p, &a, sizeof p);
    memcpy(&q, &b, sizeof q);
    return p == q || (a != a && b != b);
}

static bool wanted(const char *setting, const char *scheme)
{
    struct cc_spec *s = setting_open(setting);
    const bool is = s != NULL && (scheme[0] == '\0' || strcmp(s->scheme->id, scheme) == 0);
    cc_spec_free(s);
    return is;
}

int rig_run(const char *group, const struct rig_test *tests, size_t count, int argc, char **argv)
{
    enum { MOST = 4096 };
    static struct CMUnitTest all[MOST];
    static char name[MOST][96];
    size_t used = 0;
    for (size_t t = 0; t < count; t++) {
        for (size_t i = 0; tests[t].scheme == NULL ? i < 1 : settings[i] != NULL; i++) {
            const char *setting = tests[t].scheme == NULL ? "" : settings[i];
            if (tests[t].scheme != NULL && !wanted(setting, tests[t].scheme))
                continue;
            if (used == MOST) {
                (void)fprintf(stderr, "%s: more than %d tests\n", group, MOST);
                return 1;
            }
            (void)snprintf(name[used], sizeof name[used], "%s %s", tests[t].name, setting);
            all[used] = (struct CMUnitTest){.name = name[used],
                                            .test_func = tests[t].run,
                                            .initial_state = (void *)(uintptr_t)setting};
            used++;
        }
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return _cmocka_run_group_tests(group, all, used, NULL, NULL);
}
