#include "normalize.h"

#include <string.h>

#include "scan.h"

/* Hangul syllables are arithmetic: Unicode 3.12. */
enum {
    L_BASE = 0x1100, V_BASE = 0x1161, T_BASE = 0x11A7, S_BASE = 0xAC00,
    L_COUNT = 19, V_COUNT = 21, T_COUNT = 28, S_COUNT = L_COUNT * V_COUNT * T_COUNT
};

/* Up to so many marks after one another are sorted by insertion, more by counting. */
enum { FEW_MARKS = 24 };

dat_status dat_bytes_room(dat_bytes *bytes, size_t more)
{
    if (bytes->room - bytes->count >= more) {
        return DAT_OK;
    }
    if (more > SIZE_MAX / 4 - bytes->count) {
        return DAT_NO_MEMORY;
    }
    size_t need = bytes->count + more, room = bytes->room + bytes->room / 2 + 64;
    room = room < need ? need : room;
    uint8_t *items = dat_grow(bytes->items, room, 1);
    if (items == NULL) {
        return DAT_NO_MEMORY;
    }
    bytes->items = items;
    bytes->room = room;
    return DAT_OK;
}

void dat_bytes_clear(dat_bytes *bytes)
{
    dat_free(bytes->items);
    *bytes = (dat_bytes){NULL, 0, 0};
}

void dat_normal_clear(dat_normal *work)
{
    dat_bytes_clear(&work->text);
    dat_bytes_clear(&work->piece);
    dat_free(work->edits);
    dat_free(work->symbols);
    dat_free(work->spare);
    memset(work, 0, sizeof *work);
}

static dat_status symbol_room(dat_normal *work, size_t more)
{
    if (work->symbol_room - work->symbol_count >= more) {
        return DAT_OK;
    }
    size_t room = work->symbol_room + work->symbol_room / 2 + more + 32;
    dat_symbol *symbols = dat_grow(work->symbols, room, sizeof *symbols);
    if (symbols == NULL) {
        return DAT_NO_MEMORY;
    }
    work->symbols = symbols;
    dat_symbol *spare = dat_grow(work->spare, room, sizeof *spare);
    if (spare == NULL) {
        return DAT_NO_MEMORY;
    }
    work->spare = spare;
    work->symbol_room = room;
    return DAT_OK;
}

static void put(dat_normal *work, const dat_nfc *nfc, uint32_t point)
{
    unsigned combining = point & DAT_ILL_FORMED ? 0 : dat_nfc_of(nfc, point).combining;
    work->symbols[work->symbol_count++] = (dat_symbol){point, combining};
}

/* Appends the full canonical decomposition of a character. */
static dat_status decompose(dat_normal *work, const dat_nfc *nfc, uint32_t point)
{
    dat_status status = symbol_room(work, 8);
    if (status != DAT_OK) {
        return status;
    }
    if (point - S_BASE < S_COUNT) {
        uint32_t syllable = point - S_BASE, last = syllable % T_COUNT;
        put(work, nfc, L_BASE + syllable / (V_COUNT * T_COUNT));
        put(work, nfc, V_BASE + syllable % (V_COUNT * T_COUNT) / T_COUNT);
        if (last != 0) {
            put(work, nfc, T_BASE + last);
        }
        return DAT_OK;
    }
    if (point >= DAT_NFC_LIMIT || !(dat_nfc_of(nfc, point).flags & DAT_NFC_DECOMPOSES)) {
        put(work, nfc, point);
        return DAT_OK;
    }
    size_t low = 0, high = DAT_NFC_POINTS;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (dat_nfc_points[middle] <= point) {
            low = middle;
        } else {
            high = middle;
        }
    }
    /* No decomposition has more than four parts: room for eight is there. */
    for (size_t i = dat_nfc_starts[low]; i < dat_nfc_starts[low + 1]; i++) {
        put(work, nfc, dat_nfc_parts[i]);
    }
    return DAT_OK;
}

static void sort_few(dat_symbol *symbols, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        dat_symbol moving = symbols[i];
        size_t j = i;
        for (; j > 0 && symbols[j - 1].combining > moving.combining; j--) {
            symbols[j] = symbols[j - 1];
        }
        symbols[j] = moving;
    }
}

/* Stable, and linear however many there are: a crafted text must not cost more. */
static void sort_many(dat_symbol *symbols, dat_symbol *spare, size_t count)
{
    size_t starts[257] = {0};
    for (size_t i = 0; i < count; i++) {
        starts[symbols[i].combining + 1]++;
    }
    for (size_t i = 1; i < 257; i++) {
        starts[i] += starts[i - 1];
    }
    for (size_t i = 0; i < count; i++) {
        spare[starts[symbols[i].combining]++] = symbols[i];
    }
    memcpy(symbols, spare, count * sizeof *symbols);
}

/* Canonical ordering: each run of marks by combining class. */
static void order(dat_normal *work)
{
    size_t i = 0;
    while (i < work->symbol_count) {
        size_t stop = i;
        int sorted = 1;
        while (stop < work->symbol_count && work->symbols[stop].combining != 0) {
            sorted &= stop == i || work->symbols[stop - 1].combining <= work->symbols[stop].combining;
            stop++;
        }
        if (!sorted && stop - i <= FEW_MARKS) {
            sort_few(work->symbols + i, stop - i);
        } else if (!sorted) {
            sort_many(work->symbols + i, work->spare, stop - i);
        }
        i = stop + (stop == i);
    }
}

/* The primary composite of two characters, or 0. */
static uint32_t composite(const dat_nfc *nfc, uint32_t first, uint32_t second)
{
    if (first - L_BASE < L_COUNT && second - V_BASE < V_COUNT) {
        return S_BASE + ((first - L_BASE) * V_COUNT + (second - V_BASE)) * T_COUNT;
    }
    if (first - S_BASE < S_COUNT && (first - S_BASE) % T_COUNT == 0 && second - (T_BASE + 1) < T_COUNT - 1) {
        return first + (second - T_BASE);
    }
    size_t low = 0, high = DAT_NFC_COMPOSITES;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const dat_composite *pair = &dat_nfc_composites[middle];
        if (pair->first < first || (pair->first == first && pair->second < second)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const dat_composite *pair = &dat_nfc_composites[low < DAT_NFC_COMPOSITES ? low : 0];
    return pair->first == first && pair->second == second && pair->since <= nfc->version ? pair->point : 0;
}

/* Canonical composition: a mark joins the last starter unless one of its own class or above stands between. */
static void compose(dat_normal *work, const dat_nfc *nfc)
{
    dat_symbol *symbols = work->symbols;
    size_t kept = 0, starter = SIZE_MAX;
    for (size_t i = 0; i < work->symbol_count; i++) {
        dat_symbol symbol = symbols[i];
        if (starter != SIZE_MAX && (kept - 1 == starter || symbols[kept - 1].combining < symbol.combining)) {
            uint32_t joined = composite(nfc, symbols[starter].point, symbol.point);
            if (joined != 0) {
                symbols[starter].point = joined;
                continue;
            }
        }
        if (symbol.combining == 0) {
            starter = kept;
        }
        symbols[kept++] = symbol;
    }
    work->symbol_count = kept;
}

static size_t utf8(uint32_t point, uint8_t *out)
{
    if (point & DAT_ILL_FORMED || point < 0x80) {
        out[0] = (uint8_t)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (uint8_t)(0xC0 | point >> 6);
        out[1] = (uint8_t)(0x80 | (point & 0x3F));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (uint8_t)(0xE0 | point >> 12);
        out[1] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (point & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | point >> 18);
    out[1] = (uint8_t)(0x80 | (point >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (point & 0x3F));
    return 4;
}

/* The NFC of the chunk at p into work->piece; *stop is its end, the next boundary. */
static dat_status chunk(dat_normal *work, const dat_nfc *nfc, const uint8_t *p, const uint8_t *end,
                        const uint8_t **stop)
{
    dat_status status = DAT_OK;
    const uint8_t *q = p;
    work->symbol_count = work->piece.count = 0;
    while (q < end && status == DAT_OK) {
        uint32_t value;
        unsigned width = dat_scan(q, end, &value);
        if (q > p && (value & DAT_ILL_FORMED || !(dat_nfc_of(nfc, value).flags & DAT_NFC_JOINS))) {
            break;
        }
        status = decompose(work, nfc, value);
        q += width;
    }
    *stop = q;
    if (status == DAT_OK) {
        order(work);
        compose(work, nfc);
        status = dat_bytes_room(&work->piece, 4 * work->symbol_count);
    }
    for (size_t i = 0; i < work->symbol_count && status == DAT_OK; i++) {
        work->piece.count += utf8(work->symbols[i].point, work->piece.items + work->piece.count);
    }
    return status;
}

static dat_status append(dat_bytes *bytes, const uint8_t *from, size_t size)
{
    dat_status status = dat_bytes_room(bytes, size);
    if (status == DAT_OK && size > 0) {
        memcpy(bytes->items + bytes->count, from, size);
        bytes->count += size;
    }
    return status;
}

/* Takes the chunk text[from, to) over, with what was unchanged since *copied before it. */
static dat_status edit(dat_normal *work, const uint8_t *text, size_t *copied, size_t from, size_t to)
{
    if (to - from == work->piece.count && memcmp(text + from, work->piece.items, to - from) == 0) {
        return DAT_OK;
    }
    if (work->edit_count == work->edit_room) {
        size_t room = work->edit_room + work->edit_room / 2 + 16;
        dat_edit *edits = dat_grow(work->edits, room, sizeof *edits);
        if (edits == NULL) {
            return DAT_NO_MEMORY;
        }
        work->edits = edits;
        work->edit_room = room;
    }
    dat_status status = append(&work->text, text + *copied, from - *copied);
    size_t at = work->text.count;
    if (status == DAT_OK) {
        status = append(&work->text, work->piece.items, work->piece.count);
    }
    if (status == DAT_OK) {
        work->edits[work->edit_count++] = (dat_edit){from, to, at, work->text.count};
        *copied = to;
    }
    return status;
}

static int calm_point(uint32_t point)
{
    return (int)(dat_nfc_calm[point >> 6] >> (point & 63) & 1);
}

static int continues(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Past all that needs no other look: ASCII eight bytes at a time, calm characters of two and three bytes, and ill-formed
 * bytes. An overlong form or a surrogate may be passed as a whole, for each byte of it is a boundary that stays. */
static const uint8_t *calm(const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        size_t left = (size_t)(end - p);
        uint64_t word;
        if (left >= sizeof word) {
            memcpy(&word, p, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) == 0) {
                p += sizeof word;
                continue;
            }
        }
        uint8_t lead = *p;
        if (lead >= 0xE0 && lead < 0xF0 && left >= 3 && continues(p[1]) && continues(p[2])) {
            if (!calm_point((uint32_t)(lead & 0xFu) << 12 | (uint32_t)(p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu))) {
                break;
            }
            p += 3;
        } else if (lead >= 0xC0 && lead < 0xE0 && left >= 2 && continues(p[1])) {
            if (!calm_point((uint32_t)(lead & 0x1Fu) << 6 | (p[1] & 0x3Fu))) {
                break;
            }
            p += 2;
        } else if (lead >= 0xF0) {
            break;
        } else {
            p++;
        }
    }
    return p;
}

dat_status dat_normalize(const dat_nfc *nfc, dat_normal *work, const uint8_t *text, size_t size,
                         const uint8_t **result, size_t *result_size)
{
    const uint8_t *p = text, *end = text + size;
    const uint8_t *boundary = text; /* the last one; NULL: where the character before p starts, not looked up yet */
    unsigned combining = 0;         /* of the character before p */
    size_t copied = 0;
    dat_status status = DAT_OK;
    work->text.count = work->edit_count = 0;
    while (status == DAT_OK) {
        const uint8_t *q = calm(p, end);
        if (q > p) {
            boundary = NULL;
            combining = 0;
        }
        p = q;
        if (p == end) {
            break;
        }
        uint32_t value;
        unsigned width = dat_scan(p, end, &value);
        dat_nfc_kind kind = {0, 0};
        if (!(value & DAT_ILL_FORMED)) {
            kind = dat_nfc_of(nfc, value);
        }
        if (!(kind.flags & DAT_NFC_JOINS)) {
            boundary = p;
        } else if (boundary == NULL) {
            uint32_t before;
            boundary = dat_scan_back(text, p, end, &before);
        }
        if ((kind.flags & (DAT_NFC_MAYBE | DAT_NFC_CHANGES)) || (kind.combining != 0 && kind.combining < combining)) {
            const uint8_t *from = boundary;
            status = chunk(work, nfc, from, end, &p);
            if (status == DAT_OK) {
                status = edit(work, text, &copied, (size_t)(from - text), (size_t)(p - text));
            }
            /* A boundary stands at p, or the end. */
            boundary = p;
            combining = 0;
            continue;
        }
        combining = kind.combining;
        p += width;
    }
    *result = text;
    *result_size = size;
    if (status == DAT_OK && work->edit_count > 0) {
        status = append(&work->text, text + copied, size - copied);
        *result = work->text.items;
        *result_size = work->text.count;
    }
    return status;
}

/* The number of the first edit that ends after the byte `at` of the NFC. */
static size_t edit_after(const dat_normal *work, size_t at)
{
    size_t low = 0, high = work->edit_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (work->edits[middle].upto <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Where the byte `at` of an unchanged stretch, the first before edit i, stands in the text. */
static size_t unchanged(const dat_normal *work, size_t i, size_t at)
{
    return i == 0 ? at : at - work->edits[i - 1].upto + work->edits[i - 1].to;
}

void dat_origin(const dat_normal *work, size_t start, size_t end, size_t *from, size_t *to)
{
    size_t i = edit_after(work, start);
    *from = i < work->edit_count && work->edits[i].at <= start ? work->edits[i].from : unchanged(work, i, start);
    *to = *from;
    if (end > start) {
        /* The end is that of the last byte. */
        i = edit_after(work, end - 1);
        *to = i < work->edit_count && work->edits[i].at < end ? work->edits[i].to : unchanged(work, i, end - 1) + 1;
    }
}
