/* CRC-32 as in zip, gzip and PNG: polynomial 0x04c11db7, reflected, all ones at the start and
 * inverted at the end. The check value, that of "123456789", is 0xcbf43926. */
#ifndef CC_CORE_FORMAT_CRC32_H
#define CC_CORE_FORMAT_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of a sequence of bytes: `crc` is that of the bytes before these, 0 at the start. */
uint32_t cc_crc32(uint32_t crc, const void *data, size_t bytes);

#endif
