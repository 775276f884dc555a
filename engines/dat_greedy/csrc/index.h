/* From ids back to bytes: a file holds no texts, so a token's bytes are read off the way from its slot to the root. */
#ifndef CRAY_INDEX_H
#define CRAY_INDEX_H

#include "greedy.h"

typedef struct {
    uint32_t id, slot;
} cray_place;

typedef struct {
    int32_t *depths;    /* [slots] steps from the root; below 0: not reached from it */
    cray_place *places; /* by id, ascending: the tokens that a walk can find */
    size_t count, reached;
    int plain; /* every id is its index */
} cray_index;

/* DAT_DUPLICATE_ID: *culprit has two slots. On failure the index is cleared. */
dat_status cray_index_build(cray_index *index, const cray_trie *trie, uint32_t *culprit);
void cray_index_clear(cray_index *index);

/* The slot and the number of bytes of an id; 0 where there is none. */
uint32_t cray_slot_of(const cray_index *index, uint32_t id, size_t *size);

/* The number of bytes of `count` ids; DAT_BAD_ID: *bad is the first index whose id there is not. */
dat_status cray_decoded_size(const cray_engine *engine, const cray_index *index, const uint32_t *ids, size_t count,
                             size_t *size, size_t *bad);

/* Writes them, `size` bytes at most, and returns how many: ids that were changed since they were counted, and a file
 * that was, write nothing past the end. */
size_t cray_decode(const cray_engine *engine, const cray_index *index, const uint32_t *ids, size_t count,
                   uint8_t *out, size_t size);

#endif
