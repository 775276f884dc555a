/* Stage pretokenize, the general path: any expressions, compiled by expressions.py, carried out by a backtracking
 * machine that remembers what failed.
 *
 * A program is a row of 32-bit words (docs/FORMATS.md): eight of head, four an instruction, an offset a set, the sets.
 * Programs may come from a file: dat_splitter_build checks all that the machine relies on.
 *
 * Time: a choice (SPLIT, RUN) is carried out once at each place of a text, since what it came to is remembered, and
 * between two choices lie at most the program's instructions. So time is linear in the text, whatever the expression:
 * atomic groups and look-around keep the outcome of their choices too. In the program it is at most quadratic. Memory:
 * for each byte that one attempt to match looks ahead, a bit a choice, and 32 bits a choice inside of a group that
 * commits and a possessive run; and 40 bytes a pending choice. */
#ifndef DAT_SPLIT_H
#define DAT_SPLIT_H

#include "classify.h"
#include "common.h"

enum {
    DAT_PROGRAM_MAGIC = 0x53544144, /* "DATS" */
    DAT_PROGRAM_VERSION = 1,
    DAT_PROGRAM_HEAD = 8, /* magic, version, instructions, bits, values, sets, words of the sets, 0 */
    DAT_PROGRAM_MOST = 1 << 16 /* instructions; sets too */
};

/* A field that this list does not name is 0. `memo`: the number of a bit outside of groups, of a value inside; which
 * of the two is told by DAT_MEMO_VALUE. Targets are instruction numbers. */
enum dat_operation {
    DAT_OP_MATCH,   /* 1: number of the alternative, for the trace */
    DAT_OP_CHAR,    /* 1: code point (the character of no ill-formed byte) */
    DAT_OP_SET,     /* 1: set */
    DAT_OP_PEEK,    /* 1: set, 2: 1 to negate. The next character, not taken; the end of the text is in no set */
    DAT_OP_JUMP,    /* 1: target */
    DAT_OP_SPLIT,   /* 1: target tried first, 2: target tried then, 3: memo */
    DAT_OP_RUN,     /* 1: set, 3: memo. As many as there are; given back one by one */
    DAT_OP_TAKE,    /* 1: set, 2: at most so many, 0: all, then 3: memo (a value). None is given back */
    DAT_OP_BEGIN,   /* the text begins here */
    DAT_OP_END,     /* the text ends here */
    DAT_OP_BACK,    /* 1: so many characters back */
    DAT_OP_ATOMIC,  /* 1: target behind the group */
    DAT_OP_LOOK,    /* 1: target behind the group, 2: 1 to negate */
    DAT_OP_COMMIT,  /* the innermost group has matched */
    DAT_OPERATIONS
};
#define DAT_MEMO_VALUE 0x80000000u

typedef struct {
    const uint32_t *code;  /* four words an instruction */
    const uint32_t *starts; /* of each set in `pool` */
    const uint32_t *pool;  /* a set: number of intervals; then first code point, and which categories, each interval */
    uint8_t *bytes;        /* [sets][256]: ASCII, and bytes that stand alone */
    uint32_t instructions, sets;
    size_t bit_words, record; /* words for each place: bits, then values */
    size_t back;              /* bytes that look-behind may go back */
} dat_program;

typedef struct {
    dat_program *programs; /* applied in order, each to the pieces of the one before; none: a text is one piece */
    size_t count;
    const dat_classes *classes;
} dat_splitter;

/* Whether the set has the code point, whose category byte is given. */
static inline int dat_set_has(const uint32_t *set, uint32_t point, unsigned category)
{
    uint32_t low = 0, high = *set++;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (set[3 * middle] <= point) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (int)((set[3 * low + 1 + (category >> 5)] >> (category & 31u)) & 1u);
}

/* `words` and `classes` are borrowed for as long as the splitter lives; offsets[count + 1] are of words. Status
 * DAT_BAD_PROGRAM: *culprit is the number of the program. On failure the splitter is cleared. */
dat_status dat_splitter_build(dat_splitter *splitter, const uint32_t *words, const uint64_t *offsets, size_t count,
                              const dat_classes *classes, size_t *culprit);
void dat_splitter_clear(dat_splitter *splitter);

/* One program on the text that it is given, and how far it has come. */
typedef struct {
    const uint8_t *begin, *at, *end;
    const uint8_t *found;  /* where the last match begins, or NULL */
    const uint8_t *match;  /* where it ends, if a gap before it was given first and it is still due; or NULL */
    uint32_t alternative;  /* that took it */
    uint32_t *memo;        /* a record a byte from `base` on; the first `known` records are initialized */
    const uint8_t *base;
    size_t room, known;    /* words; records */
} dat_split_level;

typedef struct dat_split_frame dat_split_frame;

/* What one thread splits with; zeroed to begin with, and kept between calls. It may serve any splitter. */
typedef struct {
    dat_split_level *levels;
    size_t count;
    dat_split_frame *frames;
    size_t frames_room;
} dat_split_room;

void dat_split_room_clear(dat_split_room *room);

/* Gives back what one long text has blown up. */
void dat_split_room_trim(dat_split_room *room);

/* The text begin..end is split from here on. Between two calls of dat_split_next it must not change. */
dat_status dat_split_start(const dat_splitter *splitter, dat_split_room *room, const uint8_t *begin,
                           const uint8_t *end);

/* The end of the next piece into *stop; it is not empty. To be called only while the last *stop, or begin, is before
 * `end`. *alternative (or NULL): which alternative of the last program took it, DAT_NONE: none. */
dat_status dat_split_next(const dat_splitter *splitter, dat_split_room *room, const uint8_t **stop,
                          uint32_t *alternative);

/* As many ends of pieces as there are, `most` at the most: offsets from `begin` of the text that was started, into
 * ends[0..*count). Fewer than `most`: the text is at its end. */
dat_status dat_split(const dat_splitter *splitter, dat_split_room *room, uint64_t *ends, size_t most, size_t *count);

#endif
