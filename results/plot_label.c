/* Places labels: 16 directions in 7 distances around the point are rated, and the cheapest place is
 * taken. A place costs the area that the text covers of points, of other labels and outside the
 * figure. It also costs to cover a path that is drawn, and what would mislead: a text that is
 * nearer to another point than to its own, and a line to its point that crosses another point, text
 * or line. Labels are placed one after the other. Then, until none moves, each is placed again in
 * view of all others, and those that still cost something together with each of the others, unless
 * they are many. */
#include <math.h>
#include <stdbool.h>

#include "results/plot_impl.h"

struct box {
    double left, bottom, right, top;
};

struct dot {
    double x, y;
};

/* The labels, of which the first `placed` but `hidden` have a place. */
struct labels {
    struct cc_label *label;
    size_t count, placed, hidden;
    const struct cc_label_area *area;
};

static struct box text_box(const struct cc_label *l, double left, double bottom)
{
    return (struct box){left, bottom, left + l->width, bottom + l->height};
}

static struct box box_of(const struct cc_label *l)
{
    return text_box(l, l->left, l->bottom);
}

static struct box mark_box(const struct cc_label *l, double radius)
{
    return (struct box){l->x - radius, l->y - radius, l->x + radius, l->y + radius};
}

static double overlap(struct box a, struct box b)
{
    double w = fmin(a.right, b.right) - fmax(a.left, b.left);
    double h = fmin(a.top, b.top) - fmax(a.bottom, b.bottom);
    return w > 0 && h > 0 ? w * h : 0;
}

/* The point of the box that is nearest to the label's own point: where a line to it ends. */
static struct dot nearest(struct box b, const struct cc_label *l)
{
    return (struct dot){fmax(b.left, fmin(l->x, b.right)), fmax(b.bottom, fmin(l->y, b.top))};
}

static double distance(struct box b, const struct cc_label *l)
{
    const struct dot n = nearest(b, l);
    return hypot(n.x - l->x, n.y - l->y);
}

/* Twice the area of a triangle, above 0 if it turns left. */
static double turn(struct dot a, struct dot b, struct dot c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

static bool lines_cross(struct dot a, struct dot b, struct dot c, struct dot d)
{
    return turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0;
}

/* Whether the line from a to b enters the box. */
static bool enters(struct dot a, struct dot b, struct box box)
{
    const struct dot corner[4] = {
        {box.left, box.bottom}, {box.right, box.bottom}, {box.right, box.top}, {box.left, box.top}};
    for (int i = 0; i < 4; i++)
        if (lines_cross(a, b, corner[i], corner[(i + 1) % 4]))
            return true;
    return false;
}

/* Whether a text with a line to its point looks as if it named another one. */
static bool beside(struct box at, const struct cc_label *own, const struct cc_label *other)
{
    return distance(at, other) < 0.8 * own->height;
}

/* The box with the space that keeps lines off a text. */
static struct box wider(struct box b, const struct cc_label *l)
{
    const double by = 0.1 * l->height;
    return (struct box){b.left - by, b.bottom - by, b.right + by, b.top + by};
}

/* The cost of label i at `at` beside label k, which has a place if `placed`. */
static double pair_cost(const struct labels *l, size_t i, struct box at, bool line, size_t k,
                        bool placed)
{
    const struct cc_label *own = &l->label[i], *other = &l->label[k];
    const double misleading = 0.15 * own->width * own->height;
    const struct box dot = mark_box(other, l->area->radius);
    const struct dot from = {own->x, own->y}, to = nearest(at, own);
    double sum = 2 * overlap(at, dot);
    if (k == i)
        return sum;
    const bool same = hypot(own->x - other->x, own->y - other->y) <= l->area->radius;
    if (!line && !same) /* all of it nearer to the other point, none from 1.5 times as far */
        sum += misleading * fmax(0, fmin(1, 3 - 2 * distance(at, other) / distance(at, own)));
    if (line && !same && enters(from, to, dot))
        sum += 4 * misleading;
    if (line && !same && beside(at, own, other))
        sum += 10 * misleading;
    if (!placed)
        return sum;
    const struct box text = box_of(other);
    const struct dot other_from = {other->x, other->y}, other_to = nearest(text, other);
    const double covered = overlap(at, text);
    if (covered > 0) /* unreadable, however little */
        sum += 2 * covered + own->width * own->height;
    if (line && enters(from, to, wider(text, own)))
        sum += 4 * misleading;
    if (other->line && enters(other_from, other_to, wider(at, own)))
        sum += 4 * misleading;
    if (line && other->line && lines_cross(from, to, other_from, other_to))
        sum += misleading;
    return sum;
}

/* Whether the text covers the path's part to point i. */
static bool crosses_path(const struct cc_label_area *a, struct box at, size_t i)
{
    const double *from = a->path[i - 1], *to = a->path[i];
    const struct box part = {fmin(from[0], to[0]) - 1, fmin(from[1], to[1]) - 1,
                             fmax(from[0], to[0]) + 1, fmax(from[1], to[1]) + 1};
    return overlap(at, part) > 0;
}

/* The cost of a place in one of 7 rings around the point, of which only the first needs no line; or
 * some number that is `enough`. */
static double cost(const struct labels *l, size_t i, struct box at, int ring, double enough)
{
    const struct cc_label *own = &l->label[i];
    const double size = own->width * own->height;
    const double inside = overlap(at, (struct box){0, 0, l->area->width, l->area->height});
    double sum = 100 * (size - inside) + ring * 0.01 * size;
    for (size_t k = 1; k < l->area->path_count; k++)
        sum += crosses_path(l->area, at, k) ? 0.2 * size : 0;
    for (size_t k = 0; k < l->count && sum < enough; k++)
        sum += pair_cost(l, i, at, ring > 0, k, k < l->placed && k != l->hidden);
    return sum;
}

/* Directions by preference: beside the point, above, below, and diagonal. */
static const double direction[][2] = {
    {1, 0},   {-1, 0},  {0, 1},   {0, -1},   {1, 1},   {1, -1},   {-1, 1},   {-1, -1},
    {1, 0.5}, {1, -.5}, {-1, .5}, {-1, -.5}, {0.5, 1}, {0.5, -1}, {-0.5, 1}, {-0.5, -1}};

/* Puts label i to its cheapest place, and returns the cost. */
static double place(const struct labels *l, size_t i)
{
    enum { RINGS = 7, DIRECTIONS = sizeof direction / sizeof direction[0] };
    struct cc_label *own = &l->label[i], best = *own;
    double least = INFINITY;
    for (int try = 0; try < RINGS * DIRECTIONS; try++) {
        const double *to = direction[try % DIRECTIONS];
        const int ring = try / DIRECTIONS;
        const double away = l->area->radius + (0.3 + ring) * own->height;
        const double left = own->x + to[0] * away + (to[0] - 1) / 2 * own->width;
        const double bottom = own->y + to[1] * away + (to[1] - 1) / 2 * own->height;
        const double here = cost(l, i, text_box(own, left, bottom), ring, least);
        if (here < least - 1e-9 * own->width * own->height) {
            least = here;
            best.left = left;
            best.bottom = bottom;
            best.line = ring > 0;
        }
    }
    *own = best;
    return least;
}

/* Places i without k, and then k; true if that is cheaper for both together. */
static bool place_both(struct labels *l, size_t i, size_t k, double *cost_i)
{
    const struct cc_label old_i = l->label[i], old_k = l->label[k];
    const double before = *cost_i + place(l, k);
    l->hidden = k;
    (void)place(l, i);
    l->hidden = l->count;
    const double of_k = place(l, k), of_i = place(l, i);
    if (of_i + of_k < 0.999 * before) {
        *cost_i = of_i;
        return true;
    }
    l->label[i] = old_i;
    l->label[k] = old_k;
    return false;
}

void cc_labels_place(struct cc_label *label, size_t count, const struct cc_label_area *area)
{
    enum { MOST_PASSES = 6, MOST_PAIRED = 40 };
    struct labels l = {.label = label, .count = count, .hidden = count, .area = area};
    bool moved = true;
    for (; l.placed < count; l.placed++)
        (void)place(&l, l.placed);
    for (int pass = 0; pass < MOST_PASSES && moved; pass++) {
        moved = false;
        for (size_t i = 0; i < count; i++) {
            const struct cc_label old = label[i];
            double least = place(&l, i);
            moved |= label[i].left != old.left || label[i].bottom != old.bottom;
            for (size_t k = 0; k < count && count <= MOST_PAIRED && least > 0; k++)
                moved |= k != i && place_both(&l, i, k, &least);
        }
    }
}

/* Whether a label is clear of another one, or of its own point. */
static bool clear_of(const struct cc_label *own, const struct cc_label *other, double radius)
{
    const struct box at = box_of(own), text = box_of(other);
    const struct dot from = {own->x, own->y}, to = nearest(at, own);
    const struct dot other_from = {other->x, other->y}, other_to = nearest(text, other);
    if (overlap(at, mark_box(other, radius)) > 0)
        return false;
    if (own == other)
        return true;
    if (overlap(at, text) > 0 || (own->line && enters(from, to, text)))
        return false;
    const bool same = hypot(own->x - other->x, own->y - other->y) <= 2 * radius;
    if (!same && own->line && enters(from, to, mark_box(other, 0.7 * radius)))
        return false;
    if (!same && distance(at, other) < (own->line ? 0.45 * own->height : 0.8 * distance(at, own)))
        return false;
    return !(own->line && other->line && lines_cross(from, to, other_from, other_to));
}

bool cc_labels_clear(const struct cc_label *label, size_t count, const struct cc_label_area *area)
{
    for (size_t i = 0; i < count; i++) {
        const struct box at = box_of(&label[i]);
        if (at.left < 0 || at.bottom < 0 || at.right > area->width || at.top > area->height)
            return false;
        for (size_t k = 0; k < count; k++)
            if (!clear_of(&label[i], &label[k], area->radius))
                return false;
    }
    return true;
}
