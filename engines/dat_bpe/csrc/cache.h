/* Bounded caches of pretokens already encoded, one set a thread: verified on a hit, the older overwritten. */
#ifndef DAT_CACHE_H
#define DAT_CACHE_H

#include <string.h>

#include "common.h"

enum { DAT_CACHE_BYTES = 15, DAT_CACHE_IDS = 4, DAT_WIDE_BYTES = 31, DAT_WIDE_IDS = 23 };

/* 32 bytes, two a cache line. The key is the piece itself, padded with zeros; its length, and the number of ids less one,
 * in the last byte (low and high half): what is equal is the same piece, so that no hash is trusted. Length 0: empty. */
typedef struct {
    uint64_t low, high;
    uint32_t ids[DAT_CACHE_IDS]; /* those past the number mean nothing */
} dat_cache_entry;

/* Two cache lines, for pieces of up to 31 bytes and up to 23 ids: GPT-2 gives every blank of an indentation its own. */
typedef struct {
    uint64_t key[4]; /* the last byte is the length */
    uint32_t count, ids[DAT_WIDE_IDS];
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

/* The two odd factors of the hash of a key. */
#define DAT_MIX_LOW UINT64_C(0x9E3779B97F4A7C15)
#define DAT_MIX_HIGH UINT64_C(0xD6E8FEB86659FD93)

/* Nothing but products of 64 bits, shifts and differences: eight at once where the processor can. */
static inline uint64_t dat_cache_hash(uint64_t seed, uint64_t low, uint64_t high)
{
    uint64_t hash = (low ^ seed) * DAT_MIX_LOW;
    return (hash ^ hash >> 32 ^ high) * DAT_MIX_HIGH;
}

/* The pair where a key may be. */
static inline dat_cache_entry *dat_cache_pair(const dat_cache *cache, uint64_t low, uint64_t high)
{
    uint64_t hash = dat_cache_hash(cache->seed, low, high);
    return &cache->pairs[(hash >> (64 - cache->bits)) & ~UINT64_C(1)];
}

/* The key of a piece of 1 to 31 bytes; low, high: its key above, if it has at most 15. */
static inline void dat_wide_key(const uint8_t *piece, size_t size, uint64_t low, uint64_t high, uint64_t key[4])
{
    if (size <= DAT_CACHE_BYTES) {
        key[0] = low;
        key[1] = high & ~UINT64_C(0) >> 8;
        key[2] = key[3] = 0;
    } else {
        key[0] = dat_load(piece);
        key[1] = dat_load(piece + 8);
        /* The last 16 bytes, moved down by what they share with the first: nothing behind the piece is read. */
        uint64_t third = dat_load(piece + size - 16), fourth = dat_load(piece + size - 8);
        size_t shared = 8 * (32 - size);
        key[2] = shared < 64 ? third >> shared | fourth << (64 - shared) : shared < 128 ? fourth >> (shared - 64) : 0;
        key[3] = shared < 64 ? fourth >> shared : 0;
    }
    key[3] |= (uint64_t)size << 56;
}

static inline int dat_wide_equal(const dat_wide_entry *entry, const uint64_t key[4])
{
    uint64_t differ = (entry->key[0] ^ key[0]) | (entry->key[1] ^ key[1]) | (entry->key[2] ^ key[2]);
    return (differ | (entry->key[3] ^ key[3])) == 0;
}

static inline dat_wide_entry *dat_wide_slot(const dat_cache *cache, const uint64_t key[4])
{
    uint64_t hash = dat_cache_hash(cache->seed, key[0], key[1]);
    hash = dat_cache_hash(hash ^ hash >> 32, key[2], key[3]);
    return &cache->wide[hash >> (64 - cache->wide_bits)];
}

#endif
