/* (left token, right token) -> the token of their joined bytes: an open-addressing hash table. */
#ifndef DAT_PAIRS_H
#define DAT_PAIRS_H

#include "common.h"

typedef struct {
    uint32_t left, right, merged; /* merged DAT_NONE: the slot is empty */
} dat_pair;

typedef struct {
    dat_pair *slots;
    unsigned bits;
    size_t count;
} dat_pairs;

dat_status dat_pairs_init(dat_pairs *pairs, size_t expected);
dat_status dat_pairs_put(dat_pairs *pairs, uint32_t left, uint32_t right, uint32_t merged);
void dat_pairs_clear(dat_pairs *pairs);

static inline size_t dat_pair_slot(uint32_t left, uint32_t right, unsigned bits)
{
    uint64_t hash = (((uint64_t)left << 32) | right) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 31;
    hash *= UINT64_C(0xD6E8FEB86659FD93);
    return (size_t)(hash >> (64 - bits));
}

static inline uint32_t dat_pairs_get(const dat_pairs *pairs, uint32_t left, uint32_t right)
{
    size_t mask = ((size_t)1 << pairs->bits) - 1;
    for (size_t slot = dat_pair_slot(left, right, pairs->bits);; slot = (slot + 1) & mask) {
        const dat_pair *pair = &pairs->slots[slot];
        if (pair->merged == DAT_NONE || (pair->left == left && pair->right == right)) {
            return pair->merged;
        }
    }
}

#endif
