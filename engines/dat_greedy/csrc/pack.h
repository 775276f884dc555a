/* First fit into the three arrays of a CRAY file. */
#ifndef CRAY_PACK_H
#define CRAY_PACK_H

#include "dat.h"

typedef struct {
    int32_t *base, *check, *values; /* one block: base is its start */
    size_t count;
} cray_arrays;

/* keys as for dat_trie_pack, values below 2**31. The caller frees arrays->base. */
dat_status cray_pack(cray_arrays *arrays, dat_key *keys, size_t count, dat_order order);

#endif
