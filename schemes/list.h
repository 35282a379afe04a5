/* The catalogue: one line a scheme, in the order in which tables show them. */
CC_SCHEME(fp32)
CC_SCHEME(mqe1bit)
CC_SCHEME(local)
CC_SCHEME(signsgd)
CC_SCHEME(efsign)
CC_SCHEME(zstd)
CC_SCHEME(lz4)
CC_SCHEME(zfp)
