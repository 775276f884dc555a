#include "pairs.h"

int dat_pairs_put(const dat_pairs *pairs, uint64_t *slots, uint64_t *filter, uint32_t left, uint32_t right, uint32_t merged)
{
    uint64_t hash = dat_pair_hash(left, right);
    uint64_t bit = (hash << 20) >> (64 - pairs->filter_bits);
    filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
    size_t mask = ((size_t)1 << pairs->bits) - 1, slot = dat_pair_line(pairs, hash);
    for (size_t tried = 0; tried < DAT_PROBES_MOST; tried++, slot = (slot + 1) & mask) {
        if (slots[slot] == DAT_NO_PAIR) {
            slots[slot] = ((uint64_t)left << DAT_INDEX_BITS | right) << DAT_INDEX_BITS | merged;
            return 1;
        }
    }
    return 0;
}
