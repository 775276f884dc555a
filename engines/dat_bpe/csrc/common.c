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

#ifdef DAT_HUGE
/* `size` bytes of zeros, a multiple of DAT_HUGE, in huge pages if the system has them; NULL. */
static void *map_huge(size_t size)
{
    uint8_t *block = mmap(NULL, size + DAT_HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        return NULL;
    }
    size_t skip = (size_t)(-(uintptr_t)block & (DAT_HUGE - 1));
    if (skip > 0) {
        (void)munmap(block, skip);
    }
    (void)munmap(block + skip + size, DAT_HUGE - skip);
    (void)madvise(block + skip, size, MADV_HUGEPAGE);
    return block + skip;
}
#endif

void *dat_large(size_t size)
{
    if (size > SIZE_MAX / 2 || refused()) {
        return NULL;
    }
    size = dat_large_size(size);
#ifdef DAT_HUGE
    if (size >= DAT_HUGE) {
        /* Tables are read all over: with pages of 4 kB nearly every read also misses the processor's page table cache. */
        return map_huge(size);
    }
#endif
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

#ifdef DAT_HUGE
/* Of Linux 5.14 and newer, whatever the headers say. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* A long vector stands behind one line that says how much is mapped. It grows in place while that lasts, and moves without
 * a copy. Its pages are asked for READY bytes at a time: 16 MB cost 2.0 to 3.5 ms so, and 4.1 to 5.5 ms by a fault each
 * (five turns of each in one process). Not in huge pages: the first writing of 7 MB of ids took 4 % less of the whole time
 * in the median of seven fresh processes with them, and twice the time in two of the seven, where the memory had not been
 * used before. */
enum { LINE = 64, PAGE = 1 << 12, READY = 1 << 18 };

static uint8_t *block_of(uint32_t *items)
{
    return (uint8_t *)items - LINE;
}

static size_t mapped(uint32_t *items)
{
    size_t size;
    memcpy(&size, block_of(items), sizeof size);
    return size;
}

static int is_long(size_t room)
{
    return room * sizeof(uint32_t) >= DAT_HUGE - LINE;
}

/* What holds `size` bytes of ids, in a mapping of at least `most`; `old`: the items to take over, of a long vector. */
static uint32_t *map_ids(uint32_t *old, size_t most)
{
    size_t size = dat_large_size(most + LINE);
    void *block = refused()   ? MAP_FAILED
                  : old != NULL ? mremap(block_of(old), mapped(old), size, MREMAP_MAYMOVE)
                                : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        return NULL;
    }
    memcpy(block, &size, sizeof size);
    return (uint32_t *)(void *)((uint8_t *)block + LINE);
}

/* Room for `need` ids at least, in a mapping that has addresses for `expected`. */
static dat_status grow_long(dat_ids *ids, size_t need, size_t expected)
{
    const size_t one = sizeof *ids->items, least = DAT_HUGE / one;
    need = need < least ? least : need;
    need = need < ids->room ? ids->room : need;
    expected = expected < need ? need : expected;
    int was_long = is_long(ids->room);
    if (!was_long || mapped(ids->items) < LINE + expected * one) {
        size_t most = ids->room + ids->room / 2;
        uint32_t *items = map_ids(was_long ? ids->items : NULL, (most < expected ? expected : most) * one);
        if (items == NULL) {
            return DAT_NO_MEMORY;
        }
        if (!was_long) {
            if (ids->count > 0) {
                memcpy(items, ids->items, ids->count * one);
            }
            free(ids->items);
            ids->room = 0;
        }
        ids->items = items;
    }
    /* From page to page; what the kernel will not make ready it makes when it is written to. */
    uint8_t *block = block_of(ids->items);
    size_t all = mapped(ids->items), ready = ids->room > 0 ? (LINE + ids->room * one) / PAGE * PAGE : 0;
    size_t wanted = (LINE + need * one + READY - 1) / READY * READY;
    wanted = wanted > all ? all : wanted;
    if (wanted > ready) {
        (void)madvise(block + ready, wanted - ready, MADV_POPULATE_WRITE);
    }
    ids->room = (wanted - LINE) / one;
    return DAT_OK;
}
#endif

dat_status dat_ids_room(dat_ids *ids, size_t more)
{
    if (ids->room - ids->count >= more) {
        return DAT_OK;
    }
    if (more > SIZE_MAX / 16 - ids->count) {
        return DAT_NO_MEMORY;
    }
    size_t need = ids->count + more, room = ids->room + ids->room / 2;
    room = room < need ? need : room;
#ifdef DAT_HUGE
    if (is_long(room)) {
        return grow_long(ids, need, 0);
    }
#endif
    uint32_t *items = dat_grow(ids->items, room, sizeof *items);
    if (items == NULL) {
        return DAT_NO_MEMORY;
    }
    ids->items = items;
    ids->room = room;
    return DAT_OK;
}

dat_status dat_ids_expect(dat_ids *ids, size_t count)
{
#ifdef DAT_HUGE
    if (count <= SIZE_MAX / 16 && is_long(count)) {
        return grow_long(ids, 0, count);
    }
#endif
    return dat_ids_room(ids, count);
}

dat_status dat_ids_spread(dat_ids *ids, size_t more)
{
    if (ids->count > SIZE_MAX / 16 || more > SIZE_MAX / 16) {
        return DAT_NO_MEMORY;
    }
#ifdef DAT_HUGE
    size_t need = ids->count + more;
    if (ids->room < need && is_long(need)) {
        dat_status status = grow_long(ids, 0, need);
        ids->room = status == DAT_OK && ids->room < need ? need : ids->room;
        return status;
    }
#endif
    return dat_ids_room(ids, more);
}

void dat_ids_ready(uint32_t *items, size_t count)
{
#ifdef DAT_HUGE
    uintptr_t from = (uintptr_t)items / PAGE * PAGE, to = ((uintptr_t)(items + count) + PAGE - 1) / PAGE * PAGE;
    if (count * sizeof *items > 16 * PAGE) {
        (void)madvise((void *)from, to - from, MADV_POPULATE_WRITE);
    }
#else
    (void)items;
    (void)count;
#endif
}

void dat_ids_fit(dat_ids *ids)
{
    size_t size = ids->count * sizeof *ids->items;
#ifdef DAT_HUGE
    if (is_long(ids->room)) {
        /* Never below what marks a long vector. */
        size_t keep = dat_large_size(LINE + size < DAT_HUGE ? DAT_HUGE : LINE + size), have = mapped(ids->items);
        if (keep < have) {
            uint8_t *block = block_of(ids->items);
            (void)munmap(block + keep, have - keep);
            memcpy(block, &keep, sizeof keep);
            size_t room = (keep - LINE) / sizeof *ids->items;
            ids->room = ids->room < room ? ids->room : room;
        }
        return;
    }
#endif
    uint32_t *items = size > 0 ? realloc(ids->items, size) : NULL;
    if (items != NULL) {
        ids->items = items;
        ids->room = ids->count;
    }
}

void dat_ids_free(uint32_t *items, size_t room)
{
#ifdef DAT_HUGE
    if (is_long(room)) {
        (void)munmap(block_of(items), mapped(items));
        return;
    }
#endif
    (void)room;
    free(items);
}

void dat_ids_clear(dat_ids *ids)
{
    dat_ids_free(ids->items, ids->room);
    ids->items = NULL;
    ids->count = ids->room = 0;
}
