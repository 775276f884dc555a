#include "pairs.h"

#include <string.h>

static dat_status allocate(dat_pairs *pairs, unsigned bits)
{
    size_t room = (size_t)1 << bits;
    pairs->slots = dat_alloc(room, sizeof *pairs->slots);
    if (pairs->slots == NULL) {
        return DAT_NO_MEMORY;
    }
    memset(pairs->slots, 0xFF, room * sizeof *pairs->slots);
    pairs->bits = bits;
    pairs->count = 0;
    return DAT_OK;
}

dat_status dat_pairs_init(dat_pairs *pairs, size_t expected)
{
    unsigned bits = 4;
    while (bits < 40 && ((size_t)1 << bits) < expected * 2) {
        bits++;
    }
    return allocate(pairs, bits);
}

static void insert(dat_pairs *pairs, dat_pair pair)
{
    size_t mask = ((size_t)1 << pairs->bits) - 1;
    size_t slot = dat_pair_slot(pair.left, pair.right, pairs->bits);
    while (pairs->slots[slot].merged != DAT_NONE) {
        slot = (slot + 1) & mask;
    }
    pairs->slots[slot] = pair;
    pairs->count++;
}

dat_status dat_pairs_put(dat_pairs *pairs, uint32_t left, uint32_t right, uint32_t merged)
{
    /* At most half full: a miss ends after few probes, and there always is an empty slot to end it. */
    if ((pairs->count + 1) * 2 > ((size_t)1 << pairs->bits)) {
        dat_pairs old = *pairs;
        dat_status status = allocate(pairs, old.bits + 1);
        if (status != DAT_OK) {
            *pairs = old;
            return status;
        }
        for (size_t slot = 0; slot < (size_t)1 << old.bits; slot++) {
            if (old.slots[slot].merged != DAT_NONE) {
                insert(pairs, old.slots[slot]);
            }
        }
        dat_free(old.slots);
    }
    insert(pairs, (dat_pair){left, right, merged});
    return DAT_OK;
}

void dat_pairs_clear(dat_pairs *pairs)
{
    dat_free(pairs->slots);
    *pairs = (dat_pairs){NULL, 0, 0};
}
