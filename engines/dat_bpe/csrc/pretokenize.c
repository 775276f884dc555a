#include "pretokenize.h"

#ifdef DAT_TRACE
static void record_scan(const dat_text *text, const uint8_t *p, uint32_t value, unsigned width)
{
    dat_trace *trace = text->trace;
    if (trace == NULL || p < trace->seen) {
        return;
    }
    trace->seen = p + width;
    int ill = (value & DAT_ILL_FORMED) != 0;
    uint32_t point = ill ? dat_byte_character(*p) : value;
    dat_trace_add(trace, (dat_event){
        .stage = DAT_STAGE_SCAN, .path = (uint8_t)(ill ? 5 : width), .proposed = (uint8_t)dat_proposed_width(*p),
        .accepted = (uint8_t)width, .category = dat_category_of(text->classes->unicode, point),
        .value = value & ~DAT_ILL_FORMED, .offset = DAT_AT(trace, p), .next = DAT_AT(trace, p + width)});
}

void dat_record_piece(const dat_text *text, const uint8_t *p, const uint8_t *stop, enum dat_rule rule,
                      uint32_t alternative)
{
    uint32_t value;
    for (const uint8_t *q = p; q < stop;) {
        unsigned width = dat_scan(q, text->end, &value);
        record_scan(text, q, value, width);
        q += width;
    }
    DAT_RECORD(text->trace, .stage = DAT_STAGE_PRETOKENIZE, .rule = (uint8_t)rule, .value = alternative,
               .offset = DAT_AT(text->trace, p), .next = DAT_AT(text->trace, stop));
}
#else
#define record_scan(text, p, value, width) ((void)0)
#endif

/* Class and width of what stands at p; class 0 and width 0 at the end. */
static inline unsigned peek(const dat_text *text, const uint8_t *p, unsigned *width)
{
    if (p >= text->end) {
        *width = 0;
        return 0;
    }
#ifndef DAT_TRACE
    if (*p < 0x80) {
        *width = 1;
        return text->classes->of_byte[*p];
    }
#endif
    uint32_t value;
    *width = dat_scan(p, text->end, &value);
    record_scan(text, p, value, *width);
    if (PLANTED(32, value > (DAT_ILL_FORMED | 0xF4), 0)) {
        __builtin_trap(); /* "no byte above F4 comes here" */
    }
    return dat_class(text->classes, value);
}

static inline const uint8_t *run(const dat_text *text, const uint8_t *p, unsigned set)
{
    unsigned width;
    while (peek(text, p, &width) & set) {
        p += width;
    }
    return p;
}

/* At most `most` characters of the set; 0: any number. */
static inline const uint8_t *run_at_most(const dat_text *text, const uint8_t *p, unsigned set, unsigned most)
{
    unsigned width;
    for (unsigned count = 0; (most == 0 || count < most) && (peek(text, p, &width) & set); count++) {
        p += width;
    }
    return p;
}

/* Bytes of 's 't 're 've 'm 'll 'd at p, or 0. Folded, U+017F LATIN SMALL LETTER LONG S is an s: it is the only
 * character outside ASCII whose simple case folding is one of these letters. */
static inline unsigned contraction(const dat_text *text, const uint8_t *p)
{
    dat_contractions kind = text->pattern->contractions;
    size_t left = (size_t)(text->end - p);
    if (kind == DAT_NO_CONTRACTIONS || left < 2 || *p != '\'') {
        return 0;
    }
    uint8_t fold = kind == DAT_FOLDED_CONTRACTIONS ? 0x20 : 0;
    uint8_t first = p[1] | fold, second = left > 2 ? p[2] | fold : 0;
    switch (first) {
    case 's': case 't': case 'm': case 'd': return 2;
    case 'l': return second == 'l' ? 3 : 0;
    case 'r': case 'v': return second == 'e' ? 3 : 0;
    default: return fold && left > 2 && p[1] == 0xC5 && p[2] == 0xBF ? 3 : 0;
    }
}

/* \s+(?!\S)|\s+ with, outside GPT-2, \s*[\r\n]+ before it. p stands on a blank. The run is read to its end; then
 * - with newlines: the piece ends after the last newline (\s* gives back until [\r\n]+ can match);
 * - at the end of the text: the whole run;
 * - before something else: all but the last character, unless it is the only one. */
static const uint8_t *blanks(const dat_text *text, const uint8_t *p, int newlines, enum dat_rule *rule)
{
    const uint8_t *stop = p, *last = p, *line = NULL;
    unsigned width, class;
    while ((class = peek(text, stop, &width)) & DAT_BLANK) {
        last = stop;
        stop += width;
        if (class & DAT_NEWLINE) {
            line = stop;
        }
    }
    int at_end = stop == text->end;
    if (newlines && line != NULL && !(text->pattern->trailing_blanks && at_end)) {
        *rule = DAT_RULE_NEWLINES;
        return line;
    }
    if (at_end || last == p) {
        *rule = at_end ? DAT_RULE_BLANKS_BEFORE : DAT_RULE_BLANKS;
        return stop;
    }
    *rule = DAT_RULE_BLANKS_BEFORE;
    return last;
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
static inline const uint8_t *gpt2(const dat_text *text, const uint8_t *p, enum dat_rule *rule)
{
    unsigned width;
    const uint8_t *q = p;
    if (*p == '\'') {
        unsigned size = contraction(text, p);
        if (size) {
            *rule = DAT_RULE_CONTRACTION;
            return p + size;
        }
    } else if (*p == ' ') {
        q = p + 1;
        (void)peek(text, p, &width); /* for the trace */
    }
    unsigned class = peek(text, q, &width);
    if (class & DAT_LETTER) {
        *rule = DAT_RULE_LETTERS;
        return run(text, q + width, DAT_LETTER);
    }
    if (class & DAT_NUMBER) {
        *rule = DAT_RULE_NUMBERS;
        return run(text, q + width, DAT_NUMBER);
    }
    if (class & DAT_SYMBOL) {
        *rule = DAT_RULE_SYMBOLS;
        return run(text, q + width, DAT_SYMBOL);
    }
    return blanks(text, p, 0, rule);
}

/* The rest of cl100k and o200k once no word starts at p, whose class is given:
 * \p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ (o200k: [\r\n/]*). */
static inline const uint8_t *no_word(const dat_text *text, const uint8_t *p, unsigned class, unsigned width,
                                     unsigned symbols, enum dat_rule *rule)
{
    if (class & DAT_NUMBER) {
        unsigned digits = text->pattern->digits;
        *rule = DAT_RULE_NUMBERS;
        return digits == 1 ? p + width : run_at_most(text, p + width, DAT_NUMBER, digits ? digits - 1 : 0);
    }
    const uint8_t *q = p;
    if (*p == ' ') {
        q = p + 1;
        class = peek(text, q, &width);
    }
    if (class & symbols) {
        *rule = DAT_RULE_SYMBOLS;
        q = run(text, q + width, symbols);
        int slashes = text->pattern->family == DAT_O200K;
        while (q < text->end && (*q == '\r' || *q == '\n' || (slashes && *q == '/'))) {
            (void)peek(text, q, &width);
            q++;
        }
        return q;
    }
    return blanks(text, p, 1, rule);
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+ and no_word. With marks_are_letters \p{L}+ is
 * [\p{L}\p{M}]+ and the symbols exclude marks; the optional character before a word still may be a mark, which
 * changes nothing: the word would take it too. */
static inline const uint8_t *cl100k(const dat_text *text, const uint8_t *p, enum dat_rule *rule)
{
    unsigned marks = text->pattern->marks_are_letters ? DAT_MARK : 0;
    unsigned letters = DAT_LETTER | marks, symbols = DAT_SYMBOL & ~marks;
    unsigned width, after;
    unsigned class = peek(text, p, &width);
    if (class & letters) {
        *rule = DAT_RULE_LETTERS;
        return run(text, p + width, letters);
    }
    if (*p == '\'') {
        unsigned size = contraction(text, p);
        if (size) {
            *rule = DAT_RULE_CONTRACTION;
            return p + size;
        }
    }
    if (class & (DAT_SPACE | DAT_SYMBOL)) {
        const uint8_t *q = p + width;
        if (peek(text, q, &after) & letters) {
            *rule = DAT_RULE_LETTERS;
            return run(text, q + after, letters);
        }
    }
    return no_word(text, p, class, width, symbols, rule);
}

/* The end of [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ at q, or NULL. The first part is greedy: it
 * takes the whole run of characters that may be upper case. If a lower-case letter follows, the second part goes on
 * from there. If not, the first part gives back until the second can take one character: the last of the run that
 * is caseless; what follows that one is upper case, so the match ends there. */
static inline const uint8_t *lower_word(const dat_text *text, const uint8_t *q, const uint8_t **upper_end)
{
    const unsigned caseless = DAT_CASELESS | DAT_MARK;
    const uint8_t *last = NULL;
    unsigned width, class;
    while ((class = peek(text, q, &width)) & (DAT_UPPER | caseless)) {
        q += width;
        if (class & caseless) {
            last = q;
        }
    }
    *upper_end = q;
    return class & DAT_LOWER ? run(text, q + width, DAT_LOWER | caseless) : last;
}

/* o200k's two word alternatives, each with [^\r\n\p{L}\p{N}]? before and the contractions after, and no_word. The
 * first alternative is tried with the optional character, then without (which can only succeed where that
 * character is a mark, and then takes just it); then the second alternative: the run of upper case alone. */
static inline const uint8_t *o200k(const dat_text *text, const uint8_t *p, enum dat_rule *rule)
{
    unsigned width;
    unsigned class = peek(text, p, &width);
    int prefix = (class & (DAT_SPACE | DAT_SYMBOL)) != 0;
    if (prefix || (class & DAT_LETTER)) {
        const uint8_t *upper_end, *q = prefix ? p + width : p;
        const uint8_t *stop = lower_word(text, q, &upper_end);
        if (stop == NULL && (class & DAT_MARK)) {
            stop = p + width;
        }
        if (stop == NULL && upper_end > q) {
            stop = upper_end;
        }
        if (stop != NULL) {
            *rule = DAT_RULE_LETTERS;
            return stop < text->end ? stop + contraction(text, stop) : stop;
        }
    }
    return no_word(text, p, class, width, DAT_SYMBOL, rule);
}

const uint8_t *dat_next_piece(const dat_text *text, const uint8_t *p)
{
    enum dat_rule rule = DAT_RULE_LETTERS;
    const uint8_t *stop;
    switch (text->pattern->family) {
    case DAT_GPT2: stop = gpt2(text, p, &rule); break;
    case DAT_CL100K: stop = cl100k(text, p, &rule); break;
    case DAT_DEEPSEEK: stop = dat_deepseek_piece(text, p, &rule); break;
    default: stop = o200k(text, p, &rule); break;
    }
    /* Never empty, even if another thread changes the text under us: a caller's loop must end. */
    stop += stop == p;
#ifdef DAT_TRACE
    /* What was read as bytes, without a decision, is recorded here: contractions, and all of DeepSeek's. */
    dat_record_piece(text, p, stop, rule, 0);
#endif
    return stop;
}
