/* The accelerators of --device: DEVICE(symbol, name), each with its file models/devices/NAME.json,
 * which is embedded in the program. No include guard: a list that is included with several
 * definitions of DEVICE. */
DEVICE(v100, "v100")
DEVICE(a100, "a100")
DEVICE(h100, "h100")
