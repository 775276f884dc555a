/* Places inside a piece where no token can reach across: cutting there changes no id.
 *
 * Merging never joins what no token spans. For two neighbouring characters of which one at least is not ASCII, `filter`
 * has the bit of their hash if a token holds the end of the one and the start of the other, both whole; and `never` the bit
 * of the two bytes at the border if a token holds them with one of the characters in part. Both err to the side of not
 * cutting. */
#ifndef DAT_CUTS_H
#define DAT_CUTS_H

#include "common.h"

typedef struct {
    const uint64_t *filter; /* NULL: never cut */
    const uint64_t *never;  /* [1024] */
    unsigned bits;
} dat_cuts;

static inline uint64_t dat_cut_bit(uint32_t left, uint32_t right, unsigned bits)
{
    return (((uint64_t)left << 32 | right) * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits);
}

/* Whether no token spans the border of two characters, given as code points (ill-formed bytes: never), whose bytes at the
 * border are `last` and `first`. */
static inline int dat_cut(const dat_cuts *cuts, uint32_t left, uint32_t right, uint8_t last, uint8_t first)
{
    uint64_t bit = dat_cut_bit(left, right, cuts->bits);
    unsigned border = (unsigned)last << 8 | first;
    return !((cuts->filter[bit >> 6] >> (bit & 63) | cuts->never[border >> 6] >> (border & 63)) & 1);
}

#endif
