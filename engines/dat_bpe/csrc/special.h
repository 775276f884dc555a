/* Stage special: special and other added tokens in a document, leftmost first, then longest.
 *
 * Tokens of two sets: raw ones are found in the document as it is, normalized ones in what the normalizer made of each
 * stretch between raw ones. A match may carry flags: lstrip and rstrip take the White_Space beside it, as far as the
 * match before; single_word refuses a match beside a word character, and the search goes on behind it. */
#ifndef DAT_SPECIAL_H
#define DAT_SPECIAL_H

#include "classify.h"
#include "dat.h"
#include "normalize.h"

enum { DAT_LSTRIP = 1, DAT_RSTRIP = 2, DAT_SINGLE_WORD = 4, DAT_NORMALIZED = 8 };

typedef struct {
    dat_trie trie;       /* values: indexes of tokens */
    size_t count;
    uint8_t starts[256]; /* whether a token starts with this byte */
    int only_start;      /* the byte they all start with, or -1 */
} dat_matcher;

typedef struct {
    uint32_t *ids;   /* ascending; published encodings have two texts for one id, so equal ones may follow */
    uint8_t *text;   /* all texts joined, in order of id */
    size_t *offsets; /* [count + 1] */
    uint8_t *flags;  /* [count] */
    size_t count;
    dat_matcher raw, normalized;
} dat_specials;

/* text, offsets, ids, flags: `count` tokens in ascending order of id; flags NULL: none. nfc NULL: no normalizer. A
 * token that is matched on normalized text is searched for as the normalizer makes it. */
dat_status dat_specials_build(dat_specials *specials, const uint8_t *text, const uint64_t *offsets,
                              const uint32_t *ids, const uint8_t *flags, size_t count, const dat_nfc *nfc);
void dat_specials_clear(dat_specials *specials);

typedef struct {
    const uint8_t *start, *stop; /* what the match takes */
    uint32_t index;              /* of the token */
} dat_match;

/* The first match at or after `done`, the end of the match before, in the text [begin, end); 0 if there is none. Time is
 * linear in the text times the longest token at worst. */
int dat_next_special(const dat_specials *specials, const dat_matcher *matcher, const dat_unicode *unicode,
                     const uint8_t *begin, const uint8_t *done, const uint8_t *end, dat_match *match);

#endif
