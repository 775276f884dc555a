/* The read-only tables of an encoder: views into one block of memory, which was built here or is a mapped profile. Shared
 * by all threads, changed by none. */
#ifndef DAT_VOCAB_H
#define DAT_VOCAB_H

#include "cuts.h"
#include "dat.h"
#include "merge.h"
#include "pretokenize.h"
#include "profile.h"
#include "special.h"
#include "split.h"
#include "words.h"

/* What is done to the text between added tokens before it is split. */
typedef struct {
    const dat_nfc *nfc; /* NULL: no normalizer */
    int prefix_space;   /* a space goes before text that does not begin with one */
} dat_before;

/* Inside, a token is its index: ascending in order of merging (for ranks: of id), so that gaps and large ids cost
 * nothing. */
typedef struct {
    void *own;                     /* the block, if it was built here */
    const dat_profile *profile;    /* its head */
    const uint8_t *text;           /* all tokens joined, in order of index */
    const uint32_t *offsets;       /* [count + 1] */
    const uint32_t *ids;           /* of an index */
    const uint32_t *by_id;         /* indexes in ascending order of id; NULL: ids are ascending */
    size_t count, longest, text_size;
    int plain_ids;                 /* every id is its index */
    dat_trie trie;                 /* values: indexes */
    dat_merges merges;
    dat_words words, front;
    dat_cuts cuts;
    size_t unreachable;
    int ignore_merges;             /* a piece that is a token is that token, reachable or not */
    dat_specials specials;
    dat_before before;
    dat_classes classes;
    dat_pattern pattern;
    const dat_splitter *splitter;  /* lent, and set after the build: then it splits, and `pattern` does not */
} dat_vocab;

typedef struct {
    const uint8_t *text;
    const uint64_t *offsets; /* [count + 1] */
    const uint32_t *ids;     /* ascending */
    const uint8_t *flags;    /* of added tokens (special.h); NULL: none */
    size_t count;
} dat_token_list;

/* Merges in order of priority as indexes into the tokens: left, right, merged; NULL: two tokens whose joined bytes are a
 * token merge, the lowest id first. */
typedef struct {
    const uint32_t *triples; /* [count][3] */
    size_t count;
} dat_merge_list;

/* On failure the vocabulary is cleared, and *culprit is the byte or the index that the status speaks of. */
dat_status dat_vocab_build(dat_vocab *vocab, dat_token_list tokens, const dat_merge_list *merges,
                           dat_token_list specials, const dat_unicode *unicode, dat_pattern pattern, dat_before before,
                           int ignore_merges, size_t *culprit);

/* A vocabulary over the `size` bytes at `block` (aligned to 64), which stay the caller's and must outlive it. DAT_DAMAGED
 * where the head, an added token or a section's place is wrong; the other contents are not read. */
dat_status dat_vocab_view(dat_vocab *vocab, const void *block, size_t size);
void dat_vocab_clear(dat_vocab *vocab);

/* The bytes of a token; none for an index that there is not. */
static inline const uint8_t *dat_token(const dat_vocab *vocab, uint32_t index, size_t *size)
{
    return dat_merge_text(&vocab->merges, index, size);
}

/* The id of an index that comes from a table. */
static inline uint32_t dat_id(const dat_vocab *vocab, uint32_t index)
{
    return index < vocab->count ? vocab->ids[index] : 0;
}

#endif
