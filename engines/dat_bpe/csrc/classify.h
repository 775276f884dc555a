/* Stage classify: what a pretokenizer needs to know of a code point or of an ill-formed byte. */
#ifndef DAT_CLASSIFY_H
#define DAT_CLASSIFY_H

#include "scan.h"
#include "unicode_tables.h"

/* One bit a class, so that a set of classes is a mask and membership one test. Every class is one bit exactly;
 * 0 is the end of the text, which is in no set. */
enum {
    DAT_UPPER = 1,    /* Lu Lt */
    DAT_LOWER = 2,    /* Ll */
    DAT_CASELESS = 4, /* Lm Lo */
    DAT_MARK = 8,     /* Mn Mc Me */
    DAT_NUMBER = 16,  /* Nd Nl No */
    DAT_SPACE = 32,   /* White_Space but CR and LF */
    DAT_NEWLINE = 64, /* CR LF */
    DAT_OTHER = 128,
    DAT_LETTER = DAT_UPPER | DAT_LOWER | DAT_CASELESS,
    DAT_BLANK = DAT_SPACE | DAT_NEWLINE,
    DAT_SYMBOL = DAT_OTHER | DAT_MARK /* [^\s\p{L}\p{N}] */
};

/* The classes of the patterns that tell punctuation and symbols from all the rest: again one bit each. */
enum {
    DAT_KIND_LETTER = 1,  /* L */
    DAT_KIND_MARK = 2,    /* M */
    DAT_KIND_NUMBER = 4,  /* N */
    DAT_KIND_SYMBOL = 8,  /* P S */
    DAT_KIND_SPACE = 16,  /* White_Space but CR and LF */
    DAT_KIND_NEWLINE = 32,
    DAT_KIND_OTHER = 64,  /* C, as far as it is no White_Space */
    DAT_KIND_CJK = 128    /* beside one of the others: U+3040..30FF and U+4E00..9FA5 */
};

typedef struct {
    const dat_unicode *unicode;
    uint8_t of_category[64]; /* by the byte of the two-stage table */
    uint8_t of_byte[256];    /* below 0x80 the class of ASCII; above, that of an ill-formed byte */
    uint8_t kind_of_category[64], kind_of_byte[256];
} dat_classes;

void dat_classes_init(dat_classes *classes, const dat_unicode *unicode);

/* The character that GPT-2's byte alphabet gives a byte. */
uint32_t dat_byte_character(uint8_t byte);

static inline unsigned dat_class(const dat_classes *classes, uint32_t value)
{
    if (value & DAT_ILL_FORMED) {
        return classes->of_byte[value & 0xFFu];
    }
    /* CR and LF are ASCII: no code point above needs the exception that tells them from other spaces. */
    return value < 0x80 ? classes->of_byte[value] : classes->of_category[dat_category_of(classes->unicode, value)];
}

static inline unsigned dat_kind(const dat_classes *classes, uint32_t value)
{
    if (value & DAT_ILL_FORMED) {
        return classes->kind_of_byte[value & 0xFFu]; /* the byte alphabet ends before U+3040 */
    }
    if (value < 0x80) {
        return classes->kind_of_byte[value];
    }
    unsigned cjk = value - 0x3040u <= 0x30FFu - 0x3040u || value - 0x4E00u <= 0x9FA5u - 0x4E00u ? DAT_KIND_CJK : 0;
    return classes->kind_of_category[dat_category_of(classes->unicode, value)] | cjk;
}

#endif
