#include "vocab.h"

#include <stdio.h>
#include <string.h>

#include "forms.h"

/* Every pair that may merge, while tables are built: an open-addressing table, at most half full. */
typedef struct {
    uint32_t left, right, rank; /* rank DAT_NONE: empty */
} any_slot;

typedef struct {
    any_slot *slots;
    unsigned bits;
    size_t count;
} all_pairs;

/* What is being built, before it becomes one block. */
typedef struct {
    dat_token_list tokens; /* as given: ascending ids */
    dat_trie trie;         /* values: indexes as given */
    all_pairs all;
    const dat_merge_list *list;
    uint32_t *of_rank;     /* merge list: the token that a rank makes; else NULL */
    uint32_t of_byte[256];
    dat_last_merge *last;  /* of a token by its own bytes; rank DAT_NONE: it is a byte, or merging does not make it */
    uint8_t *flags;
    uint32_t *order;       /* [new index]: index as given */
    uint32_t *place;       /* the inverse */
    size_t pairs, longest, unreachable;
    int plain_ids, ids_ascend, regular;
} builder;

static dat_status allocate_pairs(all_pairs *all, unsigned bits)
{
    size_t room = (size_t)1 << bits;
    all->slots = dat_alloc(room, sizeof *all->slots);
    if (all->slots == NULL) {
        return DAT_NO_MEMORY;
    }
    memset(all->slots, 0xFF, room * sizeof *all->slots);
    all->bits = bits;
    all->count = 0;
    return DAT_OK;
}

static size_t slot_of(const all_pairs *all, uint32_t left, uint32_t right)
{
    size_t mask = ((size_t)1 << all->bits) - 1, slot = (size_t)(dat_pair_hash(left, right) >> (64 - all->bits));
    while (all->slots[slot].rank != DAT_NONE && (all->slots[slot].left != left || all->slots[slot].right != right)) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static dat_status put_pair(all_pairs *all, uint32_t left, uint32_t right, uint32_t rank)
{
    if ((all->count + 1) * 2 > (size_t)1 << all->bits) {
        all_pairs old = *all;
        dat_status status = allocate_pairs(all, old.bits + 1);
        if (status != DAT_OK) {
            *all = old;
            return status;
        }
        for (size_t from = 0; from < (size_t)1 << old.bits; from++) {
            if (old.slots[from].rank != DAT_NONE) {
                all->slots[slot_of(all, old.slots[from].left, old.slots[from].right)] = old.slots[from];
                all->count++;
            }
        }
        dat_free(old.slots);
    }
    size_t slot = slot_of(all, left, right);
    /* A pair that is listed twice: the later line counts, as in a map that is filled in order. */
    all->count += all->slots[slot].rank == DAT_NONE;
    all->slots[slot] = (any_slot){left, right, rank};
    return DAT_OK;
}

static uint32_t any_pair(const void *table, uint32_t left, uint32_t right)
{
    const all_pairs *all = table;
    return all->slots[slot_of(all, left, right)].rank;
}

static const uint8_t *given(const builder *made, uint32_t index, size_t *size)
{
    *size = (size_t)(made->tokens.offsets[index + 1] - made->tokens.offsets[index]);
    return made->tokens.text + made->tokens.offsets[index];
}

static dat_status check_tokens(builder *made, size_t *culprit)
{
    const dat_token_list *tokens = &made->tokens;
    if (tokens->count > DAT_TOKENS_MOST || tokens->offsets[tokens->count] > UINT32_MAX) {
        return DAT_TOO_MANY;
    }
    made->plain_ids = 1;
    for (size_t i = 0; i < tokens->count; i++) {
        size_t size;
        (void)given(made, (uint32_t)i, &size);
        *culprit = i;
        if (i > 0 && tokens->ids[i] <= tokens->ids[i - 1]) {
            return DAT_DUPLICATE_ID;
        }
        made->plain_ids &= tokens->ids[i] == i;
        made->longest = size > made->longest ? size : made->longest;
    }
    return DAT_OK;
}

static dat_status build_trie(builder *made, dat_trie *trie, const uint32_t *place)
{
    dat_key *keys = dat_alloc(made->tokens.count, sizeof *keys);
    if (keys == NULL) {
        return DAT_NO_MEMORY;
    }
    size_t count = 0;
    for (uint32_t i = 0; i < made->tokens.count; i++) {
        keys[count].text = given(made, i, &keys[count].size);
        keys[count].value = place != NULL ? place[i] : i;
        /* Some rank files have an empty token: it can be decoded, and no text gives it. */
        count += keys[count].size > 0;
    }
    dat_status status = dat_trie_build(trie, keys, count);
    dat_free(keys);
    return status;
}

static dat_status find_bytes(builder *made, size_t *culprit)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t text = (uint8_t)byte;
        made->of_byte[byte] = dat_find(&made->trie, &text, 1);
        if (made->of_byte[byte] == DAT_NONE) {
            *culprit = byte;
            return DAT_MISSING_BYTE;
        }
    }
    return DAT_OK;
}

/* Every cut of every token into two tokens: whatever two neighbours are, their joined bytes are found. */
static dat_status pairs_of_ranks(builder *made)
{
    dat_status status = allocate_pairs(&made->all, 16);
    for (uint32_t i = 0; i < made->tokens.count && status == DAT_OK; i++) {
        size_t size;
        const uint8_t *text = given(made, i, &size);
        int32_t state = 0;
        for (size_t cut = 1; cut < size && status == DAT_OK; cut++) {
            state = dat_step(&made->trie, state, text[cut - 1]);
            uint32_t left = made->trie.values[state];
            if (left == DAT_NONE) {
                continue;
            }
            uint32_t right = dat_find(&made->trie, text + cut, size - cut);
            if (right != DAT_NONE) {
                status = put_pair(&made->all, left, right, i);
            }
        }
    }
    return status;
}

static dat_status pairs_of_list(builder *made, size_t *culprit)
{
    const dat_merge_list *list = made->list;
    dat_status status = allocate_pairs(&made->all, 16);
    made->of_rank = dat_alloc(list->count, sizeof *made->of_rank);
    if (made->of_rank == NULL) {
        return DAT_NO_MEMORY;
    }
    if (list->count >= DAT_NONE) {
        return DAT_TOO_MANY;
    }
    for (uint32_t i = 0; i < list->count && status == DAT_OK; i++) {
        const uint32_t *triple = list->triples + 3 * (size_t)i;
        *culprit = i;
        for (int part = 0; part < 3; part++) {
            if (triple[part] >= made->tokens.count) {
                return DAT_BAD_MERGE;
            }
        }
        size_t left, right, whole;
        const uint8_t *a = given(made, triple[0], &left), *b = given(made, triple[1], &right);
        const uint8_t *c = given(made, triple[2], &whole);
        if (left == 0 || right == 0 || left + right != whole || memcmp(a, c, left) != 0 ||
            memcmp(b, c + left, right) != 0) {
            return DAT_BAD_MERGE;
        }
        made->of_rank[i] = triple[2];
        status = put_pair(&made->all, triple[0], triple[1], i);
    }
    return status;
}

/* What merging makes of each token's own bytes. The last merge of a token that they make is the only one that ever makes
 * it: wherever two tokens merge, what happened inside their bytes before happens to these bytes alone too. So the
 * encoder needs one pair a token, not every cut: 100,000 and not 233,378 for cl100k (docs/DECISIONS.md). */
static dat_status derive(builder *made)
{
    size_t count = made->tokens.count;
    made->last = dat_alloc(count, sizeof *made->last);
    made->flags = dat_zeroed(count, 1);
    if (made->last == NULL || made->flags == NULL) {
        return DAT_NO_MEMORY;
    }
    dat_merge_room room = {.room = 0};
    dat_ids out = {NULL, 0, 0};
    dat_status status = dat_ids_room(&out, DAT_SMALL_PIECE);
    for (uint32_t i = 0; i < count && status == DAT_OK; i++) {
        size_t size;
        const uint8_t *text = given(made, i, &size);
        dat_last_merge last = {DAT_NONE, DAT_NONE, DAT_NONE};
        out.count = 0;
        if (size > DAT_SMALL_PIECE) {
            status = dat_merge_large(any_pair, &made->all, made->of_rank, made->of_byte, &room, text, (uint32_t)size,
                                     &out, &last, NULL);
        } else if (size > 0) {
            out.count = dat_merge_small(any_pair, &made->all, made->of_rank, made->of_byte, NULL, text, size, out.items,
                                        &last, NULL);
        }
        int reached = size == 0 || (out.count == 1 && out.items[0] == i);
        made->last[i] = reached ? last : (dat_last_merge){DAT_NONE, DAT_NONE, DAT_NONE};
        made->flags[i] = reached && size > 0 ? DAT_REACHABLE : 0;
        made->unreachable += !reached;
        made->pairs += made->last[i].rank != DAT_NONE;
    }
    dat_ids_clear(&out);
    dat_merge_room_clear(&room);
    return status;
}

typedef struct {
    uint32_t rank, index;
} ranked;

static int compare_ranked(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank) : (a->index > b->index) - (a->index < b->index);
}

/* A token's index must be its rank. By ranks it is, for ids ascend; a merge list may order tokens otherwise: then those
 * that merging does not make come first, in order of id, and the others in order of their merges. */
static dat_status order_tokens(builder *made)
{
    size_t count = made->tokens.count;
    made->order = dat_alloc(count, sizeof *made->order);
    made->place = dat_alloc(count, sizeof *made->place);
    ranked *rows = dat_alloc(count, sizeof *rows);
    if (made->order == NULL || made->place == NULL || rows == NULL) {
        dat_free(rows);
        return DAT_NO_MEMORY;
    }
    int ascending = 1;
    uint32_t before = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = made->last[i].rank;
        rows[i] = (ranked){rank == DAT_NONE ? 0 : rank + 1, i};
        if (rank != DAT_NONE) {
            ascending &= rank + 1 > before;
            before = rank + 1;
        }
    }
    if (!ascending) {
        qsort(rows, count, sizeof *rows, compare_ranked);
    }
    for (uint32_t i = 0; i < count; i++) {
        made->order[i] = rows[i].index;
        made->place[rows[i].index] = i;
    }
    made->ids_ascend = ascending;
    made->plain_ids &= ascending;
    made->regular = 1;
    for (uint32_t i = 0; i < count; i++) {
        dat_last_merge last = made->last[i];
        if (last.rank != DAT_NONE) {
            for (int side = 0; side < 2; side++) {
                uint32_t part = side ? last.right : last.left;
                made->regular &= made->last[part].rank == DAT_NONE || made->place[part] < made->place[i];
            }
        }
    }
    dat_free(rows);
    return DAT_OK;
}

static unsigned bits_for(size_t least)
{
    unsigned bits = 6;
    while (((size_t)1 << bits) < least) {
        bits++;
    }
    return bits;
}

static void *section(dat_profile *profile, enum dat_section which)
{
    return (uint8_t *)profile + profile->sections[which].at;
}

static void fill_added(dat_token_list added, dat_profile *profile)
{
    if (added.count > 0) {
        memcpy(section(profile, DAT_ADDED_TEXT), added.text, (size_t)added.offsets[added.count]);
        memcpy(section(profile, DAT_ADDED_IDS), added.ids, added.count * sizeof *added.ids);
        if (added.flags != NULL) {
            memcpy(section(profile, DAT_ADDED_FLAGS), added.flags, added.count);
        }
        memcpy(section(profile, DAT_ADDED_OFFSETS), added.offsets, (added.count + 1) * sizeof *added.offsets);
    }
}

static void fill_tokens(const builder *made, dat_profile *profile)
{
    uint8_t *text = section(profile, DAT_TEXT);
    uint32_t *offsets = section(profile, DAT_OFFSETS), *ids = section(profile, DAT_IDS);
    uint32_t *by_id = section(profile, DAT_BY_ID), *splits = section(profile, DAT_SPLITS);
    uint8_t *flags = section(profile, DAT_FLAGS);
    uint32_t at = 0;
    for (uint32_t i = 0; i < profile->count; i++) {
        uint32_t old = made->order[i];
        size_t size;
        const uint8_t *bytes = given(made, old, &size);
        memcpy(text + at, bytes, size);
        offsets[i] = at;
        at += (uint32_t)size;
        ids[i] = made->tokens.ids[old];
        flags[i] = made->flags[old];
        dat_last_merge last = made->last[old];
        splits[2 * i] = last.rank == DAT_NONE ? DAT_NONE : made->place[last.left];
        splits[2 * i + 1] = last.rank == DAT_NONE ? DAT_NONE : made->place[last.right];
        if (!made->ids_ascend) {
            by_id[i] = made->place[i];
        }
    }
    offsets[profile->count] = at;
}

static dat_status fill_merges(const builder *made, dat_profile *profile, const dat_trie *trie)
{
    uint32_t *two = section(profile, DAT_TWO), *bytes = section(profile, DAT_BYTES);
    uint32_t *shorter = section(profile, DAT_SHORTER);
    const uint32_t *splits = section(profile, DAT_SPLITS);
    const uint8_t *flags = section(profile, DAT_FLAGS);
    uint64_t *slots = section(profile, DAT_PAIRS), *filter = section(profile, DAT_FILTER);
    memset(two, 0xFF, 65536 * sizeof *two);
    memset(slots, 0xFF, sizeof *slots << profile->pair_bits);
    dat_pairs pairs = {slots, filter, profile->pair_bits, profile->filter_bits};
    for (unsigned byte = 0; byte < 256; byte++) {
        bytes[byte] = made->place[made->of_byte[byte]];
    }
    for (uint32_t i = 0; i < profile->count; i++) {
        size_t size;
        const uint8_t *text = given(made, made->order[i], &size);
        if (splits[2 * i] != DAT_NONE) {
            if (!dat_pairs_put(&pairs, slots, filter, splits[2 * i], splits[2 * i + 1], i)) {
                return DAT_TOO_MANY;
            }
            if (size == 2) {
                two[((size_t)text[0] << 8) | text[1]] = i;
            }
        }
        shorter[i] = DAT_NONE;
        int32_t state = 0;
        for (size_t j = 0; j + 1 < size; j++) {
            state = dat_step(trie, state, text[j]);
            uint32_t found = trie->values[state];
            if (found != DAT_NONE && (flags[found] & DAT_REACHABLE)) {
                shorter[i] = found;
            }
        }
    }
    return DAT_OK;
}

static int may_be_word(const builder *made, uint32_t index, int ignore_merges)
{
    size_t size;
    (void)given(made, index, &size);
    return size > 0 && size <= DAT_CACHE_BYTES && (PLANTED(51, 1, ignore_merges) || (made->flags[index] & DAT_REACHABLE));
}

/* Whether there was a place for the word near where it is searched. */
static int put_word(dat_word *words, unsigned bits, dat_word word)
{
    size_t mask = ((size_t)1 << bits) - 1, slot = (size_t)(dat_word_hash(word.low, word.high) >> (64 - bits));
    for (size_t tried = 0; tried < DAT_PROBES_MOST; tried++, slot = (slot + 1) & mask) {
        if (words[slot].high == 0) {
            words[slot] = word;
            return 1;
        }
    }
    return 0;
}

static dat_status fill_words(const builder *made, dat_profile *profile)
{
    dat_word *words = section(profile, DAT_WORDS), *front = section(profile, DAT_FRONT);
    for (uint32_t i = 0; i < profile->count; i++) {
        uint32_t old = made->order[i];
        if (!may_be_word(made, old, (profile->flags & DAT_IGNORE_MERGES) != 0)) {
            continue;
        }
        size_t size;
        const uint8_t *text = given(made, old, &size);
        uint64_t low, high;
        dat_cache_key(text, size, text + size, &low, &high);
        dat_word word = {low, high, made->tokens.ids[old], i, made->flags[old] & DAT_REACHABLE};
        if (!put_word(words, profile->word_bits, word)) {
            return DAT_TOO_MANY; /* a vocabulary made for that: the hash is known */
        }
        if (i < DAT_FRONT_TOKENS) {
            (void)put_word(front, DAT_FRONT_BITS, word);
        }
    }
    return DAT_OK;
}

/* Calls back for every border between two characters of a token, one of them not ASCII. */
static size_t fill_cuts(const builder *made, uint64_t *filter, uint64_t *never, unsigned bits)
{
    size_t borders = 0;
    for (uint32_t i = 0; i < made->tokens.count; i++) {
        size_t size;
        const uint8_t *text = given(made, i, &size);
        for (size_t at = 1; at < size; at++) {
            /* A border is where a character may start: before anything but a continuation byte. Ill-formed bytes are cut
             * nowhere (encode), so that a border before a continuation byte never is asked for. */
            if ((text[at] & 0xC0) == 0x80 || (text[at] < 0x80 && text[at - 1] < 0x80)) {
                continue;
            }
            borders++;
            if (filter == NULL) {
                continue;
            }
            size_t start = at - 1;
            while (start > 0 && (text[start] & 0xC0) == 0x80) {
                start--;
            }
            uint32_t left, right;
            unsigned left_width = dat_scan(text + start, text + size, &left);
            unsigned right_width = dat_scan(text + at, text + size, &right);
            /* Plants 21 and 23 are of reading documents: the tables stay right. */
            int planted = (PLANTED(21, 1, 0) || PLANTED(23, 1, 0)) && (text[start] & 0xC0) == 0x80;
            if (!planted && start + left_width == at && !(left & DAT_ILL_FORMED) && right_width > 0 &&
                !(right & DAT_ILL_FORMED)) {
                uint64_t bit = dat_cut_bit(left, right, bits);
                filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
            } else {
                unsigned border = (unsigned)text[at - 1] << 8 | text[at];
                never[border >> 6] |= UINT64_C(1) << (border & 63);
            }
        }
    }
    return borders;
}

static uint64_t classes_digest(const dat_classes *classes, const dat_unicode *unicode)
{
    uint64_t digest = dat_digest(classes->of_category, sizeof classes->of_category);
    return (digest * 31 + dat_digest(classes->of_byte, sizeof classes->of_byte)) * 31 + unicode->digest;
}

/* The final trie's values are new indexes; its arrays and all else go into one block. */
static dat_status assemble(builder *made, dat_token_list added, const dat_unicode *unicode, dat_pattern pattern,
                           dat_before before, int ignore_merges, void **block, size_t *size)
{
    size_t count = made->tokens.count, words = 0;
    for (uint32_t i = 0; i < made->trie.count; i++) {
        if (made->trie.values[i] != DAT_NONE) {
            made->trie.values[i] = made->place[made->trie.values[i]];
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        words += (size_t)may_be_word(made, i, ignore_merges);
    }
    dat_classes classes;
    dat_classes_init(&classes, unicode);
    dat_profile head = {
        .version = DAT_PROFILE_VERSION, .byte_order = 0x01020304, .count = (uint32_t)count,
        .longest = (uint32_t)made->longest, .unreachable = (uint32_t)made->unreachable,
        .flags = (made->plain_ids ? DAT_PLAIN_IDS : 0u) | (made->regular ? DAT_REGULAR : 0u) |
                 (ignore_merges ? DAT_IGNORE_MERGES : 0u) | (before.nfc != NULL ? DAT_NFC : 0u) |
                 (before.prefix_space ? DAT_PREFIX_SPACE : 0u),
        /* Pairs at most half full; 8 to 16 bits of the filter a pair; words at most half full; 32 bits a border. */
        .pair_bits = bits_for(2 * made->pairs + 2), .filter_bits = bits_for(8 * made->pairs + 64),
        .word_bits = bits_for(2 * words + 2), .cut_bits = bits_for(32 * fill_cuts(made, NULL, NULL, 0) + 64),
        .slots = (uint32_t)made->trie.count, .pairs = (uint32_t)made->pairs, .family = (uint32_t)pattern.family,
        .contractions = (uint32_t)pattern.contractions, .digits = pattern.digits,
        .marks_are_letters = (uint32_t)pattern.marks_are_letters, .trailing_blanks = (uint32_t)pattern.trailing_blanks,
        .added = (uint32_t)added.count, .classes = classes_digest(&classes, unicode)};
    memcpy(head.magic, dat_profile_magic, sizeof head.magic);
    snprintf(head.unicode, sizeof head.unicode, "%s", unicode->name);
    const uint64_t sizes[DAT_SECTIONS] = {
        [DAT_ABOUT] = 0, [DAT_ADDED_TEXT] = added.count > 0 ? added.offsets[added.count] : 0, [DAT_ADDED_OFFSETS] = 8 * (added.count + 1),
        [DAT_ADDED_IDS] = 4 * added.count, [DAT_ADDED_FLAGS] = added.count, [DAT_TEXT] = made->tokens.offsets[count], [DAT_OFFSETS] = 4 * (count + 1), [DAT_IDS] = 4 * count,
        [DAT_BY_ID] = made->ids_ascend ? 0 : 4 * count, [DAT_NODES] = sizeof(dat_node) * made->trie.count,
        [DAT_VALUES] = 4 * made->trie.count, [DAT_PAIRS] = UINT64_C(8) << head.pair_bits,
        [DAT_FILTER] = UINT64_C(1) << (head.filter_bits - 3), [DAT_TWO] = 4 * 65536, [DAT_BYTES] = 4 * 256,
        [DAT_FLAGS] = count, [DAT_SHORTER] = 4 * count, [DAT_SPLITS] = 8 * count,
        [DAT_WORDS] = sizeof(dat_word) << head.word_bits, [DAT_FRONT] = sizeof(dat_word) << DAT_FRONT_BITS,
        [DAT_CUTS] = UINT64_C(1) << (head.cut_bits - 3),
        [DAT_NEVER] = 8192};
    uint64_t at = dat_profile_start();
    for (int i = 0; i < DAT_SECTIONS; i++) {
        head.sections[i] = (dat_place){at, sizes[i]};
        at += (sizes[i] + DAT_PROFILE_ALIGN - 1) / DAT_PROFILE_ALIGN * DAT_PROFILE_ALIGN;
    }
    head.size = at;
    dat_profile *profile = dat_large((size_t)at);
    if (profile == NULL) {
        return DAT_NO_MEMORY;
    }
    *profile = head;
    fill_added(added, profile);
    dat_profile_seal(profile);
    fill_tokens(made, profile);
    memcpy(section(profile, DAT_NODES), made->trie.nodes, sizes[DAT_NODES]);
    memcpy(section(profile, DAT_VALUES), made->trie.values, sizes[DAT_VALUES]);
    dat_status status = fill_merges(made, profile, &made->trie);
    if (status == DAT_OK) {
        status = fill_words(made, profile);
    }
    if (status != DAT_OK) {
        dat_large_free(profile, (size_t)at);
        return status;
    }
    (void)fill_cuts(made, section(profile, DAT_CUTS), section(profile, DAT_NEVER), head.cut_bits);
    *block = profile;
    *size = (size_t)at;
    return DAT_OK;
}

static void clear_builder(builder *made)
{
    dat_trie_clear(&made->trie);
    dat_free(made->all.slots);
    dat_free(made->of_rank);
    dat_free(made->last);
    dat_free(made->flags);
    dat_free(made->order);
    dat_free(made->place);
}

dat_status dat_vocab_build(dat_vocab *vocab, dat_token_list tokens, const dat_merge_list *merges,
                           dat_token_list specials, const dat_unicode *unicode, dat_pattern pattern, dat_before before,
                           int ignore_merges, size_t *culprit)
{
    memset(vocab, 0, sizeof *vocab);
    builder made;
    memset(&made, 0, sizeof made);
    made.tokens = tokens;
    made.list = merges;
    *culprit = 0;
    void *block = NULL;
    size_t size = 0;
    dat_status status = check_tokens(&made, culprit);
    if (status == DAT_OK) {
        status = build_trie(&made, &made.trie, NULL);
    }
    if (status == DAT_OK) {
        status = find_bytes(&made, culprit);
    }
    if (status == DAT_OK) {
        status = merges != NULL ? pairs_of_list(&made, culprit) : pairs_of_ranks(&made);
    }
    if (status == DAT_OK) {
        status = derive(&made);
    }
    if (status == DAT_OK) {
        status = order_tokens(&made);
    }
    if (status == DAT_OK) {
        status = assemble(&made, specials, unicode, pattern, before, ignore_merges, &block, &size);
    }
    clear_builder(&made);
    if (status == DAT_OK) {
        status = dat_vocab_view(vocab, block, size);
        vocab->own = block;
        if (status != DAT_OK) {
            dat_vocab_clear(vocab);
        }
    }
    return status;
}

/* The number of a version of Unicode as a head says it, DAT_UNICODE_VERSIONS where there is none. */
static size_t version_of(const char name[8])
{
    size_t i = 0;
    while (i < DAT_UNICODE_VERSIONS && strncmp(name, dat_unicode_versions[i].name, 8) != 0) {
        i++;
    }
    return i;
}

/* The added tokens of a block; those that were built are checked by the caller, those of a file by nobody before. */
static dat_status view_added(dat_vocab *vocab, const dat_profile *head)
{
    size_t count = head->added, size = (size_t)head->sections[DAT_ADDED_TEXT].size;
    const uint8_t *text = dat_profile_section(head, DAT_ADDED_TEXT, size);
    const uint64_t *offsets = dat_profile_section(head, DAT_ADDED_OFFSETS, 8 * (count + 1));
    const uint32_t *ids = dat_profile_section(head, DAT_ADDED_IDS, 4 * count);
    const uint8_t *flags = dat_profile_section(head, DAT_ADDED_FLAGS, count);
    if (!text || !offsets || !ids || !flags || offsets[0] != 0 || offsets[count] != size) {
        return DAT_DAMAGED;
    }
    for (size_t i = 0; i < count; i++) {
        if (offsets[i] > offsets[i + 1] || flags[i] > (DAT_LSTRIP | DAT_RSTRIP | DAT_SINGLE_WORD | DAT_NORMALIZED)) {
            return DAT_DAMAGED;
        }
    }
    return dat_specials_build(&vocab->specials, text, offsets, ids, flags, count, vocab->before.nfc);
}

dat_status dat_vocab_view(dat_vocab *vocab, const void *block, size_t size)
{
    memset(vocab, 0, sizeof *vocab);
    dat_status status = dat_profile_check(block, size);
    if (status != DAT_OK) {
        return status;
    }
    const dat_profile *head = block;
    size_t version = version_of(head->unicode);
    if (version == DAT_UNICODE_VERSIONS) {
        return DAT_DAMAGED;
    }
    const dat_unicode *unicode = &dat_unicode_versions[version];
    dat_classes_init(&vocab->classes, unicode);
    vocab->profile = head;
    vocab->before.nfc = (head->flags & DAT_NFC) != 0 ? &dat_nfc_versions[version] : NULL;
    vocab->before.prefix_space = (head->flags & DAT_PREFIX_SPACE) != 0;
    vocab->count = head->count;
    vocab->longest = head->longest;
    vocab->text_size = (size_t)head->sections[DAT_TEXT].size;
    vocab->unreachable = head->unreachable;
    vocab->plain_ids = (head->flags & DAT_PLAIN_IDS) != 0;
    vocab->ignore_merges = (head->flags & DAT_IGNORE_MERGES) != 0;
    vocab->pattern = (dat_pattern){(dat_family)head->family, (dat_contractions)head->contractions, head->digits,
                                   head->marks_are_letters != 0, head->trailing_blanks != 0};
    /* What the machines are written for; programs, where there are any, come apart. */
    int pattern_right = head->family <= DAT_DEEPSEEK && head->contractions <= DAT_FOLDED_CONTRACTIONS &&
                        (head->digits <= 1 || head->digits == 3) && head->marks_are_letters <= 1 && head->trailing_blanks <= 1;
    int bits_right = head->pair_bits >= 3 && head->pair_bits <= 40 && head->filter_bits >= 6 && head->filter_bits <= 40 &&
                     head->word_bits >= 1 && head->word_bits <= 40 && head->cut_bits >= 6 && head->cut_bits <= 40;
    if (!pattern_right || !bits_right || head->count == 0 || head->count > DAT_TOKENS_MOST || head->slots == 0 ||
        head->classes != classes_digest(&vocab->classes, unicode)) {
        return DAT_DAMAGED;
    }
    size_t count = head->count, slots = head->slots;
    vocab->text = dat_profile_section(head, DAT_TEXT, vocab->text_size);
    vocab->offsets = dat_profile_section(head, DAT_OFFSETS, 4 * (count + 1));
    vocab->ids = dat_profile_section(head, DAT_IDS, 4 * count);
    vocab->by_id = head->sections[DAT_BY_ID].size > 0 ? dat_profile_section(head, DAT_BY_ID, 4 * count) : NULL;
    vocab->trie = (dat_trie){(dat_node *)(uintptr_t)dat_profile_section(head, DAT_NODES, sizeof(dat_node) * slots),
                             (uint32_t *)(uintptr_t)dat_profile_section(head, DAT_VALUES, 4 * slots), slots};
    vocab->words = (dat_words){dat_profile_section(head, DAT_WORDS, sizeof(dat_word) << head->word_bits), head->word_bits};
    vocab->front = (dat_words){dat_profile_section(head, DAT_FRONT, sizeof(dat_word) << DAT_FRONT_BITS), DAT_FRONT_BITS};
    vocab->cuts = (dat_cuts){dat_profile_section(head, DAT_CUTS, (size_t)1 << (head->cut_bits - 3)),
                             dat_profile_section(head, DAT_NEVER, 8192), head->cut_bits};
    vocab->merges = (dat_merges){
        .of_two = dat_profile_section(head, DAT_TWO, 4 * 65536), .of_byte = dat_profile_section(head, DAT_BYTES, 4 * 256),
        .pairs = {dat_profile_section(head, DAT_PAIRS, (size_t)8 << head->pair_bits),
                  dat_profile_section(head, DAT_FILTER, (size_t)1 << (head->filter_bits - 3)), head->pair_bits,
                  head->filter_bits},
        .trie = vocab->trie, .flags = dat_profile_section(head, DAT_FLAGS, count),
        .shorter = dat_profile_section(head, DAT_SHORTER, 4 * count),
        .splits = dat_profile_section(head, DAT_SPLITS, 8 * count), .text = vocab->text, .offsets = vocab->offsets,
        .count = count, .text_size = vocab->text_size, .regular = (head->flags & DAT_REGULAR) != 0,
        .never = vocab->cuts.never};
    if (!vocab->text || !vocab->offsets || !vocab->ids || (head->sections[DAT_BY_ID].size > 0 && !vocab->by_id) ||
        !vocab->trie.nodes || !vocab->trie.values || !vocab->words.slots || !vocab->front.slots || !vocab->cuts.filter || !vocab->cuts.never ||
        !vocab->merges.of_two || !vocab->merges.of_byte || !vocab->merges.pairs.slots || !vocab->merges.pairs.filter ||
        !vocab->merges.flags || !vocab->merges.shorter || !vocab->merges.splits) {
        return DAT_DAMAGED;
    }
    return view_added(vocab, head);
}

void dat_vocab_clear(dat_vocab *vocab)
{
    dat_large_free(vocab->own, vocab->own != NULL ? (size_t)vocab->profile->size : 0);
    dat_specials_clear(&vocab->specials);
    memset(vocab, 0, sizeof *vocab);
}
