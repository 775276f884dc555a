/* The general path's machine: one program, one place. Only split.c uses it. */
#ifndef DAT_SPLIT_MACHINE_H
#define DAT_SPLIT_MACHINE_H

#include "split.h"

/* Something to come back to where a way leads nowhere; `kind` is split_machine.c's. */
struct dat_split_frame {
    uint32_t kind, pc, memo;
    const uint8_t *pos, *low;
    size_t outer;
};

/* Tries the program at `start` alone. *stop: where it matched, *alternative: which one did; or NULL. Starts may only
 * move on through a level's text: what failed at one of them is remembered for the next. */
dat_status dat_split_attempt(const dat_program *program, const dat_classes *classes, dat_split_level *level,
                             dat_split_room *room, const uint8_t *start, const uint8_t **stop, uint32_t *alternative);

#endif
