#include "index.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = -1, CLIMBING = -2, LOST = -3 };

/* The parent of slot t where the step from it gives t, else t itself. */
static uint32_t parent_of(const cray_trie *trie, uint32_t t)
{
    int32_t s = trie->check[t];
    if (s < 0 || (uint32_t)s >= trie->count || t == 0) {
        return t;
    }
    uint32_t byte = t - (uint32_t)trie->base[s];
    return byte <= 0xFF ? (uint32_t)s : t;
}

/* The depth of slot t, and of all on its way. Each slot is climbed from twice in all, whatever the arrays hold. */
static int32_t find_depth(const cray_trie *trie, int32_t *depths, uint32_t t)
{
    uint32_t s = t;
    int32_t steps = 0;
    while (depths[s] == UNKNOWN) {
        depths[s] = CLIMBING;
        s = parent_of(trie, s);
        steps++;
    }
    /* A circle, or a slot without a parent, which is its own. */
    int32_t depth = depths[s] < 0 ? LOST : depths[s] + steps;
    while (depths[t] == CLIMBING) {
        depths[t] = depth;
        depth = depth == LOST ? LOST : depth - 1;
        t = parent_of(trie, t);
    }
    return depth;
}

static int compare_places(const void *left, const void *right)
{
    const cray_place *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* Ids are mostly 0, 1, 2, ...: they are put in their places, and sorted only where that fails. */
static int put_in_order(cray_index *index)
{
    cray_place *places = index->places;
    size_t i = 0;
    while (i < index->count) {
        cray_place here = places[i];
        if (here.id == i) {
            i++;
        } else if (here.id >= index->count || places[here.id].id == here.id) {
            return 0;
        } else {
            places[i] = places[here.id];
            places[here.id] = here;
        }
    }
    return 1;
}

dat_status cray_index_build(cray_index *index, const cray_trie *trie, uint32_t *culprit)
{
    *index = (cray_index){NULL, NULL, 0, 0, 0};
    size_t valued = 0;
    for (uint32_t t = 0; t < trie->count; t++) {
        valued += trie->values[t] >= 0;
    }
    index->depths = dat_alloc(trie->count, sizeof *index->depths);
    index->places = dat_alloc(valued, sizeof *index->places);
    if (index->depths == NULL || index->places == NULL) {
        cray_index_clear(index);
        return DAT_NO_MEMORY;
    }
    memset(index->depths, 0xFF, trie->count * sizeof *index->depths); /* UNKNOWN */
    index->depths[0] = 0;
    for (uint32_t t = 1; t < trie->count; t++) {
        (void)find_depth(trie, index->depths, t);
        index->reached += index->depths[t] > 0;
        /* Counted again: the file may be another one by now, and the room is not. */
        if (index->depths[t] > 0 && trie->values[t] >= 0 && index->count < valued) {
            index->places[index->count++] = (cray_place){(uint32_t)trie->values[t], t};
        }
    }
    index->plain = put_in_order(index);
    if (!index->plain) {
        qsort(index->places, index->count, sizeof *index->places, compare_places);
    }
    for (size_t i = 1; i < index->count; i++) {
        if (index->places[i].id == index->places[i - 1].id) {
            *culprit = index->places[i].id;
            cray_index_clear(index);
            return DAT_DUPLICATE_ID;
        }
    }
    return DAT_OK;
}

void cray_index_clear(cray_index *index)
{
    dat_free(index->depths);
    dat_free(index->places);
    *index = (cray_index){NULL, NULL, 0, 0, 0};
}

uint32_t cray_slot_of(const cray_index *index, uint32_t id, size_t *size)
{
    size_t low = 0, high = index->count;
    if (index->plain) {
        low = id < index->count ? id : index->count;
    } else {
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (index->places[middle].id < id) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
    }
    if (low >= index->count || index->places[low].id != id) {
        return 0;
    }
    uint32_t slot = index->places[low].slot;
    *size = (size_t)index->depths[slot];
    return slot;
}

static int is_extra(const cray_engine *engine, uint32_t id)
{
    return engine->unmatched == CRAY_BYTES && id - engine->extra <= 0xFF;
}

dat_status cray_decoded_size(const cray_engine *engine, const cray_index *index, const uint32_t *ids, size_t count,
                             size_t *size, size_t *bad)
{
    *size = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = 1;
        if (cray_slot_of(index, ids[i], &length) == 0 && !is_extra(engine, ids[i])) {
            *bad = i;
            return DAT_BAD_ID;
        }
        if (length > (size_t)PTRDIFF_MAX - *size) {
            return DAT_NO_MEMORY;
        }
        *size += length;
    }
    return DAT_OK;
}

size_t cray_decode(const cray_engine *engine, const cray_index *index, const uint32_t *ids, size_t count,
                   uint8_t *out, size_t size)
{
    const cray_trie *trie = &engine->trie;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = 1;
        uint32_t slot = cray_slot_of(index, ids[i], &length);
        if (length > size - at) {
            break;
        }
        if (slot == 0) {
            out[at] = (uint8_t)(ids[i] - engine->extra);
        }
        for (size_t left = length; slot != 0 && left > 0; left--) {
            uint32_t parent = parent_of(trie, slot);
            out[at + left - 1] = (uint8_t)(slot - (uint32_t)trie->base[parent]);
            slot = parent;
        }
        at += length;
    }
    return at;
}
