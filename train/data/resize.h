/* Planes of pixels at another size. */
#ifndef CC_TRAIN_DATA_RESIZE_H
#define CC_TRAIN_DATA_RESIZE_H

#include <stddef.h>

/* Interpolates a plane of height x width between its pixels' centers to another one (bilinear, as
 * PyTorch's interpolate without align_corners). Equal sizes are copied. */
void cc_resize(const float *in, size_t height, size_t width, float *out, size_t out_height,
               size_t out_width);

#endif
