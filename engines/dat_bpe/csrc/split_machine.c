#include "split_machine.h"

#include <string.h>

enum { REBASE = 4096, SHORT_TAKE = 16 };

/* A memo value: nothing known, failed (or being tried: a way that comes back to where it started leads nowhere), or
 * that the group commits so many bytes on, plus 2. */
enum { UNKNOWN, FAILED, COMMITS };

enum frame_kind {
    CHOICE,     /* outside of groups: go on at pc, pos */
    CHOICE_IN,  /* inside: the same, and stays as TRAIL: a commit writes the outcome to its memo */
    TRAIL,
    RUN,        /* outside: from pos back to low, the next character back and on at pc */
    RUN_IN,
    GROUP       /* an open group: low is the number of the group's frame outside of it */
};

#define NO_GROUP SIZE_MAX

/* Whether a character of the set stands at p, and its width. */
static inline unsigned takes(const dat_program *program, const dat_classes *classes, uint32_t set, const uint8_t *p,
                             const uint8_t *end)
{
    if (p >= end) {
        return 0;
    }
    if (*p < 0x80) {
        return program->bytes[(size_t)set * 256 + *p];
    }
    uint32_t value;
    unsigned width = dat_scan(p, end, &value);
    if (value & DAT_ILL_FORMED) {
        return program->bytes[(size_t)set * 256 + *p];
    }
    unsigned category = dat_category_of(classes->unicode, value);
    return dat_set_has(program->pool + program->starts[set], value, category) ? width : 0;
}

/* Where the character before p begins, low < p. A lead byte always begins a character, so whether the bytes up to p
 * are one is seen from the last lead byte alone. */
static const uint8_t *before(const uint8_t *p, const uint8_t *low, const uint8_t *end)
{
    size_t most = (size_t)(p - low);
    for (size_t width = 1; width <= 4 && width <= most; width++) {
        if ((p[-(ptrdiff_t)width] & 0xC0) != 0x80) {
            uint32_t value;
            return dat_scan(p - width, end, &value) == width ? p - width : p - 1;
        }
    }
    return p - 1;
}

/* The memo of a place, or NULL where there is none: before the base (only a program that was not compiled by us goes
 * there), or without memory. */
static uint32_t *memo_at(dat_split_level *level, size_t record, const uint8_t *pos)
{
    if (pos < level->base) {
        return NULL;
    }
    size_t index = (size_t)(pos - level->base);
    if (index >= level->known) {
        size_t room = level->room / record;
        if (index >= room) {
            room = index + index / 2 + 64;
            uint32_t *grown = room > SIZE_MAX / record ? NULL : dat_grow(level->memo, room * record, sizeof *grown);
            if (grown == NULL) {
                return NULL;
            }
            level->memo = grown;
            level->room = room * record;
        }
        size_t known = room - index > 64 ? index + 64 : room;
        memset(level->memo + level->known * record, 0, (known - level->known) * record * sizeof *level->memo);
        level->known = known;
    }
    return level->memo + index * record;
}

/* Forgets what lies before every place that the attempt at `start` can reach. Moved only when that is cheap. */
static void rebase(const dat_program *program, dat_split_level *level, const uint8_t *start)
{
    size_t behind = (size_t)(start - level->base);
    if (behind <= program->back + REBASE) {
        return;
    }
    size_t drop = behind - program->back;
    size_t kept = level->known > drop ? level->known - drop : 0;
    if (kept > drop) {
        return;
    }
    if (kept > 0) {
        memmove(level->memo, level->memo + drop * program->record, kept * program->record * sizeof *level->memo);
    }
    level->known = kept;
    level->base += drop;
}

typedef struct {
    const dat_program *program;
    const dat_classes *classes;
    dat_split_level *level;
    dat_split_room *room;
    size_t frames, group; /* frames in use; the innermost open group's, or NO_GROUP */
    dat_status status;
} machine;

static int put_frame(machine *m, dat_split_frame frame)
{
    if (m->frames == m->room->frames_room) {
        size_t room = m->frames + m->frames / 2 + 64;
        dat_split_frame *grown = dat_grow(m->room->frames, room, sizeof *grown);
        if (grown == NULL) {
            m->status = DAT_NO_MEMORY;
            return 0;
        }
        m->room->frames = grown;
        m->room->frames_room = room;
    }
    m->room->frames[m->frames++] = frame;
    return 1;
}

static uint32_t *value_at(machine *m, uint32_t memo, const uint8_t *pos)
{
    uint32_t *record = memo_at(m->level, m->program->record, pos);
    if (record == NULL) {
        m->status = pos < m->level->base ? m->status : DAT_NO_MEMORY;
        return NULL;
    }
    return record + m->program->bit_words + (memo & ~DAT_MEMO_VALUE);
}

static uint32_t commits(const uint8_t *pos, const uint8_t *end)
{
    size_t on = (size_t)(end - pos);
    return on < UINT32_MAX - COMMITS ? (uint32_t)on + COMMITS : UNKNOWN;
}

/* Whether a choice outside of groups is met at pos for the first time. */
static int first_visit(machine *m, uint32_t memo, const uint8_t *pos)
{
    uint32_t *record = memo_at(m->level, m->program->record, pos);
    if (record == NULL) {
        m->status = pos < m->level->base ? m->status : DAT_NO_MEMORY;
        return 0;
    }
    uint32_t bit = 1u << (memo & 31u);
    if (record[memo >> 5] & bit) {
        return 0;
    }
    record[memo >> 5] |= bit;
    return 1;
}

/* RUN outside of groups. As the loop that it stands for, it goes from place to place; where one was met before, all
 * from there on has failed. Returns the last place to go on from, or NULL. */
static const uint8_t *run_outside(machine *m, const uint32_t *code, uint32_t pc, const uint8_t *pos)
{
    const uint8_t *last = NULL, *end = m->level->end;
    for (const uint8_t *q = pos; first_visit(m, code[3], q);) {
        last = q;
        unsigned width = takes(m->program, m->classes, code[1], q, end);
        if (width == 0) {
            break;
        }
        q += width;
    }
    if (m->status != DAT_OK) {
        return NULL;
    }
    if (last != NULL && last > pos && !put_frame(m, (dat_split_frame){RUN, pc + 1, 0, last, pos, 0})) {
        return NULL;
    }
    return last;
}

/* RUN inside of a group. *found: the group is known to commit there, and so it does from every place before. */
static const uint8_t *run_inside(machine *m, const uint32_t *code, uint32_t pc, const uint8_t *pos,
                                 const uint8_t **found)
{
    const uint8_t *last = NULL, *end = m->level->end;
    *found = NULL;
    for (const uint8_t *q = pos;;) {
        uint32_t *value = value_at(m, code[3], q);
        if (value == NULL || *value == FAILED) {
            break;
        }
        if (*value >= COMMITS) {
            *found = q + (*value - COMMITS);
            break;
        }
        *value = FAILED;
        last = q;
        unsigned width = takes(m->program, m->classes, code[1], q, end);
        if (width == 0) {
            break;
        }
        q += width;
    }
    if (m->status != DAT_OK) {
        return NULL;
    }
    if (last != NULL && !put_frame(m, (dat_split_frame){RUN_IN, pc + 1, code[3], last, pos, 0})) {
        return NULL;
    }
    return last;
}

/* The innermost group commits at `end`: every choice on the way there keeps that outcome. Returns the group's frame,
 * which is gone. */
static dat_split_frame commit_group(machine *m, const uint8_t *end)
{
    dat_split_frame *frames = m->room->frames;
    for (size_t i = m->group + 1; i < m->frames; i++) {
        const dat_split_frame *frame = &frames[i];
        if (frame->kind == CHOICE_IN || frame->kind == TRAIL || frame->kind == RUN_IN) {
            const uint8_t *low = frame->kind == RUN_IN ? frame->low : frame->pos;
            for (const uint8_t *q = low; q <= frame->pos; q++) {
                /* Within a character there is no place: what is written there is never read. */
                uint32_t *value = value_at(m, frame->memo, q);
                if (value != NULL) {
                    *value = commits(q, end);
                }
            }
        }
    }
    dat_split_frame group = frames[m->group];
    m->frames = m->group;
    m->group = group.outer;
    return group;
}

/* The end of a run of the set from pos on, at most `most` characters, nothing given back. A long run is walked once:
 * every place in it keeps where it ends. */
static const uint8_t *take_run(machine *m, const uint32_t *code, const uint8_t *pos)
{
    const uint8_t *p = pos, *end = m->level->end;
    uint32_t left = code[2] > 0 ? code[2] : UINT32_MAX;
    uint32_t *value = NULL;
    unsigned width;
    while (left > 0 && (width = takes(m->program, m->classes, code[1], p, end)) > 0) {
        p += width;
        left -= code[2] > 0;
        if (code[2] == 0 && value == NULL && p - pos > SHORT_TAKE) {
            value = value_at(m, code[3], pos);
            if (value == NULL) {
                return m->status == DAT_OK ? pos : NULL;
            }
            if (*value >= COMMITS) {
                return pos + (*value - COMMITS);
            }
        }
    }
    if (value != NULL) {
        for (const uint8_t *q = pos; q < p; q++) {
            value = value_at(m, code[3], q);
            if (value != NULL) {
                *value = commits(q, p);
            }
        }
    }
    return m->status == DAT_OK ? p : NULL;
}

static const uint8_t *go_back(const dat_split_level *level, const uint8_t *pos, uint32_t count)
{
    for (; count > 0; count--) {
        if (pos <= level->begin) {
            return NULL;
        }
        pos = before(pos, level->begin, level->end);
    }
    return pos;
}

/* Back to the last choice that is open: *pc and the place to go on from, or NULL: none is left. */
static const uint8_t *resume(machine *m, uint32_t *pc)
{
    while (m->frames > 0) {
        dat_split_frame *frame = &m->room->frames[m->frames - 1];
        *pc = frame->pc;
        switch (frame->kind) {
        case CHOICE:
            m->frames--;
            return frame->pos;
        case CHOICE_IN:
            frame->kind = TRAIL;
            return frame->pos;
        case RUN: case RUN_IN:
            if (frame->pos > frame->low) {
                frame->pos = before(frame->pos, frame->low, m->level->end);
                m->frames -= frame->kind == RUN && frame->pos == frame->low;
                return frame->pos;
            }
            m->frames--;
            break;
        case GROUP:
            m->frames--;
            m->group = frame->outer;
            if (frame->memo) { /* negated: that it fails is what was asked for */
                return frame->pos;
            }
            break;
        default:
            m->frames--;
            break;
        }
    }
    return NULL;
}

/* A group has matched up to `end`. The place to go on from, or NULL: its look-around was not to match. */
static const uint8_t *leave(machine *m, const uint8_t *end, uint32_t *pc)
{
    dat_split_frame group = commit_group(m, end);
    *pc = group.pc;
    if (group.memo) {
        return NULL;
    }
    return group.low != NULL ? group.pos : end;
}

/* Carries out one instruction: the place to go on from and *pc, or NULL: this way leads nowhere. *pc is not there to
 * be used once *matched is set. */
static const uint8_t *step(machine *m, uint32_t *pc, const uint8_t *pos, const uint32_t **matched)
{
    const uint32_t *code = m->program->code + (size_t)*pc * 4;
    const uint8_t *end = m->level->end, *found;
    unsigned width;
    uint32_t value, *memo;
    switch (code[0]) {
    case DAT_OP_CHAR:
        if (pos >= end) {
            return NULL;
        }
        width = dat_scan(pos, end, &value);
        ++*pc;
        return value == code[1] ? pos + width : NULL;
    case DAT_OP_SET:
        width = takes(m->program, m->classes, code[1], pos, end);
        ++*pc;
        return width > 0 ? pos + width : NULL;
    case DAT_OP_PEEK:
        ++*pc;
        return (takes(m->program, m->classes, code[1], pos, end) > 0) != (code[2] != 0) ? pos : NULL;
    case DAT_OP_TAKE:
        ++*pc;
        return take_run(m, code, pos);
    case DAT_OP_BEGIN:
        ++*pc;
        return pos == m->level->begin ? pos : NULL;
    case DAT_OP_END:
        ++*pc;
        return pos == end ? pos : NULL;
    case DAT_OP_BACK:
        ++*pc;
        return go_back(m->level, pos, code[1]);
    case DAT_OP_JUMP:
        *pc = code[1];
        return pos;
    case DAT_OP_SPLIT:
        if (!(code[3] & DAT_MEMO_VALUE)) {
            if (!first_visit(m, code[3], pos) || !put_frame(m, (dat_split_frame){CHOICE, code[2], 0, pos, NULL, 0})) {
                return NULL;
            }
        } else {
            memo = value_at(m, code[3], pos);
            if (memo == NULL || *memo == FAILED) {
                return NULL;
            }
            if (*memo >= COMMITS) {
                return m->group != NO_GROUP ? leave(m, pos + (*memo - COMMITS), pc) : NULL;
            }
            *memo = FAILED;
            if (!put_frame(m, (dat_split_frame){CHOICE_IN, code[2], code[3], pos, NULL, 0})) {
                return NULL;
            }
        }
        *pc = code[1];
        return pos;
    case DAT_OP_RUN:
        if (!(code[3] & DAT_MEMO_VALUE)) {
            pos = run_outside(m, code, *pc, pos);
        } else {
            pos = run_inside(m, code, *pc, pos, &found);
            if (found != NULL && m->status == DAT_OK) {
                return m->group != NO_GROUP ? leave(m, found, pc) : NULL;
            }
        }
        ++*pc;
        return pos;
    case DAT_OP_ATOMIC: case DAT_OP_LOOK:
        /* low tells the two apart: what a look-around has matched is not taken. */
        found = code[0] == DAT_OP_LOOK ? pos : NULL;
        if (!put_frame(m, (dat_split_frame){GROUP, code[1], code[2], pos, found, m->group})) {
            return NULL;
        }
        m->group = m->frames - 1;
        ++*pc;
        return pos;
    case DAT_OP_COMMIT:
        return m->group != NO_GROUP ? leave(m, pos, pc) : NULL;
    default:
        if (m->group == NO_GROUP) {
            *matched = code;
            return pos;
        }
        return NULL;
    }
}

dat_status dat_split_attempt(const dat_program *program, const dat_classes *classes, dat_split_level *level,
                             dat_split_room *room, const uint8_t *start, const uint8_t **stop, uint32_t *alternative)
{
    machine own = {program, classes, level, room, 0, NO_GROUP, DAT_OK}, *m = &own;
    const uint32_t *matched = NULL;
    const uint8_t *pos = start;
    uint32_t pc = 0;
    rebase(program, level, start);
    *stop = NULL;
    while (pos != NULL) {
        pos = step(m, &pc, pos, &matched);
        if (m->status != DAT_OK) {
            return m->status;
        }
        if (matched != NULL) {
            *stop = pos;
            *alternative = matched[1];
            /* What this attempt met and left behind has failed for good: only the way that matched has not, and of its
             * places only the last is met again. */
            size_t index = pos >= m->level->base ? (size_t)(pos - m->level->base) : SIZE_MAX;
            if (index < m->level->known) {
                memset(m->level->memo + index * m->program->record, 0, m->program->bit_words * sizeof(uint32_t));
            }
            return DAT_OK;
        }
        if (pos == NULL) {
            pos = resume(m, &pc);
        }
    }
    return DAT_OK;
}
