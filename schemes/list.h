/* The catalogue: one line a scheme, in the order in which tables show them. */
CC_SCHEME(fp32)
CC_SCHEME(sparse)
CC_SCHEME(topk)
CC_SCHEME(randk)
CC_SCHEME(threshold)
CC_SCHEME(dgc)
