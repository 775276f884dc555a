/* A bounded cache of pretokens already encoded: pairs of entries, verified on a hit, the older overwritten. */
#ifndef DAT_CACHE_H
#define DAT_CACHE_H

#include <string.h>

#include "common.h"

enum { DAT_CACHE_BYTES = 15, DAT_CACHE_IDS = 4 };

/* 32 bytes, two a cache line. The key is the piece itself, padded with zeros, and its length in the last byte: what
 * is equal is the same piece, so that no hash is trusted. Length 0: empty. */
typedef struct {
    uint64_t low, high;
    uint32_t ids[DAT_CACHE_IDS]; /* DAT_NONE after the last */
} dat_cache_entry;

/* A pair fills one cache line: looking at both costs one miss of the processor's cache, and two pieces that clash do
 * not drive each other out. */
typedef struct {
    void *block;            /* what was allocated */
    dat_cache_entry *pairs; /* in it, at a multiple of 64 bytes; NULL: off */
    unsigned bits;          /* log2 of the number of entries, at least 1 */
} dat_cache;

/* Eight bytes, the first one lowest. */
static inline uint64_t dat_load(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

/* The key of a piece of 1 to 15 bytes; `limit` is where reading must stop. */
static inline void dat_cache_key(const uint8_t *piece, size_t size, const uint8_t *limit, uint64_t *low,
                                 uint64_t *high)
{
    uint8_t copy[16] = {0};
    if ((size_t)(limit - piece) < 16) {
        memcpy(copy, piece, size);
        piece = copy;
    }
    uint64_t all = ~UINT64_C(0);
    if (size >= 8) {
        *low = dat_load(piece);
        /* size 8 keeps nothing of the second word: a shift by 64 is undefined, hence two. */
        *high = dat_load(piece + 8) & (all >> 8 >> (8 * (15 - size)));
    } else {
        *low = dat_load(piece) & (all >> (8 * (8 - size)));
        *high = 0;
    }
    *high |= (uint64_t)size << 56;
}

/* The pair where a key may be. */
static inline dat_cache_entry *dat_cache_pair(const dat_cache *cache, uint64_t low, uint64_t high)
{
    uint64_t hash = (low ^ (high << 5 | high >> 59)) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= (hash >> 32) ^ high;
    hash *= UINT64_C(0xD6E8FEB86659FD93);
    return &cache->pairs[(hash >> (64 - cache->bits)) & ~UINT64_C(1)];
}

#endif
