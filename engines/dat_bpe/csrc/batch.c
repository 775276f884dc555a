#include "encode.h"

#include <pthread.h>
#include <stdatomic.h>

/* Documents are handed out in chunks of about so many bytes: small enough to level the threads, large enough that
 * taking one costs nothing. */
enum { CHUNK_BYTES = 1 << 16 };

typedef struct {
    size_t first, last;  /* documents */
    size_t from, to;     /* bytes of the only document, if it is a part of one */
    size_t start, count; /* where its ids lie: in its worker's vector */
    size_t at;           /* where they go */
    size_t behind;       /* the next chunk of the same worker */
    int done;
} batch_chunk;

typedef struct {
    const dat_vocab *vocab;
    const dat_document *documents;
    int specials;
    batch_chunk *chunks;
    size_t chunk_count, chunk_room;
    uint64_t *offsets; /* offsets[i + 1] first holds the number of ids of document i */
    uint32_t *values;  /* where the ids of the first chunk go */
    size_t room;       /* for so many */
    size_t total;      /* ids of the chunks whose place is known */
    atomic_size_t placed; /* and how many chunks these are: all before the first that is not done */
    atomic_size_t next;
    atomic_int failed; /* a dat_status: the others stop early */
    pthread_mutex_t placing;
} batch_job;

typedef struct {
    batch_job *job;
    dat_scratch *scratch;
    dat_ids ids;            /* of chunks that wait for those before them */
    size_t waiting, newest; /* the first of these and the last; waiting NO_CHUNK: none */
    pthread_t thread;
    int started;
} batch_worker;

#define NO_CHUNK SIZE_MAX

/* Whether documents may be encoded side by side. */
static int plain(const dat_vocab *vocab, int specials)
{
    return vocab->splitter == NULL && vocab->before.nfc == NULL && !vocab->before.prefix_space &&
           (!specials || vocab->specials.count == 0);
}

/* Appends the ids of documents in order, and writes how many ids there are with each. */
static dat_status encode_row(const dat_vocab *vocab, dat_scratch *scratch, const dat_document *documents, size_t count,
                             int specials, dat_ids *out, uint64_t *offsets)
{
    const int together = plain(vocab, specials);
    dat_status status = DAT_OK;
    for (size_t i = 0; i < count && status == DAT_OK;) {
        size_t taken = 0;
        if (together && documents[i].size <= DAT_MANY_BYTES) {
            status = dat_many(vocab, scratch, documents + i, count - i, out, offsets + i, &taken);
        }
        if (taken == 0 && status == DAT_OK) {
            status = dat_encode(vocab, scratch, documents[i].data, documents[i].size, specials, out, NULL, NULL);
            offsets[i] = out->count;
            taken = 1;
        }
        i += taken;
    }
    return status;
}

static dat_status encode_chunk(batch_job *job, batch_worker *self, batch_chunk *chunk)
{
    chunk->start = self->ids.count;
    dat_status status;
    if (chunk->to > 0) {
        status = dat_encode(job->vocab, self->scratch, job->documents[chunk->first].data + chunk->from,
                            chunk->to - chunk->from, job->specials, &self->ids, NULL, NULL);
    } else {
        uint64_t *offsets = job->offsets + chunk->first + 1;
        size_t count = chunk->last - chunk->first;
        status = encode_row(job->vocab, self->scratch, job->documents + chunk->first, count, job->specials, &self->ids,
                            offsets);
        /* Counts a document: where a chunk goes is not known yet. */
        for (size_t i = count; i-- > 0 && status == DAT_OK;) {
            offsets[i] -= i > 0 ? offsets[i - 1] : chunk->start;
        }
    }
    chunk->count = self->ids.count - chunk->start;
    return status;
}

/* Copies the worker's ids whose place is known, as far as there is room. */
static void copy_placed(batch_worker *self)
{
    const batch_job *job = self->job;
    size_t placed = atomic_load_explicit(&job->placed, memory_order_acquire);
    while (self->waiting < placed) {
        const batch_chunk *chunk = &job->chunks[self->waiting];
        if (chunk->count > 0) {
            if (chunk->at + chunk->count > job->room) {
                return;
            }
            dat_ids_ready(job->values + chunk->at, chunk->count);
            memcpy(job->values + chunk->at, self->ids.items + chunk->start, chunk->count * sizeof *job->values);
        }
        self->waiting = self->waiting == self->newest ? NO_CHUNK : chunk->behind;
    }
    if (self->waiting == NO_CHUNK) {
        self->ids.count = 0;
    }
}

/* Chunk `number` is done: its place is known with that of all before it. */
static void line_up(batch_worker *self, size_t number)
{
    batch_job *job = self->job;
    if (self->waiting == NO_CHUNK) {
        self->waiting = number;
    } else {
        job->chunks[self->newest].behind = number;
    }
    self->newest = number;
    if (PLANTED(62, (job->chunks[number].done = 1, atomic_load(&job->placed) != number), 0)) {
        return;
    }
    if (PLANTED(61, 0, 1)) {
        (void)pthread_mutex_lock(&job->placing);
    }
    job->chunks[number].done = 1;
    size_t placed = atomic_load_explicit(&job->placed, memory_order_relaxed);
    for (; placed < job->chunk_count && job->chunks[placed].done; placed++) {
        job->chunks[placed].at = job->total;
        job->total += job->chunks[placed].count;
    }
    atomic_store_explicit(&job->placed, placed, memory_order_release);
    if (PLANTED(61, 0, 1)) {
        (void)pthread_mutex_unlock(&job->placing);
    }
}

static void *work(void *argument)
{
    batch_worker *self = argument;
    batch_job *job = self->job;
    while (atomic_load_explicit(&job->failed, memory_order_relaxed) == DAT_OK) {
        size_t taken = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (taken >= job->chunk_count) {
            break;
        }
        dat_status status = encode_chunk(job, self, &job->chunks[taken]);
        if (status != DAT_OK) {
            atomic_store_explicit(&job->failed, (int)status, memory_order_relaxed);
            break;
        }
        line_up(self, taken);
        copy_placed(self);
    }
    return NULL;
}

/* A thread that the system refuses is not missed: the others take its chunks. */
static void run_workers(batch_worker *workers, size_t threads)
{
    for (size_t i = 1; i < threads; i++) {
        workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    (void)work(&workers[0]);
    for (size_t i = 1; i < threads; i++) {
        if (workers[i].started) {
            (void)pthread_join(workers[i].thread, NULL);
        }
    }
}

/* Whether a document may be cut where a letter is followed by a space: in every machine's pattern a piece ends there,
 * whatever stands before and behind, and no special token may reach across. What is done to text before it is split, and
 * flags that take blanks, look further. */
static int may_cut(const dat_vocab *vocab, int specials)
{
    if (vocab->splitter != NULL || vocab->before.nfc != NULL || vocab->before.prefix_space) {
        return 0;
    }
    const dat_specials *all = &vocab->specials;
    for (size_t i = 0; specials && i < all->count; i++) {
        size_t start = all->offsets[i];
        if (all->flags[i] != 0 || memchr(all->text + start, ' ', all->offsets[i + 1] - start) != NULL) {
            return 0;
        }
    }
    return 1;
}

/* The first place from `at` on where a letter is followed by a space; the document's size if there is none near. */
static size_t next_cut(const dat_document *document, size_t at)
{
    size_t stop = document->size - at > DAT_PART_BYTES ? at + DAT_PART_BYTES : document->size;
    for (; at < stop; at++) {
        uint8_t before = document->data[at - 1] | 0x20;
        if (document->data[at] == ' ' && before >= 'a' && before <= 'z') {
            return at;
        }
    }
    return document->size;
}

static dat_status add_chunk(batch_job *job, batch_chunk chunk)
{
    if (job->chunk_count == job->chunk_room) {
        size_t room = job->chunk_room + job->chunk_room / 2 + 16;
        batch_chunk *chunks = dat_grow(job->chunks, room, sizeof *chunks);
        if (chunks == NULL) {
            return DAT_NO_MEMORY;
        }
        job->chunks = chunks;
        job->chunk_room = room;
    }
    job->chunks[job->chunk_count++] = chunk;
    return DAT_OK;
}

static dat_status cut_parts(batch_job *job, size_t number)
{
    const dat_document *document = &job->documents[number];
    dat_status status = DAT_OK;
    for (size_t from = 0; from < document->size && status == DAT_OK;) {
        size_t to = document->size - from > 2 * DAT_PART_BYTES ? next_cut(document, from + DAT_PART_BYTES) : document->size;
        status = add_chunk(job, (batch_chunk){.first = number, .last = number + 1, .from = from, .to = to});
        from = to;
    }
    return status;
}

static dat_status cut_chunks(batch_job *job, size_t count, size_t threads)
{
    int cutting = threads > 1 && may_cut(job->vocab, job->specials);
    size_t first = 0, bytes = 0;
    dat_status status = DAT_OK;
    for (size_t i = 0; i < count && status == DAT_OK; i++) {
        size_t size = job->documents[i].size;
        int parts = cutting && size > 2 * DAT_PART_BYTES;
        bytes += size < CHUNK_BYTES ? size : CHUNK_BYTES;
        /* A document costs something even if it is empty. */
        if (parts && first < i) {
            status = add_chunk(job, (batch_chunk){.first = first, .last = i});
            first = i;
        }
        if (parts && status == DAT_OK) {
            status = cut_parts(job, i);
        } else if (status == DAT_OK && (bytes >= CHUNK_BYTES || i - first >= 4096 || i + 1 == count)) {
            status = add_chunk(job, (batch_chunk){.first = first, .last = i + 1});
        } else {
            continue;
        }
        first = i + 1;
        bytes = 0;
    }
    return status;
}

/* What still waits: it came last, or there was no room. */
static dat_status gather(batch_job *job, batch_worker *workers, size_t threads, dat_ids *values)
{
    if (job->total > job->room) {
        /* All of the room may have been written to, and what has goes along. */
        size_t before = values->count;
        values->count += job->room;
        dat_status status = dat_ids_spread(values, job->total - job->room);
        values->count = before;
        if (status != DAT_OK) {
            return status;
        }
        job->values = values->items + before;
        job->room = values->room - before;
    }
    for (size_t i = 0; i < threads; i++) {
        copy_placed(&workers[i]);
    }
    values->count += job->total;
    for (size_t i = 0; i < job->chunk_count; i++) {
        const batch_chunk *chunk = &job->chunks[i];
        if (chunk->to > 0) {
            job->offsets[chunk->first + 1] += chunk->count;
        }
    }
    return DAT_OK;
}

static dat_status encode_together(batch_job *job, batch_worker *workers, size_t threads, size_t bytes, dat_ids *values)
{
    /* English has more than four bytes a token, Chinese less than three. */
    dat_status status = dat_ids_spread(values, bytes / 3 + 8);
    if (status != DAT_OK) {
        return status;
    }
    job->values = values->items + values->count;
    job->room = values->room - values->count;
    if (pthread_mutex_init(&job->placing, NULL) != 0) {
        return DAT_NO_MEMORY;
    }
    run_workers(workers, threads);
    (void)pthread_mutex_destroy(&job->placing);
    status = (dat_status)atomic_load(&job->failed);
    return status == DAT_OK ? gather(job, workers, threads, values) : status;
}

dat_status dat_encode_batch(const dat_vocab *vocab, dat_scratch **scratches, size_t threads,
                            const dat_document *documents, size_t count, int specials, dat_ids *values,
                            uint64_t *offsets)
{
    offsets[0] = values->count;
    if (threads == 1) {
        return encode_row(vocab, scratches[0], documents, count, specials, values, offsets + 1);
    }
    batch_job job = {.vocab = vocab, .documents = documents, .specials = specials, .offsets = offsets};
    atomic_init(&job.placed, 0);
    atomic_init(&job.next, 0);
    atomic_init(&job.failed, DAT_OK);
    memset(offsets + 1, 0, count * sizeof *offsets);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += documents[i].size;
    }
    dat_status status = cut_chunks(&job, count, threads);
    threads = threads > job.chunk_count ? job.chunk_count : threads;
    batch_worker *workers = dat_zeroed(threads, sizeof *workers);
    if (status == DAT_OK && workers == NULL) {
        status = DAT_NO_MEMORY;
    }
    if (status == DAT_OK && threads > 0) {
        for (size_t i = 0; i < threads; i++) {
            workers[i].job = &job;
            workers[i].scratch = scratches[i];
            workers[i].waiting = NO_CHUNK;
        }
        status = encode_together(&job, workers, threads, bytes, values);
        for (size_t i = 0; i < threads; i++) {
            dat_ids_clear(&workers[i].ids);
        }
    }
    for (size_t i = 0; i < count && status == DAT_OK; i++) {
        offsets[i + 1] += offsets[i];
    }
    dat_free(job.chunks);
    dat_free(workers);
    return status;
}
