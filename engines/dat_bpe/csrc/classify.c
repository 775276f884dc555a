#include "classify.h"

#include <string.h>

static uint8_t class_of_category(unsigned category)
{
    switch (category) {
    case GC_LU: case GC_LT: return DAT_UPPER;
    case GC_LL: return DAT_LOWER;
    case GC_LM: case GC_LO: return DAT_CASELESS;
    case GC_MC: case GC_ME: case GC_MN: return DAT_MARK;
    case GC_ND: case GC_NL: case GC_NO: return DAT_NUMBER;
    default: return DAT_OTHER;
    }
}

static uint8_t kind_of_category(unsigned category)
{
    switch (class_of_category(category)) {
    case DAT_UPPER: case DAT_LOWER: case DAT_CASELESS: return DAT_KIND_LETTER;
    case DAT_MARK: return DAT_KIND_MARK;
    case DAT_NUMBER: return DAT_KIND_NUMBER;
    default: break;
    }
    switch (category) {
    case GC_PC: case GC_PD: case GC_PE: case GC_PF: case GC_PI: case GC_PO: case GC_PS:
    case GC_SC: case GC_SK: case GC_SM: case GC_SO: return DAT_KIND_SYMBOL;
    default: return DAT_KIND_OTHER;
    }
}

/* Bytes that print as Latin-1 stand for themselves; the others take U+0100, U+0101 … in their order. */
static int prints(unsigned byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

uint32_t dat_byte_character(uint8_t byte)
{
    if (prints(byte)) {
        return byte;
    }
    uint32_t point = 0x100;
    for (unsigned before = 0; before < byte; before++) {
        point += !prints(before);
    }
    return point;
}

void dat_classes_init(dat_classes *classes, const dat_unicode *unicode)
{
    memset(classes, 0, sizeof *classes);
    classes->unicode = unicode;
    for (unsigned category = 0; category < DAT_CATEGORIES; category++) {
        classes->of_category[category] = class_of_category(category);
        classes->of_category[category | DAT_WHITE_SPACE] = DAT_SPACE;
        classes->kind_of_category[category] = kind_of_category(category);
        classes->kind_of_category[category | DAT_WHITE_SPACE] = DAT_KIND_SPACE;
    }
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t point = byte < 0x80 ? byte : dat_byte_character((uint8_t)byte);
        uint8_t category = dat_category_of(unicode, point);
        classes->of_byte[byte] = classes->of_category[category];
        classes->kind_of_byte[byte] = classes->kind_of_category[category];
    }
    classes->of_byte['\n'] = classes->of_byte['\r'] = DAT_NEWLINE;
    classes->kind_of_byte['\n'] = classes->kind_of_byte['\r'] = DAT_KIND_NEWLINE;
}
