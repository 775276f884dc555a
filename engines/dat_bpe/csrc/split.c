#include "split_machine.h"

#include <string.h>

enum { KEPT_WORDS = 1 << 18 };

/* The end of the next piece that one program makes of its text, which is not at its end. */
static dat_status level_next(const dat_splitter *splitter, size_t number, dat_split_room *room)
{
    dat_split_level *level = &room->levels[number];
    if (level->match != NULL) {
        level->at = level->match;
        level->match = NULL;
        return DAT_OK;
    }
    for (const uint8_t *start = level->at; start < level->end;) {
        const uint8_t *stop;
        uint32_t alternative = DAT_NONE, value;
        dat_status status = dat_split_attempt(&splitter->programs[number], splitter->classes, level, room, start,
                                              &stop, &alternative);
        if (status != DAT_OK) {
            return status;
        }
        if (stop != NULL && stop > start) {
            level->alternative = alternative;
            level->found = start;
            if (start > level->at) {
                level->match = stop;
                level->at = start;
            } else {
                level->at = stop;
            }
            return DAT_OK;
        }
        start += dat_scan(start, level->end, &value);
    }
    level->at = level->end;
    level->found = NULL;
    return DAT_OK;
}

static void level_start(dat_split_level *level, const uint8_t *begin, const uint8_t *end)
{
    level->begin = level->at = level->base = begin;
    level->end = end;
    level->match = level->found = NULL;
    level->known = 0;
}

dat_status dat_split_start(const dat_splitter *splitter, dat_split_room *room, const uint8_t *begin,
                           const uint8_t *end)
{
    /* Without a program there still is a level: it holds the text. */
    size_t count = splitter->count > 0 ? splitter->count : 1;
    if (room->count < count) {
        dat_split_level *levels = dat_grow(room->levels, count, sizeof *levels);
        if (levels == NULL) {
            return DAT_NO_MEMORY;
        }
        memset(levels + room->count, 0, (count - room->count) * sizeof *levels);
        room->levels = levels;
        room->count = count;
    }
    level_start(&room->levels[0], begin, end);
    for (size_t i = 1; i < count; i++) {
        level_start(&room->levels[i], begin, begin);
    }
    return DAT_OK;
}

dat_status dat_split_next(const dat_splitter *splitter, dat_split_room *room, const uint8_t **stop,
                          uint32_t *alternative)
{
    dat_split_level *levels = room->levels;
    if (splitter->count == 0) {
        *stop = levels[0].at = levels[0].end;
        if (alternative != NULL) {
            *alternative = DAT_NONE;
        }
        return DAT_OK;
    }
    size_t last = splitter->count - 1, k = last;
    while (k > 0 && levels[k].at >= levels[k].end) {
        k--;
    }
    for (;; k++) {
        const uint8_t *start = levels[k].at;
        /* A piece is a match where one is due, else the gap before the next. */
        int is_match = levels[k].match != NULL;
        dat_status status = level_next(splitter, k, room);
        if (status != DAT_OK) {
            return status;
        }
        if (k == last) {
            is_match = is_match || levels[k].found == start;
            *stop = levels[k].at;
            if (alternative != NULL) {
                *alternative = is_match ? levels[k].alternative : DAT_NONE;
            }
            return DAT_OK;
        }
        level_start(&levels[k + 1], start, levels[k].at);
    }
}

dat_status dat_split(const dat_splitter *splitter, dat_split_room *room, uint64_t *ends, size_t most, size_t *count)
{
    const uint8_t *end = room->levels[0].end, *begin = room->levels[0].begin;
    /* The last program tells how far the pieces have come; none has begun where its text is empty. */
    const dat_split_level *last = &room->levels[splitter->count > 0 ? splitter->count - 1 : 0];
    const uint8_t *at = last->at;
    dat_status status = DAT_OK;
    for (*count = 0; *count < most && at < end && status == DAT_OK; ) {
        status = dat_split_next(splitter, room, &at, NULL);
        if (status == DAT_OK) {
            ends[(*count)++] = (uint64_t)(at - begin);
        }
    }
    return status;
}

void dat_split_room_clear(dat_split_room *room)
{
    for (size_t i = 0; i < room->count; i++) {
        dat_free(room->levels[i].memo);
    }
    dat_free(room->levels);
    dat_free(room->frames);
    memset(room, 0, sizeof *room);
}

void dat_split_room_trim(dat_split_room *room)
{
    size_t words = room->frames_room * (sizeof *room->frames / sizeof(uint32_t));
    for (size_t i = 0; i < room->count; i++) {
        words += room->levels[i].room;
    }
    if (words > KEPT_WORDS) {
        dat_split_room_clear(room);
    }
}
