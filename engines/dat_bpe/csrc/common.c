#include "common.h"

#include <stdlib.h>

#ifdef DAT_FAULTS
static long requests_left = -1;

void dat_refuse_after(long requests)
{
    requests_left = requests;
}

static int refused(void)
{
    if (requests_left < 0) {
        return 0;
    }
    if (requests_left == 0) {
        return 1;
    }
    requests_left--;
    return 0;
}
#else
static int refused(void)
{
    return 0;
}
#endif

static int overflows(size_t count, size_t size)
{
    return size != 0 && count > SIZE_MAX / size;
}

void *dat_alloc(size_t count, size_t size)
{
    if (overflows(count, size) || refused()) {
        return NULL;
    }
    /* One byte at least: NULL must mean failure and nothing else. */
    size_t total = count * size;
    return malloc(total > 0 ? total : 1);
}

void *dat_zeroed(size_t count, size_t size)
{
    return refused() ? NULL : calloc(count ? count : 1, size ? size : 1);
}

void *dat_grow(void *old, size_t count, size_t size)
{
    if (overflows(count, size) || refused()) {
        return NULL;
    }
    size_t total = count * size;
    return realloc(old, total > 0 ? total : 1);
}

void dat_free(void *block)
{
    free(block);
}

dat_status dat_ids_room(dat_ids *ids, size_t more)
{
    if (ids->room - ids->count >= more) {
        return DAT_OK;
    }
    if (more > SIZE_MAX / 8 - ids->count) {
        return DAT_NO_MEMORY;
    }
    size_t need = ids->count + more;
    size_t room = ids->room + ids->room / 2;
    room = room < need ? need : room;
    uint32_t *items = dat_grow(ids->items, room, sizeof *items);
    if (items == NULL) {
        return DAT_NO_MEMORY;
    }
    ids->items = items;
    ids->room = room;
    return DAT_OK;
}

void dat_ids_clear(dat_ids *ids)
{
    dat_free(ids->items);
    ids->items = NULL;
    ids->count = ids->room = 0;
}
