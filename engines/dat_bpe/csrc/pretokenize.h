/* Stage pretokenize: the published splitting patterns as state machines. */
#ifndef DAT_PRETOKENIZE_H
#define DAT_PRETOKENIZE_H

#include "classify.h"
#include "trace.h"

typedef enum { DAT_GPT2, DAT_CL100K, DAT_O200K, DAT_DEEPSEEK } dat_family;

typedef enum { DAT_NO_CONTRACTIONS, DAT_EXACT_CONTRACTIONS, DAT_FOLDED_CONTRACTIONS } dat_contractions;

typedef struct {
    dat_family family;
    dat_contractions contractions;
    unsigned digits;       /* longest run of \p{N} in a piece; 0: any */
    int marks_are_letters; /* [\p{L}\p{M}]+ for \p{L}+ (cl100k family only) */
    int trailing_blanks;   /* \s++$ stands before \s*[\r\n] (cl100k family only) */
} dat_pattern;

/* The alternative that made a piece. */
enum dat_rule {
    DAT_RULE_CONTRACTION, DAT_RULE_LETTERS, DAT_RULE_NUMBERS, DAT_RULE_SYMBOLS,
    DAT_RULE_NEWLINES, DAT_RULE_BLANKS_BEFORE, DAT_RULE_BLANKS,
    DAT_RULE_GAP,        /* what no alternative takes */
    DAT_RULE_EXPRESSION  /* the general path: the event's value is the alternative, DAT_NONE for a gap */
};

typedef struct {
    const uint8_t *end; /* of the segment: specials cut a document, and a pattern sees the cut as the end */
    const dat_classes *classes;
    const dat_pattern *pattern;
    dat_trace *trace;
} dat_text;

/* The end of the piece that starts at p (p < text->end). Linear: over a whole text no character is looked at more
 * than a fixed number of times. */
const uint8_t *dat_next_piece(const dat_text *text, const uint8_t *p);

/* DeepSeek V3's three splits in one (pretokenize_deepseek.c); *rule is set. */
const uint8_t *dat_deepseek_piece(const dat_text *text, const uint8_t *p, enum dat_rule *rule);

#ifdef DAT_TRACE
/* Records the piece p..stop and the scan decisions in it that are not recorded yet. */
void dat_record_piece(const dat_text *text, const uint8_t *p, const uint8_t *stop, enum dat_rule rule,
                      uint32_t alternative);
#endif

#endif
