/* One piece to ids, where the quick look at the cache had no answer. */
#ifndef DAT_PIECE_H
#define DAT_PIECE_H

#include "cache.h"
#include "vocab.h"

/* Switches, each for one optimization; all off is the plain encoder. They change no id. */
enum {
    DAT_USE_CACHE = 1,  /* pieces of up to 15 bytes and four ids */
    DAT_USE_WIDE = 2,   /* and of up to 31 bytes and 23 ids */
    DAT_USE_WORDS = 4,  /* pieces that are one token are looked up before they are merged */
    DAT_USE_CUTS = 8,   /* pieces are cut where no token can reach across */
    DAT_USE_LINEAR = 16 /* long pieces by longest match and backtracking instead of a heap */
};

typedef enum { DAT_SCALAR, DAT_AVX2, DAT_AVX512, DAT_LEVELS } dat_level;

/* The best level of this processor. */
dat_level dat_best_level(void);

typedef struct {
    unsigned cache_bits; /* log2 of the entries of 32 bytes; 0: no cache */
    unsigned wide_bits;  /* log2 of those of 128 bytes; 0: none */
    unsigned uses;       /* DAT_USE_… */
    dat_level level;
    uint64_t seed;
} dat_settings;

/* What one thread writes to. Kept between calls by whoever owns it: then the cache is warm. */
typedef struct {
    dat_cache cache;
    dat_merge_room room;
    dat_split_room split;
    dat_normal normal;  /* of the stretch at hand */
    dat_bytes prefixed; /* a stretch with a space before it */
    dat_ids found; /* ids of the pieces that were not in the cache */
    dat_settings settings;
    size_t seen; /* bytes, until the caches have their full size */
    int grown;
} dat_scratch;

/* To be told how many bytes come: gives the caches their full size when that is worth it. */
dat_status dat_scratch_see(const dat_vocab *vocab, dat_scratch *scratch, size_t size);

/* Puts the first words of the vocabulary into an empty cache. */
void dat_seed(const dat_vocab *vocab, dat_scratch *scratch);

/* Appends the ids of a piece of at least one byte, without a cache. */
dat_status dat_piece(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *piece, size_t size, dat_ids *out,
                     dat_trace *trace);

/* The same where no merging is needed: the piece is in the wide cache, or one token. Else nothing is appended. low, high:
 * its key, if it has at most DAT_CACHE_BYTES. whole: it is a piece, and not a part that was cut. *forget: it is remembered
 * already; or must not be, for what it is depends on whether it is whole. */
dat_status dat_known(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *piece, size_t size, uint64_t low,
                     uint64_t high, int whole, int *forget, dat_ids *out);

/* Remembers the ids of a piece, if there is a cache for its size and their number; DAT_WIDE_IDS are read, DAT_CACHE_IDS for a
 * short piece, however many there are. */
void dat_keep(dat_scratch *scratch, const uint8_t *piece, size_t size, uint64_t low, uint64_t high, const uint32_t *ids,
              size_t count);

/* Tokens (indexes) to their ids, in place. */
void dat_rename(const dat_vocab *vocab, uint32_t *tokens, size_t count);

#endif
