#include "pretokenize.h"

/* DeepSeek V3's pretokenizer is three splits, each applied to the pieces of the one before:
 *
 *     \p{N}{1,3}
 *     [一-龥぀-ゟ゠-ヿ]+
 *     [!-/:-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * (the first class of the third stands for ASCII punctuation, spelled out). So numbers go by threes, and what is
 * left is cut into runs inside and outside of the two CJK ranges; each run is a text of its own for the third, whose
 * look-ahead ends where the run does. No piece crosses a cut, so the kind of the character that a piece starts with
 * says which run it is in: "the other side of a cut" and the text's end are one thing below, kind 0. */

static inline unsigned kind_at(const dat_text *text, const uint8_t *p, unsigned *width)
{
    if (p >= text->end) {
        *width = 0;
        return 0;
    }
    if (*p < 0x80) {
        *width = 1;
        return text->classes->kind_of_byte[*p];
    }
    uint32_t value;
    *width = dat_scan(p, text->end, &value);
    return dat_kind(text->classes, value);
}

/* The kind of what stands at p as seen from the side (0 or DAT_KIND_CJK) of a cut: 0 beyond it. */
static inline unsigned seen(const dat_text *text, const uint8_t *p, unsigned side, unsigned *width)
{
    unsigned kind = kind_at(text, p, width);
    return (kind & DAT_KIND_NUMBER) || (kind & DAT_KIND_CJK) != side ? 0 : kind;
}

static inline const uint8_t *run_of(const dat_text *text, const uint8_t *p, unsigned side, unsigned set)
{
    unsigned width;
    while (seen(text, p, side, &width) & set) {
        p += width;
    }
    return p;
}

static inline int is_ascii_letter(uint8_t byte)
{
    return (uint8_t)((byte | 0x20) - 'a') < 26;
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ at a blank; no blank is CJK. As in pretokenize.c, but the run may end at a cut. */
static const uint8_t *blank_run(const dat_text *text, const uint8_t *p, enum dat_rule *rule)
{
    const uint8_t *stop = p, *last = p, *line = NULL;
    unsigned width, kind;
    while ((kind = seen(text, stop, 0, &width)) & (DAT_KIND_SPACE | DAT_KIND_NEWLINE)) {
        last = stop;
        stop += width;
        if (kind & DAT_KIND_NEWLINE) {
            line = stop;
        }
    }
    if (line != NULL) {
        *rule = DAT_RULE_NEWLINES;
        return line;
    }
    if (kind == 0 || last == p) {
        *rule = kind == 0 ? DAT_RULE_BLANKS_BEFORE : DAT_RULE_BLANKS;
        return stop;
    }
    *rule = DAT_RULE_BLANKS_BEFORE;
    return last;
}

/* A character of category C at p that no word follows at once: no alternative takes it. It is one piece with those
 * after it, up to the last, which may be the optional character before a word. */
static const uint8_t *gap_run(const dat_text *text, const uint8_t *p, unsigned side)
{
    const uint8_t *last = p;
    unsigned width, kind;
    while ((kind = seen(text, p, side, &width)) & DAT_KIND_OTHER) {
        last = p;
        p += width;
    }
    return kind & (DAT_KIND_LETTER | DAT_KIND_MARK) ? last : p;
}

const uint8_t *dat_deepseek_piece(const dat_text *text, const uint8_t *p, enum dat_rule *rule)
{
    const unsigned word = DAT_KIND_LETTER | DAT_KIND_MARK;
    unsigned width, after;
    unsigned kind = kind_at(text, p, &width);
    if (kind & DAT_KIND_NUMBER) {
        *rule = DAT_RULE_NUMBERS;
        for (int count = 0; count < 3 && (kind & DAT_KIND_NUMBER); count++) {
            p += width;
            kind = kind_at(text, p, &width);
        }
        return p;
    }
    const unsigned side = kind & DAT_KIND_CJK;
    *rule = DAT_RULE_LETTERS;
    if (kind & word) {
        return run_of(text, p + width, side, word);
    }
    if ((kind & DAT_KIND_SYMBOL) && *p < 0x80) {
        const uint8_t *q = p + 1;
        while (q < text->end && is_ascii_letter(*q)) {
            q++;
        }
        if (q > p + 1) {
            return q;
        }
    }
    if (kind & (DAT_KIND_SPACE | DAT_KIND_OTHER)) {
        const uint8_t *q = p + width;
        if (seen(text, q, side, &after) & word) {
            return run_of(text, q + after, side, word);
        }
    }
    if (kind & DAT_KIND_OTHER) {
        *rule = DAT_RULE_GAP;
        return gap_run(text, p, side);
    }
    const uint8_t *q = p;
    if (*p == ' ') {
        q++;
        kind = seen(text, q, side, &width);
    }
    if (kind & DAT_KIND_SYMBOL) {
        *rule = DAT_RULE_SYMBOLS;
        q = run_of(text, q + width, side, DAT_KIND_SYMBOL);
        while (side == 0 && q < text->end && (*q == '\r' || *q == '\n')) {
            q++;
        }
        return q;
    }
    return blank_run(text, p, rule);
}
