#include "greedy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Documents are handed out in runs of about so many bytes: small enough to level the threads. */
enum { RUN_BYTES = 1 << 18, RUN_DOCUMENTS = 1 << 12 };

typedef struct {
    size_t first, last; /* documents */
    dat_ids ids;
} cray_run;

typedef struct {
    const cray_engine *engine;
    const cray_document *documents;
    uint64_t *offsets; /* offsets[i + 1] first holds the number of ids of document i */
    cray_run *runs;
    size_t count, place;
    size_t bad;
    atomic_size_t next;
    atomic_int failed;
    pthread_mutex_t lock; /* of bad and place */
} cray_job;

static dat_status encode_run(cray_job *job, size_t first, size_t last, dat_ids *ids)
{
    for (size_t i = first; i < last; i++) {
        size_t before = ids->count, at;
        dat_status status = cray_encode_whole(job->engine, &job->documents[i], ids, NULL, &at);
        if (status != DAT_OK) {
            (void)pthread_mutex_lock(&job->lock);
            job->bad = i;
            job->place = at;
            (void)pthread_mutex_unlock(&job->lock);
            return status;
        }
        job->offsets[i + 1] = ids->count - before;
    }
    return DAT_OK;
}

static void *work_runs(void *argument)
{
    cray_job *job = argument;
    while (atomic_load_explicit(&job->failed, memory_order_relaxed) == DAT_OK) {
        size_t taken = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (taken >= job->count) {
            break;
        }
        cray_run *run = &job->runs[taken];
        dat_status status = encode_run(job, run->first, run->last, &run->ids);
        if (status != DAT_OK) {
            atomic_store_explicit(&job->failed, (int)status, memory_order_relaxed);
        }
    }
    return NULL;
}

static size_t cut_runs(const cray_document *documents, size_t count, cray_run *runs)
{
    size_t made = 0, first = 0, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += documents[i].size < RUN_BYTES ? documents[i].size : RUN_BYTES;
        if (bytes >= RUN_BYTES || i + 1 - first >= RUN_DOCUMENTS || i + 1 == count) {
            if (runs != NULL) {
                runs[made] = (cray_run){first, i + 1, {NULL, 0, 0}};
            }
            made++;
            first = i + 1;
            bytes = 0;
        }
    }
    return made;
}

static dat_status gather_runs(cray_job *job, dat_ids *values)
{
    size_t total = 0;
    for (size_t i = 0; i < job->count; i++) {
        total += job->runs[i].ids.count;
    }
    dat_status status = dat_ids_room(values, total);
    for (size_t i = 0; i < job->count; i++) {
        dat_ids *ids = &job->runs[i].ids;
        if (status == DAT_OK && ids->count > 0) {
            memcpy(values->items + values->count, ids->items, ids->count * sizeof *ids->items);
            values->count += ids->count;
        }
        dat_ids_clear(ids);
    }
    return status;
}

static dat_status over_threads(cray_job *job, size_t count, size_t threads, dat_ids *values)
{
    job->count = cut_runs(job->documents, count, NULL);
    threads = threads > job->count ? job->count : threads;
    job->runs = dat_alloc(job->count, sizeof *job->runs);
    pthread_t *handles = dat_alloc(threads, sizeof *handles);
    if (job->runs == NULL || handles == NULL) {
        dat_free(job->runs);
        dat_free(handles);
        return DAT_NO_MEMORY;
    }
    (void)cut_runs(job->documents, count, job->runs);
    size_t started = 0;
    /* A thread that the system refuses is not missed: the others take its runs. */
    while (started + 1 < threads && pthread_create(&handles[started], NULL, work_runs, job) == 0) {
        started++;
    }
    (void)work_runs(job);
    while (started-- > 0) {
        (void)pthread_join(handles[started], NULL);
    }
    dat_status gathered = gather_runs(job, values);
    dat_free(job->runs);
    dat_free(handles);
    dat_status failed = (dat_status)atomic_load(&job->failed);
    return failed != DAT_OK ? failed : gathered;
}

dat_status cray_encode_batch(const cray_engine *engine, const cray_document *documents, size_t count,
                             size_t threads, dat_ids *values, uint64_t *offsets, size_t *bad, size_t *place)
{
    cray_job job = {.engine = engine, .documents = documents, .offsets = offsets};
    offsets[0] = values->count;
    if (count == 0) {
        return DAT_OK;
    }
    atomic_init(&job.next, 0);
    atomic_init(&job.failed, DAT_OK);
    if (pthread_mutex_init(&job.lock, NULL) != 0) {
        return DAT_NO_MEMORY;
    }
    dat_status status;
    if (threads <= 1) {
        status = encode_run(&job, 0, count, values);
    } else {
        status = over_threads(&job, count, threads, values);
    }
    *bad = job.bad;
    *place = job.place;
    (void)pthread_mutex_destroy(&job.lock);
    for (size_t i = 0; i < count && status == DAT_OK; i++) {
        offsets[i + 1] += offsets[i];
    }
    return status;
}
