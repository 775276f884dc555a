#include "common.h"

#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#if defined(__linux__) && defined(MADV_HUGEPAGE)
#define DAT_HUGE ((size_t)1 << 21)
#endif

/* What is taken for a large block of this size. */
static size_t dat_large_size(size_t size)
{
#ifdef DAT_HUGE
    if (size >= DAT_HUGE) {
        return (size + DAT_HUGE - 1) & ~(DAT_HUGE - 1);
    }
#endif
    return size > 0 ? (size + 63) & ~(size_t)63 : 64;
}

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

void *dat_large(size_t size)
{
    if (size > SIZE_MAX / 2 || refused()) {
        return NULL;
    }
#ifdef DAT_HUGE
    if (size >= DAT_HUGE) {
        /* Tables are read all over: with pages of 4 kB nearly every read also misses the processor's page table cache. */
        size_t whole = dat_large_size(size);
        uint8_t *block = mmap(NULL, whole + DAT_HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) {
            return NULL;
        }
        size_t skip = (size_t)(-(uintptr_t)block & (DAT_HUGE - 1));
        if (skip > 0) {
            (void)munmap(block, skip);
        }
        if (skip < DAT_HUGE) {
            (void)munmap(block + skip + whole, DAT_HUGE - skip);
        }
        (void)madvise(block + skip, whole, MADV_HUGEPAGE);
        return block + skip;
    }
#endif
    size = dat_large_size(size);
    void *block = aligned_alloc(64, size);
    if (block != NULL) {
        memset(block, 0, size);
    }
    return block;
}

void dat_large_free(void *block, size_t size)
{
#ifdef DAT_HUGE
    if (size >= DAT_HUGE) {
        if (block != NULL) {
            (void)munmap(block, dat_large_size(size));
        }
        return;
    }
#endif
    (void)size;
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
