/* What NFC and word boundaries need of the Unicode Character Database, a version each where they differ. */
#ifndef DAT_NFC_TABLES_H
#define DAT_NFC_TABLES_H

#include <assert.h>
#include <stdint.h>

enum { DAT_NFC_POINTS = 2081, DAT_NFC_COMPOSITES = 961, DAT_WORD_RANGES = 25, DAT_NFC_LIMIT = 0x30000 };

/* Flags of a kind. */
enum {
    DAT_NFC_JOINS = 1,     /* no boundary: its NFC may depend on what stands before it */
    DAT_NFC_MAYBE = 2,     /* it may be joined with what stands before it */
    DAT_NFC_CHANGES = 4,   /* NFC of it alone is something else */
    DAT_NFC_DECOMPOSES = 8
};

typedef struct {
    uint8_t combining; /* canonical combining class */
    uint8_t flags;
} dat_nfc_kind;

typedef struct {
    const uint8_t *indexes;        /* of a block: code point >> 7, below DAT_NFC_LIMIT */
    const uint8_t (*blocks)[128];  /* the number of a kind; 0 is class 0 without a flag */
    uint8_t version;
} dat_nfc;

typedef struct {
    uint32_t first, second, point;
    uint32_t since; /* the first version that has it */
} dat_composite;

typedef struct {
    uint32_t first, last;
} dat_range;

extern const dat_nfc dat_nfc_versions[];    /* in the order of dat_unicode_versions */
extern const dat_nfc_kind dat_nfc_kinds[];
extern const uint64_t dat_nfc_calm[1024]; /* a bit a code point below U+10000: a boundary, and unchanged by NFC */
extern const uint32_t dat_nfc_points[DAT_NFC_POINTS];     /* what decomposes, ascending */
extern const uint16_t dat_nfc_starts[DAT_NFC_POINTS + 1]; /* where its full decomposition begins */
extern const uint32_t dat_nfc_parts[];
extern const dat_composite dat_nfc_composites[DAT_NFC_COMPOSITES]; /* by first, then second */
extern const dat_range dat_word_ranges[DAT_WORD_RANGES]; /* of \w, what the general categories do not say */

static inline dat_nfc_kind dat_nfc_of(const dat_nfc *nfc, uint32_t point)
{
    return dat_nfc_kinds[point < DAT_NFC_LIMIT ? nfc->blocks[nfc->indexes[point >> 7]][point & 127] : 0];
}

#endif
