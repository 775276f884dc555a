/* A segment of text to ids: pieces are found many at once, cut, and looked up in the cache. */
#ifndef DAT_SEGMENT_H
#define DAT_SEGMENT_H

#include "piece.h"

/* Appends the ids of [p, end), which no special token stands in; `limit` (>= end) is where reading must stop. */
dat_status dat_segment(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *p, const uint8_t *end,
                       const uint8_t *limit, dat_ids *out, dat_trace *trace);

typedef struct {
    const uint8_t *data;
    size_t size;
} dat_document;

/* Documents longer than this are encoded one by one. */
enum { DAT_MANY_BYTES = 256 };

/* Appends the ids of some short documents, *taken of them from the first on (none if that one is too long), and writes how
 * many ids there are with each. No special token is looked for, and nothing is normalized; the machine's patterns only. */
dat_status dat_many(const dat_vocab *vocab, dat_scratch *scratch, const dat_document *documents, size_t count,
                    dat_ids *out, uint64_t *offsets, size_t *taken);

/* The ends of the pieces of [p, end), before cuts, as offsets from p, found as a segment's are: for tests. */
dat_status dat_piece_ends(const dat_vocab *vocab, dat_scratch *scratch, dat_level level, const uint8_t *p,
                          const uint8_t *end, dat_ids *ends);

#endif
