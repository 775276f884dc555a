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

typedef struct {
    const dat_unicode *unicode;
    uint8_t of_category[64]; /* by the byte of the two-stage table */
    uint8_t of_byte[256];    /* below 0x80 the class of ASCII; above, that of an ill-formed byte */
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

#endif
