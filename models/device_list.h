/* The accelerators of --device: X(symbol, name), each with its file models/devices/NAME.json, which
 * is embedded in the program. */
#ifndef CC_MODELS_DEVICE_LIST_H
#define CC_MODELS_DEVICE_LIST_H

#define CC_DEVICES(X)                                                                              \
    X(v100, "v100")                                                                                \
    X(a100, "a100")                                                                                \
    X(h100, "h100")                                                                                \
    X(h200, "h200")                                                                                \
    X(mi300x, "mi300x")                                                                            \
    X(l40s, "l40s")                                                                                \
    X(rtx4090, "rtx4090")

#endif
