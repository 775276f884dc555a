/* Pieces that are one token, by their bytes: read-only, probed where the cache has no answer. */
#ifndef DAT_WORDS_H
#define DAT_WORDS_H

#include "cache.h"
#include "pairs.h"

/* Two share a cache line, and a probe costs one miss of it: all that is asked of a word stands in it. */
typedef struct {
    uint64_t low, high; /* a cache key; high 0: empty */
    uint32_t id, index;
    uint64_t reachable; /* 1: merging its bytes gives it */
} dat_word;

typedef struct {
    const dat_word *slots;
    unsigned bits;
} dat_words;

/* The words among the first DAT_FRONT_TOKENS tokens, which most of a text is made of, also have a table of their own, at most
 * half full. A fresh mapping of the whole table has to fetch a page for nearly every word. */
enum { DAT_FRONT_BITS = 13, DAT_FRONT_TOKENS = 1 << 12 };

/* Fixed, for it is part of the file; the slots are the vocabulary's, so no text can make a search longer. */
static inline uint64_t dat_word_hash(uint64_t low, uint64_t high)
{
    uint64_t hash = (low ^ (high << 5 | high >> 59)) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= (hash >> 32) ^ high;
    return hash * UINT64_C(0xD6E8FEB86659FD93);
}

static inline const dat_word *dat_words_find(const dat_words *words, uint64_t low, uint64_t high)
{
    size_t mask = ((size_t)1 << words->bits) - 1, slot = (size_t)(dat_word_hash(low, high) >> (64 - words->bits));
    for (size_t tried = 0; tried < DAT_PROBES_MOST; tried++, slot = (slot + 1) & mask) {
        const dat_word *word = &words->slots[slot];
        if (word->low == low && word->high == high) {
            return word;
        }
        if (word->high == 0) {
            break;
        }
    }
    return NULL;
}

#endif
