#include "decode.h"

#include <string.h>

static size_t search(const uint32_t *ids, size_t count, uint32_t id)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && ids[low] == id ? low : count;
}

static size_t find_index(const dat_vocab *vocab, uint32_t id)
{
    if (vocab->by_id == NULL) {
        return search(vocab->ids, vocab->count, id);
    }
    size_t low = 0, high = vocab->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (dat_id(vocab, vocab->by_id[middle]) < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < vocab->count && dat_id(vocab, vocab->by_id[low]) == id ? vocab->by_id[low] : vocab->count;
}

const uint8_t *dat_id_bytes(const dat_vocab *vocab, uint32_t id, size_t *size)
{
    /* Ids without a gap before them are their own index. */
    size_t index = id < vocab->count && vocab->ids[id] == id ? id : find_index(vocab, id);
    if (index < vocab->count) {
        return dat_token(vocab, (uint32_t)index, size);
    }
    const dat_specials *specials = &vocab->specials;
    index = search(specials->ids, specials->count, id);
    if (index < specials->count) {
        *size = specials->offsets[index + 1] - specials->offsets[index];
        return specials->text + specials->offsets[index];
    }
    return NULL;
}

dat_status dat_decoded_size(const dat_vocab *vocab, const uint32_t *ids, size_t count, size_t *size, size_t *bad)
{
    *size = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length;
        if (dat_id_bytes(vocab, ids[i], &length) == NULL) {
            *bad = i;
            return DAT_BAD_ID;
        }
        if (length > (size_t)PTRDIFF_MAX - *size) {
            return DAT_NO_MEMORY;
        }
        *size += length;
    }
    return DAT_OK;
}

size_t dat_decode(const dat_vocab *vocab, const uint32_t *ids, size_t count, uint8_t *out, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const uint8_t *text = dat_id_bytes(vocab, ids[i], &length);
        if (text == NULL || length > size - at) {
            break;
        }
        memcpy(out + at, text, length);
        at += length;
    }
    return at;
}
