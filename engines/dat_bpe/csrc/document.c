/* A whole document: cut at its added tokens, each stretch between them normalized, and what that gives encoded. */
#include "encode.h"

#include "decode.h"

/* Room that one huge piece or stretch has blown up is not kept for the next call. */
enum { ROOM_KEPT = 1 << 16 };

static dat_status mark(dat_marks *marks, size_t index, size_t start, size_t end)
{
    if (marks->count == marks->room) {
        size_t room = marks->room + marks->room / 2 + 16;
        dat_mark *items = dat_grow(marks->items, room, sizeof *items);
        if (items == NULL) {
            return DAT_NO_MEMORY;
        }
        marks->items = items;
        marks->room = room;
    }
    marks->items[marks->count++] = (dat_mark){index, start, end};
    return DAT_OK;
}

void dat_marks_clear(dat_marks *marks)
{
    dat_free(marks->items);
    *marks = (dat_marks){NULL, 0, 0};
}

void dat_spans(const dat_vocab *vocab, const uint32_t *ids, size_t count, const dat_marks *marks, uint64_t *spans)
{
    uint64_t at = 0;
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (next < marks->count && marks->items[next].index == i) {
            spans[2 * i] = marks->items[next].start;
            spans[2 * i + 1] = at = marks->items[next++].end;
        } else {
            size_t size = 0;
            (void)dat_id_bytes(vocab, ids[i], &size);
            spans[2 * i] = at;
            spans[2 * i + 1] = at += size;
        }
    }
}

/* One call's arguments, and where the stretch at hand stands. */
typedef struct {
    const dat_vocab *vocab;
    dat_scratch *scratch;
    dat_ids *out;
    dat_marks *marks;
    dat_trace *trace;
    size_t base;  /* of the raw stretch in the document */
    size_t at;    /* of the text in the normalized stretch */
    int prefixed; /* whether a space stands before the text */
} encoding;

/* The document's bytes behind the bytes [start, end) of the text at hand. */
static void origin(const encoding *self, size_t start, size_t end, size_t *from, size_t *to)
{
    size_t space = self->prefixed ? 1 : 0;
    start = start > space ? start - space : 0;
    end = end > space ? end - space : 0;
    dat_origin(&self->scratch->normal, self->at + start, self->at + end, from, to);
    *from += self->base;
    *to += self->base;
}

/* An added token, which stands at bytes [start, end) of the document. */
static dat_status emit(const encoding *self, uint32_t index, size_t start, size_t end)
{
    uint32_t id = self->vocab->specials.ids[index];
    DAT_RECORD(self->trace, .stage = DAT_STAGE_SPECIAL, .offset = start, .next = end, .value = id);
    dat_status status = dat_ids_room(self->out, 1);
    if (status == DAT_OK && self->marks != NULL) {
        status = mark(self->marks, self->out->count, start, end);
    }
    if (status == DAT_OK) {
        self->out->items[self->out->count++] = id;
    }
    return status;
}

#ifdef DAT_TRACE
/* Decisions on changed text were recorded by its own offsets: what they say of the document. */
static void relate(const encoding *self, size_t first)
{
    for (size_t i = first; self->trace != NULL && i < self->trace->count; i++) {
        dat_event *event = &self->trace->items[i];
        size_t from, to;
        origin(self, event->offset, event->next > event->offset ? event->next : event->offset, &from, &to);
        event->offset = from;
        event->next = event->next > 0 ? to : 0;
    }
}
#endif

/* The ids of [p, end), which is not as it stands in the document. */
static dat_status encode_changed(encoding *self, const uint8_t *p, const uint8_t *end)
{
    self->prefixed = self->vocab->before.prefix_space && p < end && *p != ' ';
    if (self->prefixed) {
        dat_bytes *text = &self->scratch->prefixed;
        size_t size = (size_t)(end - p);
        text->count = 0;
        dat_status status = dat_bytes_room(text, size + 1);
        if (status != DAT_OK) {
            return status;
        }
        text->items[0] = ' ';
        memcpy(text->items + 1, p, size);
        p = text->items;
        end = p + size + 1;
    }
#ifdef DAT_TRACE
    const uint8_t *document = NULL, *seen = NULL;
    size_t events = 0;
    if (self->trace != NULL) {
        if (self->prefixed) {
            size_t from, to;
            origin(self, 0, 0, &from, &to);
            DAT_RECORD(self->trace, .stage = DAT_STAGE_NORMALIZE, .path = 1, .offset = from, .next = from);
        }
        document = self->trace->document;
        seen = self->trace->seen;
        events = self->trace->count;
        self->trace->document = self->trace->seen = p;
    }
#endif
    size_t first = self->out->count, at = 0;
    dat_status status = dat_segment(self->vocab, self->scratch, p, end, end, self->out, self->trace);
    for (size_t i = first; i < self->out->count && status == DAT_OK && self->marks != NULL; i++) {
        size_t size = 0, from, to;
        (void)dat_id_bytes(self->vocab, self->out->items[i], &size);
        origin(self, at, at + size, &from, &to);
        status = mark(self->marks, i, from, to);
        at += size;
    }
#ifdef DAT_TRACE
    if (self->trace != NULL) {
        relate(self, events);
        self->trace->document = document;
        self->trace->seen = seen;
    }
#endif
    return status;
}

/* A stretch between raw added tokens, [p, end) of the document. */
static dat_status encode_stretch(encoding *self, const uint8_t *document, const uint8_t *p, const uint8_t *end,
                                 const uint8_t *limit, int specials)
{
    const dat_vocab *vocab = self->vocab;
    const dat_matcher *matcher = &vocab->specials.normalized;
    const int matching = PLANTED(41, 0, specials && matcher->count > 0);
    dat_normal *work = &self->scratch->normal;
    const uint8_t *text = p;
    size_t size = (size_t)(end - p);
    self->base = (size_t)(p - document);
    work->edit_count = 0;
    dat_status status = DAT_OK;
    if (vocab->before.nfc != NULL) {
        status = dat_normalize(vocab->before.nfc, work, p, size, &text, &size);
    }
    const int changed = work->edit_count > 0 || vocab->before.prefix_space;
    for (size_t i = 0; i < work->edit_count && status == DAT_OK; i++) {
        DAT_RECORD(self->trace, .stage = DAT_STAGE_NORMALIZE, .offset = self->base + work->edits[i].from,
                   .next = self->base + work->edits[i].to);
    }
    const uint8_t *at = text, *stop = text + size;
    while (at < stop && status == DAT_OK) {
        dat_match match = {stop, stop, 0};
        int found = matching && dat_next_special(&vocab->specials, matcher, vocab->classes.unicode, text, at, stop,
                                                 &match);
        if (at < match.start) {
            self->at = (size_t)(at - text);
            status = changed ? encode_changed(self, at, match.start)
                             : dat_segment(vocab, self->scratch, at, match.start, limit, self->out, self->trace);
        }
        if (!found || status != DAT_OK) {
            break;
        }
        size_t from, to;
        self->at = 0;
        self->prefixed = 0;
        origin(self, (size_t)(match.start - text), (size_t)(match.stop - text), &from, &to);
        status = emit(self, match.index, from, to);
        at = match.stop;
    }
    return status;
}

static void shrink(dat_scratch *scratch)
{
    if (scratch->room.room > ROOM_KEPT || scratch->room.heap_room > ROOM_KEPT || scratch->room.dead_room > ROOM_KEPT) {
        dat_merge_room_clear(&scratch->room);
    }
    dat_split_room_trim(&scratch->split);
    if (scratch->normal.text.room > ROOM_KEPT || scratch->normal.symbol_room > ROOM_KEPT ||
        scratch->normal.edit_room > ROOM_KEPT) {
        dat_normal_clear(&scratch->normal);
    }
    if (scratch->prefixed.room > ROOM_KEPT) {
        dat_bytes_clear(&scratch->prefixed);
    }
}

dat_status dat_encode(const dat_vocab *vocab, dat_scratch *scratch, const uint8_t *document, size_t size,
                      int specials, dat_ids *out, dat_marks *marks, dat_trace *trace)
{
    const uint8_t *p = document, *end = document + size;
    encoding self = {vocab, scratch, out, marks, trace, 0, 0, 0};
    const int plain = vocab->before.nfc == NULL && !vocab->before.prefix_space &&
                      (!specials || vocab->specials.normalized.count == 0);
    const int matching = PLANTED(41, 0, specials && vocab->specials.raw.count > 0);
    dat_status status = DAT_OK;
#ifdef DAT_TRACE
    if (trace != NULL) {
        trace->document = trace->seen = document;
    }
#endif
    while (p < end && status == DAT_OK) {
        dat_match match = {end, end, 0};
        int found = matching && dat_next_special(&vocab->specials, &vocab->specials.raw, vocab->classes.unicode,
                                                 document, p, end, &match);
        status = plain ? dat_segment(vocab, scratch, p, match.start, end, out, trace)
                       : encode_stretch(&self, document, p, match.start, end, specials);
        if (!found || status != DAT_OK) {
            break;
        }
        status = emit(&self, match.index, (size_t)(match.start - document), (size_t)(match.stop - document));
        p = match.stop;
    }
    shrink(scratch);
#ifdef DAT_TRACE
    if (status == DAT_OK && trace != NULL && trace->failed) {
        status = DAT_NO_MEMORY;
    }
#endif
    return status;
}
