/* Stage special: special tokens in a document, leftmost first, then longest, before the pretokenizer. */
#ifndef DAT_SPECIAL_H
#define DAT_SPECIAL_H

#include "dat.h"

typedef struct {
    dat_trie trie;       /* values: indexes into ids */
    uint32_t *ids;       /* ascending; published encodings have two texts for one id, so equal ones may follow */
    uint8_t *text;       /* all texts joined, in order of id */
    size_t *offsets;     /* [count + 1] */
    size_t count;
    uint8_t starts[256]; /* whether a special token starts with this byte */
    int only_start;      /* the byte they all start with, or -1 */
} dat_specials;

/* text, offsets, ids: `count` special tokens in ascending order of id. */
dat_status dat_specials_build(dat_specials *specials, const uint8_t *text, const uint64_t *offsets,
                              const uint32_t *ids, size_t count);
void dat_specials_clear(dat_specials *specials);

/* The first match at or after p: its start, and *stop and *index. NULL if there is none. Time is linear in the text
 * times the longest special token at worst. */
const uint8_t *dat_next_special(const dat_specials *specials, const uint8_t *p, const uint8_t *end,
                                const uint8_t **stop, uint32_t *index);

#endif
