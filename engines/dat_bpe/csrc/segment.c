#include "segment.h"

#include "forms.h"
#include "starts.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define DAT_X86 1
#include <immintrin.h>
#endif

/* Pieces are found so many at a time, then looked up: their ends stay in the first-level cache. A block adds up to 64. */
enum { PIECES = 512, ENDS = PIECES + 64 + 16, LONG_PIECE = 1 << 16, LINE_IDS = 16 };

/* Text is asked for so far ahead: the processor does so by itself only within a page of 4 kB, and 60 % of the time of finding
 * was waiting for the next block; the whole of a first pass over English, verses and code took 27, 18 and 14 % less. */
enum { AHEAD = 1024 };

/* Keeps the compiler from making a branch of what depends on this value. */
#if defined(__GNUC__)
#define DAT_OPAQUE(value) __asm__("" : "+r"(value))
#define DAT_FETCH(place) __builtin_prefetch(place)
#else
#define DAT_OPAQUE(value) ((void)0)
#define DAT_FETCH(place) ((void)0)
#endif

typedef struct {
    const dat_vocab *vocab;
    const dat_cuts *cuts;     /* NULL: pieces are not cut */
    dat_text text;
    dat_split_room *split;    /* of the general path */
    dat_status status;        /* of the general path: the others do not fail */
    const uint8_t *base;      /* ends count from here */
    uint32_t ends[ENDS];
    size_t count;
    /* Only where a token that merging does not reach may be taken whole: of each end, whether a piece ends there, and not a
     * part that was cut; and of the base, whether a piece begins there. */
    int marking, base_border;
    uint64_t borders[ENDS / 64 + 2];
    const uint8_t *rest_stop; /* where the piece ends that is being cut; NULL: none is */
    const uint8_t *long_stop; /* the end of a long piece, which comes after all ends; NULL: there is none */
} finder;

static inline void mark_borders(finder *found, uint64_t bits, size_t count)
{
    size_t word = found->count / 64, shift = found->count % 64;
    uint64_t low = found->borders[word] & (shift ? ~UINT64_C(0) >> (64 - shift) : 0);
    found->borders[word] = low | bits << shift;
    found->borders[word + 1] = shift + count > 64 ? bits >> (64 - shift) : 0;
}

/* Whether the number-th of what was found is a whole piece. */
static inline int is_whole(const finder *found, size_t number)
{
    int begins = number > 0 ? (int)(found->borders[(number - 1) / 64] >> ((number - 1) % 64) & 1) : found->base_border;
    return !found->marking || (begins && (found->borders[number / 64] >> (number % 64) & 1));
}

/* Goes on with the piece that ends at rest_stop: appends ends up to PIECES, and leaves the rest for the next time. */
static const uint8_t *cut_rest(finder *found, const uint8_t *p)
{
    const uint8_t *stop = found->rest_stop, *q = p;
    uint32_t left = DAT_ILL_FORMED, right = 0;
    while (p < stop && found->count < PIECES) {
        while (q < stop) {
            if (found->cuts == NULL) {
                q = stop;
                break;
            }
            unsigned width = dat_scan(q, stop, &right);
            int cut = q > p && (left | right) >= 0x80 && !((left | right) & DAT_ILL_FORMED) &&
                      dat_cut(found->cuts, left, right, q[-1], q[0]);
            left = right;
            q += width;
            if (cut) {
                q -= width;
                left = DAT_ILL_FORMED; /* looked at again, as the first of the next piece */
                break;
            }
        }
        if (q - p > LONG_PIECE) {
            found->long_stop = q;
            return p;
        }
        if (found->marking) {
            mark_borders(found, q == stop, 1);
        }
        found->ends[found->count++] = (uint32_t)(q - found->base);
        p = q;
    }
    if (p >= stop) {
        found->rest_stop = NULL;
    }
    return p;
}

/* One piece by the scalar machine. */
static const uint8_t *find_one(finder *found, const uint8_t *p)
{
    found->rest_stop = dat_next_piece(&found->text, p);
    return cut_rest(found, p);
}

typedef const uint8_t *(*block_finder)(finder *found, const uint8_t *p);

/* A piece that the cache did not have. */
typedef struct {
    uint32_t piece, start, size;
    size_t first, count;    /* of its ids among those of all misses */
    int forget;             /* dat_known says so */
} miss;

/* A piece that is being merged: symbols stay at the place of their first byte. */
enum { LANES = 12, BEFORE = 16 };

typedef struct {
    _Alignas(64) uint32_t rank[BEFORE + 80]; /* of the pair that begins here; DAT_NONE: it does not merge */
    uint32_t token[BEFORE + 80];
    uint64_t alive;                          /* places where a symbol begins */
    const uint64_t *left_line, *right_line;  /* where the rank stands that was asked for: of the last merge's symbol */
    uint64_t left_key, right_key;            /* with the one before, and with the one behind */
    size_t size;
    int left, finished;                      /* the symbol before the last merge's, -1: none; whether that was the last */
    unsigned at;                             /* the last merge's symbol */
    miss *miss;                              /* which piece it is */
} merge_lane;

/* A line without pairs. */
_Alignas(64) static const uint64_t no_pairs[DAT_LINE] = {DAT_NO_PAIR, DAT_NO_PAIR, DAT_NO_PAIR, DAT_NO_PAIR,
                                                         DAT_NO_PAIR, DAT_NO_PAIR, DAT_NO_PAIR, DAT_NO_PAIR};

/* `line` if `maybe` is 1, no_pairs if it is 0: by arithmetic, for compilers make a branch of a choice. */
static inline const uint64_t *either(const uint64_t *line, uint64_t maybe)
{
    uintptr_t none = (uintptr_t)no_pairs, mask = 0 - (uintptr_t)maybe;
    DAT_OPAQUE(mask);
    return (const uint64_t *)(none ^ ((none ^ (uintptr_t)line) & mask));
}

/* What is known of the pieces that were found: memory is asked for well before it is looked at, for a piece that is not
 * in the second-level cache costs 30 to 300 ns, and the next ones need not wait for it. */
typedef struct {
    uint64_t low[ENDS], high[ENDS];
    dat_cache_entry *entry[ENDS]; /* first the pair where it may be, then the entry where it is */
    miss misses[ENDS];
    uint16_t unknown[ENDS + 8], to_merge[ENDS]; /* pieces; misses */
    size_t unknown_count, to_merge_count;
} lookups;

/* The second word of the key of a piece that is too long to have one. */
#define NO_KEY UINT64_C(1) /* a length of 0, which an entry has only if all of it is 0 */

/* From piece `from` on. */
static inline void make_keys(const dat_cache *cache, const finder *found, size_t from, const uint8_t *limit, lookups *made)
{
    const uint8_t *base = found->base, *p = base + (from > 0 ? found->ends[from - 1] : 0);
    for (size_t i = from; i < found->count; i++) {
        const uint8_t *stop = base + found->ends[i];
        size_t size = (size_t)(stop - p);
        uint64_t low, high;
        dat_cache_key(p, size <= DAT_CACHE_BYTES ? size : DAT_CACHE_BYTES, limit, &low, &high);
        /* A longer piece has a key that no entry has. */
        high = size <= DAT_CACHE_BYTES ? high : NO_KEY;
        made->low[i] = low;
        made->high[i] = high;
        if (cache->pairs != NULL) {
            made->entry[i] = dat_cache_pair(cache, low, high);
            DAT_FETCH(made->entry[i]);
        }
        p = stop;
    }
}

/* From piece `from` on, `unknown` being those before it. */
static inline void probe(const dat_cache *cache, const finder *found, size_t from, size_t unknown, lookups *made)
{
    if (cache->pairs == NULL) {
        for (size_t i = 0; i < found->count; i++) {
            made->unknown[i] = (uint16_t)i;
        }
        made->unknown_count = found->count;
        return;
    }
    for (size_t i = from; i < found->count; i++) {
        uint64_t low = made->low[i], high = made->high[i];
        /* The number of ids stands above the length: shifted out, what is left is the key. Which of the two entries it is,
         * and whether it is one of them, cannot be foreseen, so that neither is a branch. */
        dat_cache_entry *pair = made->entry[i];
        uint64_t other = ((pair->low ^ low) | (pair->high ^ high) << 4) != 0;
        DAT_OPAQUE(other);
        dat_cache_entry *entry = pair + other;
        made->entry[i] = entry;
        made->unknown[unknown] = (uint16_t)i;
        unknown += ((entry->low ^ low) | (entry->high ^ high) << 4) != 0;
    }
    made->unknown_count = unknown;
}

static void look_scalar(const dat_cache *cache, const finder *found, const uint8_t *limit, lookups *made)
{
    make_keys(cache, found, 0, limit, made);
    probe(cache, found, 0, 0, made);
}

typedef void (*looker)(const dat_cache *cache, const finder *found, const uint8_t *limit, lookups *made);
/* Whether the character of two bytes at i may be taken as the token that they merge to, before anything else merges: so it
 * is where no token reaches from a part of it across one of its borders, for then nothing merges with a part of it; and
 * where merges are in order, for then what merges with the whole comes later. */
static inline int whole(const dat_merges *merges, const uint8_t *piece, size_t size, size_t i, uint32_t both)
{
    unsigned before = i > 0 ? (unsigned)piece[i - 1] << 8 | piece[i] : 0;
    unsigned behind = i + 2 < size ? (unsigned)piece[i + 1] << 8 | piece[i + 2] : 0;
    uint64_t never = (i > 0 ? merges->never[before >> 6] >> (before & 63) : 0) |
                     (i + 2 < size ? merges->never[behind >> 6] >> (behind & 63) : 0);
    /* Nothing is known of the border before a continuation byte, which is ill-formed there. */
    never |= i + 2 < size && (piece[i + 2] & 0xC0) == 0x80;
    return both != DAT_NONE && merges->regular && !(never & 1);
}

typedef dat_status (*merger)(const dat_merges *merges, const uint8_t *base, miss *misses, const uint16_t *which,
                             size_t count, dat_ids *out);

#ifdef DAT_X86
/* Of 0 too: 64. */
#define DAT_LEADING(mask) _lzcnt_u64(mask)
#define DAT_TRAILING(mask) _tzcnt_u64(mask)
#define DAT_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512dq,bmi,bmi2,lzcnt,popcnt")))
#define DAT_NAME(name) name##_avx512
#define DAT_IS_AVX512 1
#include "blocks.h"
#include "lockstep.h"
/* Without optimization the compiler's own gathers are macros, whose full mask is a sign conversion. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "gather.h"
#pragma GCC diagnostic pop
#undef DAT_TARGET
#undef DAT_NAME
#undef DAT_IS_AVX512
#define DAT_TARGET __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define DAT_NAME(name) name##_avx2
#define DAT_IS_AVX512 0
#include "blocks.h"
#include "lockstep.h"
#undef DAT_TARGET
#undef DAT_NAME
#undef DAT_IS_AVX512
#undef DAT_LEADING
#undef DAT_TRAILING
#endif

#define DAT_LEADING(mask) ((mask) ? __builtin_clzll(mask) : 64)
#define DAT_TRAILING(mask) ((mask) ? __builtin_ctzll(mask) : 64)
#define DAT_TARGET
#define DAT_NAME(name) name##_scalar
#define DAT_IS_AVX512 0
#include "lockstep.h"
#undef DAT_TARGET
#undef DAT_NAME
#undef DAT_IS_AVX512

static merger merger_of(dat_level level)
{
#ifdef DAT_X86
    if (level == DAT_AVX512) {
        return merge_many_avx512;
    }
    if (level == DAT_AVX2) {
        return merge_many_avx2;
    }
#endif
    (void)level;
    return merge_many_scalar;
}

static looker looker_of(dat_level level)
{
#ifdef DAT_X86
    if (level == DAT_AVX512) {
        return look_avx512;
    }
#endif
    (void)level;
    return look_scalar;
}

dat_level dat_best_level(void)
{
#ifdef DAT_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2")) {
        return DAT_AVX512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt")) {
        return DAT_AVX2;
    }
#endif
    return DAT_SCALAR;
}

static const uint8_t *find_scalar(finder *found, const uint8_t *p)
{
    return find_one(found, p);
}

/* One piece by the general path. */
static const uint8_t *find_general(finder *found, const uint8_t *p)
{
    const uint8_t *stop = p;
    found->status = dat_split_next(found->vocab->splitter, found->split, &stop, NULL);
    if (found->status != DAT_OK) {
        return found->text.end;
    }
    found->rest_stop = stop;
    return cut_rest(found, p);
}

static block_finder finder_of(const dat_vocab *vocab, dat_level level)
{
    if (vocab->splitter != NULL) {
        return find_general;
    }
#ifdef DAT_X86
    static const block_finder wide[] = {find_gpt2_avx512, find_cl100k_avx512, find_o200k_avx512, find_deepseek_avx512};
    static const block_finder narrow[] = {find_gpt2_avx2, find_cl100k_avx2, find_o200k_avx2, find_deepseek_avx2};
    if (level != DAT_SCALAR && vocab->pattern.family <= DAT_DEEPSEEK) {
        return (level == DAT_AVX512 ? wide : narrow)[vocab->pattern.family];
    }
#endif
    (void)level;
    return find_scalar;
}

static void start_finder(finder *found, const dat_vocab *vocab, dat_split_room *split, const uint8_t *p,
                         const uint8_t *end, int cuts)
{
    found->vocab = vocab;
    found->cuts = cuts ? &vocab->cuts : NULL;
    found->text = (dat_text){end, &vocab->classes, &vocab->pattern, NULL};
    found->split = split;
    found->status = vocab->splitter != NULL ? dat_split_start(vocab->splitter, split, p, end) : DAT_OK;
    found->rest_stop = found->long_stop = NULL;
    found->marking = cuts && PLANTED(51, 1, vocab->ignore_merges) && vocab->unreachable > 0;
    found->base_border = 1;
}

dat_status dat_piece_ends(const dat_vocab *vocab, dat_scratch *scratch, dat_level level, const uint8_t *p,
                          const uint8_t *end, dat_ids *ends)
{
    const uint8_t *first = p;
    finder found;
    start_finder(&found, vocab, &scratch->split, p, end, 0);
    block_finder next = finder_of(vocab, level);
    dat_status status = found.status;
    while (p < end && status == DAT_OK) {
        found.base = p;
        found.count = 0;
        p = found.rest_stop != NULL ? cut_rest(&found, p) : next(&found, p);
        status = found.status != DAT_OK ? found.status : dat_ids_room(ends, found.count + 1);
        for (size_t i = 0; i < found.count && status == DAT_OK; i++) {
            ends->items[ends->count++] = (uint32_t)(found.base - first) + found.ends[i];
        }
        if (found.long_stop != NULL && status == DAT_OK) {
            p = found.long_stop;
            ends->items[ends->count++] = (uint32_t)(p - first);
            found.rest_stop = found.rest_stop == p ? NULL : found.rest_stop;
            found.long_stop = NULL;
        }
    }
    return status;
}

/* The ids of the pieces that the cache did not have, into scratch->found. */
static dat_status resolve(const dat_vocab *vocab, dat_scratch *scratch, const finder *found, lookups *made)
{
    const unsigned uses = scratch->settings.uses;
    dat_ids *ids = &scratch->found;
    ids->count = 0;
    made->to_merge_count = 0;
    for (size_t k = 0; k < made->unknown_count; k++) {
        uint32_t i = made->unknown[k], start = i > 0 ? found->ends[i - 1] : 0;
        miss *m = &made->misses[k];
        *m = (miss){.piece = i, .start = start, .size = found->ends[i] - start};
        if (m->size <= DAT_CACHE_BYTES && (uses & DAT_USE_WORDS)) {
            DAT_FETCH(&vocab->words.slots[dat_word_hash(made->low[i], made->high[i]) >> (64 - vocab->words.bits)]);
        }
        if (m->size <= DAT_WIDE_BYTES && scratch->cache.wide != NULL) {
            uint64_t key[4];
            dat_wide_key(found->base + start, m->size, made->low[i], made->high[i], key);
            const dat_wide_entry *slot = dat_wide_slot(&scratch->cache, key);
            DAT_FETCH(slot);
            DAT_FETCH(&slot->ids[7]);
        }
    }
    for (size_t k = 0; k < made->unknown_count; k++) {
        miss *m = &made->misses[k];
        const uint8_t *piece = found->base + m->start;
        m->first = ids->count;
        dat_status status = dat_known(vocab, scratch, piece, m->size, made->low[m->piece], made->high[m->piece],
                                      is_whole(found, m->piece), &m->forget, ids);
        if (status != DAT_OK) {
            return status;
        }
        m->count = ids->count - m->first;
        if (m->count > 0) {
            continue;
        }
        if (m->size <= DAT_SMALL_PIECE) {
            /* "A walk of four steps costs less than merging": but what it finds, merging may not reach. */
            if (PLANTED(53, m->size <= 4 && !m->forget, 0)) {
                uint32_t index = dat_find(&vocab->trie, piece, m->size);
                if (index < vocab->count) {
                    status = dat_ids_room(ids, 1);
                    if (status != DAT_OK) {
                        return status;
                    }
                    ids->items[ids->count++] = dat_id(vocab, index);
                    m->count = 1;
                    continue;
                }
            }
            made->to_merge[made->to_merge_count++] = (uint16_t)k;
            continue;
        }
        status = dat_merge(&vocab->merges, &scratch->room, piece, m->size, !(uses & DAT_USE_LINEAR), ids, NULL);
        if (status != DAT_OK) {
            return status;
        }
        m->count = ids->count - m->first;
        dat_rename(vocab, ids->items + m->first, m->count);
    }
    if (made->to_merge_count > 0) {
        size_t first = ids->count;
        dat_status status = merger_of(scratch->settings.level)(&vocab->merges, found->base, made->misses, made->to_merge,
                                                               made->to_merge_count, ids);
        if (status != DAT_OK) {
            return status;
        }
        dat_rename(vocab, ids->items + first, ids->count - first);
    }
    return DAT_OK;
}

/* The ids of the pieces that were found, all of which begin where the one before ends, the first at found->base. after:
 * NULL, or where to write how many ids there are with each piece. */
DAT_INLINE dat_status look_up_with(const dat_vocab *vocab, dat_scratch *scratch, const finder *found,
                                   const uint8_t *limit, dat_ids *out, uint64_t *after)
{
    lookups made;
    looker_of(scratch->settings.level)(&scratch->cache, found, limit, &made);
    for (size_t i = 0; PLANTED(33, i < found->count, 0); i++) {
        if (made.low[i] == 0xFF && made.high[i] == UINT64_C(1) << 56) {
            __builtin_trap(); /* "FF begins no character, so that it is no piece" */
        }
    }
    dat_status status = DAT_OK;
    scratch->found.count = 0;
    if (made.unknown_count > 0) {
        status = resolve(vocab, scratch, found, &made);
    }
    if (status == DAT_OK) {
        status = dat_ids_room(&scratch->found, LINE_IDS + DAT_WIDE_IDS);
    }
    if (status == DAT_OK) {
        status = dat_ids_room(out, ENDS * DAT_CACHE_IDS + scratch->found.count + LINE_IDS);
    }
    if (status != DAT_OK) {
        return status;
    }
    uint32_t *ids = out->items + out->count;
    size_t i = 0;
    for (size_t k = 0; k <= made.unknown_count; k++) {
        size_t stop = k < made.unknown_count ? made.misses[k].piece : found->count;
        for (; i < stop; i++) {
            /* All four are written, and as many counted as there are: no loop, no branch. */
            const dat_cache_entry *entry = made.entry[i];
            memcpy(ids, entry->ids, sizeof entry->ids);
            ids += (entry->high >> 60) + 1;
            if (after != NULL) {
                after[i] = (uint64_t)(ids - out->items);
            }
        }
        if (k < made.unknown_count) {
            /* In whole lines: how many ids there are cannot be foreseen. */
            const uint32_t *from = scratch->found.items + made.misses[k].first;
            for (size_t j = 0; j < made.misses[k].count; j += LINE_IDS) {
                memcpy(ids + j, from + j, LINE_IDS * sizeof *ids);
            }
            ids += made.misses[k].count;
            if (after != NULL) {
                after[i] = (uint64_t)(ids - out->items);
            }
            i++;
        }
    }
    out->count = (size_t)(ids - out->items);
    /* Only now: what is kept may take the place of an entry that was still to be read. */
    for (size_t k = 0; k < made.unknown_count && status == DAT_OK; k++) {
        const miss *m = &made.misses[k];
        if (!m->forget) {
            dat_keep(scratch, found->base + m->start, m->size, made.low[m->piece], made.high[m->piece],
                     scratch->found.items + m->first, m->count);
        }
    }
    return status;
}

static dat_status look_up(const dat_vocab *vocab, dat_scratch *scratch, const finder *found, const uint8_t *limit,
                          dat_ids *out)
{
    return look_up_with(vocab, scratch, found, limit, out, NULL);
}

dat_status dat_many(const dat_vocab *vocab, dat_scratch *scratch, const dat_document *documents, size_t count,
                    dat_ids *out, uint64_t *offsets, size_t *taken)
{
    /* Side by side, so that one document's look-ups need not wait for the one's before. A document has at most as many
     * pieces as bytes; behind the last one stand the bytes that a look at a key may read. */
    uint8_t text[PIECES + 16];
    uint16_t pieces[PIECES + 1];
    uint64_t after[ENDS];
    finder found;
    size_t size = 0, number = 0;
    text[0] = 0;
    start_finder(&found, vocab, &scratch->split, text, text, (scratch->settings.uses & DAT_USE_CUTS) != 0);
    found.base = text;
    found.count = 0;
    block_finder next = finder_of(vocab, scratch->settings.level);
    for (; number < count && number < PIECES && documents[number].size <= PIECES - size; number++) {
        const uint8_t *p = text + size;
        if (documents[number].size > 0) {
            memcpy(text + size, documents[number].data, documents[number].size);
        }
        size += documents[number].size;
        found.text.end = text + size;
        while (p < found.text.end) {
            p = found.rest_stop != NULL ? cut_rest(&found, p) : next(&found, p);
        }
        pieces[number] = (uint16_t)found.count;
    }
    *taken = number;
    memset(text + size, 0, 16);
    uint64_t before = out->count;
    dat_status status = dat_scratch_see(vocab, scratch, size);
    if (status == DAT_OK) {
        status = look_up_with(vocab, scratch, &found, text + size + 16, out, after);
    }
    for (size_t i = 0; i < number && status == DAT_OK; i++) {
        offsets[i] = pieces[i] > 0 ? after[pieces[i] - 1] : before;
    }
    return status;
}

#ifdef DAT_TRACE
static dat_status segment_traced(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *p, const uint8_t *end,
                                 dat_ids *out, dat_trace *trace)
{
    const dat_text text = {end, &vocab->classes, &vocab->pattern, trace};
    const int general = vocab->splitter != NULL;
    dat_status status = general ? dat_split_start(vocab->splitter, &scratch->split, p, end) : DAT_OK;
    while (p < end && status == DAT_OK) {
        const uint8_t *stop = p;
        if (general) {
            uint32_t alternative;
            status = dat_split_next(vocab->splitter, &scratch->split, &stop, &alternative);
            if (status == DAT_OK) {
                dat_record_piece(&text, p, stop, DAT_RULE_EXPRESSION, alternative);
            }
        } else {
            stop = dat_next_piece(&text, p);
        }
        if (status == DAT_OK) {
            status = dat_piece(vocab, scratch, p, (size_t)(stop - p), out, trace);
        }
        p = stop;
    }
    return status;
}
#endif

dat_status dat_segment(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *p, const uint8_t *end,
                       const uint8_t *limit, dat_ids *out, dat_trace *trace)
{
#ifdef DAT_TRACE
    if (trace != NULL) {
        return segment_traced(vocab, scratch, p, end, out, trace);
    }
#else
    (void)trace;
#endif
    finder found;
    start_finder(&found, vocab, &scratch->split, p, end, (scratch->settings.uses & DAT_USE_CUTS) != 0);
    block_finder next = finder_of(vocab, scratch->settings.level);
    dat_status status = found.status == DAT_OK ? dat_scratch_see(vocab, scratch, (size_t)(end - p)) : found.status;
    while (p < end && status == DAT_OK) {
        found.base = p;
        found.base_border = found.rest_stop == NULL;
        found.count = 0;
        do {
            p = found.rest_stop != NULL ? cut_rest(&found, p) : next(&found, p);
        } while (p < end && found.count < PIECES && found.long_stop == NULL);
        status = found.status != DAT_OK ? found.status : look_up(vocab, scratch, &found, limit, out);
        if (found.long_stop != NULL && status == DAT_OK) {
            status = dat_piece(vocab, scratch, p, (size_t)(found.long_stop - p), out, NULL);
            p = found.long_stop;
            found.rest_stop = found.rest_stop == p ? NULL : found.rest_stop;
            found.long_stop = NULL;
        }
    }
    return status;
}
