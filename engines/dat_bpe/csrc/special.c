#include "special.h"

#include <string.h>

dat_status dat_specials_build(dat_specials *specials, const uint8_t *text, const uint64_t *offsets,
                              const uint32_t *ids, size_t count)
{
    memset(specials, 0, sizeof *specials);
    specials->only_start = -1;
    if (count == 0) {
        return DAT_OK;
    }
    size_t size = (size_t)offsets[count];
    dat_key *keys = dat_alloc(count, sizeof *keys);
    specials->ids = dat_alloc(count, sizeof *specials->ids);
    specials->text = dat_alloc(size, 1);
    specials->offsets = dat_alloc(count + 1, sizeof *specials->offsets);
    dat_status status = DAT_NO_MEMORY;
    if (keys && specials->ids && specials->text && specials->offsets) {
        memcpy(specials->ids, ids, count * sizeof *ids);
        memcpy(specials->text, text, size);
        for (size_t i = 0; i <= count; i++) {
            specials->offsets[i] = (size_t)offsets[i];
        }
        status = DAT_OK;
        for (size_t i = 0; i < count && status == DAT_OK; i++) {
            size_t start = specials->offsets[i];
            keys[i] = (dat_key){specials->text + start, specials->offsets[i + 1] - start, (uint32_t)i};
            status = keys[i].size == 0 ? DAT_EMPTY_TOKEN : i > 0 && ids[i] < ids[i - 1] ? DAT_DUPLICATE_ID : DAT_OK;
        }
    }
    if (status == DAT_OK) {
        specials->count = count;
        specials->only_start = specials->text[0];
        for (size_t i = 0; i < count; i++) {
            uint8_t first = specials->text[specials->offsets[i]];
            specials->starts[first] = 1;
            if (first != specials->only_start) {
                specials->only_start = -1;
            }
        }
        status = dat_trie_build(&specials->trie, keys, count);
    }
    dat_free(keys);
    if (status != DAT_OK) {
        dat_specials_clear(specials);
    }
    return status;
}

void dat_specials_clear(dat_specials *specials)
{
    dat_trie_clear(&specials->trie);
    dat_free(specials->ids);
    dat_free(specials->text);
    dat_free(specials->offsets);
    memset(specials, 0, sizeof *specials);
}

const uint8_t *dat_next_special(const dat_specials *specials, const uint8_t *p, const uint8_t *end,
                                const uint8_t **stop, uint32_t *index)
{
    for (; p < end; p++) {
        if (specials->only_start >= 0) {
            p = memchr(p, specials->only_start, (size_t)(end - p));
            if (p == NULL) {
                return NULL;
            }
        } else if (!specials->starts[*p]) {
            continue;
        }
        *stop = NULL;
        int32_t state = 0;
        for (const uint8_t *q = p; q < end; q++) {
            state = dat_step(&specials->trie, state, *q);
            if (state < 0) {
                break;
            }
            if (specials->trie.values[state] != DAT_NONE) {
                *index = specials->trie.values[state];
                *stop = q + 1;
            }
        }
        if (*stop != NULL) {
            return p;
        }
    }
    return NULL;
}
