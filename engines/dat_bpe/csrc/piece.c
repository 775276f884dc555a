#include "piece.h"

/* The index of a piece that is one token and may be taken whole, or DAT_NONE. */
static uint32_t whole_piece(const dat_vocab *vocab, const uint8_t *piece, size_t size, int tracing)
{
    if (size > vocab->longest || (tracing && !PLANTED(51, 1, vocab->ignore_merges))) {
        return DAT_NONE;
    }
    uint32_t index = dat_find(&vocab->trie, piece, size);
    /* A look-up of the whole piece is only exact for a token that its own bytes merge to. */
    if (index < vocab->count && (PLANTED(51, 1, vocab->ignore_merges) || (vocab->merges.flags[index] & DAT_REACHABLE))) {
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

static dat_status append_id(dat_ids *out, uint32_t id)
{
    dat_status status = dat_ids_room(out, 1);
    if (status == DAT_OK) {
        out->items[out->count++] = id;
    }
    return status;
}

void dat_rename(const dat_vocab *vocab, uint32_t *tokens, size_t count)
{
    if (!vocab->plain_ids) {
        for (size_t i = 0; i < count; i++) {
            tokens[i] = dat_id(vocab, tokens[i]);
        }
    }
}

dat_status dat_known(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *piece, size_t size, uint64_t low,
                     uint64_t high, int whole, int *forget, dat_ids *out)
{
    *forget = 0;
    if (size <= DAT_WIDE_BYTES && scratch->cache.wide != NULL) {
        uint64_t key[4];
        dat_wide_key(piece, size, low, high, key);
        const dat_wide_entry *slot = dat_wide_slot(&scratch->cache, key);
        if (dat_wide_equal(slot, key)) {
            dat_status status = dat_ids_room(out, DAT_WIDE_IDS);
            if (status == DAT_OK) {
                memcpy(out->items + out->count, slot->ids, sizeof slot->ids);
                out->count += slot->count <= DAT_WIDE_IDS ? slot->count : 0;
                *forget = 1; /* it is remembered */
            }
            return status;
        }
    }
    /* A token that merging does not reach is what a whole piece is, and not what a part of one is. */
    if (size <= DAT_CACHE_BYTES && (scratch->settings.uses & DAT_USE_WORDS)) {
        /* Later the cache has what stands in front: dat_seed. */
        const dat_word *word = scratch->grown ? NULL : dat_words_find(&vocab->front, low, high);
        if (word == NULL) {
            word = dat_words_find(&vocab->words, low, high);
        }
        if (word == NULL) {
            return DAT_OK;
        }
        *forget = !word->reachable;
        return whole || !*forget ? append_id(out, word->id) : DAT_OK;
    }
    uint32_t index = whole_piece(vocab, piece, size, 0);
    if (index == DAT_NONE) {
        return DAT_OK;
    }
    *forget = !(vocab->merges.flags[index] & DAT_REACHABLE);
    return whole || !*forget ? append_id(out, dat_id(vocab, index)) : DAT_OK;
}

void dat_keep(dat_scratch *scratch, const uint8_t *piece, size_t size, uint64_t low, uint64_t high, const uint32_t *ids,
              size_t count)
{
    if (size <= DAT_CACHE_BYTES && count <= DAT_CACHE_IDS && scratch->cache.pairs != NULL) {
        dat_cache_entry *pair = dat_cache_pair(&scratch->cache, low, high);
        pair[1] = pair[0];
        pair->low = low;
        pair->high = high | (uint64_t)(count - 1) << 60;
        memcpy(pair->ids, ids, sizeof pair->ids);
    } else if (size <= DAT_WIDE_BYTES && count <= DAT_WIDE_IDS && scratch->cache.wide != NULL) {
        uint64_t key[4];
        dat_wide_key(piece, size, low, high, key);
        dat_wide_entry *slot = dat_wide_slot(&scratch->cache, key);
        memcpy(slot->key, key, sizeof slot->key);
        slot->count = (uint32_t)count;
        memcpy(slot->ids, ids, sizeof slot->ids);
    }
}

/* As many as a quarter of the entries: those with the lowest ranks, which most text is made of. */
void dat_seed(const dat_vocab *vocab, dat_scratch *scratch)
{
    if (scratch->cache.pairs == NULL || !(scratch->settings.uses & DAT_USE_WORDS)) {
        return;
    }
    size_t most = (size_t)1 << scratch->cache.bits >> 2;
    for (uint32_t i = 0; i < vocab->count && i < most; i++) {
        size_t size;
        const uint8_t *text = dat_token(vocab, i, &size);
        if (size > 0 && size <= DAT_CACHE_BYTES && (PLANTED(52, 1, 0) || (vocab->merges.flags[i] & DAT_REACHABLE))) {
            uint64_t low, high;
            dat_cache_key(text, size, vocab->text + vocab->text_size, &low, &high);
            const uint32_t ids[DAT_WIDE_IDS] = {vocab->ids[i]};
            dat_keep(scratch, text, size, low, high, ids, 1);
        }
    }
}

dat_status dat_piece(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *piece, size_t size, dat_ids *out,
                     dat_trace *trace)
{
    size_t first = out->count;
    if (PLANTED(33, size == 1 && piece[0] == 0xFF, 0)) {
        __builtin_trap();
    }
    uint32_t index = whole_piece(vocab, piece, size, trace != NULL);
    if (PLANTED(53, size <= 4 && index == DAT_NONE, 0)) {
        /* Only what merging does not reach: the rest is merged, so that its merges are recorded. */
        uint32_t found = dat_find(&vocab->trie, piece, size);
        index = found < vocab->count && !(vocab->merges.flags[found] & DAT_REACHABLE) ? found : DAT_NONE;
    }
    dat_status status = index != DAT_NONE
                            ? append_id(out, index)
                            : dat_merge(&vocab->merges, &scratch->room, piece, size,
                                        !(scratch->settings.uses & DAT_USE_LINEAR), out, trace);
    if (status == DAT_OK) {
#ifdef DAT_TRACE
        record_lookups(vocab, piece, out, first, index != DAT_NONE, trace);
#endif
        dat_rename(vocab, out->items + first, out->count - first);
    }
    return status;
}
