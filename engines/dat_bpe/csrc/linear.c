/* Stage merge, linear in the piece: longest matches, and backtracking where two neighbours would not stand side by side.
 *
 * A row of tokens is what merging gives if and only if each two neighbours are what merging gives for their joined bytes:
 * the first merge across a border would also happen with those two alone. So the row is unique, and a position that no
 * valid row can go on from never has to be tried again: one bit a byte remembers it. (The idea is that of the Rust crate
 * `bpe`; see docs/DECISIONS.md.) */
#include <string.h>

#include "merge.h"

/* What the form may cost, in steps a byte: no vocabulary comes near, but a damaged file, or one made for it, can ask for any
 * number. Then the heap form has the piece: the ids are the same. */
enum { STEPS_A_BYTE = 256, STEPS_BESIDES = 1 << 16 };

/* Answers about pairs are remembered: left << 22 | right << 1 | answer, one a slot, the newer overwrites. */
enum { MEMO_BITS = 14 };

/* Whether merging leaves these two side by side: their last merges are taken back, the later one first, and at each step
 * the pair at the border must not merge before what was taken back. */
static int side_by_side(const dat_merges *merges, uint32_t left, uint32_t right, size_t *steps)
{
    uint32_t limit = DAT_NONE;
    size_t most, second;
    (void)dat_merge_text(merges, left, &most);
    (void)dat_merge_text(merges, right, &second);
    most += second;
    /* Each round takes one merge back; more rounds than bytes come of a damaged file only. */
    for (size_t rounds = 0; rounds <= most; rounds++, ++*steps) {
        if (dat_pairs_get(&merges->pairs, left, right) < limit) {
            return 0;
        }
        if (left >= merges->count || right >= merges->count) {
            return 0;
        }
        uint32_t in_left = merges->splits[2 * (size_t)left + 1], in_right = merges->splits[2 * (size_t)right];
        if (in_left == DAT_NONE && in_right == DAT_NONE) {
            return 1;
        }
        /* Of equal merges the left one comes first; and one at the border, being left of the right one, before that. */
        if (in_right == DAT_NONE || (in_left != DAT_NONE && left > right)) {
            limit = left;
            left = in_left;
        } else {
            limit = right + 1;
            right = in_right;
        }
    }
    return 0;
}

static dat_status neighbours(const dat_merges *merges, dat_merge_room *room, uint32_t left, uint32_t right, size_t *steps,
                             int *fit)
{
    uint64_t key = (uint64_t)left << DAT_INDEX_BITS | right;
    uint64_t *slot = &room->memo[dat_pair_hash(left, right) >> (64 - MEMO_BITS)];
    if (*slot >> 1 == key) {
        *fit = (int)(*slot & 1);
        return DAT_OK;
    }
    if (merges->regular) {
        *fit = side_by_side(merges, left, right, steps);
    } else {
        /* A vocabulary whose merges are not in order: the two are merged, plainly. */
        size_t first, second;
        const uint8_t *one = dat_merge_text(merges, left, &first), *two = dat_merge_text(merges, right, &second);
        dat_ids found = {NULL, 0, 0};
        *steps += first + second;
        uint8_t *joined = dat_alloc(first + second, 1);
        dat_status status = joined == NULL ? DAT_NO_MEMORY : DAT_OK;
        if (status == DAT_OK) {
            memcpy(joined, one, first);
            memcpy(joined + first, two, second);
            status = dat_merge(merges, room, joined, first + second, 1, &found, NULL);
        }
        *fit = status == DAT_OK && found.count == 2 && found.items[0] == left && found.items[1] == right;
        dat_ids_clear(&found);
        dat_free(joined);
        if (status != DAT_OK) {
            return status;
        }
    }
    *slot = key << 1 | (uint64_t)*fit;
    return DAT_OK;
}

/* The longest token at p that merging can make. */
static uint32_t longest(const dat_merges *merges, const uint8_t *p, const uint8_t *end)
{
    uint32_t found = merges->of_byte[*p];
    int32_t state = 0;
    while (p < end && (state = dat_step(&merges->trie, state, *p)) >= 0) {
        uint32_t token = merges->trie.values[state];
        if (token < merges->count && (merges->flags[token] & DAT_REACHABLE)) {
            found = token;
        }
        p++;
    }
    return found;
}

/* The next token to try where one of `width` bytes does not fit, or DAT_NONE. One that is no shorter comes of a damaged
 * file, and would be tried for ever. */
static uint32_t next_shorter(const dat_merges *merges, uint32_t token, size_t width)
{
    size_t size = 0;
    uint32_t found = token < merges->count ? merges->shorter[token] : DAT_NONE;
    (void)dat_merge_text(merges, found, &size);
    return size > 0 && size < width ? found : DAT_NONE;
}

static dat_status reserve_linear(dat_merge_room *room, size_t size)
{
    size_t words = size / 64 + 1;
    if (words > room->dead_room) {
        dat_free(room->dead);
        room->dead_room = 0;
        room->dead = dat_alloc(words, sizeof *room->dead);
        if (room->dead == NULL) {
            return DAT_NO_MEMORY;
        }
        room->dead_room = words;
    }
    memset(room->dead, 0, words * sizeof *room->dead);
    if (room->memo == NULL) {
        room->memo = dat_alloc((size_t)1 << MEMO_BITS, sizeof *room->memo);
        if (room->memo == NULL) {
            return DAT_NO_MEMORY;
        }
        memset(room->memo, 0xFF, ((size_t)1 << MEMO_BITS) * sizeof *room->memo);
    }
    return DAT_OK;
}

dat_status dat_linear(const dat_merges *merges, dat_merge_room *room, const uint8_t *piece, size_t size, dat_ids *out)
{
    dat_status status = reserve_linear(room, size);
    size_t first = out->count, at = 0, steps = 0;
    const size_t most = size > (SIZE_MAX - STEPS_BESIDES) / STEPS_A_BYTE ? SIZE_MAX : STEPS_A_BYTE * size + STEPS_BESIDES;
    uint32_t token = size > 0 ? longest(merges, piece, piece + size) : DAT_NONE;
    while (at < size && status == DAT_OK) {
        size_t width;
        if (steps++ > most) {
            return DAT_DAMAGED;
        }
        (void)dat_merge_text(merges, token, &width);
        int fit = width > 0 && width <= size - at && !(room->dead[(at + width) >> 6] >> ((at + width) & 63) & 1);
        if (fit && out->count > first) {
            status = neighbours(merges, room, out->items[out->count - 1], token, &steps, &fit);
        }
        if (fit) {
            status = status == DAT_OK ? dat_ids_room(out, 1) : status;
            if (status == DAT_OK) {
                out->items[out->count++] = token;
                at += width;
                token = at < size ? longest(merges, piece + at, piece + size) : DAT_NONE;
            }
            continue;
        }
        token = next_shorter(merges, token, width);
        if (token == DAT_NONE) {
            if (out->count == first) {
                return DAT_DAMAGED; /* not even the bytes alone: only a damaged file has no row at all */
            }
            room->dead[at >> 6] |= UINT64_C(1) << (at & 63);
            token = out->items[--out->count];
            (void)dat_merge_text(merges, token, &width);
            at -= width <= at ? width : at;
            token = next_shorter(merges, token, width);
        }
    }
    return status;
}
