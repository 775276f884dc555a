/* Runs the encoder's C sources without Python, for the sanitizers and for comparing builds.
 *
 *     driver encode CASE [THREADS]   one line: an order-sensitive digest of all ids, spans and decoded bytes
 *     driver faults CASE             refuses the first, second, third … request for memory (build with DAT_FAULTS)
 *     driver damage CASE            every word of the case's programs replaced in turn: refused, or without harm
 *     driver races CASE              several threads, each encoding batches over several threads, on one vocabulary
 *
 * A CASE is written by cases.py. The exit status is 0 only if everything agreed with itself.
 */
#include "case.h"

/* bits 0: no cache, and every optimization off. */
static dat_settings settings_of(unsigned bits, dat_level level)
{
    return (dat_settings){.cache_bits = bits, .wide_bits = bits > 2 ? bits - 2 : 0, .uses = bits > 0 ? ~0u : 0,
                          .level = level, .seed = 7};
}

/* Whether an id covers exactly its own bytes, so that decoding gives the document. */
static int faithful(const test_case *test)
{
    int flagged = 0;
    for (size_t i = 0; i < test->specials.count; i++) {
        flagged |= test->specials.flags[i];
    }
    return !flagged && test->before.nfc == NULL && !test->before.prefix_space;
}

/* All documents as a batch: ids and offsets into the caller's hands. */
static dat_status batch(const dat_vocab *vocab, const test_case *test, size_t threads, dat_settings settings,
                        dat_ids *values, uint64_t *offsets)
{
    dat_scratch own[16], *scratches[16];
    dat_status status = DAT_OK;
    size_t ready = 0;
    while (ready < threads && status == DAT_OK) {
        scratches[ready] = &own[ready];
        status = dat_scratch_init(&own[ready], settings);
        ready += status == DAT_OK;
    }
    for (int specials = 0; specials < 2 && status == DAT_OK; specials++) {
        values->count = 0;
        status = dat_encode_batch(vocab, scratches, threads, test->documents, test->count, specials, values, offsets);
    }
    while (ready-- > 0) {
        dat_scratch_clear(&own[ready]);
    }
    return status;
}

/* One document at a time: ids, spans, and decoding back. */
static dat_status singles(const dat_vocab *vocab, const test_case *test, dat_trace *trace, uint64_t *digest)
{
    dat_scratch scratch;
    dat_status status = dat_scratch_init(&scratch, settings_of(8, dat_best_level()));
    dat_ids ids = {NULL, 0, 0};
    dat_marks marks = {NULL, 0, 0};
    for (size_t i = 0; i < test->count && status == DAT_OK; i++) {
        const dat_document *document = &test->documents[i];
        ids.count = marks.count = 0;
        status = dat_encode(vocab, &scratch, document->data, document->size, 1, &ids, &marks, trace);
        if (status != DAT_OK) {
            break;
        }
        size_t size = 0, bad;
        if (dat_decoded_size(vocab, ids.items, ids.count, &size, &bad) != DAT_OK ||
            (faithful(test) && size != document->size)) {
            fail("decoding gives another size");
        }
        uint8_t *back = dat_alloc(size, 1);
        uint64_t *spans = dat_alloc(2 * ids.count, sizeof *spans);
        if (back == NULL || spans == NULL) {
            status = DAT_NO_MEMORY;
        } else {
            if (dat_decode(vocab, ids.items, ids.count, back, size) != size ||
                (faithful(test) && size > 0 && memcmp(back, document->data, size) != 0)) {
                fail("decoding gives other bytes");
            }
            dat_spans(vocab, ids.items, ids.count, &marks, spans);
            if (ids.count > 0 && spans[2 * ids.count - 1] != document->size) {
                fail("the spans do not cover the document");
            }
            uint64_t reached = 0;
            for (size_t j = 0; j < ids.count; j++) {
                if (spans[2 * j] > reached || spans[2 * j] > spans[2 * j + 1]) {
                    fail("the spans leave a gap, or one ends before it starts");
                }
                reached = spans[2 * j + 1] > reached ? spans[2 * j + 1] : reached;
            }
            *digest = mix(*digest, ids.count);
            for (size_t j = 0; j < ids.count; j++) {
                *digest = mix(*digest, ids.items[j]);
            }
        }
        dat_free(back);
        dat_free(spans);
    }
    dat_ids_clear(&ids);
    dat_marks_clear(&marks);
    dat_scratch_clear(&scratch);
    return status;
}

static dat_status everything(const test_case *test, size_t threads, uint64_t *digest)
{
    dat_vocab vocab;
    dat_splitter splitter;
    dat_ids values = {NULL, 0, 0};
    dat_status status = build(&vocab, &splitter, test);
    if (status != DAT_OK) {
        return status;
    }
    uint64_t *offsets = dat_alloc(test->count + 1, sizeof *offsets);
    status = offsets == NULL ? DAT_NO_MEMORY : singles(&vocab, test, NULL, digest);
#ifdef DAT_TRACE
    dat_trace trace = {.items = NULL};
    uint64_t traced = UINT64_C(0xCBF29CE484222325);
    if (status == DAT_OK) {
        status = singles(&vocab, test, &trace, &traced);
        if (status == DAT_OK && traced != *digest) {
            fail("the trace build gives other ids");
        }
    }
    dat_trace_clear(&trace);
#endif
    /* Each level that this processor has, with every optimization and with none. */
    for (unsigned way = 0; way < 2 * (unsigned)DAT_LEVELS && status == DAT_OK; way++) {
        dat_level level = (dat_level)(way / 2);
        if (level > dat_best_level()) {
            break;
        }
        status = batch(&vocab, test, threads, settings_of(way % 2 ? 10 : 0, level), &values, offsets);
        if (status != DAT_OK) {
            break;
        }
        uint64_t again = UINT64_C(0xCBF29CE484222325);
        for (size_t i = 0; i < test->count; i++) {
            again = mix(again, offsets[i + 1] - offsets[i]);
            for (uint64_t j = offsets[i]; j < offsets[i + 1]; j++) {
                again = mix(again, values.items[j]);
            }
        }
        if (again != *digest) {
            fail("the batch gives other ids");
        }
    }
    dat_ids_clear(&values);
    dat_free(offsets);
    dat_splitter_clear(&splitter);
    dat_vocab_clear(&vocab);
    return status;
}

#ifdef DAT_FAULTS
static int faults(const test_case *test)
{
    for (long requests = 0;; requests++) {
        uint64_t digest = UINT64_C(0xCBF29CE484222325);
        dat_refuse_after(requests);
        dat_status status = everything(test, 1, &digest);
        if (status == DAT_OK) {
            printf("%ld requests refused in turn\n", requests);
            return 0;
        }
        if (status != DAT_NO_MEMORY) {
            fail("a refused request is not reported as such");
        }
    }
}
#endif

/* Programs may come from a file: none may read or write where it should not, or go on for ever. */
static int damage(const test_case *test)
{
    size_t words = (size_t)test->starts[test->programs], refused = 0, run = 0;
    uint32_t *copy = malloc((words + 1) * sizeof *copy);
    dat_classes classes;
    dat_split_room room;
    memset(&room, 0, sizeof room);
    dat_classes_init(&classes, &dat_unicode_versions[test->unicode]);
    for (size_t at = 0; copy != NULL && at < words; at++) {
        const uint32_t values[] = {0, 1, 2, 3, 7, 13, 20, 0x7FFF, DAT_MEMO_VALUE, DAT_MEMO_VALUE + 1, UINT32_MAX,
                                   test->words[at] ^ 1u, test->words[at] + 4};
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            dat_splitter splitter;
            size_t culprit;
            memcpy(copy, test->words, words * sizeof *copy);
            copy[at] = values[i];
            if (dat_splitter_build(&splitter, copy, test->starts, test->programs, &classes, &culprit) != DAT_OK) {
                refused++;
                continue;
            }
            run++;
            for (size_t j = 0; j < test->count; j++) {
                const dat_document *document = &test->documents[j];
                uint64_t ends[64], last = 0;
                size_t count = 64;
                if (dat_split_start(&splitter, &room, document->data, document->data + document->size) != DAT_OK) {
                    fail("no memory");
                }
                while (count == 64) {
                    if (dat_split(&splitter, &room, ends, 64, &count) != DAT_OK) {
                        fail("no memory");
                    }
                    for (size_t k = 0; k < count; k++) {
                        if (ends[k] <= last || ends[k] > document->size) {
                            fail("a piece is empty or ends past the text");
                        }
                        last = ends[k];
                    }
                }
                if (last != document->size) {
                    fail("the pieces do not cover the text");
                }
            }
            dat_splitter_clear(&splitter);
        }
    }
    free(copy);
    dat_split_room_clear(&room);
    printf("%zu damaged programs refused, %zu run\n", refused, run);
    return 0;
}

typedef struct {
    const dat_vocab *vocab;
    const test_case *test;
    const dat_ids *expected;
    int wrong;
} racer;

static void *race(void *argument)
{
    racer *self = argument;
    uint64_t *offsets = malloc((self->test->count + 1) * sizeof *offsets);
    dat_ids values = {NULL, 0, 0};
    for (size_t threads = 1; threads <= 4; threads++) {
        dat_settings settings = settings_of(8, dat_best_level());
        self->wrong |= batch(self->vocab, self->test, threads, settings, &values, offsets) != DAT_OK ||
                       values.count != self->expected->count ||
                       memcmp(values.items, self->expected->items, values.count * sizeof *values.items) != 0;
    }
    dat_ids_clear(&values);
    free(offsets);
    return NULL;
}

static int races(const test_case *test)
{
    enum { RACERS = 4 };
    dat_vocab vocab;
    dat_splitter splitter;
    dat_ids expected = {NULL, 0, 0};
    uint64_t *offsets = malloc((test->count + 1) * sizeof *offsets);
    if (build(&vocab, &splitter, test) != DAT_OK ||
        batch(&vocab, test, 1, settings_of(0, DAT_SCALAR), &expected, offsets) != DAT_OK) {
        fail("the case cannot be encoded");
    }
    racer racers[RACERS];
    pthread_t threads[RACERS];
    int wrong = 0;
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (racer){&vocab, test, &expected, 0};
        if (pthread_create(&threads[i], NULL, race, &racers[i]) != 0) {
            fail("no thread");
        }
    }
    for (int i = 0; i < RACERS; i++) {
        (void)pthread_join(threads[i], NULL);
        wrong |= racers[i].wrong;
    }
    printf("%d threads of 1 to 4 threads: %zu ids, %s\n", RACERS, expected.count, wrong ? "WRONG" : "equal");
    dat_ids_clear(&expected);
    dat_splitter_clear(&splitter);
    dat_vocab_clear(&vocab);
    free(offsets);
    return wrong;
}

int main(int count, char **words)
{
    if (count < 3) {
        fail("use: driver encode|faults|races CASE [THREADS]");
    }
    test_case test = read_case(words[2]);
    int result = 0;
    if (strcmp(words[1], "races") == 0) {
        result = races(&test);
    } else if (strcmp(words[1], "damage") == 0) {
        result = damage(&test);
#ifdef DAT_FAULTS
    } else if (strcmp(words[1], "faults") == 0) {
        result = faults(&test);
#endif
    } else {
        uint64_t digest = UINT64_C(0xCBF29CE484222325);
        size_t threads = count > 3 ? (size_t)strtoul(words[3], NULL, 10) : 1;
        if (everything(&test, threads > 16 ? 16 : threads, &digest) != DAT_OK) {
            fail("the case cannot be encoded");
        }
        printf("%016llx\n", (unsigned long long)digest);
    }
    clear_case(&test);
    return result;
}
