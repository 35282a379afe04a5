/* The recipes that the program carries: R(symbol, name), each with its file
 * recipes/FOLDER/NAME.json, by what names them: `sim --paper`, `run --paper`, `train --paper` and
 * `train --recipe`; and those that `commcomp --recipe` alone runs. */
#ifndef CC_MODELS_RECIPE_LIST_H
#define CC_MODELS_RECIPE_LIST_H

#define CC_RECIPES_SIM(R)                                                                          \
    R(thesis_5_1, "thesis-5.1")                                                                    \
    R(thesis_5_4, "thesis-5.4")                                                                    \
    R(thesis_5_5, "thesis-5.5")

#define CC_RECIPES_RUN(R) R(threelc_table1, "3lc-table1")

#define CC_RECIPES_TRAIN(R)                                                                        \
    R(threelc_table1, "3lc-table1")                                                                \
    R(threelc_table2, "3lc-table2")                                                                \
    R(threelc_figure3, "3lc-figure3")                                                              \
    R(threelc_figure4, "3lc-figure4")                                                              \
    R(threelc_figure5, "3lc-figure5")                                                              \
    R(threelc_figure6, "3lc-figure6")                                                              \
    R(pipe_sgd_mlp, "pipe-sgd-mlp")                                                                \
    R(pipe_sgd_convnet, "pipe-sgd-convnet")                                                        \
    R(pipe_sgd_resnet, "pipe-sgd-resnet")                                                          \
    R(pipe_sgd_convex, "pipe-sgd-convex")                                                          \
    R(thesis_5_7, "thesis-5.7")                                                                    \
    R(thesis_5_8, "thesis-5.8")

#define CC_RECIPES_TRAINING(R)                                                                     \
    R(threelc, "3lc")                                                                              \
    R(perceptron, "perceptron")                                                                    \
    R(qsgd, "qsgd")                                                                                \
    R(sparcml, "sparcml")                                                                          \
    R(pipe_sgd_mlp, "pipe-sgd-mlp")                                                                \
    R(pipe_sgd_convnet, "pipe-sgd-convnet")                                                        \
    R(pipe_sgd_resnet, "pipe-sgd-resnet")                                                          \
    R(pipe_sgd_convex, "pipe-sgd-convex")                                                          \
    R(thesis, "thesis")

/* The name alone, for lists of words. */
#define CC_RECIPE_NAME(symbol, name) name,

#endif
