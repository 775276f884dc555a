/* Where pieces start, for up to 64 characters at once: each class a mask with one bit a character, each pattern a few
 * operations on them. Bit 0 is the first character of a piece: what stands before it does not matter to a pattern, which is
 * why a block may begin at any piece. Included by blocks.c. The scalar machines of pretokenize.c are the reference. */
#ifndef DAT_STARTS_H
#define DAT_STARTS_H

#include "pretokenize.h"

typedef struct {
    uint64_t upper, lower, caseless, mark, number, space, newline, other; /* one bit a class (classify.h) */
    uint64_t blank;      /* U+0020 */
    uint64_t slash;
    uint64_t short_, long_; /* an apostrophe that a contraction of one letter, or of two, may begin with */
    uint64_t valid;      /* the characters there are */
    uint64_t ascii, control, cjk; /* DeepSeek's alone: `other` has no category C there, and upper and lower are ASCII */
    unsigned count;
    int last;            /* the text ends with this block */
} dat_masks;

/* All bits below bit n, n <= 64. */
static inline uint64_t dat_below(unsigned n)
{
    return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

/* The first of the blanks that reach the block's end; count where its last character is none. */
static inline unsigned dat_trailing(uint64_t blanks, unsigned count)
{
    uint64_t others = ~blanks & dat_below(count);
    return others ? 64 - (unsigned)__builtin_clzll(others) : 0;
}

/* Starts among blanks, where a newline is a blank like others: the first of a run, and its last unless it ends the text. */
static inline uint64_t dat_blank_starts(uint64_t blanks, uint64_t valid)
{
    uint64_t next_known = valid >> 1;
    return blanks & (~(blanks << 1) | (~(blanks >> 1) & next_known));
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ after what a symbol run took of the newlines behind it. ends_text: behind these begins
 * a text of its own, so that the last blank there is no piece. */
static inline uint64_t dat_line_starts(const dat_masks *m, uint64_t symbols, uint64_t ends_text)
{
    uint64_t space = m->space, newline = m->newline, blanks = space | newline;
    /* Newlines right behind symbols belong to them: of each run of newlines, the whole if a symbol stands before it. */
    uint64_t taken = newline & (symbols << 1);
    taken = newline & ~(newline + taken);
    uint64_t starts = (newline & ~((blanks | symbols) << 1)) | (space & ~(blanks << 1));
    /* The last blank before something else, if it is no newline. */
    starts |= space & ~(blanks >> 1) & (m->valid >> 1) & ~ends_text;
    /* Spaces behind newlines: a piece of their own unless a newline follows them (then \s* gives back to that one) or
     * the newlines are a symbol's. */
    uint64_t behind = space & (newline << 1);
    if (behind) {
        uint64_t ends = (space + behind) & ~space & newline;
        starts |= behind;
        while (ends) {
            unsigned end = (unsigned)__builtin_ctzll(ends);
            ends &= ends - 1;
            uint64_t lower = ~space & dat_below(end);
            unsigned start = lower ? 64 - (unsigned)__builtin_clzll(lower) : 0;
            uint64_t bit = UINT64_C(1) << start;
            if ((bit & behind) && !((taken << 1) & bit)) {
                starts &= ~bit;
            }
        }
    }
    return starts;
}

/* Every third digit of a run begins a piece. */
static inline uint64_t dat_digit_starts(uint64_t number, unsigned digits)
{
    if (digits == 1) {
        return number;
    }
    uint64_t starts = number & ~(number << 1);
    if (digits == 3) {
        uint64_t long_ = number & (number << 1) & (number << 2) & (number << 3);
        for (uint64_t next = starts; (next = (next << 3) & long_) != 0;) {
            starts |= next;
        }
    }
    return starts;
}

static inline uint64_t dat_starts_gpt2(const dat_masks *m)
{
    uint64_t letter = m->upper | m->lower | m->caseless, number = m->number, symbol = m->other | m->mark;
    uint64_t free_ = symbol & ~((symbol | m->blank) << 1); /* a symbol that begins a piece */
    uint64_t one = m->short_ & free_, two = m->long_ & free_;
    uint64_t starts = letter & ~((letter | m->blank | one | two) << 1);
    starts |= number & ~((number | m->blank) << 1);
    starts |= free_ | dat_blank_starts(m->space | m->newline, m->valid);
    return starts | (letter & (one << 2 | two << 3));
}

static inline uint64_t dat_starts_cl100k(const dat_masks *m, const dat_pattern *pattern)
{
    uint64_t marks = pattern->marks_are_letters ? m->mark : 0;
    uint64_t letter = m->upper | m->lower | m->caseless | marks;
    uint64_t symbol = (m->other | m->mark) & ~marks;
    uint64_t free_ = symbol & ~((symbol | m->blank) << 1);
    uint64_t one = m->short_ & free_, two = m->long_ & free_;
    /* A blank or a symbol that begins a piece goes with the letters behind it. */
    uint64_t starts = letter & ~((letter | m->space | free_) << 1);
    starts |= dat_digit_starts(m->number, pattern->digits) | free_ | dat_line_starts(m, symbol, 0);
    return starts | (letter & (one << 2 | two << 3));
}

/* pretokenize_deepseek.c: numbers and the CJK ranges are cut off first, and what lies between two cuts is a text of its
 * own. `same`: no cut before the character. */
static inline uint64_t dat_starts_deepseek(const dat_masks *m, uint64_t *doubtful)
{
    uint64_t latin = m->upper | m->lower, word = latin | m->caseless | m->mark, symbol = m->other, control = m->control;
    uint64_t same = ~((m->number ^ (m->number << 1)) | (m->cjk ^ (m->cjk << 1)));
    uint64_t free_ = symbol & ~((symbol | m->blank) << 1 & same); /* a symbol that begins a piece */
    /* An ASCII symbol that does takes the ASCII letters behind it, and no others: what follows those begins a piece. */
    uint64_t tied = latin & (free_ & m->ascii) << 1;
    uint64_t behind = (latin + tied) & ~latin;
    uint64_t starts = word & (~((word | m->space | control) << 1 & same) | behind) & ~tied;
    /* What no alternative takes is one piece, but for the last character before a word. */
    starts |= (control & ~(control << 1 & same)) | (control & (word & same) >> 1);
    *doubtful = m->last ? 0 : control & ~(m->valid >> 1);
    starts |= dat_digit_starts(m->number, 3) | free_ | dat_line_starts(m, symbol & ~m->cjk, (m->number | m->cjk) >> 1);
    return starts | ~same;
}

/* Without marks, and with caseless letters only in runs of their own: *decided is where that stops to hold. */
static inline uint64_t dat_starts_o200k(const dat_masks *m, const dat_pattern *pattern, uint64_t *doubtful)
{
    uint64_t upper = m->upper, cased = upper | m->lower, letter = cased | m->caseless, symbol = m->other;
    uint64_t free_ = symbol & ~((symbol | m->blank) << 1);
    /* Behind a word, a contraction is part of it; elsewhere the apostrophe goes with the letters behind it. */
    uint64_t one = m->short_ & (letter << 1), two = m->long_ & (letter << 1);
    uint64_t after = one << 2 | two << 3;
    *doubtful = m->mark | (m->caseless & (cased << 1)) | (cased & (m->caseless << 1));
    /* A second contraction in a row: the first took the only one that a word may have. */
    *doubtful |= after & (m->short_ | m->long_);
    /* [\r\n/]* behind symbols: a slash behind a newline may be theirs. */
    *doubtful |= m->slash & (m->newline << 1);
    uint64_t starts = letter & ~((letter | m->space | free_) << 1);
    starts |= upper & (m->lower << 1);
    starts |= dat_digit_starts(m->number, pattern->digits) | free_ | dat_line_starts(m, symbol, 0);
    /* No piece begins inside of a contraction: not at its apostrophe, nor at the E of "it'rE". */
    starts &= ~(one | two | two << 2);
    return starts | (letter & after);
}

#endif
