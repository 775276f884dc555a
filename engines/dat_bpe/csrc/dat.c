#include "dat.h"

#include <stdlib.h>
#include <string.h>

/* Slots are searched 64 bases at a time: the free bits of every child, shifted to the base, are ANDed. The result
 * is the least base, as a search by ones would find it. */
typedef struct {
    uint64_t *free_bits; /* 1: free */
    uint64_t *some_bits; /* 1: this word of free_bits is not 0. Slots that nobody can use stay free for ever, and
                          * without this every search would begin at them and read all that is full behind them */
    size_t words;
    size_t first_free; /* no slot below it is free */
} slot_map;

typedef struct {
    size_t first, last; /* keys of this state: [first, last) */
    size_t depth;
    int32_t state;
} pending;

/* A base reaches 255 slots ahead and a search reads 64 bits from there, in two words. */
enum { SLOT_MARGIN = 256 + 128, MAX_SLOTS = INT32_MAX - 1024 };

static int compare_keys(const void *left, const void *right)
{
    const dat_key *a = left, *b = right;
    size_t shorter = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->text, b->text, shorter);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static dat_status reserve_slots(dat_trie *trie, slot_map *map, size_t slots)
{
    if (slots > MAX_SLOTS) {
        return DAT_NO_MEMORY;
    }
    if (slots <= map->words * 64) {
        return DAT_OK;
    }
    size_t words = (slots + slots / 2 + 1024) / 64 + 1;
    uint64_t *bits = dat_grow(map->free_bits, words, sizeof *bits);
    if (bits == NULL) {
        return DAT_NO_MEMORY;
    }
    map->free_bits = bits;
    uint64_t *some = dat_grow(map->some_bits, words / 64 + 1, sizeof *some);
    if (some == NULL) {
        return DAT_NO_MEMORY;
    }
    map->some_bits = some;
    dat_node *nodes = dat_grow(trie->nodes, words * 64, sizeof *nodes);
    if (nodes == NULL) {
        return DAT_NO_MEMORY;
    }
    trie->nodes = nodes;
    uint32_t *values = dat_grow(trie->values, words * 64, sizeof *values);
    if (values == NULL) {
        return DAT_NO_MEMORY;
    }
    trie->values = values;
    size_t old = map->words * 64;
    for (size_t word = map->words; word < words; word++) {
        /* The rest of the last word of some_bits is never looked at. */
        some[word >> 6] = word & 63 ? some[word >> 6] | UINT64_C(1) << (word & 63) : 1;
    }
    memset(bits + map->words, 0xFF, (words - map->words) * sizeof *bits);
    memset(nodes + old, 0xFF, (words * 64 - old) * sizeof *nodes);
    memset(values + old, 0xFF, (words * 64 - old) * sizeof *values);
    map->words = words;
    return DAT_OK;
}

static uint64_t free_from(const slot_map *map, size_t slot)
{
    size_t word = slot >> 6, shift = slot & 63;
    uint64_t low = map->free_bits[word] >> shift;
    return shift ? low | map->free_bits[word + 1] << (64 - shift) : low;
}

static void take_slot(slot_map *map, size_t slot)
{
    size_t word = slot >> 6;
    map->free_bits[word] &= ~(UINT64_C(1) << (slot & 63));
    if (map->free_bits[word] == 0) {
        map->some_bits[word >> 6] &= ~(UINT64_C(1) << (word & 63));
    }
}

/* The first word from `word` on with a free slot; the first past the map where there is none. */
static size_t next_some(const slot_map *map, size_t word)
{
    while (word < map->words) {
        uint64_t bits = map->some_bits[word >> 6] >> (word & 63);
        if (bits & 1) {
            return word;
        }
        if (bits == 0) {
            word = (word | 63) + 1;
        } else {
            while (!(bits & 1)) {
                bits >>= 1;
                word++;
            }
        }
    }
    return map->words;
}

static void advance_first_free(slot_map *map)
{
    size_t word = map->first_free >> 6;
    while (word < map->words && map->free_bits[word] == 0) {
        word++;
    }
    map->first_free = word * 64;
    if (word < map->words) {
        uint64_t bits = map->free_bits[word];
        while (!(bits & 1)) {
            bits >>= 1;
            map->first_free++;
        }
    }
}

static dat_status find_base(dat_trie *trie, slot_map *map, const uint8_t *bytes, size_t count, size_t *found)
{
    /* The least child needs a free slot: bases below that are hopeless. */
    size_t base = map->first_free > (size_t)bytes[0] + 1 ? map->first_free - bytes[0] : 1;
    for (;; base += 64) {
        size_t word = (base + bytes[0]) >> 6, some = next_some(map, word);
        base = some > word ? some * 64 - bytes[0] : base;
        dat_status status = reserve_slots(trie, map, base + SLOT_MARGIN);
        if (status != DAT_OK) {
            return status;
        }
        uint64_t fits = ~UINT64_C(0);
        for (size_t i = 0; i < count && fits; i++) {
            fits &= free_from(map, base + bytes[i]);
        }
        if (fits) {
            while (!(fits & 1)) {
                fits >>= 1;
                base++;
            }
            *found = base;
            return DAT_OK;
        }
    }
}

/* Places the children of one state and queues them. */
static dat_status place(dat_trie *trie, slot_map *map, const dat_key *keys, pending state, pending *queue,
                        size_t *tail)
{
    uint8_t bytes[256];
    size_t starts[257], count = 0, at = state.first;
    if (at < state.last && keys[at].size == state.depth) {
        trie->values[state.state] = keys[at].value;
        at++;
    }
    while (at < state.last) {
        uint8_t byte = keys[at].text[state.depth];
        bytes[count] = byte;
        starts[count++] = at;
        while (at < state.last && keys[at].text[state.depth] == byte) {
            at++;
        }
    }
    starts[count] = state.last;
    if (count == 0) {
        trie->nodes[state.state].base = 0;
        return DAT_OK;
    }
    size_t base;
    dat_status status = find_base(trie, map, bytes, count, &base);
    if (status != DAT_OK) {
        return status;
    }
    trie->nodes[state.state].base = (int32_t)base;
    for (size_t i = 0; i < count; i++) {
        size_t slot = base + bytes[i];
        take_slot(map, slot);
        trie->nodes[slot].check = state.state;
        trie->count = slot + 1 > trie->count ? slot + 1 : trie->count;
        queue[(*tail)++] = (pending){starts[i], starts[i + 1], state.depth + 1, (int32_t)slot};
    }
    advance_first_free(map);
    return DAT_OK;
}

dat_status dat_trie_build(dat_trie *trie, dat_key *keys, size_t count)
{
    return dat_trie_pack(trie, keys, count, DAT_BY_LEVELS);
}

static void reverse(pending *items, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        pending swapped = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = swapped;
    }
}

dat_status dat_trie_pack(dat_trie *trie, dat_key *keys, size_t count, dat_order order)
{
    *trie = (dat_trie){NULL, NULL, 1};
    slot_map map = {NULL, NULL, 0, 1};
    if (count > 1) {
        qsort(keys, count, sizeof *keys, compare_keys);
    }
    size_t states = 1;
    for (size_t i = 0; i < count; i++) {
        if (keys[i].size == 0) {
            return DAT_EMPTY_TOKEN;
        }
        if (i > 0 && compare_keys(&keys[i - 1], &keys[i]) == 0) {
            return DAT_DUPLICATE_TEXT;
        }
        states = states > SIZE_MAX - keys[i].size ? SIZE_MAX : states + keys[i].size;
    }
    pending *queue = dat_alloc(states, sizeof *queue);
    dat_status status = queue == NULL ? DAT_NO_MEMORY : reserve_slots(trie, &map, SLOT_MARGIN);
    if (status == DAT_OK) {
        take_slot(&map, 0);
        size_t head = 0, tail = 0;
        queue[tail++] = (pending){0, count, 0, 0};
        while (status == DAT_OK && head < tail) {
            /* By depth the queue is a stack, with the first child on top. */
            pending next = order == DAT_BY_DEPTH ? queue[--tail] : queue[head++];
            size_t before = tail;
            status = place(trie, &map, keys, next, queue, &tail);
            if (order == DAT_BY_DEPTH) {
                reverse(queue + before, tail - before);
            }
        }
    }
    dat_free(queue);
    dat_free(map.free_bits);
    dat_free(map.some_bits);
    if (status != DAT_OK) {
        dat_trie_clear(trie);
    }
    return status;
}

void dat_trie_clear(dat_trie *trie)
{
    dat_free(trie->nodes);
    dat_free(trie->values);
    *trie = (dat_trie){NULL, NULL, 0};
}
