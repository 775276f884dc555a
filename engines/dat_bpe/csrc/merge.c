#include "merge.h"

#include "forms.h"

void dat_heap_sift(uint64_t *heap, size_t count, size_t at)
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

dat_status dat_heap_push(dat_merge_room *room, size_t *count, uint64_t item)
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

static void clear_heap(dat_merge_room *room)
{
    dat_free(room->token);
    dat_free(room->before);
    dat_free(room->after);
    dat_free(room->rank);
    dat_free(room->heap);
    room->token = room->before = room->after = room->rank = NULL;
    room->heap = NULL;
    room->room = room->heap_room = 0;
}

dat_status dat_reserve_heap(dat_merge_room *room, size_t size)
{
    if (size <= room->room) {
        return DAT_OK;
    }
    clear_heap(room); /* and no more: the linear form, which may have called, has its own beside it */
    room->token = dat_alloc(size, sizeof(uint32_t));
    room->before = dat_alloc(size, sizeof(uint32_t));
    room->after = dat_alloc(size, sizeof(uint32_t));
    room->rank = dat_alloc(size, sizeof(uint32_t));
    room->heap = dat_alloc(size, sizeof(uint64_t));
    if (!room->token || !room->before || !room->after || !room->rank || !room->heap) {
        clear_heap(room);
        return DAT_NO_MEMORY;
    }
    room->room = room->heap_room = size;
    return DAT_OK;
}

static inline uint32_t proved(const void *table, uint32_t left, uint32_t right)
{
    return dat_pairs_get(table, left, right);
}

static dat_status merge_heap(const dat_merges *merges, dat_merge_room *room, const uint8_t *piece, size_t size,
                             dat_ids *out, dat_trace *trace)
{
    return dat_merge_large(proved, &merges->pairs, NULL, merges->of_byte, room, piece, (uint32_t)size, out, NULL,
                           trace);
}

dat_status dat_merge(const dat_merges *merges, dat_merge_room *room, const uint8_t *piece, size_t size, int naive,
                     dat_ids *out, dat_trace *trace)
{
    if (size > DAT_SMALL_PIECE) {
        if (size >= UINT32_MAX) {
            return DAT_TOO_LONG;
        }
        size_t first = out->count;
        dat_status status = naive || trace != NULL ? DAT_DAMAGED : dat_linear(merges, room, piece, size, out);
        if (status == DAT_DAMAGED) { /* it has no row, or cost too much to find */
            out->count = first;
            status = merge_heap(merges, room, piece, size, out, trace);
        }
        return status;
    }
    dat_status status = dat_ids_room(out, DAT_SMALL_PIECE);
    if (status == DAT_OK) {
        out->count += dat_merge_small(proved, &merges->pairs, NULL, merges->of_byte, merges->of_two, piece, size,
                                      out->items + out->count, NULL, trace);
    }
    return status;
}

void dat_merge_room_clear(dat_merge_room *room)
{
    clear_heap(room);
    dat_free(room->dead);
    dat_free(room->memo);
    *room = (dat_merge_room){.room = 0};
}
