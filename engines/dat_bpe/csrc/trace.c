#include "trace.h"

#ifdef DAT_TRACE
void dat_trace_add(dat_trace *trace, dat_event event)
{
    if (trace->count == trace->room) {
        size_t room = trace->room + trace->room / 2 + 256;
        dat_event *items = dat_grow(trace->items, room, sizeof *items);
        if (items == NULL) {
            trace->failed = 1;
            return;
        }
        trace->items = items;
        trace->room = room;
    }
    trace->items[trace->count++] = event;
}

void dat_trace_clear(dat_trace *trace)
{
    dat_free(trace->items);
    trace->items = NULL;
    trace->count = trace->room = 0;
}
#endif
