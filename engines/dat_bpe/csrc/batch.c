#include "encode.h"

#include <pthread.h>
#include <stdatomic.h>

/* Documents are handed out in chunks of about so many bytes: small enough to level the threads, large enough that
 * taking one costs nothing. */
enum { CHUNK_BYTES = 1 << 16 };

typedef struct {
    size_t first, last; /* documents */
    size_t worker, start, count; /* where its ids lie: in that worker's vector */
} batch_chunk;

typedef struct {
    const dat_vocab *vocab;
    const dat_document *documents;
    int specials;
    batch_chunk *chunks;
    size_t chunk_count;
    uint64_t *offsets; /* offsets[i + 1] first holds the number of ids of document i */
    atomic_size_t next;
    atomic_int failed; /* a dat_status: the others stop early */
} batch_job;

typedef struct {
    batch_job *job;
    dat_scratch *scratch;
    dat_ids ids;
    size_t number;
    pthread_t thread;
    int started;
} batch_worker;

static void *work(void *argument)
{
    batch_worker *self = argument;
    batch_job *job = self->job;
    while (atomic_load_explicit(&job->failed, memory_order_relaxed) == DAT_OK) {
        size_t taken = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (taken >= job->chunk_count) {
            break;
        }
        batch_chunk *chunk = &job->chunks[taken];
        chunk->worker = self->number;
        chunk->start = self->ids.count;
        for (size_t i = chunk->first; i < chunk->last; i++) {
            const dat_document *document = &job->documents[i];
            size_t before = self->ids.count;
            dat_status status = dat_encode(job->vocab, self->scratch, document->data, document->size, job->specials,
                                           &self->ids, NULL, NULL);
            if (status != DAT_OK) {
                atomic_store_explicit(&job->failed, (int)status, memory_order_relaxed);
                return NULL;
            }
            job->offsets[i + 1] = self->ids.count - before;
        }
        chunk->count = self->ids.count - chunk->start;
    }
    return NULL;
}

static size_t cut_chunks(const dat_document *documents, size_t count, batch_chunk *chunks)
{
    size_t made = 0, first = 0, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += documents[i].size < CHUNK_BYTES ? documents[i].size : CHUNK_BYTES;
        /* A document costs something even if it is empty. */
        if (bytes >= CHUNK_BYTES || i - first >= 4096 || i + 1 == count) {
            if (chunks != NULL) {
                chunks[made] = (batch_chunk){first, i + 1, 0, 0, 0};
            }
            made++;
            first = i + 1;
            bytes = 0;
        }
    }
    return made;
}

static dat_status gather(const batch_job *job, batch_worker *workers, dat_ids *values)
{
    size_t total = 0;
    for (size_t i = 0; i < job->chunk_count; i++) {
        total += job->chunks[i].count;
    }
    dat_status status = dat_ids_room(values, total);
    for (size_t i = 0; i < job->chunk_count && status == DAT_OK; i++) {
        const batch_chunk *chunk = &job->chunks[i];
        if (chunk->count > 0) {
            memcpy(values->items + values->count, workers[chunk->worker].ids.items + chunk->start,
                   chunk->count * sizeof *values->items);
            values->count += chunk->count;
        }
    }
    return status;
}

dat_status dat_encode_batch(const dat_vocab *vocab, dat_scratch **scratches, size_t threads,
                            const dat_document *documents, size_t count, int specials, dat_ids *values,
                            uint64_t *offsets)
{
    offsets[0] = values->count;
    batch_job job = {.vocab = vocab, .documents = documents, .specials = specials, .offsets = offsets};
    atomic_init(&job.next, 0);
    atomic_init(&job.failed, DAT_OK);
    job.chunk_count = cut_chunks(documents, count, NULL);
    threads = threads > job.chunk_count ? job.chunk_count : threads;
    if (threads == 0) {
        return DAT_OK;
    }
    job.chunks = dat_alloc(job.chunk_count, sizeof *job.chunks);
    batch_worker *workers = dat_zeroed(threads, sizeof *workers);
    if (job.chunks == NULL || workers == NULL) {
        dat_free(job.chunks);
        dat_free(workers);
        return DAT_NO_MEMORY;
    }
    (void)cut_chunks(documents, count, job.chunks);
    for (size_t i = 0; i < threads; i++) {
        workers[i].job = &job;
        workers[i].scratch = scratches[i];
        workers[i].number = i;
    }
    if (threads == 1) {
        /* The only worker takes the chunks in order: its vector is the result. */
        workers[0].ids = *values;
    }
    for (size_t i = 1; i < threads; i++) {
        /* A thread that the system refuses is not missed: the others take its chunks. */
        workers[i].started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    (void)work(&workers[0]);
    for (size_t i = 1; i < threads; i++) {
        if (workers[i].started) {
            (void)pthread_join(workers[i].thread, NULL);
        }
    }
    dat_status status = (dat_status)atomic_load(&job.failed);
    if (threads == 1) {
        *values = workers[0].ids;
    } else {
        if (status == DAT_OK) {
            status = gather(&job, workers, values);
        }
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
