/* Any bytes either decode as a pack or are refused, alike by decode and decode_add, and no value
 * outside the pack's slices is changed.
 *
 * Input: u8 index in tests/lib/settings.c (modulo their number); u8 step; u8 twice the number of
 * tensors; for each tensor a u8, whose lowest bit means raw and whose others are n; then the
 * pack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netsim/exchange/pack/pack.h"
#include "tests/lib/jobs.h"
#include "tests/lib/rig.h"
#include "tests/lib/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER = 3 };

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static int run(const struct cc_pack *c, const struct cc_job *job, uint64_t step,
               const uint8_t *bytes, size_t len, bool add)
{
    const size_t n = cc_job_values(job), last = job->offset[job->tensors - 1];
    float *y = malloc(n * sizeof *y);
    struct cc_error e = {""};
    check(y != NULL, "no memory");
    for (size_t i = 0; i < n; i++)
        y[i] = rig_before_add(i);
    int status = add ? cc_pack_decode_add(c, step, bytes, len, 0.5f, y, &e)
                     : cc_pack_decode(c, step, bytes, len, y, &e);
    check(status == CC_OK || strncmp(e.text, "pack, byte ", 11) == 0 ||
              strncmp(e.text, "tensor 't", 9) == 0,
          "a refusal without a place");
    for (size_t i = last; i < n; i++)
        check(rig_same(y[i], rig_before_add(i)), "a value outside the slices was changed");
    free(y);
    return status;
}

static void pack(const struct cc_spec *spec, const struct cc_spec *raw, struct cc_job *job,
                 uint64_t step, const uint8_t *bytes, size_t len)
{
    struct cc_slice *slice;
    struct cc_pack *c = NULL;
    size_t slices;
    const struct cc_pack_config config = {
        .job = job, .spec = spec, .raw = raw, .seed = 42, .decodes_only = true};
    jobs_add_flat(job, 3, false); /* not in the pack */
    check(cc_slices(job, 0, job->offset[job->tensors - 1], &slice, &slices, NULL) == CC_OK &&
              cc_pack_make(&config, slice, slices, &c, NULL) == CC_OK,
          "the pack cannot be made");
    int status = run(c, job, step, bytes, len, false);
    check(run(c, job, step, bytes, len, true) == status, "decode and decode_add do not agree");
    check(status != CC_OK || len <= cc_pack_bound(c), "more bytes than the bound were decoded");
    cc_pack_free(c);
    free(slice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static size_t known;
    while (settings[known] != NULL)
        known++;
    if (size < HEADER || size < HEADER + (size_t)data[2] / 2)
        return 0;
    struct cc_spec *spec = setting_open(settings[data[0] % known]), *raw = setting_open("fp32");
    struct cc_job job = {0};
    size_t tensors = data[2] / 2, len = size - HEADER - tensors;
    for (size_t i = 0; i < tensors; i++)
        jobs_add_flat(&job, data[HEADER + i] / 2, data[HEADER + i] % 2);
    uint8_t *bytes = malloc(len);
    if (len > 0)
        memcpy(bytes, data + HEADER + tensors, len);
    pack(spec, raw, &job, data[1], bytes, len);
    free(bytes);
    jobs_free(&job);
    cc_spec_free(spec);
    cc_spec_free(raw);
    return 0;
}
