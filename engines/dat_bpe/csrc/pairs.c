#include "pairs.h"

void dat_pairs_put(const dat_pairs *pairs, uint64_t *slots, uint64_t *filter, uint32_t left, uint32_t right,
                   uint32_t merged)
{
    uint64_t hash = dat_pair_hash(left, right);
    uint64_t bit = (hash << 20) >> (64 - pairs->filter_bits);
    filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
    size_t mask = ((size_t)1 << pairs->bits) - 1, slot = dat_pair_line(pairs, hash);
    while (slots[slot] != DAT_NO_PAIR) {
        slot = (slot + 1) & mask;
    }
    slots[slot] = ((uint64_t)left << DAT_INDEX_BITS | right) << DAT_INDEX_BITS | merged;
}
