/* Images of shapes, drawn: a set of data as large and as hard as wanted, for nets of CIFAR's kind.
 * A class is one of ten shapes, or with more than ten classes a pair of them, the second one small
 * and on the first. A shape is turned, stretched, moved and colored at random, on a background that
 * shades from one color to another, among strokes of which some lie on it, under noise. Images have
 * three channels of bytes. Every sample has random numbers of its own, so that a longer set begins
 * as a shorter one; no function is used that differs between C libraries. */
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/random.h"
#include "train/data/sources.h"

enum { CHANNELS = 3, SHAPES = 10 };

struct config {
    uint64_t classes, size, train, test, seed, strokes;
    double noise;
};

static const struct cc_data_key shapes_keys[] = {
    {"classes", CC_KEY_COUNT, .at = offsetof(struct config, classes), 2, SHAPES *SHAPES},
    {"size", CC_KEY_COUNT, .at = offsetof(struct config, size), 16, 256},
    {"train", CC_KEY_COUNT, .at = offsetof(struct config, train), 1, UINT64_C(1) << 32},
    {"test", CC_KEY_COUNT, .at = offsetof(struct config, test), 1, UINT64_C(1) << 32},
    {"strokes", CC_KEY_COUNT, .at = offsetof(struct config, strokes), 0, 1000},
    {"noise", CC_KEY_NUMBER, .at = offsetof(struct config, noise), 0, 10},
    {"seed", CC_KEY_COUNT, .at = offsetof(struct config, seed), 0, UINT64_C(1) << 53},
    {.name = NULL}};

/* The random numbers of a sample, one after the other. */
struct stream {
    struct cc_key key;
    uint32_t next;
};

static float uniform(struct stream *s, float from, float to)
{
    return from + (to - from) * cc_unit(cc_random(s->key, s->next++));
}

static float normal(struct stream *s)
{
    s->next += 4;
    return cc_about_normal(s->key, s->next - 4);
}

/* Distances to the borders of shapes of about unit radius around (0, 0), negative inside; away from
 * the border they are bounds. */
static float box(float x, float y, float half_width, float half_height)
{
    return fmaxf(fabsf(x) - half_width, fabsf(y) - half_height);
}

static float triangle(float x, float y)
{
    return fmaxf(-y - 0.5f, 0.8660254f * fabsf(x) + 0.5f * y - 0.5f);
}

static float distance(size_t shape, float x, float y)
{
    const float radius = sqrtf(x * x + y * y);
    switch (shape) {
    case 0: /* a disc */
        return radius - 0.9f;
    case 1: /* a ring */
        return fabsf(radius - 0.7f) - 0.22f;
    case 2: /* a square */
        return box(x, y, 0.8f, 0.8f);
    case 3: /* its frame */
        return fmaxf(box(x, y, 0.85f, 0.85f), -box(x, y, 0.42f, 0.42f));
    case 4: /* a triangle */
        return triangle(x, y);
    case 5: /* a star of two triangles */
        return fminf(triangle(x, y), triangle(x, -y));
    case 6: /* a cross */
        return fminf(box(x, y, 0.95f, 0.28f), box(x, y, 0.28f, 0.95f));
    case 7: /* an L */
        return fminf(box(x + 0.45f, y, 0.28f, 0.9f), box(x, y + 0.62f, 0.73f, 0.28f));
    case 8: /* a T */
        return fminf(box(x, y + 0.1f, 0.26f, 0.8f), box(x, y - 0.65f, 0.85f, 0.26f));
    default: /* a crescent */
        return fmaxf(radius - 0.95f, 0.72f - sqrtf((x - 0.45f) * (x - 0.45f) + y * y));
    }
}

/* A shape on an image: the map from pixels to the shape's own coordinates, and its color. */
struct mark {
    size_t shape;
    float left, top; /* its center */
    float map[2][2]; /* times the pixels from the center */
    float unit;      /* pixels of a unit of its own coordinates, at least */
    float reach;     /* pixels from the center to its farthest point, at most */
    float color[CHANNELS];
};

/* Turns a mark by any angle; its unit becomes `width` and `height` pixels. */
static void place(struct stream *s, struct mark *m, float width, float height)
{
    /* An angle of up to an eighth turn by the tangent of its half, then up to three quarter turns.
     */
    const float t = uniform(s, -0.41421356f, 0.41421356f);
    float cosine = (1 - t * t) / (1 + t * t), sine = 2 * t / (1 + t * t);
    const uint32_t quarter = cc_random(s->key, s->next++);
    if (quarter & 1) {
        const float old = cosine;
        cosine = -sine;
        sine = old;
    }
    if (quarter & 2) {
        cosine = -cosine;
        sine = -sine;
    }
    m->map[0][0] = cosine / width;
    m->map[0][1] = sine / width;
    m->map[1][0] = -sine / height;
    m->map[1][1] = cosine / height;
    m->unit = fminf(width, height);
    m->reach = 1.5f * fmaxf(width, height);
}

static size_t first_pixel(float at, size_t side)
{
    return at <= 0 ? 0 : at >= (float)side ? side : (size_t)at;
}

static void draw_mark(const struct mark *m, size_t side, float *image)
{
    const size_t plane = side * side;
    const size_t bottom = first_pixel(m->top + m->reach + 2, side);
    const size_t right = first_pixel(m->left + m->reach + 2, side);
    for (size_t y = first_pixel(m->top - m->reach - 1, side); y < bottom; y++) {
        for (size_t x = first_pixel(m->left - m->reach - 1, side); x < right; x++) {
            const float dx = (float)x - m->left, dy = (float)y - m->top;
            const float u = m->map[0][0] * dx + m->map[0][1] * dy;
            const float v = m->map[1][0] * dx + m->map[1][1] * dy;
            const float covers = fminf(1, 0.5f - distance(m->shape, u, v) * m->unit);
            float *at = image + y * side + x;
            for (size_t c = 0; covers > 0 && c < CHANNELS; c++)
                at[c * plane] += covers * (m->color[c] - at[c * plane]);
        }
    }
}

static float apart(const float a[CHANNELS], const float b[CHANNELS])
{
    float sum = 0;
    for (size_t c = 0; c < CHANNELS; c++)
        sum += fabsf(a[c] - b[c]) / CHANNELS;
    return sum;
}

/* Draws colors until one differs from both others by 0.35 in the mean over the channels, twenty at
 * most. */
static void choose_color(struct stream *s, const float one[CHANNELS], const float other[CHANNELS],
                         float color[CHANNELS])
{
    float least = 0;
    for (int tries = 0; tries < 20 && least < 0.35f; tries++) {
        for (size_t c = 0; c < CHANNELS; c++)
            color[c] = uniform(s, 0, 1);
        least = fminf(apart(color, one), apart(color, other));
    }
}

/* A stroke: a narrow bar. */
static void draw_stroke(struct stream *s, size_t side, float *image)
{
    const float all = (float)side;
    struct mark m = {.shape = 2};
    m.left = uniform(s, 0, all);
    m.top = uniform(s, 0, all);
    const float length = uniform(s, 0.1f, 0.3f) * all, width = uniform(s, 0.02f, 0.06f) * all;
    place(s, &m, length, width);
    for (size_t c = 0; c < CHANNELS; c++)
        m.color[c] = uniform(s, 0, 1);
    draw_mark(&m, side, image);
}

static void draw_background(struct stream *s, size_t side, float middle[CHANNELS], float *image)
{
    const float across = uniform(s, -1, 1), down = uniform(s, -1, 1);
    for (size_t c = 0; c < CHANNELS; c++) {
        const float change = uniform(s, -0.3f, 0.3f);
        middle[c] = uniform(s, 0.15f, 0.85f);
        for (size_t y = 0; y < side; y++)
            for (size_t x = 0; x < side; x++)
                *image++ = middle[c] + change * (across * ((float)x / (float)side - 0.5f) +
                                                 down * ((float)y / (float)side - 0.5f));
    }
}

static void draw_sample(const struct config *c, struct stream *s, size_t class, float *image,
                        uint8_t *out)
{
    const size_t side = c->size, values = CHANNELS * side * side;
    const bool pair = c->classes > SHAPES;
    const float all = (float)side;
    float background[CHANNELS];
    struct mark m = {.shape = class % SHAPES};
    draw_background(s, side, background, image);
    for (uint64_t i = 0; i < c->strokes / 2; i++)
        draw_stroke(s, side, image);
    const float radius = uniform(s, pair ? 0.3f : 0.2f, pair ? 0.42f : 0.36f) * all;
    const float room = 0.5f * all - 0.7f * radius;
    m.left = 0.5f * (all - 1) + uniform(s, -room, room);
    m.top = 0.5f * (all - 1) + uniform(s, -room, room);
    place(s, &m, radius, radius * uniform(s, 0.75f, 1));
    choose_color(s, background, background, m.color);
    draw_mark(&m, side, image);
    if (pair) {
        struct mark small = {.shape = class / SHAPES, .left = m.left, .top = m.top};
        place(s, &small, radius * 0.5f, radius * 0.5f * uniform(s, 0.85f, 1));
        choose_color(s, m.color, background, small.color);
        draw_mark(&small, side, image);
    }
    for (uint64_t i = c->strokes / 2; i < c->strokes; i++)
        draw_stroke(s, side, image);
    for (size_t i = 0; i < values; i++) {
        const float x = image[i] + (float)c->noise * normal(s);
        out[i] = (uint8_t)(255 * fminf(1, fmaxf(0, x)) + 0.5f);
    }
}

/* part: 0 for training, 1 for testing. Classes take turns, so that all are as frequent. */
static int make_samples(const struct config *c, uint64_t part, uint64_t count,
                        struct cc_samples *out, struct cc_error *e)
{
    const size_t values = CHANNELS * c->size * c->size;
    struct cc_random_id id = {.seed = c->seed, .rank = -1, .direction = part};
    size_t bytes;
    float *image;
    if (!cc_mul(count, values, &bytes))
        return cc_fail(e, "%llu samples of %zu values are too many", (unsigned long long)count,
                       values);
    CC_TRY(CC_NEW(out->byte, bytes, e));
    CC_TRY(CC_NEW(out->label, count, e));
    CC_TRY(CC_NEW(image, values, e));
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        id.tensor = i;
        struct stream s = {.key = cc_key(&id, 0)};
        out->label[i] = (uint16_t)(i % c->classes);
        draw_sample(c, &s, out->label[i], image, out->byte + i * values);
    }
    free(image);
    return CC_OK;
}

int cc_data_shapes(const char *keys, struct cc_data *d, struct cc_error *e)
{
    struct config c = {.classes = 10,
                       .size = 32,
                       .train = 10000,
                       .test = 2000,
                       .seed = 1,
                       .strokes = 6,
                       .noise = 0.05};
    CC_TRY(cc_data_keys(keys, shapes_keys, &c, e));
    d->classes = c.classes;
    d->channels = CHANNELS;
    d->height = d->width = c.size;
    CC_TRY(make_samples(&c, 0, c.train, &d->train, e));
    return make_samples(&c, 1, c.test, &d->test, e);
}
