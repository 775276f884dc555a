/* Decisions, recorded where they are taken. Built only with DAT_TRACE; else every macro is empty. */
#ifndef DAT_TRACE_H
#define DAT_TRACE_H

#include "common.h"

enum dat_stage {
    DAT_STAGE_SPECIAL, DAT_STAGE_SCAN, DAT_STAGE_PRETOKENIZE, DAT_STAGE_LOOKUP, DAT_STAGE_MERGE, DAT_STAGE_NORMALIZE
};

typedef struct {
    uint8_t stage, path, proposed, accepted, category, rule;
    uint32_t value; /* scan: code point or byte; lookup, special: id; merge: rank */
    uint32_t left, right; /* merge: token indexes */
    size_t offset, next; /* in the document */
    size_t position; /* merge: number of the left symbol in its pretoken */
} dat_event;

typedef struct {
    dat_event *items;
    size_t count, room;
    const uint8_t *document;
    const uint8_t *seen; /* scan decisions are recorded once an offset: look-ahead asks twice */
    int failed;
} dat_trace;

#ifdef DAT_TRACE
void dat_trace_add(dat_trace *trace, dat_event event);
void dat_trace_clear(dat_trace *trace);
#define DAT_RECORD(trace, ...)                                \
    do {                                                      \
        if ((trace) != NULL) {                                \
            dat_trace_add((trace), (dat_event){__VA_ARGS__}); \
        }                                                     \
    } while (0)
#define DAT_AT(trace, p) ((trace) != NULL ? (size_t)((p) - (trace)->document) : 0)
#else
#define DAT_RECORD(trace, ...) ((void)0)
#endif

#endif
