/* Ids back to bytes. */
#ifndef DAT_DECODE_H
#define DAT_DECODE_H

#include "vocab.h"

/* The bytes of an id, ordinary or special; NULL if the vocabulary lacks it. */
const uint8_t *dat_id_bytes(const dat_vocab *vocab, uint32_t id, size_t *size);

/* The number of bytes of `count` ids in *size. DAT_BAD_ID: *bad is the first index whose id the vocabulary lacks. */
dat_status dat_decoded_size(const dat_vocab *vocab, const uint32_t *ids, size_t count, size_t *size, size_t *bad);

/* Writes them; ids must have passed dat_decoded_size and must not have changed since: what would pass `size` is left
 * out. Returns the number of bytes written. */
size_t dat_decode(const dat_vocab *vocab, const uint32_t *ids, size_t count, uint8_t *out, size_t size);

#endif
