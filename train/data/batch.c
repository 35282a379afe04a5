#include "train/data/batch.h"

#include "core/random.h"
#include "train/data/data.h"
#include "train/data/resize.h"

/* How an image is changed: pixel (y, x) is that of (y + down, x + right) in it, mirrored or not. */
struct change {
    ptrdiff_t down, right;
    bool mirror;
};

static ptrdiff_t draw_shift(struct cc_key key, uint32_t index, size_t most)
{
    const uint64_t r = cc_random(key, index);
    return (ptrdiff_t)(r * (2 * most + 1) >> 32) - (ptrdiff_t)most;
}

static struct change draw_change(const struct cc_augment *a, uint32_t sample)
{
    const struct cc_random_id id = {
        .seed = a->seed, .rank = -1, .step = a->epoch, .tensor = sample, .stream = CC_DRAW_AUGMENT};
    const struct cc_key key = cc_key(&id, 0);
    return (struct change){.down = draw_shift(key, 0, a->shift),
                           .right = draw_shift(key, 1, a->shift),
                           .mirror = a->flip && (cc_random(key, 2) >> 31) != 0};
}

/* One plane, normalized and changed. */
static void take_plane(const struct cc_data *d, const struct cc_samples *from, size_t at,
                       size_t channel, const struct change *c, float *out)
{
    const ptrdiff_t h = (ptrdiff_t)d->height, w = (ptrdiff_t)d->width;
    const float mean = d->mean[channel], scale = d->scale[channel];
    for (ptrdiff_t y = 0; y < h; y++)
        for (ptrdiff_t x = 0; x < w; x++) {
            const ptrdiff_t row = y + c->down, column = (c->mirror ? w - 1 - x : x) + c->right;
            float v = mean;
            if (row >= 0 && row < h && column >= 0 && column < w) {
                const size_t i = at + (size_t)(row * w + column);
                v = from->byte != NULL ? (float)from->byte[i] : from->value[i];
            }
            out[y * w + x] = (v - mean) * scale;
        }
}

void cc_batch(const struct cc_data *d, const struct cc_samples *from, const uint32_t *index,
              size_t count, const struct cc_augment *augment, size_t height, size_t width,
              float *room, float *out, int32_t *label)
{
    const size_t plane = d->height * d->width, values = cc_data_values(d);
    for (size_t i = 0; i < count; i++) {
        const struct change change =
            augment != NULL ? draw_change(augment, index[i]) : (struct change){0};
        label[i] = from->label[index[i]];
        for (size_t c = 0; c < d->channels; c++) {
            take_plane(d, from, index[i] * values + c * plane, c, &change, room);
            cc_resize(room, d->height, d->width, out, height, width);
            out += height * width;
        }
    }
}

void cc_batch_text(const struct cc_data *d, const struct cc_samples *from, const uint32_t *index,
                   size_t count, size_t shift, float *out, int32_t *label)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = from->byte + index[i] * d->context + shift;
        for (size_t k = 0; k < d->context; k++) {
            *out++ = (float)at[k];
            *label++ = at[k + 1];
        }
    }
}

size_t cc_text_shift(const struct cc_data *d, uint64_t seed, uint64_t epoch)
{
    const struct cc_random_id id = {
        .seed = seed, .rank = -1, .step = epoch, .stream = CC_DRAW_AUGMENT};
    const uint64_t r = cc_random(cc_key(&id, 0), 0);
    return (size_t)(r * d->context >> 32);
}
