#include "encode.h"

#include "decode.h"

/* A merge room that one huge piece has blown up is not kept for the next call. */
enum { ROOM_KEPT = 1 << 16 };

dat_status dat_scratch_init(dat_scratch *scratch, unsigned cache_bits)
{
    memset(scratch, 0, sizeof *scratch);
    if (cache_bits > 0) {
        dat_cache *cache = &scratch->cache;
        cache->bits = cache_bits;
        cache->block = dat_zeroed(((size_t)1 << cache_bits) + 2, sizeof *cache->pairs);
        if (cache->block == NULL) {
            return DAT_NO_MEMORY;
        }
        cache->pairs = (dat_cache_entry *)(((uintptr_t)cache->block + 63) & ~(uintptr_t)63);
    }
    return DAT_OK;
}

void dat_scratch_clear(dat_scratch *scratch)
{
    dat_free(scratch->cache.block);
    dat_merge_room_clear(&scratch->room);
    dat_split_room_clear(&scratch->split);
    memset(scratch, 0, sizeof *scratch);
}

/* The index of a piece that is one token and may be taken whole, or DAT_NONE. */
static uint32_t whole_piece(const dat_vocab *vocab, const uint8_t *piece, size_t size, int tracing)
{
    if (size > vocab->longest || (tracing && !vocab->ignore_merges)) {
        return DAT_NONE;
    }
    uint32_t index = dat_find(&vocab->trie, piece, size);
    if (index == DAT_NONE || vocab->ignore_merges || vocab->reachable[index]) {
        return index;
    }
    return DAT_NONE;
}

#ifdef DAT_TRACE
static void record_lookups(const dat_vocab *vocab, const uint8_t *piece, const dat_ids *out, size_t first, int whole,
                           dat_trace *trace)
{
    if (trace == NULL) {
        return;
    }
    size_t at = DAT_AT(trace, piece);
    for (size_t i = first; i < out->count; i++) {
        size_t size;
        (void)dat_token(vocab, out->items[i], &size);
        dat_trace_add(trace, (dat_event){.stage = DAT_STAGE_LOOKUP, .path = (uint8_t)whole, .offset = at,
                                         .next = at + size, .value = vocab->ids[out->items[i]]});
        at += size;
    }
}
#endif

static dat_status encode_uncached(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *piece, size_t size,
                                  dat_ids *out, dat_trace *trace)
{
    size_t first = out->count;
    dat_status status = dat_ids_room(out, 1);
    if (status != DAT_OK) {
        return status;
    }
    uint32_t index = whole_piece(vocab, piece, size, trace != NULL);
    if (index != DAT_NONE) {
        out->items[out->count++] = index;
    } else {
        status = dat_merge(&vocab->merges, &scratch->room, piece, size, out, trace);
        if (status != DAT_OK) {
            return status;
        }
    }
#ifdef DAT_TRACE
    record_lookups(vocab, piece, out, first, index != DAT_NONE, trace);
#endif
    if (!vocab->plain_ids) {
        for (size_t i = first; i < out->count; i++) {
            out->items[i] = vocab->ids[out->items[i]];
        }
    }
    return DAT_OK;
}

/* Not inlined: the path of a hit stays short. */
#if defined(__GNUC__)
__attribute__((noinline))
#endif
static dat_status encode_miss(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *piece, size_t size,
                              dat_ids *out, dat_cache_entry *pair, uint64_t low, uint64_t high)
{
    size_t first = out->count;
    dat_status status = encode_uncached(vocab, scratch, piece, size, out, NULL);
    size_t count = out->count - first;
    if (status == DAT_OK && count <= DAT_CACHE_IDS) {
        pair[1] = pair[0];
        pair->low = low;
        pair->high = high;
        for (size_t i = 0; i < DAT_CACHE_IDS; i++) {
            pair->ids[i] = i < count ? out->items[first + i] : DAT_NONE;
        }
    }
    return status;
}

/* The end of the piece at p, by the general path. */
static dat_status split_next(const dat_vocab *vocab, dat_scratch *scratch, const dat_text *text, const uint8_t *p,
                             const uint8_t **stop)
{
    uint32_t alternative;
    dat_status status = dat_split_next(vocab->splitter, &scratch->split, stop, &alternative);
#ifdef DAT_TRACE
    if (status == DAT_OK) {
        dat_record_piece(text, p, *stop, DAT_RULE_EXPRESSION, alternative);
    }
#else
    (void)text;
    (void)p;
#endif
    return status;
}

static dat_status encode_segment(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *p, const uint8_t *end,
                                 const uint8_t *limit, dat_ids *out, dat_trace *trace)
{
    const dat_text text = {end, &vocab->classes, &vocab->pattern, trace};
    const int cached = scratch->cache.pairs != NULL && trace == NULL;
    const int general = vocab->splitter != NULL;
    dat_status status = general ? dat_split_start(vocab->splitter, &scratch->split, p, end) : DAT_OK;
    while (p < end && status == DAT_OK) {
        const uint8_t *stop;
        if (!general) {
            stop = dat_next_piece(&text, p);
        } else if ((status = split_next(vocab, scratch, &text, p, &stop)) != DAT_OK) {
            break;
        }
        size_t size = (size_t)(stop - p);
        if (!cached || size > DAT_CACHE_BYTES) {
            status = encode_uncached(vocab, scratch, p, size, out, trace);
        } else {
            uint64_t low, high;
            dat_cache_key(p, size, limit, &low, &high);
            dat_cache_entry *pair = dat_cache_pair(&scratch->cache, low, high);
            const dat_cache_entry *entry = pair->low == low && pair->high == high ? pair : pair + 1;
            if (entry->low == low && entry->high == high) {
                status = dat_ids_room(out, DAT_CACHE_IDS);
                if (status == DAT_OK) {
                    /* All four are written, and as many counted as there are: no loop, no branch. */
                    const uint32_t *ids = entry->ids;
                    memcpy(out->items + out->count, ids, sizeof entry->ids);
                    out->count += (size_t)1 + (ids[1] != DAT_NONE) + (ids[2] != DAT_NONE) + (ids[3] != DAT_NONE);
                }
            } else {
                status = encode_miss(vocab, scratch, p, size, out, pair, low, high);
            }
        }
        p = stop;
    }
    return status;
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
        status = encode_segment(vocab, scratch, p, start, end, out, trace);
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
    if (scratch->room.room > ROOM_KEPT || scratch->room.heap_room > ROOM_KEPT) {
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
