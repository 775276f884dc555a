/* Bounded caches of pretokens already encoded, one set a thread: verified on a hit, the older overwritten. */
#ifndef DAT_CACHE_H
#define DAT_CACHE_H

#include <string.h>

#include "common.h"

enum { DAT_CACHE_BYTES = 15, DAT_CACHE_IDS = 4, DAT_WIDE_BYTES = 31, DAT_WIDE_IDS = 8 };

/* 32 bytes, two a cache line. The key is the piece itself, padded with zeros; its length, and the number of ids less one,
 * in the last byte (low and high half): what is equal is the same piece, so that no hash is trusted. Length 0: empty. */
typedef struct {
    uint64_t low, high;
    uint32_t ids[DAT_CACHE_IDS];
} dat_cache_entry;

/* One cache line, for pieces of up to 31 bytes and up to eight ids. */
typedef struct {
    uint64_t key[4]; /* the last byte is the length */
    uint32_t ids[DAT_WIDE_IDS]; /* DAT_NONE after the last */
} dat_wide_entry;

/* A pair of entries fills one cache line: looking at both costs one miss of the processor's cache, and two pieces that
 * clash do not drive each other out. */
typedef struct {
    void *block;            /* what was allocated */
    size_t size;            /* bytes of it */
    dat_cache_entry *pairs; /* in it, at a multiple of 64 bytes; NULL: off */
    dat_wide_entry *wide;
    unsigned bits;          /* log2 of the number of entries, at least 1 */
    unsigned wide_bits;
    uint64_t seed;          /* keys the hash: pieces that clash cannot be made up beforehand */
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
    /* No branch on the size: half the pieces have less than eight bytes, and which do is hard to foresee. */
    const uint64_t all = ~UINT64_C(0);
    size_t first = size < 8 ? size : 8, second = size - first;
    *low = dat_load(piece) & (all >> (8 * (8 - first) & 63));
    *high = dat_load(piece + 8) & ~(all << (8 * second));
    *high |= (uint64_t)size << 56;
}

/* A 64 by 64 bit product, folded. */
static inline uint64_t dat_fold(uint64_t a, uint64_t b)
{
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t low = (a & 0xFFFFFFFFu) * (b | 1), high = (a >> 32) * (b | 1);
    return low ^ (high << 29 | high >> 35) ^ b;
#endif
}

/* The pair where a key may be. */
static inline dat_cache_entry *dat_cache_pair(const dat_cache *cache, uint64_t low, uint64_t high)
{
    uint64_t hash = dat_fold(low ^ cache->seed, high ^ UINT64_C(0x9E3779B97F4A7C15));
    return &cache->pairs[(hash >> (64 - cache->bits)) & ~UINT64_C(1)];
}

static inline void dat_wide_key(const uint8_t *piece, size_t size, uint64_t key[4])
{
    uint8_t copy[32] = {0};
    memcpy(copy, piece, size);
    copy[31] = (uint8_t)size;
    for (int i = 0; i < 4; i++) {
        key[i] = dat_load(copy + 8 * i);
    }
}

static inline dat_wide_entry *dat_wide_slot(const dat_cache *cache, const uint64_t key[4])
{
    uint64_t hash = dat_fold(key[0] ^ cache->seed, key[1] ^ UINT64_C(0x9E3779B97F4A7C15)) ^
                    dat_fold(key[2] ^ UINT64_C(0xD6E8FEB86659FD93), key[3] ^ cache->seed);
    return &cache->wide[hash >> (64 - cache->wide_bits)];
}

#endif
