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

typedef struct {
    const uint64_t *slots;  /* left << 42 | right << 21 | merged */
    const uint64_t *filter; /* one bit a hash: 0 where no pair has it */
    unsigned bits, filter_bits;
} dat_pairs;

static inline uint64_t dat_pair_hash(uint32_t left, uint32_t right)
{
    uint64_t hash = ((uint64_t)left << 32 | right) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 32;
    return hash * UINT64_C(0xD6E8FEB86659FD93);
}

/* The merged token, or DAT_NONE. What the slots hold cannot lead outside them: the search ends after one round. */
static inline uint32_t dat_pairs_get(const dat_pairs *pairs, uint32_t left, uint32_t right)
{
    uint64_t hash = dat_pair_hash(left, right);
    uint64_t bit = (hash << 20) >> (64 - pairs->filter_bits);
    if (!(pairs->filter[bit >> 6] >> (bit & 63) & 1)) {
        return DAT_NONE;
    }
    uint64_t key = (uint64_t)left << DAT_INDEX_BITS | right;
    size_t mask = ((size_t)1 << pairs->bits) - 1;
    size_t first = (size_t)(hash >> (64 - pairs->bits)), slot = first;
    do {
        uint64_t found = pairs->slots[slot];
        if (found >> DAT_INDEX_BITS == key) {
            return (uint32_t)(found & DAT_INDEX_MASK);
        }
        if (found == DAT_NO_PAIR) {
            return DAT_NONE;
        }
        slot = (slot + 1) & mask;
    } while (slot != first);
    return DAT_NONE;
}

/* For building: slots and filter to write to. */
void dat_pairs_put(const dat_pairs *pairs, uint64_t *slots, uint64_t *filter, uint32_t left, uint32_t right,
                   uint32_t merged);

#endif
