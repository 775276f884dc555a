/* A document, or many, to ids: the stages in their order. */
#ifndef DAT_ENCODE_H
#define DAT_ENCODE_H

#include "segment.h"

/* For several threads a long document is cut into parts of at least DAT_PART_BYTES, whose ids fit into the second-level cache
 * where they wait for their place. */
enum { DAT_CACHE_BITS_MOST = 24, DAT_PART_BYTES = 1 << 18 };

dat_status dat_scratch_init(dat_scratch *scratch, dat_settings settings);
void dat_scratch_clear(dat_scratch *scratch);

/* An id whose bytes in the document are not its token's own after the id before: a special token (two may share an id,
 * and a match may take blanks), or text that a normalizer or a prefix space changed. */
typedef struct {
    size_t index;      /* of the id */
    size_t start, end; /* bytes of the document */
} dat_mark;

typedef struct {
    dat_mark *items;
    size_t count, room;
} dat_marks;

void dat_marks_clear(dat_marks *marks);

/* Byte spans (start, end) of the ids of one document: those of the marks, and from there on each id its own bytes. */
void dat_spans(const dat_vocab *vocab, const uint32_t *ids, size_t count, const dat_marks *marks, uint64_t *spans);

/* Appends the ids of a document, and to marks (or NULL) what dat_spans needs. specials: whether added tokens are
 * matched. trace: NULL, or (trace build) where decisions go; then no cache and no proved short cut is used, so that
 * every merge is seen. */
dat_status dat_encode(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *document, size_t size,
                      int specials, dat_ids *out, dat_marks *marks, dat_trace *trace);

/* Appends the ids of all documents in order to `values`, and writes offsets[count + 1]. `scratches` has one a thread;
 * threads >= 1. The result does not depend on the number of threads. */
dat_status dat_encode_batch(const dat_vocab *vocab, dat_scratch **scratches, size_t threads,
                            const dat_document *documents, size_t count, int specials, dat_ids *values,
                            uint64_t *offsets);

#endif
