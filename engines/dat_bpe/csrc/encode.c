#include "encode.h"

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
    dat_normal_clear(&scratch->normal);
    dat_bytes_clear(&scratch->prefixed);
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

static dat_status encode_segment(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *p, const uint8_t *end,
                                 const uint8_t *limit, dat_ids *out, dat_trace *trace)
{
    const dat_text text = {end, &vocab->classes, &vocab->pattern, trace};
    const int cached = scratch->cache.pairs != NULL && trace == NULL;
    dat_status status = DAT_OK;
    while (p < end && status == DAT_OK) {
        const uint8_t *stop = dat_next_piece(&text, p);
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
