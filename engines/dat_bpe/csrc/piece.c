#include "piece.h"

/* The index of a piece that is one token and may be taken whole, or DAT_NONE. */
static uint32_t whole_piece(const dat_vocab *vocab, const uint8_t *piece, size_t size, int tracing)
{
    if (size > vocab->longest || (tracing && !vocab->ignore_merges)) {
        return DAT_NONE;
    }
    uint32_t index = dat_find(&vocab->trie, piece, size);
    /* A look-up of the whole piece is only exact for a token that its own bytes merge to. */
    if (index < vocab->count && (vocab->ignore_merges || (vocab->merges.flags[index] & DAT_REACHABLE))) {
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
                                         .next = at + size, .value = dat_id(vocab, out->items[i])});
        at += size;
    }
}
#endif

static dat_status append(dat_ids *out, uint32_t id)
{
    dat_status status = dat_ids_room(out, 1);
    if (status == DAT_OK) {
        out->items[out->count++] = id;
    }
    return status;
}

static void keep(dat_cache_entry *pair, uint64_t low, uint64_t high, const uint32_t *ids, size_t count)
{
    pair[1] = pair[0];
    pair->low = low;
    pair->high = high | (uint64_t)(count - 1) << 60;
    for (size_t i = 0; i < DAT_CACHE_IDS; i++) {
        pair->ids[i] = i < count ? ids[i] : DAT_NONE;
    }
}

static void keep_wide(dat_wide_entry *slot, const uint64_t key[4], const uint32_t *ids, size_t count)
{
    memcpy(slot->key, key, sizeof slot->key);
    for (size_t i = 0; i < DAT_WIDE_IDS; i++) {
        slot->ids[i] = i < count ? ids[i] : DAT_NONE;
    }
}

DAT_NOINLINE dat_status dat_piece(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *piece, size_t size,
                                  const uint8_t *limit, dat_ids *out, dat_trace *trace)
{
    const unsigned uses = scratch->settings.uses;
    size_t first = out->count;
    uint64_t low = 0, high = 0, key[4];
    dat_cache_entry *pair = NULL;
    dat_wide_entry *slot = NULL;
    uint32_t index = DAT_NONE;
    int looked = 0;
    if (trace == NULL) {
        if (size <= DAT_CACHE_BYTES) {
            dat_cache_key(piece, size, limit, &low, &high);
            pair = scratch->cache.pairs != NULL ? dat_cache_pair(&scratch->cache, low, high) : NULL;
            if (uses & DAT_USE_WORDS) {
                const dat_word *word = dat_words_find(&vocab->words, low, high);
                looked = 1;
                if (word != NULL) {
                    if (pair != NULL) {
                        keep(pair, low, high, &word->id, 1);
                    }
                    return append(out, word->id);
                }
            }
        }
        if (scratch->cache.wide != NULL && size <= DAT_WIDE_BYTES) {
            dat_wide_key(piece, size, key);
            slot = dat_wide_slot(&scratch->cache, key);
            if (memcmp(slot->key, key, sizeof key) == 0) {
                dat_status status = dat_ids_room(out, DAT_WIDE_IDS);
                if (status == DAT_OK) {
                    memcpy(out->items + out->count, slot->ids, sizeof slot->ids);
                    size_t count = 1;
                    while (count < DAT_WIDE_IDS && slot->ids[count] != DAT_NONE) {
                        count++;
                    }
                    out->count += count;
                }
                return status;
            }
        }
    }
    dat_status status = DAT_OK;
    if (!looked) {
        index = whole_piece(vocab, piece, size, trace != NULL);
    }
    if (index != DAT_NONE) {
        status = append(out, index);
    } else {
        status = dat_merge(&vocab->merges, &scratch->room, piece, size, !(uses & DAT_USE_LINEAR), out, trace);
    }
    if (status != DAT_OK) {
        return status;
    }
#ifdef DAT_TRACE
    record_lookups(vocab, piece, out, first, index != DAT_NONE, trace);
#endif
    size_t count = out->count - first;
    uint32_t *ids = out->items + first;
    if (!vocab->plain_ids) {
        for (size_t i = 0; i < count; i++) {
            ids[i] = dat_id(vocab, ids[i]);
        }
    }
    if (pair != NULL && count <= DAT_CACHE_IDS) {
        keep(pair, low, high, ids, count);
    } else if (slot != NULL && count <= DAT_WIDE_IDS) {
        keep_wide(slot, key, ids, count);
    }
    return DAT_OK;
}
