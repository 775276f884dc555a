/* (left token, right token) -> merged token: the pairs that merging can ever take, one a token, in an open-addressing
 * table of 64-bit slots behind a bitmap that most pairs do not pass. */
#ifndef DAT_PAIRS_H
#define DAT_PAIRS_H

#include "common.h"

/* Three indexes share a slot: a vocabulary has at most 2^21 - 1 tokens (the largest published have 2^18). */
enum { DAT_INDEX_BITS = 21, DAT_TOKENS_MOST = (1 << DAT_INDEX_BITS) - 1 };
#define DAT_INDEX_MASK ((UINT64_C(1) << DAT_INDEX_BITS) - 1)
/* A slot without a pair: no left token has this index. */
#define DAT_NO_PAIR UINT64_MAX

/* Slots are searched a cache line at a time: a pair lies in the line of its hash, or, that being full, in one of the next. */
enum { DAT_LINE = 8 };

/* So many slots are looked at, no more: tables are only built if that is enough, and a damaged one, without an empty slot,
 * costs no more either. */
enum { DAT_PROBES_MOST = 1024 };

typedef struct {
    const uint64_t *slots;  /* [1 << bits] left << 42 | right << 21 | merged, lines filled from their start */
    const uint64_t *filter; /* one bit a hash: 0 where no pair has it */
    unsigned bits, filter_bits;
} dat_pairs;

static inline uint64_t dat_pair_hash(uint32_t left, uint32_t right)
{
    uint64_t hash = ((uint64_t)left << 32 | right) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 32;
    return hash * UINT64_C(0xD6E8FEB86659FD93);
}

/* The first slot of the line of a hash. */
static inline size_t dat_pair_line(const dat_pairs *pairs, uint64_t hash)
{
    return (size_t)(hash >> (64 - pairs->bits)) & ~(size_t)(DAT_LINE - 1);
}

/* 1 if there may be a pair of this hash. */
static inline uint64_t dat_pair_maybe(const dat_pairs *pairs, uint64_t hash)
{
    uint64_t bit = (hash << 20) >> (64 - pairs->filter_bits);
    return pairs->filter[bit >> 6] >> (bit & 63) & 1;
}

/* What the slots from a line on say. They cannot lead outside themselves. */
static inline uint32_t dat_pairs_search(const dat_pairs *pairs, size_t line, uint64_t key)
{
    size_t mask = ((size_t)1 << pairs->bits) - 1;
    for (size_t tried = 0; tried < DAT_PROBES_MOST; tried++) {
        uint64_t found = pairs->slots[(line + tried) & mask];
        if (found >> DAT_INDEX_BITS == key) {
            return (uint32_t)(found & DAT_INDEX_MASK);
        }
        if (found == DAT_NO_PAIR) {
            break;
        }
    }
    return DAT_NONE;
}

/* The merged token, or DAT_NONE. */
static inline uint32_t dat_pairs_get(const dat_pairs *pairs, uint32_t left, uint32_t right)
{
    uint64_t hash = dat_pair_hash(left, right);
    if (!dat_pair_maybe(pairs, hash)) {
        return DAT_NONE;
    }
    return dat_pairs_search(pairs, dat_pair_line(pairs, hash), (uint64_t)left << DAT_INDEX_BITS | right);
}

/* For building: slots and filter to write to. 0 where no slot is free that would be looked at. */
int dat_pairs_put(const dat_pairs *pairs, uint64_t *slots, uint64_t *filter, uint32_t left, uint32_t right, uint32_t merged);

#endif
