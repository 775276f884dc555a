/* Stage merge: the adjacent pair whose joined bytes have the lowest rank, the leftmost of equals, again and again. */
#ifndef DAT_MERGE_H
#define DAT_MERGE_H

#include "pairs.h"
#include "trace.h"

/* Up to so many bytes a plain search for the minimum beats a heap. */
enum { DAT_SMALL_PIECE = 48 };

typedef struct {
    const uint32_t *of_byte; /* [256] token of a byte */
    const uint32_t *of_two;  /* [65536] token of two bytes: the first pairs need no hash */
    const dat_pairs *pairs;
} dat_merges;

/* Memory of the heap form, kept between pieces. */
typedef struct {
    uint32_t *token, *before, *after, *rank;
    size_t room;
    uint64_t *heap;
    size_t heap_room;
} dat_merge_room;

/* Appends the tokens (indexes, in order of rank) of a piece of at least one byte. O(n log n) time, O(n) memory. */
dat_status dat_merge(const dat_merges *merges, dat_merge_room *room, const uint8_t *piece, size_t size, dat_ids *out,
                     dat_trace *trace);
void dat_merge_room_clear(dat_merge_room *room);

#endif
