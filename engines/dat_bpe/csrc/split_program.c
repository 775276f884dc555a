#include "split.h"

#include <string.h>

/* The words of a set after its number of intervals, or 0: they are no set. */
static size_t set_size(const uint32_t *set, size_t left)
{
    if (left < 4 || set[0] == 0 || set[0] > (left - 1) / 3 || set[1] != 0) {
        return 0;
    }
    for (uint32_t i = 1; i < set[0]; i++) {
        if (set[1 + 3 * i] <= set[1 + 3 * (i - 1)]) {
            return 0;
        }
    }
    return 1 + 3 * (size_t)set[0];
}

static int is_memo(const uint32_t *head, uint32_t memo)
{
    return memo & DAT_MEMO_VALUE ? (memo & ~DAT_MEMO_VALUE) < head[4] : memo < head[3];
}

/* Every loop meets a SPLIT, whose memo ends it: only a SPLIT goes back, or a JUMP to one. */
static int is_sound(const uint32_t *head, const uint32_t *code, uint32_t at)
{
    const uint32_t *own = code + (size_t)at * 4;
    const uint32_t count = head[2], next = at + 1;
    int falls = 1; /* whether the next instruction may come next */
    switch (own[0]) {
    case DAT_OP_MATCH: case DAT_OP_COMMIT: falls = 0; break;
    case DAT_OP_CHAR: case DAT_OP_BEGIN: case DAT_OP_END: break;
    case DAT_OP_SET: case DAT_OP_PEEK:
        if (own[1] >= head[5]) {
            return 0;
        }
        break;
    case DAT_OP_JUMP:
        falls = 0;
        if (own[1] >= count || (own[1] <= at && code[(size_t)own[1] * 4] != DAT_OP_SPLIT)) {
            return 0;
        }
        break;
    case DAT_OP_SPLIT:
        falls = 0;
        if (own[1] >= count || own[2] >= count || !is_memo(head, own[3])) {
            return 0;
        }
        break;
    case DAT_OP_RUN:
        if (own[1] >= head[5] || !is_memo(head, own[3])) {
            return 0;
        }
        break;
    case DAT_OP_TAKE:
        if (own[1] >= head[5] || own[2] > DAT_PROGRAM_MOST ||
            (own[2] == 0 && (!(own[3] & DAT_MEMO_VALUE) || !is_memo(head, own[3])))) {
            return 0;
        }
        break;
    case DAT_OP_BACK:
        if (own[1] == 0 || own[1] > DAT_PROGRAM_MOST) {
            return 0;
        }
        break;
    case DAT_OP_ATOMIC: case DAT_OP_LOOK:
        if (own[1] <= at || own[1] >= count || (own[0] == DAT_OP_ATOMIC && own[2] != 0)) {
            return 0;
        }
        break;
    default: return 0;
    }
    return !falls || next < count;
}

static dat_status build_program(dat_program *program, const uint32_t *words, size_t size, const dat_classes *classes)
{
    const uint32_t *head = words;
    if (size < DAT_PROGRAM_HEAD || head[0] != DAT_PROGRAM_MAGIC || head[1] != DAT_PROGRAM_VERSION || head[2] == 0 ||
        head[2] > DAT_PROGRAM_MOST || head[3] > head[2] || head[4] > head[2] || head[5] > DAT_PROGRAM_MOST ||
        head[7] != 0 || size != DAT_PROGRAM_HEAD + (size_t)head[2] * 4 + head[5] + head[6]) {
        return DAT_BAD_PROGRAM;
    }
    program->code = words + DAT_PROGRAM_HEAD;
    program->starts = program->code + (size_t)head[2] * 4;
    program->pool = program->starts + head[5];
    program->instructions = head[2];
    program->sets = head[5];
    program->bit_words = (head[3] + 31u) / 32u;
    program->record = program->bit_words + head[4];
    program->back = 0;
    for (uint32_t i = 0; i < head[2]; i++) {
        if (!is_sound(head, program->code, i)) {
            return DAT_BAD_PROGRAM;
        }
        program->back += program->code[(size_t)i * 4] == DAT_OP_BACK ? program->code[(size_t)i * 4 + 1] * (size_t)4 : 0;
    }
    for (uint32_t set = 0; set < head[5]; set++) {
        if (program->starts[set] >= head[6] ||
            set_size(program->pool + program->starts[set], head[6] - program->starts[set]) == 0) {
            return DAT_BAD_PROGRAM;
        }
    }
    program->bytes = dat_alloc(head[5], 256);
    if (program->bytes == NULL) {
        return DAT_NO_MEMORY;
    }
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t point = byte < 0x80 ? byte : dat_byte_character((uint8_t)byte);
        unsigned category = dat_category_of(classes->unicode, point);
        for (size_t set = 0; set < head[5]; set++) {
            const uint32_t *intervals = program->pool + program->starts[set];
            program->bytes[set * 256 + byte] = (uint8_t)dat_set_has(intervals, point, category);
        }
    }
    return DAT_OK;
}

dat_status dat_splitter_build(dat_splitter *splitter, const uint32_t *words, const uint64_t *offsets, size_t count,
                              const dat_classes *classes, size_t *culprit)
{
    memset(splitter, 0, sizeof *splitter);
    splitter->classes = classes;
    splitter->programs = dat_zeroed(count, sizeof *splitter->programs);
    if (splitter->programs == NULL) {
        return DAT_NO_MEMORY;
    }
    splitter->count = count;
    for (size_t i = 0; i < count; i++) {
        dat_status status = DAT_BAD_PROGRAM;
        if (offsets[i] <= offsets[i + 1]) {
            status = build_program(&splitter->programs[i], words + offsets[i], (size_t)(offsets[i + 1] - offsets[i]),
                                   classes);
        }
        if (status != DAT_OK) {
            *culprit = i;
            dat_splitter_clear(splitter);
            return status;
        }
    }
    return DAT_OK;
}

void dat_splitter_clear(dat_splitter *splitter)
{
    for (size_t i = 0; i < splitter->count; i++) {
        dat_free(splitter->programs[i].bytes);
    }
    dat_free(splitter->programs);
    memset(splitter, 0, sizeof *splitter);
}
