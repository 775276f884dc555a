/* The two plain forms of merging, over whatever says which pairs merge: the encoder's proved pairs, or, when tables are
 * built, all pairs that are listed. Included by merge.c and vocab.c, for the look-up must be inlined. */
#ifndef DAT_FORMS_H
#define DAT_FORMS_H

#include <string.h>

#include "merge.h"

#if defined(__GNUC__)
#define DAT_INLINE static inline __attribute__((always_inline))
#define DAT_NOINLINE __attribute__((noinline))
#else
#define DAT_INLINE static inline
#define DAT_NOINLINE
#endif

/* The rank at which two neighbours merge, or DAT_NONE. */
typedef uint32_t (*dat_lookup)(const void *table, uint32_t left, uint32_t right);

typedef struct {
    uint32_t left, right, rank; /* DAT_NONE: nothing merged */
} dat_last_merge;

#ifdef DAT_TRACE
#define RECORD_MERGE(heap, at, l, r, v)                                                                   \
    DAT_RECORD(trace, .stage = DAT_STAGE_MERGE, .path = (heap), .left = (l), .right = (r), .value = (v),  \
               .position = (size_t)(at), .offset = DAT_AT(trace, piece))
#else
#define RECORD_MERGE(heap, at, l, r, v) ((void)0)
#endif

/* Tokens and pair ranks side by side; a merge closes the gap. Quadratic in a size that is bounded. `of_rank`: the token
 * that a rank makes, NULL where it is the rank itself. */
DAT_INLINE size_t dat_merge_small(dat_lookup lookup, const void *table, const uint32_t *of_rank,
                                  const uint32_t *of_byte, const uint32_t *of_two, const uint8_t *piece, size_t size,
                                  uint32_t *token, dat_last_merge *last, dat_trace *trace)
{
    uint32_t rank[DAT_SMALL_PIECE];
    size_t count = size;
#ifdef DAT_TRACE
    size_t start[DAT_SMALL_PIECE];
    for (size_t i = 0; i < size; i++) {
        start[i] = i;
    }
#else
    (void)trace;
#endif
    for (size_t i = 0; i < size; i++) {
        token[i] = of_byte[piece[i]];
    }
    for (size_t i = 0; i + 1 < size; i++) {
        rank[i] = of_two != NULL ? of_two[((size_t)piece[i] << 8) | piece[i + 1]] : lookup(table, token[i], token[i + 1]);
    }
    rank[size - 1] = DAT_NONE;
    for (;;) {
        uint32_t least = DAT_NONE;
        size_t at = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            if (rank[i] < least) {
                least = rank[i];
                at = i;
            }
        }
        if (least == DAT_NONE) {
            return count;
        }
        RECORD_MERGE(0, start[at], token[at], token[at + 1], least);
        if (last != NULL) {
            *last = (dat_last_merge){token[at], token[at + 1], least};
        }
        uint32_t merged = of_rank != NULL ? of_rank[least] : least;
        token[at] = merged;
        count--;
        size_t moved = count - at - 1;
        memmove(token + at + 1, token + at + 2, moved * sizeof *token);
        memmove(rank + at, rank + at + 1, (moved + 1) * sizeof *rank);
#ifdef DAT_TRACE
        memmove(start + at + 1, start + at + 2, moved * sizeof *start);
#endif
        rank[at] = at + 1 < count ? lookup(table, merged, token[at + 1]) : DAT_NONE;
        if (at > 0) {
            rank[at - 1] = lookup(table, token[at - 1], merged);
        }
    }
}

dat_status dat_reserve_heap(dat_merge_room *room, size_t size);
dat_status dat_heap_push(dat_merge_room *room, size_t *count, uint64_t item);
void dat_heap_sift(uint64_t *heap, size_t count, size_t at);

/* Symbols are a linked list over byte positions; rank[i] is the rank of the pair whose left symbol starts at i. A heap
 * entry is rank << 32 | position: its order is rank, then leftmost. It is stale where rank[i] has changed since; with
 * the same rank it names the same merge. */
DAT_INLINE dat_status dat_merge_large(dat_lookup lookup, const void *table, const uint32_t *of_rank,
                                      const uint32_t *of_byte, dat_merge_room *room, const uint8_t *piece,
                                      uint32_t size, dat_ids *out, dat_last_merge *last, dat_trace *trace)
{
    dat_status status = dat_reserve_heap(room, size);
    if (status != DAT_OK) {
        return status;
    }
    (void)trace;
    uint32_t *token = room->token, *before = room->before, *after = room->after, *rank = room->rank;
    size_t count = 0;
    for (uint32_t i = 0; i < size; i++) {
        token[i] = of_byte[piece[i]];
        before[i] = i - 1; /* of the first: never followed, see i > 0 below */
        after[i] = i + 1;
        rank[i] = i + 1 < size ? lookup(table, token[i], of_byte[piece[i + 1]]) : DAT_NONE;
        if (rank[i] != DAT_NONE) {
            room->heap[count++] = ((uint64_t)rank[i] << 32) | i;
        }
    }
    for (size_t i = count / 2; i-- > 0;) {
        dat_heap_sift(room->heap, count, i);
    }
    while (count > 0) {
        uint64_t top = room->heap[0];
        room->heap[0] = room->heap[--count];
        if (count > 0) {
            dat_heap_sift(room->heap, count, 0);
        }
        uint32_t i = (uint32_t)top, least = (uint32_t)(top >> 32);
        if (rank[i] != least) {
            continue;
        }
        uint32_t gone = after[i], next = after[gone];
        RECORD_MERGE(1, i, token[i], token[gone], least);
        if (last != NULL) {
            *last = (dat_last_merge){token[i], token[gone], least};
        }
        uint32_t merged = of_rank != NULL ? of_rank[least] : least;
        token[i] = merged;
        rank[gone] = DAT_NONE;
        after[i] = next;
        rank[i] = DAT_NONE;
        if (next < size) {
            before[next] = i;
            rank[i] = lookup(table, merged, token[next]);
            if (rank[i] != DAT_NONE &&
                (status = dat_heap_push(room, &count, ((uint64_t)rank[i] << 32) | i)) != DAT_OK) {
                return status;
            }
        }
        if (i > 0) {
            uint32_t left = before[i];
            rank[left] = lookup(table, token[left], merged);
            if (rank[left] != DAT_NONE &&
                (status = dat_heap_push(room, &count, ((uint64_t)rank[left] << 32) | left)) != DAT_OK) {
                return status;
            }
        }
    }
    size_t symbols = 0;
    for (uint32_t i = 0; i < size; i = after[i]) {
        symbols++;
    }
    status = dat_ids_room(out, symbols);
    for (uint32_t i = 0; status == DAT_OK && i < size; i = after[i]) {
        out->items[out->count++] = token[i];
    }
    return status;
}

#endif
