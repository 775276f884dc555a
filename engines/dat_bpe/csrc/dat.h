/* Double-array trie over byte strings: BASE, CHECK, VALUES (spec: t = BASE[s] + c is a step iff CHECK[t] == s). */
#ifndef DAT_DAT_H
#define DAT_DAT_H

#include "common.h"

typedef struct {
    int32_t base, check; /* check -1: the slot is free. Together, for a step reads both */
} dat_node;

typedef struct {
    dat_node *nodes;
    uint32_t *values; /* DAT_NONE: no key ends here */
    size_t count;
} dat_trie;

typedef struct {
    const uint8_t *text;
    size_t size;
    uint32_t value;
} dat_key;

/* Packs the keys (sorted in place; each of at least one byte, no two equal), first fit: states are taken level by
 * level in key order, and each gets the least base >= 1 at which all its children's slots are free. */
dat_status dat_trie_build(dat_trie *trie, dat_key *keys, size_t count);

/* The order in which states are given their bases: it decides the arrays, and nothing that a walk finds. */
typedef enum {
    DAT_BY_LEVELS, /* level by level */
    DAT_BY_DEPTH   /* a state, then all below its first child, then all below its second */
} dat_order;

dat_status dat_trie_pack(dat_trie *trie, dat_key *keys, size_t count, dat_order order);
void dat_trie_clear(dat_trie *trie);

/* One step from state s (< count); -1 where there is none. Guarded: no content of the arrays leads outside them. */
static inline int32_t dat_step(const dat_trie *trie, int32_t s, uint8_t c)
{
    uint32_t t = (uint32_t)trie->nodes[s].base + c;
    return t < trie->count && trie->nodes[t].check == s ? (int32_t)t : -1;
}

/* The value of exactly this key, or DAT_NONE. */
static inline uint32_t dat_find(const dat_trie *trie, const uint8_t *text, size_t size)
{
    int32_t s = 0;
    for (size_t i = 0; i < size; i++) {
        s = dat_step(trie, s, text[i]);
        if (s < 0) {
            return DAT_NONE;
        }
    }
    return trie->values[s];
}

#endif
