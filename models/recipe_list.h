/* The recipes that the program carries: R(symbol, name), each with its file
 * recipes/FOLDER/NAME.json, by what names them: `sim --paper`, `run --paper`, `train --paper` and
 * `train --recipe`; and those that `commcomp --recipe` alone runs. */
#ifndef CC_MODELS_RECIPE_LIST_H
#define CC_MODELS_RECIPE_LIST_H

#define CC_RECIPES_SIM(R)                                                                          \
    R(thesis_5_1, "thesis-5.1")                                                                    \
    R(thesis_5_4, "thesis-5.4")                                                                    \
    R(thesis_5_5, "thesis-5.5")

#endif
