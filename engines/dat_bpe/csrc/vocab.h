/* The read-only tables of an encoder: shared by all its threads, changed by none. */
#ifndef DAT_VOCAB_H
#define DAT_VOCAB_H

#include "dat.h"
#include "merge.h"
#include "pretokenize.h"
#include "special.h"

/* What is done to text before it is cut into pieces. */
typedef struct {
    const dat_nfc *nfc; /* NULL: no normalizer */
    int prefix_space;   /* a space goes before a stretch that does not begin with one */
} dat_before;

/* Inside, a token is its index in ascending order of id: gaps and large ids cost nothing. */
typedef struct {
    uint8_t *text;     /* all tokens joined, in order of id */
    size_t *offsets;   /* [count + 1] */
    uint32_t *ids;     /* of an index */
    size_t count, longest;
    int plain_ids;     /* every id is its index */
    dat_trie trie;     /* values: indexes */
    dat_pairs pairs;
    uint32_t of_byte[256];
    uint32_t *of_two;  /* [65536] */
    dat_merges merges;
    uint8_t *reachable; /* whether merging a token's own bytes gives that token */
    size_t unreachable;
    int ignore_merges; /* a piece that is a token is that token, reachable or not */
    dat_before before;
    dat_specials specials;
    dat_classes classes;
    dat_pattern pattern;
} dat_vocab;

typedef struct {
    const uint8_t *text;
    const uint64_t *offsets; /* [count + 1] */
    const uint32_t *ids;     /* ascending */
    const uint8_t *flags;    /* of added tokens (special.h), or NULL */
    size_t count;
} dat_token_list;

/* On failure the vocabulary is cleared, and *culprit is the byte or the index that the status speaks of. */
dat_status dat_vocab_build(dat_vocab *vocab, dat_token_list tokens, dat_token_list specials,
                           const dat_unicode *unicode, dat_pattern pattern, dat_before before, int ignore_merges,
                           size_t *culprit);
void dat_vocab_clear(dat_vocab *vocab);

static inline const uint8_t *dat_token(const dat_vocab *vocab, uint32_t index, size_t *size)
{
    *size = vocab->offsets[index + 1] - vocab->offsets[index];
    return vocab->text + vocab->offsets[index];
}

#endif
