#include "segment.h"

#include "starts.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define DAT_X86 1
#include <immintrin.h>
#endif

/* Pieces are found so many at a time, then looked up: their ends stay in the first-level cache. A block adds up to 64. */
enum { PIECES = 256, ENDS = PIECES + 64 + 16, LONG_PIECE = 1 << 16 };

/* Keeps the compiler from making a branch of what depends on this value. */
#if defined(__GNUC__)
#define DAT_OPAQUE(value) __asm__("" : "+r"(value))
#else
#define DAT_OPAQUE(value) ((void)0)
#endif

typedef struct {
    const dat_vocab *vocab;
    const dat_cuts *cuts;     /* NULL: pieces are not cut */
    dat_text text;
    const uint8_t *base;      /* ends count from here */
    uint32_t ends[ENDS];
    size_t count;
    const uint8_t *rest_stop; /* where the piece ends that is being cut; NULL: none is */
    const uint8_t *long_stop; /* the end of a long piece, which comes after all ends; NULL: there is none */
} finder;

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

#ifdef DAT_X86
#define DAT_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx512dq,bmi,bmi2,lzcnt,popcnt")))
#define DAT_NAME(name) name##_avx512
#define DAT_IS_AVX512 1
#include "blocks.h"
#undef DAT_TARGET
#undef DAT_NAME
#undef DAT_IS_AVX512
#define DAT_TARGET __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define DAT_NAME(name) name##_avx2
#define DAT_IS_AVX512 0
#include "blocks.h"
#undef DAT_TARGET
#undef DAT_NAME
#undef DAT_IS_AVX512
#endif

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

static block_finder finder_of(dat_level level)
{
#ifdef DAT_X86
    if (level == DAT_AVX512) {
        return find_block_avx512;
    }
    if (level == DAT_AVX2) {
        return find_block_avx2;
    }
#endif
    (void)level;
    return find_scalar;
}

static void start_finder(finder *found, const dat_vocab *vocab, const uint8_t *end, int cuts, dat_trace *trace)
{
    found->vocab = vocab;
    found->cuts = cuts ? &vocab->cuts : NULL;
    found->text = (dat_text){end, &vocab->classes, &vocab->pattern, trace};
    found->rest_stop = found->long_stop = NULL;
}

dat_status dat_piece_ends(const dat_vocab *vocab, dat_level level, const uint8_t *p, const uint8_t *end, dat_ids *ends)
{
    const uint8_t *first = p;
    finder found;
    start_finder(&found, vocab, end, 0, NULL);
    block_finder find = finder_of(level);
    dat_status status = DAT_OK;
    while (p < end && status == DAT_OK) {
        found.base = p;
        found.count = 0;
        p = found.rest_stop != NULL ? cut_rest(&found, p) : find(&found, p);
        status = dat_ids_room(ends, found.count + 1);
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

/* The keys of the pieces that were found, and the pairs where they may be: asked for before they are looked at. */
typedef struct {
    uint64_t low[ENDS], high[ENDS];
    dat_cache_entry *pair[ENDS];
} keys;

static inline void make_keys(const dat_cache *cache, const finder *found, const uint8_t *limit, keys *made)
{
    const uint8_t *base = found->base, *p = base;
    for (size_t i = 0; i < found->count; i++) {
        const uint8_t *stop = base + found->ends[i];
        size_t size = (size_t)(stop - p);
        uint64_t low, high;
        dat_cache_key(p, size <= DAT_CACHE_BYTES ? size : DAT_CACHE_BYTES, limit, &low, &high);
        /* A longer piece has a key that no entry has: length 0 is that of an empty one, whose bytes are zeros too. */
        high = size <= DAT_CACHE_BYTES ? high : ~UINT64_C(0) >> 4;
        made->low[i] = low;
        made->high[i] = high;
        made->pair[i] = dat_cache_pair(cache, low, high);
        __builtin_prefetch(made->pair[i]);
        p = stop;
    }
}

/* The ids of the pieces that were found, all of which begin where the one before ends, the first at found->base. */
static inline dat_status look_up(const dat_vocab *vocab, dat_scratch *scratch, const finder *found,
                                 const uint8_t *limit, dat_ids *out)
{
    const uint8_t *base = found->base, *p = base;
    dat_status status = dat_ids_room(out, ENDS * DAT_CACHE_IDS);
    if (status != DAT_OK) {
        return status;
    }
    const dat_cache *cache = &scratch->cache;
    uint32_t *ids = out->items + out->count;
    keys made;
    if (cache->pairs != NULL) {
        make_keys(cache, found, limit, &made);
    }
    for (size_t i = 0; i < found->count; i++) {
        const uint8_t *stop = base + found->ends[i];
        if (cache->pairs != NULL) {
            const dat_cache_entry *pair = made.pair[i];
            uint64_t low = made.low[i], high = made.high[i];
            /* The number of ids stands above the length: shifted out, what is left is the key. Which of the two entries it
             * is cannot be foreseen, so that must be no branch. */
            uint64_t other = ((pair->low ^ low) | (pair->high ^ high) << 4) != 0;
            DAT_OPAQUE(other);
            const dat_cache_entry *entry = pair + other;
            if (((entry->low ^ low) | (entry->high ^ high) << 4) == 0) {
                /* All four are written, and as many counted as there are: no loop, no branch. */
                memcpy(ids, entry->ids, sizeof entry->ids);
                ids += (entry->high >> 60) + 1;
                p = stop;
                continue;
            }
        }
        out->count = (size_t)(ids - out->items);
        status = dat_piece(vocab, scratch, p, (size_t)(stop - p), limit, out, NULL);
        if (status == DAT_OK) {
            status = dat_ids_room(out, ENDS * DAT_CACHE_IDS);
        }
        if (status != DAT_OK) {
            return status;
        }
        ids = out->items + out->count;
        p = stop;
    }
    out->count = (size_t)(ids - out->items);
    return DAT_OK;
}

static dat_status segment_traced(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *p, const uint8_t *end,
                                 const uint8_t *limit, dat_ids *out, dat_trace *trace)
{
    const dat_text text = {end, &vocab->classes, &vocab->pattern, trace};
    dat_status status = DAT_OK;
    while (p < end && status == DAT_OK) {
        const uint8_t *stop = dat_next_piece(&text, p);
        status = dat_piece(vocab, scratch, p, (size_t)(stop - p), limit, out, trace);
        p = stop;
    }
    return status;
}

dat_status dat_segment(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *p, const uint8_t *end,
                       const uint8_t *limit, dat_ids *out, dat_trace *trace)
{
    if (trace != NULL) {
        return segment_traced(vocab, scratch, p, end, limit, out, trace);
    }
    finder found;
    start_finder(&found, vocab, end, (scratch->settings.uses & DAT_USE_CUTS) != 0, NULL);
    block_finder find = finder_of(scratch->settings.level);
    dat_status status = DAT_OK;
    while (p < end && status == DAT_OK) {
        found.base = p;
        found.count = 0;
        do {
            p = found.rest_stop != NULL ? cut_rest(&found, p) : find(&found, p);
        } while (p < end && found.count < PIECES && found.long_stop == NULL);
        status = look_up(vocab, scratch, &found, limit, out);
        if (found.long_stop != NULL && status == DAT_OK) {
            status = dat_piece(vocab, scratch, p, (size_t)(found.long_stop - p), limit, out, NULL);
            p = found.long_stop;
            found.rest_stop = found.rest_stop == p ? NULL : found.rest_stop;
            found.long_stop = NULL;
        }
    }
    return status;
}
