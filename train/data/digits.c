/* The digits that the program carries: Optical Recognition of Handwritten Digits, E. Alpaydin and
 * C. Kaynak, UCI Machine Learning Repository, 1998 (CC BY 4.0), 8x8 pixels of 0 to 16: 2,999 images
 * of its training part and the 1,797 of its test part, as IDX files. */
#include "core/embed.h"
#include "train/data/sources.h"

#define FOLDER "train/data/digits/"
CC_EMBED(cc_digits_train_images, FOLDER "train-images-idx3-ubyte.gz");
CC_EMBED(cc_digits_train_labels, FOLDER "train-labels-idx1-ubyte.gz");
CC_EMBED(cc_digits_test_images, FOLDER "t10k-images-idx3-ubyte.gz");
CC_EMBED(cc_digits_test_labels, FOLDER "t10k-labels-idx1-ubyte.gz");

static int read_pair(const struct cc_embedded *images, const struct cc_embedded *labels,
                     struct cc_data *d, struct cc_samples *out, struct cc_error *e)
{
    const struct cc_idx_file file[] = {
        {"the digits", (const uint8_t *)images->begin, cc_embedded_size(images)},
        {"the digits' labels", (const uint8_t *)labels->begin, cc_embedded_size(labels)}};
    return cc_data_idx_pair(&file[0], &file[1], d, out, e);
}

int cc_data_digits(struct cc_data *d, struct cc_error *e)
{
    const struct cc_embedded train[] = {CC_EMBEDDED(cc_digits_train_images),
                                        CC_EMBEDDED(cc_digits_train_labels)};
    const struct cc_embedded test[] = {CC_EMBEDDED(cc_digits_test_images),
                                       CC_EMBEDDED(cc_digits_test_labels)};
    CC_TRY(read_pair(&train[0], &train[1], d, &d->train, e));
    return read_pair(&test[0], &test[1], d, &d->test, e);
}
