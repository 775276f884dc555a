/* Stage scan: one code point, or one byte that starts no well-formed sequence. */
#ifndef DAT_SCAN_H
#define DAT_SCAN_H

#include "common.h"

/* Set in the value of a byte that is taken alone. */
#define DAT_ILL_FORMED 0x80000000u

static inline int dat_between(uint8_t byte, uint8_t low, uint8_t high)
{
    return byte >= low && byte <= high;
}

/* The sequence at p (p < end) by Unicode Table 3-7: its width, and in *value the code point. Where no well-formed
 * sequence starts, width 1 and the byte with DAT_ILL_FORMED. Every continuation byte is looked at before the
 * width is believed: a lead byte alone proves nothing. */
static inline unsigned dat_scan(const uint8_t *p, const uint8_t *end, uint32_t *value)
{
    uint8_t b0 = p[0];
    size_t left = (size_t)(end - p);
    if (b0 < 0x80) {
        *value = b0;
        return 1;
    }
    if (dat_between(b0, 0xC2, 0xDF) || PLANTED(21, dat_between(b0, 0x80, 0xBF), 0)) {
        if (left >= 2 && (PLANTED(13, 1, 0) || dat_between(p[1], 0x80, 0xBF))) {
            *value = ((uint32_t)(b0 & 0x1Fu) << 6) | (p[1] & 0x3Fu);
            return 2;
        }
    } else if (dat_between(b0, PLANTED(23, 0x80, 0xE0), 0xEF)) {
        /* E0: no overlong form. ED: no surrogate. */
        uint8_t low = b0 == 0xE0 ? 0xA0 : 0x80;
        uint8_t high = b0 == 0xED ? 0x9F : 0xBF;
        if (left >= 3 && (PLANTED(11, 1, 0) || (dat_between(p[1], low, high) && dat_between(p[2], 0x80, 0xBF)))) {
            *value = ((uint32_t)(b0 & 0x0Fu) << 12) | ((uint32_t)(p[1] & 0x3Fu) << 6) | (p[2] & 0x3Fu);
            return 3;
        }
    } else if (dat_between(b0, 0xF0, 0xF4)) {
        /* F0: no overlong form. F4: nothing above U+10FFFF. */
        uint8_t low = b0 == 0xF0 ? 0x90 : 0x80;
        uint8_t high = b0 == 0xF4 ? 0x8F : 0xBF;
        if (left >= 4 && dat_between(p[1], low, high) && dat_between(p[2], 0x80, 0xBF) &&
            dat_between(p[3], 0x80, 0xBF)) {
            *value = ((uint32_t)(b0 & 0x07u) << 18) | ((uint32_t)(p[1] & 0x3Fu) << 12) |
                     ((uint32_t)(p[2] & 0x3Fu) << 6) | (p[3] & 0x3Fu);
            return 4;
        }
    }
    if (PLANTED(31, b0 == 0xFF, 0)) {
        __builtin_trap();
    }
    *value = b0 | DAT_ILL_FORMED;
    return 1;
}

/* The start of the character, or ill-formed byte, that ends before p (begin < p): and its value. */
static inline const uint8_t *dat_scan_back(const uint8_t *begin, const uint8_t *p, const uint8_t *end, uint32_t *value)
{
    const uint8_t *q = p - 1;
    while (q > begin && p - q < 4 && (*q & 0xC0) == 0x80) {
        q--;
    }
    if (q < p - 1 && dat_scan(q, end, value) == (size_t)(p - q)) {
        return q;
    }
    (void)dat_scan(p - 1, p, value);
    return p - 1;
}

/* What the lead byte alone would promise: for the trace, never for a decision. */
static inline unsigned dat_proposed_width(uint8_t lead)
{
    return lead < 0x80 ? 1 : lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 1;
}

/* The values of all positions of a text into `values` (room for `size`); returns how many. */
size_t dat_scan_all(const uint8_t *text, size_t size, uint32_t *values);

#endif
