/* Chunks sent plain, where a codec is slower than the link. */
#ifndef CC_MODELS_PLAIN_SHARE_H
#define CC_MODELS_PLAIN_SHARE_H

/* Codec and network of an exchange, in seconds, which work at the same time on different chunks. */
struct cc_busy {
    double codec_s, comm_s;
};

struct cc_plain_share {
    double share;  /* of the chunks, from 0 to 1, that are sent plain */
    double time_s; /* the exchange with this share: the longer of its codec and its network */
};

/* Finds the share with the shortest exchange when codec and network both are proportional to the
 * chunks of each kind: of all chunks `encoded` they take encoded.codec_s and encoded.comm_s, of all
 * chunks plain plain.codec_s (adding floats) and plain.comm_s. Where a mixture is best, codec and
 * network take equally long. */
struct cc_plain_share cc_plain_share_best(struct cc_busy encoded, struct cc_busy plain);

#endif
