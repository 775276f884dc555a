/* Optimized against naive: any bytes, every family of patterns, every level and setting, alone and as a batch over threads.
 *
 * The naive side takes pieces from the scalar machines (or the general path) one at a time, and merges them by what is
 * written in the vocabulary: of all neighbours whose joined bytes are a token, the lowest id, leftmost; none of the tables
 * of pairs, cuts, words and caches. Built and run by fuzz.py; fuzz.h says how. */
#include "fuzz.h"

enum { VOCABULARIES = 16, THREADS = 3, DOCUMENTS = 8, LONG_TEXT = 200000 };

typedef struct {
    test_case test;
    dat_vocab vocab;
    dat_splitter splitter;
    uint32_t *triples; /* of a made vocabulary with a merge list: left, right, merged */
    size_t merges;
    dat_scratch *reused[DAT_LEVELS][THREADS];
} subject;

static subject subjects[VOCABULARIES];
static size_t subject_count;
static dat_merge_room naive_room;

static const dat_pattern patterns[] = {
    {DAT_GPT2, DAT_EXACT_CONTRACTIONS, 0, 0, 0},    {DAT_CL100K, DAT_FOLDED_CONTRACTIONS, 3, 0, 0},
    {DAT_CL100K, DAT_FOLDED_CONTRACTIONS, 3, 0, 1}, {DAT_CL100K, DAT_FOLDED_CONTRACTIONS, 1, 0, 0},
    {DAT_CL100K, DAT_FOLDED_CONTRACTIONS, 1, 1, 0}, {DAT_O200K, DAT_FOLDED_CONTRACTIONS, 3, 0, 0},
    {DAT_O200K, DAT_NO_CONTRACTIONS, 1, 0, 0},      {DAT_DEEPSEEK, DAT_NO_CONTRACTIONS, 3, 0, 0},
};

enum { MADE_TOKENS = 600 };

/* A vocabulary that nobody would train: tokens joined from others at random, their ids and their merges in any order, so
 * that parts come after what they make and many tokens cannot be reached. */
static void make_vocabulary(subject *made, uint64_t seed, int listed, int ignore_merges)
{
    static const char alphabet[] = "abcde \xC3\xA9\x80\xFF\xD0\xB0\xE4\xB8\xAD'1\n";
    uint64_t state = seed, *offsets = malloc((MADE_TOKENS + 1) * sizeof *offsets);
    uint8_t *text = malloc(MADE_TOKENS * 16);
    uint32_t *ids = malloc(MADE_TOKENS * sizeof *ids), (*parts_of)[2] = malloc(MADE_TOKENS * sizeof *parts_of);
    uint32_t *order = malloc(MADE_TOKENS * sizeof *order);
    uint8_t (*token)[16] = malloc(MADE_TOKENS * sizeof *token);
    size_t *size = malloc(MADE_TOKENS * sizeof *size), count = 0;
    if (!offsets || !text || !ids || !parts_of || !order || !token || !size) {
        fail("no memory");
    }
    for (; count < 256; count++) {
        token[count][0] = (uint8_t)count;
        size[count] = 1;
    }
    while (count < MADE_TOKENS) {
        uint32_t two[2];
        for (int side = 0; side < 2; side++) {
            two[side] = below(&state, 2) ? (uint8_t)alphabet[below(&state, sizeof alphabet - 1)]
                                         : (uint32_t)below(&state, count);
        }
        size_t width = size[two[0]] + size[two[1]];
        int known = width > 15;
        if (!known) {
            memcpy(token[count], token[two[0]], size[two[0]]);
            memcpy(token[count] + size[two[0]], token[two[1]], size[two[1]]);
        }
        for (size_t i = 0; i < count && !known; i++) {
            known = size[i] == width && memcmp(token[i], token[count], width) == 0;
        }
        if (!known) {
            parts_of[count][0] = two[0];
            parts_of[count][1] = two[1];
            size[count++] = width;
        }
    }
    /* order[i]: the token whose id is the i-th. */
    for (uint32_t i = 0; i < MADE_TOKENS; i++) {
        order[i] = i;
    }
    for (size_t i = MADE_TOKENS - 1; i > 0; i--) {
        size_t j = seed % 3 == 0 ? i : below(&state, i + 1);
        uint32_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    uint32_t *place = malloc(MADE_TOKENS * sizeof *place);
    if (place == NULL) {
        fail("no memory");
    }
    size_t at = 0;
    for (uint32_t i = 0; i < MADE_TOKENS; i++) {
        place[order[i]] = i;
        ids[i] = 3 * i;
        offsets[i] = at;
        memcpy(text + at, token[order[i]], size[order[i]]);
        at += size[order[i]];
    }
    offsets[MADE_TOKENS] = at;
    made->test.tokens = (dat_token_list){text, offsets, ids, NULL, MADE_TOKENS};
    if (listed) {
        made->merges = MADE_TOKENS - 256;
        made->triples = malloc(made->merges * 3 * sizeof *made->triples);
        if (made->triples == NULL) {
            fail("no memory");
        }
        for (size_t i = 0; i < made->merges; i++) {
            /* Any order of the list, but near that in which they were made. */
            size_t from = 256 + i;
            made->triples[3 * i] = place[parts_of[from][0]];
            made->triples[3 * i + 1] = place[parts_of[from][1]];
            made->triples[3 * i + 2] = place[from];
        }
        for (size_t i = 0; i < made->merges; i++) {
            size_t j = i + below(&state, made->merges - i < 40 ? made->merges - i : 40);
            for (size_t k = 0; k < 3; k++) {
                uint32_t kept = made->triples[3 * i + k];
                made->triples[3 * i + k] = made->triples[3 * j + k];
                made->triples[3 * j + k] = kept;
            }
        }
    }
    made->test.specials = subjects[0].test.specials;
    dat_merge_list list = {made->triples, made->merges};
    size_t culprit;
    if (dat_vocab_build(&made->vocab, made->test.tokens, listed ? &list : NULL, made->test.specials,
                        &dat_unicode_versions[2], patterns[0], (dat_before){NULL, 0}, ignore_merges, &culprit) != DAT_OK) {
        fail("a made vocabulary is refused");
    }
    free(parts_of);
    free(order);
    free(token);
    free(size);
    free(place);
}

static void start(const char *folder)
{
    for (; subject_count < VOCABULARIES; subject_count++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/case-%zu", folder, subject_count);
        FILE *file = fopen(path, "rb");
        if (file == NULL) {
            break;
        }
        fclose(file);
        subject *made = &subjects[subject_count];
        made->test = read_case(path);
        if (build(&made->vocab, &made->splitter, &made->test) != DAT_OK) {
            fail("a case is refused");
        }
    }
    if (subject_count == 0) {
        fail("no cases: see fuzz.py");
    }
    for (uint64_t seed = 1; seed <= 6 && subject_count < VOCABULARIES; seed++) {
        make_vocabulary(&subjects[subject_count++], seed, seed > 2, seed % 2 == 0);
    }
}

/* Where the two tokens at these bytes stand in the order of merging, and what they make; DAT_NONE: they do not merge. */
static uint32_t naive_rank(const subject *self, const uint8_t *left, const uint8_t *right, const uint8_t *stop,
                           const uint32_t pair[2])
{
    if (self->triples == NULL) {
        (void)right;
        uint32_t index = dat_find(&self->vocab.trie, left, (size_t)(stop - left));
        /* Ids ascend with ranks; an index might not. */
        return index == DAT_NONE ? DAT_NONE : self->vocab.ids[index];
    }
    /* The pair that is listed twice counts by its last line; these lists have none twice. */
    for (uint32_t i = 0; i < self->merges; i++) {
        if (self->triples[3 * i] == pair[0] && self->triples[3 * i + 1] == pair[1]) {
            return i;
        }
    }
    return DAT_NONE;
}

/* A token by its bytes, as a number of the list of tokens as given. */
static uint32_t given_number(const subject *self, const uint8_t *text, size_t size)
{
    uint32_t id = self->vocab.ids[dat_find(&self->vocab.trie, text, size)], low = 0;
    while (self->test.tokens.ids[low] != id) {
        low++;
    }
    return low;
}

static void naive_piece(const subject *self, const uint8_t *piece, size_t size, dat_ids *out)
{
    const dat_vocab *vocab = &self->vocab;
    if (dat_ids_room(out, size) != DAT_OK) {
        fail("no memory");
    }
    uint32_t whole_token = vocab->ignore_merges ? dat_find(&vocab->trie, piece, size) : DAT_NONE;
    if (whole_token != DAT_NONE) {
        out->items[out->count++] = vocab->ids[whole_token];
        return;
    }
    if (size > 400) {
        /* Quadratic: long pieces go by the heap over all pairs. */
        size_t first = out->count;
        if (dat_merge(&vocab->merges, &naive_room, piece, size, 1, out, NULL) != DAT_OK) {
            fail("no memory");
        }
        for (size_t i = first; i < out->count; i++) {
            out->items[i] = vocab->ids[out->items[i]];
        }
        return;
    }
    size_t cuts[401], count = size;
    uint32_t number[400], rank[400];
    for (size_t i = 0; i <= size; i++) {
        cuts[i] = i;
    }
    for (size_t i = 0; i < size; i++) {
        number[i] = self->triples ? given_number(self, piece + i, 1) : 0;
    }
    for (size_t i = 0; i + 1 < count; i++) {
        rank[i] = naive_rank(self, piece + cuts[i], piece + cuts[i + 1], piece + cuts[i + 2], &number[i]);
    }
    for (;;) {
        size_t best = 0;
        uint32_t least = DAT_NONE;
        for (size_t i = 0; i + 1 < count; i++) {
            if (rank[i] < least) {
                least = rank[i];
                best = i;
            }
        }
        if (least == DAT_NONE) {
            break;
        }
        number[best] = self->triples ? self->triples[3 * least + 2] : 0;
        for (size_t i = best + 1; i < count; i++) {
            cuts[i] = cuts[i + 1];
            if (i + 1 < count) {
                number[i] = number[i + 1];
                rank[i] = rank[i + 1 < size ? i + 1 : i];
            }
        }
        count--;
        for (size_t i = best > 0 ? best - 1 : 0; i <= best && i + 1 < count; i++) {
            rank[i] = naive_rank(self, piece + cuts[i], piece + cuts[i + 1], piece + cuts[i + 2], &number[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        out->items[out->count++] = vocab->ids[dat_find(&vocab->trie, piece + cuts[i], cuts[i + 1] - cuts[i])];
    }
}

static void naive_stretch(const subject *self, const uint8_t *p, const uint8_t *end, dat_ids *out)
{
    const dat_text text = {end, &self->vocab.classes, &self->vocab.pattern, NULL};
    static dat_split_room room;
    if (self->vocab.splitter != NULL && p < end && dat_split_start(self->vocab.splitter, &room, p, end) != DAT_OK) {
        fail("no memory");
    }
    while (p < end) {
        const uint8_t *stop = p;
        if (self->vocab.splitter == NULL) {
            stop = dat_next_piece(&text, p);
        } else if (dat_split_next(self->vocab.splitter, &room, &stop, NULL) != DAT_OK) {
            fail("no memory");
        }
        naive_piece(self, p, (size_t)(stop - p), out);
        p = stop;
    }
}

static void naive_document(const subject *self, const dat_document *document, int specials, dat_ids *out)
{
    const dat_token_list *all = &self->test.specials;
    const uint8_t *p = document->data, *end = p + document->size, *from = p;
    while (specials && p < end) {
        size_t longest = 0;
        uint32_t id = 0;
        for (size_t i = 0; i < all->count; i++) {
            size_t size = (size_t)(all->offsets[i + 1] - all->offsets[i]);
            if (size > longest && size <= (size_t)(end - p) && memcmp(p, all->text + all->offsets[i], size) == 0) {
                longest = size;
                id = all->ids[i];
            }
        }
        if (longest == 0) {
            p++;
            continue;
        }
        naive_stretch(self, from, p, out);
        if (dat_ids_room(out, 1) != DAT_OK) {
            fail("no memory");
        }
        out->items[out->count++] = id;
        from = p += longest;
    }
    naive_stretch(self, from, end, out);
}

static dat_scratch *reused(subject *self, dat_level level, size_t thread, unsigned bits)
{
    dat_scratch **slot = &self->reused[level][thread];
    if (*slot == NULL) {
        *slot = malloc(sizeof **slot);
        dat_settings settings = {.cache_bits = 4 + bits % 9, .wide_bits = 3 + bits % 5, .uses = ~0u, .level = level,
                                 .seed = 11};
        if (*slot == NULL || dat_scratch_init(*slot, settings) != DAT_OK) {
            fail("no memory");
        }
    }
    return *slot;
}

/* An input: eight bytes of settings, then text. */
enum { AT_SUBJECT, AT_PATTERN, AT_USES, AT_CACHE, AT_WAY, AT_SHAPE, AT_LENGTH, AT_CUTS, HEAD };

static void compare(const dat_ids *expected, const dat_ids *found, const char *what, const uint8_t *head, dat_level level)
{
    size_t same = 0;
    while (same < expected->count && same < found->count && expected->items[same] == found->items[same]) {
        same++;
    }
    if (same < expected->count || same < found->count) {
        fprintf(stderr, "vocabulary %zu, pattern %zu, uses %u, level %d: id %zu of %zu is %ld, and %ld by naive merging\n",
                head[AT_SUBJECT] % subject_count, head[AT_PATTERN] % (sizeof patterns / sizeof *patterns), head[AT_USES],
                (int)level, same, expected->count, same < found->count ? (long)found->items[same] : -1L,
                same < expected->count ? (long)expected->items[same] : -1L);
        differ(what);
    }
}

/* The text with something before it, or many times, in a block of its own exact size. */
static uint8_t *shape(const uint8_t *head, const uint8_t *text, size_t size, size_t *made)
{
    unsigned form = head[AT_SHAPE] % 16, length = head[AT_LENGTH];
    size_t before = form < 6 ? length % 130 : 0, times = 1;
    if (form == 6) {
        times = 1 + length % 9;
    } else if (form == 7 && size > 0) {
        times = LONG_TEXT / size;
        times = length % 16 ? 1 : times; /* seldom: long pieces cost a second each under the sanitizers */
    }
    uint8_t *copy = malloc(before + size * times);
    if (copy == NULL && before + size * times > 0) {
        fail("no memory");
    }
    for (size_t i = 0; i < before; i++) {
        copy[i] = (uint8_t)("  ab\n\xC3" "1'"[form < 2 ? 0 : form] + (form == 1 && i % 2 ? 'A' - ' ' : 0));
    }
    for (size_t i = 0; i < times && size > 0; i++) {
        memcpy(copy + before + i * size, text, size);
    }
    *made = before + size * times;
    return copy;
}

static void once(const uint8_t *data, size_t given)
{
    if (given < HEAD) {
        return;
    }
    subject *self = &subjects[data[AT_SUBJECT] % subject_count];
    size_t size;
    uint8_t *text = shape(data, data + HEAD, given - HEAD, &size);
    if (self->vocab.splitter != NULL && size > 20000) {
        size = 20000;
    }
    if (self->vocab.splitter == NULL) {
        self->vocab.pattern = patterns[data[AT_PATTERN] % (sizeof patterns / sizeof *patterns)];
    }
    int specials = data[AT_WAY] & 1;
    dat_document documents[DOCUMENTS];
    dat_ids expected = {NULL, 0, 0}, found = {NULL, 0, 0};
    uint64_t ends[DOCUMENTS + 1] = {0}, offsets[DOCUMENTS + 1], state = data[AT_CUTS];
    size_t count = 0, from = 0;
    while (from < size || count == 0) {
        size_t to = count + 1 == DOCUMENTS || data[AT_CUTS] % 4 == 0 ? size : from + below(&state, size - from + 1);
        /* Each in a block of its own exact size, so that a read past its end is seen. */
        uint8_t *own = malloc(to - from);
        if (own == NULL && to > from) {
            fail("no memory");
        }
        if (to > from) {
            memcpy(own, text + from, to - from);
        }
        documents[count] = (dat_document){own, to - from};
        naive_document(self, &documents[count], specials, &expected);
        ends[++count] = expected.count;
        from = to;
    }
    for (dat_level level = DAT_SCALAR; level <= dat_best_level(); level++) {
        dat_scratch fresh[THREADS], *scratches[THREADS];
        size_t threads = 1 + (data[AT_WAY] >> 1) % THREADS;
        int again = data[AT_WAY] >> 3 & 1;
        dat_settings settings = {.cache_bits = data[AT_CACHE] % 11, .wide_bits = data[AT_CACHE] / 11 % 9,
                                 .uses = data[AT_USES], .level = level, .seed = data[AT_LENGTH]};
        for (size_t i = 0; i < threads; i++) {
            scratches[i] = again ? reused(self, level, i, data[AT_CACHE]) : &fresh[i];
            if (!again && dat_scratch_init(&fresh[i], settings) != DAT_OK) {
                fail("no memory");
            }
        }
        found.count = 0;
        for (size_t i = 0; i < count; i++) {
            if (dat_encode(&self->vocab, scratches[0], documents[i].data, documents[i].size, specials, &found, NULL,
                           NULL) != DAT_OK) {
                fail("no memory");
            }
        }
        compare(&expected, &found, "a document alone", data, level);
        found.count = 0;
        if (dat_encode_batch(&self->vocab, scratches, threads, documents, count, specials, &found, offsets) != DAT_OK) {
            fail("no memory");
        }
        compare(&expected, &found, "a batch", data, level);
        if (memcmp(offsets, ends, (count + 1) * sizeof *offsets) != 0) {
            differ("the offsets of a batch");
        }
        for (size_t i = 0; i < threads && !again; i++) {
            dat_scratch_clear(&fresh[i]);
        }
    }
    size_t total = 0, bad;
    if (dat_decoded_size(&self->vocab, found.items, found.count, &total, &bad) != DAT_OK || total != size) {
        differ("the size of what is decoded");
    }
    uint8_t *back = malloc(total + 1);
    if (back == NULL) {
        fail("no memory");
    }
    if (dat_decode(&self->vocab, found.items, found.count, back, total) != total || (size > 0 && memcmp(back, text, size))) {
        differ("what is decoded");
    }
    for (size_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)documents[i].data);
    }
    free(back);
    free(text);
    dat_ids_clear(&expected);
    dat_ids_clear(&found);
}

static size_t make_input(uint64_t *state, uint8_t *data)
{
    for (size_t i = 0; i < HEAD; i++) {
        data[i] = (uint8_t)draw(state);
    }
    return HEAD + make_text(&subjects[data[AT_SUBJECT] % subject_count].vocab, state, data + HEAD, INPUT_MOST - HEAD);
}
