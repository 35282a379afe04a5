/* The recipes that the program carries: R(folder, symbol, name), each with its file
 * recipes/FOLDER/NAME.json, by what names them: `sim --paper`, `run --paper`, `train --paper` and
 * `train --recipe`; and those that `commcomp --recipe` alone runs. */
#ifndef CC_MODELS_RECIPE_LIST_H
#define CC_MODELS_RECIPE_LIST_H

#define CC_RECIPES_SIM(R)                                                                          \
    R(sim, sparcml_figure4, "sparcml-figure4")                                                     \
    R(sim, thesis_5_1, "thesis-5.1")                                                               \
    R(sim, thesis_5_4, "thesis-5.4")                                                               \
    R(sim, thesis_5_4_bound, "thesis-5.4-bound")                                                   \
    R(sim, thesis_5_5, "thesis-5.5")

#define CC_RECIPES_RUN(R) R(run, threelc_table1, "3lc-table1")

#define CC_RECIPES_TRAIN(R)                                                                        \
    R(train, threelc_table1, "3lc-table1")                                                         \
    R(train, threelc_table2, "3lc-table2")                                                         \
    R(train, threelc_figure3, "3lc-figure3")                                                       \
    R(train, threelc_figure4, "3lc-figure4")                                                       \
    R(train, threelc_figure5, "3lc-figure5")                                                       \
    R(train, threelc_figure6, "3lc-figure6")                                                       \
    R(train, pipe_sgd_mlp, "pipe-sgd-mlp")                                                         \
    R(train, pipe_sgd_convnet, "pipe-sgd-convnet")                                                 \
    R(train, pipe_sgd_resnet, "pipe-sgd-resnet")                                                   \
    R(train, pipe_sgd_convex, "pipe-sgd-convex")                                                   \
    R(train, thesis_5_7, "thesis-5.7")                                                             \
    R(train, thesis_5_8, "thesis-5.8")                                                             \
    R(train, thesis_5_8_traditional, "thesis-5.8-traditional")                                     \
    R(train, sparcml_table2, "sparcml-table2")                                                     \
    R(train, sparcml_table2_trigrams, "sparcml-table2-trigrams")                                   \
    R(train, sdp4bit_table1, "sdp4bit-table1")

#define CC_RECIPES_TRAINING(R)                                                                     \
    R(training, threelc, "3lc")                                                                    \
    R(training, perceptron, "perceptron")                                                          \
    R(training, gpt, "gpt")                                                                        \
    R(training, qsgd, "qsgd")                                                                      \
    R(training, sparcml, "sparcml")                                                                \
    R(training, pipe_sgd_mlp, "pipe-sgd-mlp")                                                      \
    R(training, pipe_sgd_convnet, "pipe-sgd-convnet")                                              \
    R(training, pipe_sgd_resnet, "pipe-sgd-resnet")                                                \
    R(training, pipe_sgd_convex, "pipe-sgd-convex")                                                \
    R(training, thesis, "thesis")

/* Tables of no paper, and studies of several commands. */
#define CC_RECIPES_STUDIES(R)                                                                      \
    R(train, slow_links, "slow-links") R(train, sparcml_table2_changes, "sparcml-table2-changes")

#define CC_RECIPES(R)                                                                              \
    CC_RECIPES_SIM(R)                                                                              \
    CC_RECIPES_RUN(R) CC_RECIPES_TRAIN(R) CC_RECIPES_TRAINING(R) CC_RECIPES_STUDIES(R)

/* The name alone, for lists of words. */
#define CC_RECIPE_NAME(folder, symbol, name) name,

#endif
