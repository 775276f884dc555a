#include "merge.h"

#include <string.h>

#ifdef DAT_TRACE
#define RECORD_MERGE(heap, at, l, r, v)                                                                   \
    DAT_RECORD(trace, .stage = DAT_STAGE_MERGE, .path = (heap), .left = (l), .right = (r), .value = (v),  \
               .position = (size_t)(at), .offset = DAT_AT(trace, piece))
#else
#define RECORD_MERGE(heap, at, l, r, v) ((void)0)
#endif

static inline uint32_t first_rank(const dat_merges *merges, const uint8_t *p)
{
    return merges->of_two[((size_t)p[0] << 8) | p[1]];
}

/* Tokens and pair ranks side by side; a merge closes the gap. Quadratic in a size that is bounded. */
static size_t merge_small(const dat_merges *merges, const uint8_t *piece, size_t size, uint32_t *token,
                          dat_trace *trace)
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
        token[i] = merges->of_byte[piece[i]];
        rank[i] = i + 1 < size ? first_rank(merges, piece + i) : DAT_NONE;
    }
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
        token[at] = least;
        count--;
        size_t moved = count - at - 1;
        memmove(token + at + 1, token + at + 2, moved * sizeof *token);
        memmove(rank + at, rank + at + 1, (moved + 1) * sizeof *rank);
#ifdef DAT_TRACE
        memmove(start + at + 1, start + at + 2, moved * sizeof *start);
#endif
        rank[at] = at + 1 < count ? dat_pairs_get(merges->pairs, least, token[at + 1]) : DAT_NONE;
        if (at > 0) {
            rank[at - 1] = dat_pairs_get(merges->pairs, token[at - 1], least);
        }
    }
}

/* A heap entry is rank << 32 | position: its order is rank, then leftmost. */
static void sift_down(uint64_t *heap, size_t count, size_t at)
{
    uint64_t item = heap[at];
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count && heap[child + 1] < heap[child]) {
            child++;
        }
        if (item <= heap[child]) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = item;
}

static dat_status push(dat_merge_room *room, size_t *count, uint64_t item)
{
    if (*count == room->heap_room) {
        size_t more = room->heap_room + room->heap_room / 2 + 64;
        uint64_t *heap = dat_grow(room->heap, more, sizeof *heap);
        if (heap == NULL) {
            return DAT_NO_MEMORY;
        }
        room->heap = heap;
        room->heap_room = more;
    }
    uint64_t *heap = room->heap;
    size_t at = (*count)++;
    while (at > 0 && heap[(at - 1) / 2] > item) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = item;
    return DAT_OK;
}

static dat_status reserve(dat_merge_room *room, size_t size)
{
    if (size <= room->room) {
        return DAT_OK;
    }
    dat_merge_room_clear(room);
    room->token = dat_alloc(size, sizeof(uint32_t));
    room->before = dat_alloc(size, sizeof(uint32_t));
    room->after = dat_alloc(size, sizeof(uint32_t));
    room->rank = dat_alloc(size, sizeof(uint32_t));
    room->heap = dat_alloc(size, sizeof(uint64_t));
    if (!room->token || !room->before || !room->after || !room->rank || !room->heap) {
        dat_merge_room_clear(room);
        return DAT_NO_MEMORY;
    }
    room->room = room->heap_room = size;
    return DAT_OK;
}

/* Symbols are a linked list over byte positions; rank[i] is the rank of the pair whose left symbol starts at i. An
 * entry of the heap is stale where rank[i] has changed since; with the same rank it names the same merge. */
static dat_status merge_large(const dat_merges *merges, dat_merge_room *room, const uint8_t *piece, uint32_t size,
                              dat_ids *out, dat_trace *trace)
{
    dat_status status = reserve(room, size);
    if (status != DAT_OK) {
        return status;
    }
#ifndef DAT_TRACE
    (void)trace;
#endif
    uint32_t *token = room->token, *before = room->before, *after = room->after, *rank = room->rank;
    size_t count = 0;
    for (uint32_t i = 0; i < size; i++) {
        token[i] = merges->of_byte[piece[i]];
        before[i] = i - 1; /* of the first: never followed, see i > 0 below */
        after[i] = i + 1;
        rank[i] = i + 1 < size ? first_rank(merges, piece + i) : DAT_NONE;
        if (rank[i] != DAT_NONE) {
            room->heap[count++] = ((uint64_t)rank[i] << 32) | i;
        }
    }
    for (size_t i = count / 2; i-- > 0;) {
        sift_down(room->heap, count, i);
    }
    while (count > 0) {
        uint64_t top = room->heap[0];
        room->heap[0] = room->heap[--count];
        if (count > 0) {
            sift_down(room->heap, count, 0);
        }
        uint32_t i = (uint32_t)top, merged = (uint32_t)(top >> 32);
        if (rank[i] != merged) {
            continue;
        }
        uint32_t gone = after[i], next = after[gone];
        RECORD_MERGE(1, i, token[i], token[gone], merged);
        token[i] = merged;
        rank[gone] = DAT_NONE;
        after[i] = next;
        rank[i] = DAT_NONE;
        if (next < size) {
            before[next] = i;
            rank[i] = dat_pairs_get(merges->pairs, merged, token[next]);
            if (rank[i] != DAT_NONE && push(room, &count, ((uint64_t)rank[i] << 32) | i) != DAT_OK) {
                return DAT_NO_MEMORY;
            }
        }
        if (i > 0) {
            uint32_t left = before[i];
            rank[left] = dat_pairs_get(merges->pairs, token[left], merged);
            if (rank[left] != DAT_NONE && push(room, &count, ((uint64_t)rank[left] << 32) | left) != DAT_OK) {
                return DAT_NO_MEMORY;
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

dat_status dat_merge(const dat_merges *merges, dat_merge_room *room, const uint8_t *piece, size_t size, dat_ids *out,
                     dat_trace *trace)
{
    if (size > DAT_SMALL_PIECE) {
        if (size >= UINT32_MAX) {
            return DAT_TOO_LONG;
        }
        return merge_large(merges, room, piece, (uint32_t)size, out, trace);
    }
    uint32_t token[DAT_SMALL_PIECE];
    size_t count = merge_small(merges, piece, size, token, trace);
    dat_status status = dat_ids_room(out, count);
    if (status == DAT_OK) {
        memcpy(out->items + out->count, token, count * sizeof *token);
        out->count += count;
    }
    return status;
}

void dat_merge_room_clear(dat_merge_room *room)
{
    dat_free(room->token);
    dat_free(room->before);
    dat_free(room->after);
    dat_free(room->rank);
    dat_free(room->heap);
    *room = (dat_merge_room){NULL, NULL, NULL, NULL, 0, NULL, 0};
}
