#include "special.h"

#include <string.h>

/* The keys of one set: each token's own text, or with `nfc` its NFC, which `texts` then holds. */
static dat_status collect(const dat_specials *specials, int normalized, const dat_nfc *nfc, dat_normal *work,
                          dat_bytes *texts, dat_key *keys, size_t *count)
{
    dat_status status = DAT_OK;
    *count = texts->count = 0;
    for (size_t i = 0; i < specials->count && status == DAT_OK; i++) {
        if (!(specials->flags[i] & DAT_NORMALIZED) == !normalized) {
            const uint8_t *text = specials->text + specials->offsets[i];
            size_t size = specials->offsets[i + 1] - specials->offsets[i];
            if (normalized && nfc != NULL) {
                status = dat_normalize(nfc, work, text, size, &text, &size);
            }
            if (status == DAT_OK) {
                status = dat_bytes_room(texts, size);
            }
            if (status == DAT_OK) {
                memcpy(texts->items + texts->count, text, size);
                texts->count += size;
                keys[(*count)++] = (dat_key){NULL, size, (uint32_t)i};
            }
        }
    }
    /* Only now: the array has moved while it grew. */
    for (size_t i = 0, at = 0; i < *count; at += keys[i++].size) {
        keys[i].text = texts->items + at;
    }
    return status;
}

static dat_status build_matcher(dat_matcher *matcher, dat_key *keys, size_t count)
{
    matcher->only_start = -1;
    matcher->count = count;
    if (count == 0) {
        return DAT_OK;
    }
    matcher->only_start = keys[0].text[0];
    for (size_t i = 0; i < count; i++) {
        uint8_t first = keys[i].text[0];
        matcher->starts[first] = 1;
        if (first != matcher->only_start) {
            matcher->only_start = -1;
        }
    }
    return dat_trie_build(&matcher->trie, keys, count);
}

static dat_status copy(dat_specials *specials, const uint8_t *text, const uint64_t *offsets, const uint32_t *ids,
                       const uint8_t *flags, size_t count)
{
    size_t size = (size_t)offsets[count];
    specials->ids = dat_alloc(count, sizeof *specials->ids);
    specials->text = dat_alloc(size, 1);
    specials->offsets = dat_alloc(count + 1, sizeof *specials->offsets);
    specials->flags = dat_zeroed(count, 1);
    if (!specials->ids || !specials->text || !specials->offsets || !specials->flags) {
        return DAT_NO_MEMORY;
    }
    memcpy(specials->ids, ids, count * sizeof *ids);
    memcpy(specials->text, text, size);
    if (flags != NULL) {
        memcpy(specials->flags, flags, count);
    }
    for (size_t i = 0; i <= count; i++) {
        specials->offsets[i] = (size_t)offsets[i];
    }
    specials->count = count;
    for (size_t i = 0; i < count; i++) {
        if (offsets[i] == offsets[i + 1]) {
            return DAT_EMPTY_TOKEN;
        }
        if (i > 0 && ids[i] < ids[i - 1]) {
            return DAT_DUPLICATE_ID;
        }
    }
    return DAT_OK;
}

dat_status dat_specials_build(dat_specials *specials, const uint8_t *text, const uint64_t *offsets,
                              const uint32_t *ids, const uint8_t *flags, size_t count, const dat_nfc *nfc)
{
    memset(specials, 0, sizeof *specials);
    specials->raw.only_start = specials->normalized.only_start = -1;
    if (count == 0) {
        return DAT_OK;
    }
    dat_normal work;
    memset(&work, 0, sizeof work);
    dat_bytes texts = {NULL, 0, 0};
    dat_key *keys = dat_alloc(count, sizeof *keys);
    dat_status status = keys == NULL ? DAT_NO_MEMORY : copy(specials, text, offsets, ids, flags, count);
    for (int normalized = 0; normalized < 2 && status == DAT_OK; normalized++) {
        size_t found = 0;
        status = collect(specials, normalized, nfc, &work, &texts, keys, &found);
        if (status == DAT_OK) {
            status = build_matcher(normalized ? &specials->normalized : &specials->raw, keys, found);
        }
    }
    dat_free(keys);
    dat_bytes_clear(&texts);
    dat_normal_clear(&work);
    if (status != DAT_OK) {
        dat_specials_clear(specials);
    }
    return status;
}

void dat_specials_clear(dat_specials *specials)
{
    dat_trie_clear(&specials->raw.trie);
    dat_trie_clear(&specials->normalized.trie);
    dat_free(specials->ids);
    dat_free(specials->text);
    dat_free(specials->offsets);
    dat_free(specials->flags);
    memset(specials, 0, sizeof *specials);
}

/* The first token in [p, end), flags not regarded: where it starts, or NULL. */
static const uint8_t *find(const dat_matcher *matcher, const uint8_t *p, const uint8_t *end, const uint8_t **stop,
                           uint32_t *index)
{
    for (; p < end; p++) {
        if (matcher->only_start >= 0) {
            p = memchr(p, matcher->only_start, (size_t)(end - p));
            if (p == NULL) {
                return NULL;
            }
        } else if (!matcher->starts[*p]) {
            continue;
        }
        *stop = NULL;
        int32_t state = 0;
        for (const uint8_t *q = p; q < end; q++) {
            state = dat_step(&matcher->trie, state, *q);
            if (state < 0) {
                if (PLANTED(42, *stop == NULL, 0)) {
                    p = q;
                }
                break;
            }
            if (matcher->trie.values[state] != DAT_NONE) {
                *index = matcher->trie.values[state];
                *stop = q + 1;
            }
        }
        if (*stop != NULL) {
            return p;
        }
    }
    return NULL;
}

static int is_white(const dat_unicode *unicode, uint32_t value)
{
    return !(value & DAT_ILL_FORMED) && (dat_category_of(unicode, value) & DAT_WHITE_SPACE);
}

/* \w of UTS #18: Alphabetic, marks, decimal numbers, connectors, join controls. An ill-formed byte is none. */
static int is_word(const dat_unicode *unicode, uint32_t value)
{
    if (value & DAT_ILL_FORMED) {
        return 0;
    }
    switch (dat_category_of(unicode, value) & DAT_CATEGORY_MASK) {
    case GC_LL: case GC_LM: case GC_LO: case GC_LT: case GC_LU: case GC_MC: case GC_ME: case GC_MN: case GC_ND:
    case GC_NL: case GC_PC:
        return 1;
    default:
        break;
    }
    for (size_t i = 0; i < DAT_WORD_RANGES && dat_word_ranges[i].first <= value; i++) {
        if (value <= dat_word_ranges[i].last) {
            return 1;
        }
    }
    return 0;
}

static int beside_word(const dat_unicode *unicode, const uint8_t *begin, const uint8_t *start, const uint8_t *stop,
                       const uint8_t *end)
{
    uint32_t value;
    if (start > begin) {
        (void)dat_scan_back(begin, start, end, &value);
        if (is_word(unicode, value)) {
            return 1;
        }
    }
    if (stop < end) {
        (void)dat_scan(stop, end, &value);
        return is_word(unicode, value);
    }
    return 0;
}

int dat_next_special(const dat_specials *specials, const dat_matcher *matcher, const dat_unicode *unicode,
                     const uint8_t *begin, const uint8_t *done, const uint8_t *end, dat_match *match)
{
    const uint8_t *p = done;
    for (;;) {
        const uint8_t *stop, *start = find(matcher, p, end, &stop, &match->index);
        if (start == NULL) {
            return 0;
        }
        unsigned flags = specials->flags[match->index];
        if ((flags & DAT_SINGLE_WORD) && beside_word(unicode, begin, start, stop, end)) {
            p = stop;
            continue;
        }
        uint32_t value;
        while ((flags & DAT_LSTRIP) && start > done) {
            const uint8_t *before = dat_scan_back(done, start, end, &value);
            if (!is_white(unicode, value)) {
                break;
            }
            start = before;
        }
        while ((flags & DAT_RSTRIP) && stop < end) {
            unsigned width = dat_scan(stop, end, &value);
            if (!is_white(unicode, value)) {
                break;
            }
            stop += width;
        }
        match->start = start;
        match->stop = stop;
        return 1;
    }
}
