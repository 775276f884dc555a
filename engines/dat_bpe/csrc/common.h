/* What every stage shares: status codes, the absent id, memory, growing vectors. */
#ifndef DAT_COMMON_H
#define DAT_COMMON_H

#include <stddef.h>
#include <stdint.h>

/* Faults planted on purpose: `wrong` in a build with -DDAT_PLANTED=n and nowhere else. tests/native/planted.py says what each
 * is, and that an audit finds it. */
#ifdef DAT_PLANTED
#define PLANTED(n, wrong, right) (DAT_PLANTED == (n) ? (wrong) : (right))
#else
#define PLANTED(n, wrong, right) (right)
#endif

typedef enum {
    DAT_OK = 0,
    DAT_NO_MEMORY,
    DAT_TOO_LONG,       /* a pretoken of 4 GiB or more: positions inside one are 32 bits wide */
    DAT_BAD_ID,         /* decode: an id that the vocabulary lacks */
    DAT_MISSING_BYTE,   /* load: a byte without a token */
    DAT_DUPLICATE_TEXT, /* load: one text with two ids */
    DAT_DUPLICATE_ID,   /* load: one id with two texts */
    DAT_EMPTY_TOKEN,    /* load: a token of no bytes */
    DAT_BAD_MERGE,      /* load: a merge whose parts do not join to its token */
    DAT_TOO_MANY,       /* load: more tokens than a slot has bits for, or 4 GiB of text */
    DAT_BAD_PROGRAM,    /* load: words that are no program of split.h */
    DAT_DAMAGED         /* a profile's contents contradict each other */
} dat_status;

/* No id: the greatest that a vocabulary may use is one less. */
#define DAT_NONE UINT32_MAX

/* Memory goes through these, so that the fault-injection build can refuse the n-th request. */
void *dat_alloc(size_t count, size_t size);  /* NULL also where count * size overflows */
void *dat_zeroed(size_t count, size_t size);
void *dat_grow(void *old, size_t count, size_t size);
void dat_free(void *block);
void *dat_large(size_t size); /* zeros, at a multiple of 64, in huge pages where the system has them */
void dat_large_free(void *block, size_t size);

#ifdef DAT_FAULTS
void dat_refuse_after(long requests); /* the request after so many fails, and all later ones; negative: never */
#endif

/* A long vector is mapped by itself, and its memory is made ready some way ahead of its end: `room` is what is ready. */
typedef struct {
    uint32_t *items;
    size_t count, room;
} dat_ids;

dat_status dat_ids_room(dat_ids *ids, size_t more);
dat_status dat_ids_expect(dat_ids *ids, size_t count); /* of an empty vector: addresses for so many, not yet memory */
dat_status dat_ids_spread(dat_ids *ids, size_t more);  /* room that whoever writes to it makes ready: many threads do */
void dat_ids_ready(uint32_t *items, size_t count); /* makes the memory ready of a part that was so given */
void dat_ids_fit(dat_ids *ids);                    /* gives back what is not used, as far as that is quick */
void dat_ids_free(uint32_t *items, size_t room);   /* what was taken out of a vector */
void dat_ids_clear(dat_ids *ids);

#endif
