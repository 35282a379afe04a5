/* The catalogue: one line a scheme, in the order in which tables show them. */
CC_SCHEME(fp32)
CC_SCHEME(ternary)
CC_SCHEME(threelc)
