/* The catalogue: one line a scheme, in the order in which tables show them. */
CC_SCHEME(fp32)
CC_SCHEME(ternary)
CC_SCHEME(threelc)
CC_SCHEME(int8)
CC_SCHEME(trunc16)
CC_SCHEME(fp16)
CC_SCHEME(bf16)
CC_SCHEME(natural)
