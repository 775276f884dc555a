/* Greedy longest match over a CRAY double array: at each offset the longest token that starts there. Not BPE. */
#ifndef CRAY_GREEDY_H
#define CRAY_GREEDY_H

#include "common.h"

/* The three arrays of a file, as they lie in it. They may hold anything: every index is guarded before it is used. */
typedef struct {
    const int32_t *base, *check, *values; /* values: below 0: no token ends here */
    uint32_t count;                       /* slots of each array, 1 to INT32_MAX; slot 0 is the root */
} cray_trie;

typedef enum {
    CRAY_REFUSE, /* a byte at which no token starts ends the encoding */
    CRAY_BYTES,  /* it becomes the id extra + byte */
    CRAY_UNKNOWN /* it becomes the id extra, and is lost */
} cray_unmatched;

typedef struct {
    cray_trie trie;
    cray_unmatched unmatched;
    uint32_t extra;
} cray_engine;

typedef struct {
    const uint8_t *data;
    size_t size;
} cray_document;

/* One step: the slot after byte c from slot s (< count), or 0 where there is none. The root is no slot to step to:
 * each slot has one parent, so without the root no content of the arrays makes a circle that a walk could enter. */
static inline uint32_t cray_step(const cray_trie *trie, uint32_t s, uint8_t c)
{
    uint32_t t = (uint32_t)trie->base[s] + c;
    /* t - 1 wraps for the root: one comparison refuses 0, everything past the end, and all that is negative. */
    return t - 1 < trie->count - 1 && trie->check[t] == (int32_t)s ? t : 0;
}

/* Encodes from text[*at] on into out[*made], out[*made + 1], ...; lengths (NULL: not wanted) gets the number of bytes
 * of each. Stops at the end, or where `room` ids are made: *at and *made say how far it came. DAT_MISSING_BYTE: no
 * token starts at *at. */
dat_status cray_encode(const cray_engine *engine, const uint8_t *text, size_t size, size_t *at, uint32_t *out,
                       uint32_t *lengths, size_t room, size_t *made);

/* A whole document, appended; lengths may be NULL. `*at` is where it stopped, the end but for DAT_MISSING_BYTE. */
dat_status cray_encode_whole(const cray_engine *engine, const cray_document *document, dat_ids *ids,
                             dat_ids *lengths, size_t *at);

/* All documents over several threads: values are appended, offsets[count + 1] written. DAT_MISSING_BYTE: *bad is a
 * document that has such a byte, *place the offset in it. */
dat_status cray_encode_batch(const cray_engine *engine, const cray_document *documents, size_t count,
                             size_t threads, dat_ids *values, uint64_t *offsets, size_t *bad, size_t *place);

#endif
