/* Stage normalize: NFC (UAX #15) of a stretch of a document. Text that is NFC already is neither changed nor copied. A
 * byte that starts no well-formed sequence is a starter that nothing combines with, and stays as it is. */
#ifndef DAT_NORMALIZE_H
#define DAT_NORMALIZE_H

#include "common.h"
#include "nfc_tables.h"

/* A chunk that changed: from a boundary to the next one. A boundary is the start of the text, an ill-formed byte, or a
 * character whose full decomposition begins with a starter that no composite has as its second part. */
typedef struct {
    size_t from, to; /* bytes of the text */
    size_t at, upto; /* bytes of its NFC */
} dat_edit;

/* A growing array of bytes. */
typedef struct {
    uint8_t *items;
    size_t count, room;
} dat_bytes;

dat_status dat_bytes_room(dat_bytes *bytes, size_t more);
void dat_bytes_clear(dat_bytes *bytes);

typedef struct {
    uint32_t point; /* or a byte with DAT_ILL_FORMED */
    uint32_t combining;
} dat_symbol;

/* What one thread works with; all zeros to begin with. */
typedef struct {
    dat_bytes text;  /* the NFC, if something changed */
    dat_bytes piece; /* of one chunk */
    dat_edit *edits; /* in order */
    size_t edit_count, edit_room;
    dat_symbol *symbols, *spare; /* [symbol_room] each */
    size_t symbol_count, symbol_room;
} dat_normal;

void dat_normal_clear(dat_normal *work);

/* The NFC of text[0, size) in *result and *result_size, and what changed in work->edits. With no edit the result is the
 * text itself; else it lies in `work` until its next use. Time is linear in the text. */
dat_status dat_normalize(const dat_nfc *nfc, dat_normal *work, const uint8_t *text, size_t size,
                         const uint8_t **result, size_t *result_size);

/* The bytes *from to *to of the text behind the bytes [start, end) of its NFC: of a chunk that changed all, of others
 * these very ones. */
void dat_origin(const dat_normal *work, size_t start, size_t end, size_t *from, size_t *to);

#endif
