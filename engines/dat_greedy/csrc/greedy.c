#include "greedy.h"

/* The whole encoder. A step costs one read of BASE, CHECK and VALUES each; which bytes are ASCII is never asked,
 * because nothing would be done otherwise if they were. */
dat_status cray_encode(const cray_engine *engine, const uint8_t *text, size_t size, size_t *at, uint32_t *out,
                       uint32_t *lengths, size_t room, size_t *made)
{
    const cray_trie trie = engine->trie;
    const uint8_t *p = text + *at, *const end = text + size;
    size_t count = *made;
    dat_status status = DAT_OK;
    while (p < end && count < room) {
        const uint8_t *next = p, *best = p;
        int32_t value = -1;
        uint32_t s = 0;
        do {
            s = cray_step(&trie, s, *next++);
            if (s == 0) {
                break;
            }
            int32_t here = trie.values[s];
            if (here >= 0) {
                value = here;
                best = next;
            }
        } while (next < end);
        uint32_t id = (uint32_t)value;
        if (best == p) {
            if (engine->unmatched == CRAY_REFUSE) {
                status = DAT_MISSING_BYTE;
                break;
            }
            id = engine->extra + (engine->unmatched == CRAY_BYTES ? *p : 0);
            best = p + 1;
        }
        if (lengths != NULL) {
            lengths[count] = (uint32_t)(best - p);
        }
        out[count++] = id;
        p = best;
    }
    *at = (size_t)(p - text);
    *made = count;
    return status;
}

dat_status cray_encode_whole(const cray_engine *engine, const cray_document *document, dat_ids *ids,
                             dat_ids *lengths, size_t *at)
{
    *at = 0;
    while (*at < document->size) {
        /* Most text has three bytes a token or more; what does not fit goes on in more room. */
        size_t more = (document->size - *at) / 3 + 16, first = ids->count;
        dat_status status = dat_ids_room(ids, more);
        if (status == DAT_OK && lengths != NULL) {
            status = dat_ids_room(lengths, ids->room - lengths->count);
        }
        if (status == DAT_OK) {
            status = cray_encode(engine, document->data, document->size, at, ids->items,
                                 lengths != NULL ? lengths->items : NULL, ids->room, &ids->count);
        }
        if (lengths != NULL) {
            lengths->count += ids->count - first;
        }
        if (status != DAT_OK) {
            return status;
        }
    }
    return DAT_OK;
}
