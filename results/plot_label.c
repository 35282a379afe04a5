/* Places labels greedily, one after the other: 8 directions in 7 distances around the point are
 * rated by the area of points and earlier labels that the text would cover, and by that outside the
 * figure; the first place that costs nothing is taken, else the cheapest. */
#include <math.h>

#include "results/plot_impl.h"

struct box {
    double left, bottom, right, top;
};

static struct box text_box(const struct cc_label *l, double left, double bottom)
{
    return (struct box){left, bottom, left + l->width, bottom + l->height};
}

static double overlap(struct box a, struct box b)
{
    double w = fmin(a.right, b.right) - fmax(a.left, b.left);
    double h = fmin(a.top, b.top) - fmax(a.bottom, b.bottom);
    return w > 0 && h > 0 ? w * h : 0;
}

/* The cost of a place of label i: the area that it covers, and more for area outside. */
static double covered(const struct cc_label *label, size_t i, size_t count, struct box at,
                      double width, double height, double radius)
{
    double inside = overlap(at, (struct box){0, 0, width, height});
    double sum = 3 * (label[i].width * label[i].height - inside);
    for (size_t k = 0; k < count; k++) {
        struct box mark = {label[k].x - radius, label[k].y - radius, label[k].x + radius,
                           label[k].y + radius};
        sum += 2 * overlap(at, mark);
        if (k < i)
            sum += overlap(at, text_box(&label[k], label[k].left, label[k].bottom));
    }
    return sum;
}

/* Directions by preference: beside the point, above, below, and diagonal. */
static const double direction[][2] = {{1, 0}, {-1, 0}, {0, 1},  {0, -1},
                                      {1, 1}, {1, -1}, {-1, 1}, {-1, -1}};

void cc_labels_place(struct cc_label *label, size_t count, double area_width, double area_height,
                     double radius)
{
    enum { RINGS = 7, DIRECTIONS = 8 };
    for (size_t i = 0; i < count; i++) {
        struct cc_label *l = &label[i];
        double least = INFINITY;
        for (int try = 0; try < RINGS * DIRECTIONS && least > 0; try++) {
            const double *to = direction[try % DIRECTIONS];
            int ring = try / DIRECTIONS;
            double distance = radius + 0.3 * l->height + ring * l->height;
            double left = l->x + to[0] * distance + (to[0] - 1) / 2 * l->width;
            double bottom = l->y + to[1] * distance + (to[1] - 1) / 2 * l->height;
            double cost = covered(label, i, count, text_box(l, left, bottom), area_width,
                                  area_height, radius);
            if (cost < least) {
                least = cost;
                l->left = left;
                l->bottom = bottom;
                l->line = ring > 0;
            }
        }
    }
}
