/* General category and White_Space of every code point, one two-stage table a Unicode version. */
#ifndef DAT_UNICODE_TABLES_H
#define DAT_UNICODE_TABLES_H

#include <stdint.h>

enum { DAT_UNICODE_VERSIONS = 4, DAT_UNICODE_SHIFT = 7, DAT_CODE_POINTS = 0x110000 };
enum { DAT_WHITE_SPACE = 32, DAT_CATEGORY_MASK = 31, DAT_CATEGORIES = 30 };

/* The order of dat_category_names. */
enum dat_category {
    GC_CC, GC_CF, GC_CN, GC_CO, GC_CS, GC_LL, GC_LM, GC_LO, GC_LT, GC_LU, GC_MC, GC_ME, GC_MN, GC_ND, GC_NL,
    GC_NO, GC_PC, GC_PD, GC_PE, GC_PF, GC_PI, GC_PO, GC_PS, GC_SC, GC_SK, GC_SM, GC_SO, GC_ZL, GC_ZP, GC_ZS
};

typedef struct {
    const char *name; /* "16.0" */
    const uint16_t *index;
    const uint8_t (*blocks)[1 << DAT_UNICODE_SHIFT];
    uint64_t digest; /* the first eight bytes of the SHA-256 over a byte a code point */
} dat_unicode;

extern const dat_unicode dat_unicode_versions[DAT_UNICODE_VERSIONS];
extern const char dat_category_names[DAT_CATEGORIES][3];

/* Category index, plus DAT_WHITE_SPACE. `point` must be at most U+10FFFF. */
static inline uint8_t dat_category_of(const dat_unicode *unicode, uint32_t point)
{
    uint32_t low = point & ((1u << DAT_UNICODE_SHIFT) - 1u);
    return unicode->blocks[unicode->index[point >> DAT_UNICODE_SHIFT]][low];
}

#endif
