#include "vocab.h"

#include <string.h>

static dat_status copy_tokens(dat_vocab *vocab, dat_token_list tokens, size_t *culprit)
{
    size_t size = (size_t)tokens.offsets[tokens.count];
    vocab->text = dat_alloc(size, 1);
    vocab->offsets = dat_alloc(tokens.count + 1, sizeof *vocab->offsets);
    vocab->ids = dat_alloc(tokens.count, sizeof *vocab->ids);
    if (!vocab->text || !vocab->offsets || !vocab->ids) {
        return DAT_NO_MEMORY;
    }
    memcpy(vocab->text, tokens.text, size);
    memcpy(vocab->ids, tokens.ids, tokens.count * sizeof *vocab->ids);
    vocab->count = tokens.count;
    vocab->plain_ids = 1;
    for (size_t i = 0; i <= tokens.count; i++) {
        vocab->offsets[i] = (size_t)tokens.offsets[i];
    }
    for (size_t i = 0; i < tokens.count; i++) {
        size_t length = vocab->offsets[i + 1] - vocab->offsets[i];
        *culprit = i;
        if (i > 0 && tokens.ids[i] <= tokens.ids[i - 1]) {
            return DAT_DUPLICATE_ID;
        }
        vocab->plain_ids &= tokens.ids[i] == i;
        vocab->longest = length > vocab->longest ? length : vocab->longest;
    }
    return DAT_OK;
}

static dat_status build_trie(dat_vocab *vocab)
{
    dat_key *keys = dat_alloc(vocab->count, sizeof *keys);
    if (keys == NULL) {
        return DAT_NO_MEMORY;
    }
    size_t count = 0;
    for (uint32_t i = 0; i < vocab->count; i++) {
        keys[count].text = dat_token(vocab, i, &keys[count].size);
        keys[count].value = i;
        /* Some rank files have an empty token: it can be decoded, and no text gives it. */
        count += keys[count].size > 0;
    }
    dat_status status = dat_trie_build(&vocab->trie, keys, count);
    dat_free(keys);
    return status;
}

/* Every cut of every token into two tokens: whatever two neighbours are, their joined bytes are found. */
static dat_status build_pairs(dat_vocab *vocab, size_t *culprit)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t text = (uint8_t)byte;
        vocab->of_byte[byte] = dat_find(&vocab->trie, &text, 1);
        if (vocab->of_byte[byte] == DAT_NONE) {
            *culprit = byte;
            return DAT_MISSING_BYTE;
        }
    }
    vocab->of_two = dat_alloc(65536, sizeof *vocab->of_two);
    if (vocab->of_two == NULL) {
        return DAT_NO_MEMORY;
    }
    memset(vocab->of_two, 0xFF, 65536 * sizeof *vocab->of_two);
    dat_status status = dat_pairs_init(&vocab->pairs, vocab->count * 2);
    for (uint32_t i = 0; i < vocab->count && status == DAT_OK; i++) {
        size_t size;
        const uint8_t *text = dat_token(vocab, i, &size);
        if (size == 2) {
            vocab->of_two[((size_t)text[0] << 8) | text[1]] = i;
        }
        int32_t state = 0;
        for (size_t cut = 1; cut < size && status == DAT_OK; cut++) {
            state = dat_step(&vocab->trie, state, text[cut - 1]);
            uint32_t left = vocab->trie.values[state];
            if (left == DAT_NONE) {
                continue;
            }
            uint32_t right = dat_find(&vocab->trie, text + cut, size - cut);
            if (right != DAT_NONE) {
                status = dat_pairs_put(&vocab->pairs, left, right, i);
            }
        }
    }
    vocab->merges = (dat_merges){vocab->of_byte, vocab->of_two, &vocab->pairs};
    return status;
}

/* A look-up of the whole piece is only exact for a token that its own bytes merge to: proved here, token by token. */
static dat_status prove_reachable(dat_vocab *vocab)
{
    vocab->reachable = dat_alloc(vocab->count, 1);
    if (vocab->reachable == NULL) {
        return DAT_NO_MEMORY;
    }
    dat_merge_room room = {NULL, NULL, NULL, NULL, 0, NULL, 0};
    dat_ids out = {NULL, 0, 0};
    dat_status status = DAT_OK;
    for (uint32_t i = 0; i < vocab->count && status == DAT_OK; i++) {
        size_t size;
        const uint8_t *text = dat_token(vocab, i, &size);
        out.count = 0;
        status = size == 0 ? DAT_OK : dat_merge(&vocab->merges, &room, text, size, &out, NULL);
        if (status == DAT_OK) {
            vocab->reachable[i] = size == 0 || (out.count == 1 && out.items[0] == i);
            vocab->unreachable += !vocab->reachable[i];
        }
    }
    dat_ids_clear(&out);
    dat_merge_room_clear(&room);
    return status;
}

dat_status dat_vocab_build(dat_vocab *vocab, dat_token_list tokens, dat_token_list specials,
                           const dat_unicode *unicode, dat_pattern pattern, dat_before before, int ignore_merges,
                           size_t *culprit)
{
    memset(vocab, 0, sizeof *vocab);
    *culprit = 0;
    vocab->before = before;
    vocab->pattern = pattern;
    vocab->ignore_merges = ignore_merges;
    dat_classes_init(&vocab->classes, unicode);
    dat_status status = copy_tokens(vocab, tokens, culprit);
    if (status == DAT_OK) {
        status = build_trie(vocab);
    }
    if (status == DAT_OK) {
        status = build_pairs(vocab, culprit);
    }
    if (status == DAT_OK) {
        status = prove_reachable(vocab);
    }
    if (status == DAT_OK) {
        status = dat_specials_build(&vocab->specials, specials.text, specials.offsets, specials.ids, specials.flags,
                                    specials.count, before.nfc);
    }
    if (status != DAT_OK) {
        dat_vocab_clear(vocab);
    }
    return status;
}

void dat_vocab_clear(dat_vocab *vocab)
{
    dat_free(vocab->text);
    dat_free(vocab->offsets);
    dat_free(vocab->ids);
    dat_free(vocab->of_two);
    dat_free(vocab->reachable);
    dat_trie_clear(&vocab->trie);
    dat_pairs_clear(&vocab->pairs);
    dat_specials_clear(&vocab->specials);
    memset(vocab, 0, sizeof *vocab);
}
