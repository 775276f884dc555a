#include "encode.h"

#include "decode.h"

/* A merge room that one huge piece has blown up is not kept for the next call. */
enum { ROOM_KEPT = 1 << 16 };

dat_status dat_scratch_init(dat_scratch *scratch, dat_settings settings)
{
    memset(scratch, 0, sizeof *scratch);
    scratch->settings = settings;
    dat_cache *cache = &scratch->cache;
    cache->seed = settings.seed;
    cache->bits = settings.uses & DAT_USE_CACHE ? settings.cache_bits : 0;
    cache->wide_bits = settings.uses & DAT_USE_WIDE ? settings.wide_bits : 0;
    size_t narrow = cache->bits > 0 ? sizeof *cache->pairs << cache->bits : 0;
    size_t wide = cache->wide_bits > 0 ? sizeof *cache->wide << cache->wide_bits : 0;
    if (narrow + wide > 0) {
        cache->size = narrow + wide;
        uint8_t *block = cache->block = dat_large(cache->size);
        if (block == NULL) {
            return DAT_NO_MEMORY;
        }
        cache->pairs = narrow > 0 ? (dat_cache_entry *)(void *)block : NULL;
        cache->wide = wide > 0 ? (dat_wide_entry *)(void *)(block + narrow) : NULL;
    }
    return DAT_OK;
}

void dat_scratch_clear(dat_scratch *scratch)
{
    dat_large_free(scratch->cache.block, scratch->cache.size);
    dat_merge_room_clear(&scratch->room);
    dat_ids_clear(&scratch->found);
    dat_split_room_clear(&scratch->split);
    memset(scratch, 0, sizeof *scratch);
}

static dat_status mark(dat_marks *marks, size_t index, size_t size)
{
    if (marks->count == marks->room) {
        size_t room = marks->room + marks->room / 2 + 16;
        dat_mark *items = dat_grow(marks->items, room, sizeof *items);
        if (items == NULL) {
            return DAT_NO_MEMORY;
        }
        marks->items = items;
        marks->room = room;
    }
    marks->items[marks->count++] = (dat_mark){index, size};
    return DAT_OK;
}

void dat_marks_clear(dat_marks *marks)
{
    dat_free(marks->items);
    *marks = (dat_marks){NULL, 0, 0};
}

void dat_spans(const dat_vocab *vocab, const uint32_t *ids, size_t count, const dat_marks *marks, uint64_t *spans)
{
    uint64_t at = 0;
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size = 0;
        if (next < marks->count && marks->items[next].index == i) {
            size = marks->items[next++].size;
        } else {
            (void)dat_id_bytes(vocab, ids[i], &size);
        }
        spans[2 * i] = at;
        spans[2 * i + 1] = at += size;
    }
}

dat_status dat_encode(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *document, size_t size,
                      int specials, dat_ids *out, dat_marks *marks, dat_trace *trace)
{
    const uint8_t *p = document, *end = document + size;
    dat_status status = DAT_OK;
#ifdef DAT_TRACE
    if (trace != NULL) {
        trace->document = trace->seen = document;
    }
#endif
    while (p < end && status == DAT_OK) {
        const uint8_t *stop = end, *start = end;
        uint32_t special = DAT_NONE;
        if (specials && vocab->specials.count > 0) {
            const uint8_t *found = dat_next_special(&vocab->specials, p, end, &stop, &special);
            start = found != NULL ? found : end;
        }
        status = dat_segment(vocab, scratch, p, start, end, out, trace);
        if (start == end || status != DAT_OK) {
            break;
        }
        DAT_RECORD(trace, .stage = DAT_STAGE_SPECIAL, .offset = DAT_AT(trace, start), .next = DAT_AT(trace, stop),
                   .value = vocab->specials.ids[special]);
        status = dat_ids_room(out, 1);
        if (status == DAT_OK && marks != NULL) {
            status = mark(marks, out->count, (size_t)(stop - start));
        }
        if (status == DAT_OK) {
            out->items[out->count++] = vocab->specials.ids[special];
        }
        p = stop;
    }
    if (scratch->room.room > ROOM_KEPT || scratch->room.heap_room > ROOM_KEPT || scratch->room.dead_room > ROOM_KEPT) {
        dat_merge_room_clear(&scratch->room);
    }
    dat_split_room_trim(&scratch->split);
#ifdef DAT_TRACE
    if (status == DAT_OK && trace != NULL && trace->failed) {
        status = DAT_NO_MEMORY;
    }
#endif
    return status;
}
