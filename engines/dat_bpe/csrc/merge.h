/* Stage merge: the adjacent pair whose joined bytes have the lowest rank, the leftmost of equals, again and again. */
#ifndef DAT_MERGE_H
#define DAT_MERGE_H

#include "dat.h"
#include "pairs.h"
#include "trace.h"

/* Up to so many bytes a plain search for the minimum beats what is linear in the piece (linear.c). */
enum { DAT_SMALL_PIECE = 48 };

/* Tokens are numbered in the order in which merging makes them: a token's number is its rank. */
typedef struct {
    const uint32_t *of_two; /* [65536] token of two bytes: the first pairs need no hash */
    const uint32_t *of_byte; /* [256] token of a byte */
    dat_pairs pairs;
    /* What the linear form needs besides. */
    dat_trie trie;
    const uint8_t *flags;   /* [count] DAT_REACHABLE */
    const uint32_t *shorter; /* [count] the longest token that merging can make and that is a proper prefix */
    const uint32_t *splits; /* [count][2] the last merge of a token; DAT_NONE twice: a byte, or not made by merging */
    const uint8_t *text;
    const uint32_t *offsets; /* [count + 1] into text */
    size_t count, text_size;
    int regular; /* both parts of every merge are made before it */
    const uint64_t *never; /* cuts.h: two bytes between which a token stands that has a character in part */
} dat_merges;

enum { DAT_REACHABLE = 1 };

/* Memory of the forms for long pieces, kept between pieces. */
typedef struct {
    uint32_t *token, *before, *after, *rank; /* the heap form */
    size_t room;
    uint64_t *heap;
    size_t heap_room;
    uint64_t *dead, *memo; /* the linear form */
    size_t dead_room;
} dat_merge_room;

/* Appends the tokens of a piece of at least one byte: time and memory linear in the piece.
 * naive: by a heap over all pairs instead, O(n log n), for comparison. */
dat_status dat_merge(const dat_merges *merges, dat_merge_room *room, const uint8_t *piece, size_t size, int naive,
                     dat_ids *out, dat_trace *trace);
void dat_merge_room_clear(dat_merge_room *room);

/* The linear form alone, for any size. DAT_DAMAGED: it gave up, and what it appended means nothing. */
dat_status dat_linear(const dat_merges *merges, dat_merge_room *room, const uint8_t *piece, size_t size, dat_ids *out);

static inline const uint8_t *dat_merge_text(const dat_merges *merges, uint32_t token, size_t *size)
{
    /* Guarded: a file's offsets may be anything. */
    size_t start = 0, stop = 0;
    if (token < merges->count) {
        start = merges->offsets[token];
        stop = merges->offsets[token + 1];
        if (start > stop || stop > merges->text_size) {
            start = stop = 0;
        }
    }
    *size = stop - start;
    return merges->text + start;
}

#endif
