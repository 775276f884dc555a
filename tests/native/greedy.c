/* Runs dat-greedy's C sources without Python, for the sanitizers.
 *
 *     greedy encode CASE [THREADS]   packs both ways; one line: a digest of all ids, after decoding them back
 *     greedy faults CASE             refuses the first, second, third … request for memory (build with DAT_FAULTS)
 *     greedy races CASE              several threads, each encoding batches over several threads, on one array
 *     greedy hostile CASE ROUNDS     arrays with flipped bits and planted numbers, and arrays of noise
 *
 * A CASE is written by cases.py. The exit status is 0 only if everything agreed with itself.
 */
#include "unity.c"

#include <stdio.h>

typedef struct {
    size_t tokens, count;
    uint64_t *offsets;
    uint32_t *ids;
    uint8_t *text;
    cray_document *documents;
} test_case;

static void fail(const char *what)
{
    fprintf(stderr, "greedy: %s\n", what);
    exit(1);
}

static void *read_block(FILE *file, size_t size)
{
    void *block = malloc(size ? size : 1);
    if (block == NULL || fread(block, 1, size, file) != size) {
        fail("the case ends early");
    }
    return block;
}

static size_t read_u64(FILE *file)
{
    uint64_t value;
    if (fread(&value, sizeof value, 1, file) != 1) {
        fail("the case ends early");
    }
    return (size_t)value;
}

static test_case read_case(const char *path)
{
    test_case test;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail("no such case");
    }
    test.tokens = read_u64(file);
    test.offsets = read_block(file, (test.tokens + 1) * sizeof *test.offsets);
    test.ids = read_block(file, test.tokens * sizeof *test.ids);
    test.text = read_block(file, (size_t)test.offsets[test.tokens]);
    test.count = read_u64(file);
    uint64_t *offsets = read_block(file, (test.count + 1) * sizeof *offsets);
    test.documents = malloc((test.count + 1) * sizeof *test.documents);
    if (test.documents == NULL) {
        fail("no memory");
    }
    /* Each document is a block of its own exact size, so that a read past its end is seen. */
    for (size_t i = 0; i < test.count; i++) {
        size_t size = (size_t)(offsets[i + 1] - offsets[i]);
        test.documents[i] = (cray_document){read_block(file, size), size};
    }
    free(offsets);
    fclose(file);
    return test;
}

static void clear_case(test_case *test)
{
    for (size_t i = 0; i < test->count; i++) {
        free((void *)(uintptr_t)test->documents[i].data);
    }
    free(test->documents);
    free(test->offsets);
    free(test->ids);
    free(test->text);
}

/* Packed, and each array in a block of its own exact size. */
static dat_status build(const test_case *test, dat_order order, int32_t *blocks[3], uint32_t *count)
{
    dat_key *keys = dat_alloc(test->tokens, sizeof *keys);
    if (keys == NULL) {
        return DAT_NO_MEMORY;
    }
    for (size_t i = 0; i < test->tokens; i++) {
        keys[i] = (dat_key){test->text + test->offsets[i], (size_t)(test->offsets[i + 1] - test->offsets[i]),
                            test->ids[i]};
    }
    cray_arrays arrays;
    dat_status status = cray_pack(&arrays, keys, test->tokens, order);
    dat_free(keys);
    if (status != DAT_OK) {
        return status;
    }
    *count = (uint32_t)arrays.count;
    for (size_t i = 0; i < 3; i++) {
        blocks[i] = malloc(arrays.count * sizeof *blocks[i]);
        memcpy(blocks[i], arrays.base + i * arrays.count, arrays.count * sizeof *blocks[i]);
    }
    dat_free(arrays.base);
    return DAT_OK;
}

static uint64_t mix(uint64_t digest, uint64_t word)
{
    for (int i = 0; i < 8; i++) {
        digest = (digest ^ ((word >> (8 * i)) & 0xFF)) * UINT64_C(0x100000001B3);
    }
    return digest;
}

/* One document at a time: ids and lengths, and the bytes back where the index can be made. */
static dat_status singles(const cray_engine *engine, const test_case *test, int whole, uint64_t *digest)
{
    cray_index index;
    uint32_t culprit = 0;
    dat_status status = cray_index_build(&index, &engine->trie, &culprit);
    int indexed = status == DAT_OK;
    if (status != DAT_OK && (whole || status != DAT_DUPLICATE_ID)) {
        return status;
    }
    status = DAT_OK;
    dat_ids ids = {NULL, 0, 0}, lengths = {NULL, 0, 0};
    for (size_t i = 0; i < test->count && status == DAT_OK; i++) {
        const cray_document *document = &test->documents[i];
        size_t at, sum = 0, size = 0, bad;
        ids.count = lengths.count = 0;
        status = cray_encode_whole(engine, document, &ids, &lengths, &at);
        if (status != DAT_OK) {
            break;
        }
        for (size_t j = 0; j < ids.count; j++) {
            sum += lengths.items[j];
            *digest = mix(*digest, ids.items[j]);
        }
        if (at != document->size || sum != document->size || lengths.count != ids.count) {
            fail("the ids do not cover the document");
        }
        if (indexed && cray_decoded_size(engine, &index, ids.items, ids.count, &size, &bad) != DAT_OK) {
            fail("an id is not known");
        }
        uint8_t *back = indexed ? dat_alloc(size, 1) : NULL;
        if (indexed && back == NULL) {
            status = DAT_NO_MEMORY;
        } else if (indexed && (size != document->size || cray_decode(engine, &index, ids.items, ids.count, back, size) != size ||
                               (size > 0 && memcmp(back, document->data, size) != 0))) {
            fail("decoding gives other bytes");
        }
        dat_free(back);
    }
    dat_ids_clear(&ids);
    dat_ids_clear(&lengths);
    if (indexed) {
        cray_index_clear(&index);
    }
    return status;
}

static dat_status batch(const cray_engine *engine, const test_case *test, size_t threads, uint64_t *digest)
{
    uint64_t *offsets = dat_alloc(test->count + 1, sizeof *offsets);
    dat_ids values = {NULL, 0, 0};
    size_t bad, place;
    dat_status status = offsets == NULL ? DAT_NO_MEMORY
                                        : cray_encode_batch(engine, test->documents, test->count, threads, &values,
                                                            offsets, &bad, &place);
    for (size_t i = 0; status == DAT_OK && i < values.count; i++) {
        *digest = mix(*digest, values.items[i]);
    }
    dat_ids_clear(&values);
    dat_free(offsets);
    return status;
}

#define START UINT64_C(0xCBF29CE484222325)

static dat_status everything(const test_case *test, size_t threads, uint64_t *digest)
{
    for (int order = 0; order < 2; order++) {
        int32_t *blocks[3];
        uint32_t count;
        uint64_t found[2] = {START, START};
        dat_status status = build(test, order ? DAT_BY_DEPTH : DAT_BY_LEVELS, blocks, &count);
        if (status != DAT_OK) {
            return status;
        }
        cray_engine engine = {{blocks[0], blocks[1], blocks[2], count}, CRAY_REFUSE, 0};
        status = singles(&engine, test, 1, &found[0]);
        if (status == DAT_OK) {
            status = batch(&engine, test, threads, &found[1]);
        }
        for (size_t i = 0; i < 3; i++) {
            free(blocks[i]);
        }
        if (status != DAT_OK) {
            return status;
        }
        if (found[0] != found[1] || (order && found[0] != *digest)) {
            fail("batch, order or document alone: not the same ids");
        }
        *digest = found[0];
    }
    return DAT_OK;
}

#ifdef DAT_FAULTS
static int faults(const test_case *test)
{
    for (long requests = 0;; requests++) {
        uint64_t digest = START;
        dat_refuse_after(requests);
        dat_status status = everything(test, 2, &digest);
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

static uint64_t state = 1;

static uint32_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static int32_t planted(uint32_t count)
{
    static const int32_t edges[] = {INT32_MIN, INT32_MIN + 1, -256, -1, 0, 1, 255, INT32_MAX - 255, INT32_MAX};
    uint32_t kind = chance() % 4;
    return kind == 0 ? edges[chance() % 9] : kind == 1 ? (int32_t)chance() : (int32_t)(chance() % (count + 2)) - 1;
}

static void hostile(const test_case *test, size_t rounds)
{
    int32_t *blocks[3];
    uint32_t count;
    uint64_t digest = START;
    if (build(test, DAT_BY_DEPTH, blocks, &count) != DAT_OK) {
        fail("the case cannot be packed");
    }
    for (size_t round = 0; round < rounds; round++) {
        /* A file with some changes, then with more and more; every 16th round a small one of noise. */
        uint32_t slots = round % 16 == 15 ? chance() % 300 + 1 : count;
        int32_t *changed[3];
        for (size_t i = 0; i < 3; i++) {
            changed[i] = malloc(slots * sizeof *changed[i]);
            for (uint32_t j = 0; j < slots; j++) {
                changed[i][j] = slots == count ? blocks[i][j] : (int32_t)(chance() % (slots + 8)) - 4;
            }
        }
        for (uint32_t change = chance() % (1u << (round % 14)) + 1; change > 0; change--) {
            int32_t *place = &changed[chance() % 3][chance() % 8 ? chance() % slots : 0];
            *place = chance() % 2 ? (int32_t)((uint32_t)*place ^ 1u << chance() % 32) : planted(slots);
        }
        cray_engine engine = {{changed[0], changed[1], changed[2], slots}, CRAY_BYTES, UINT32_C(1) << 31};
        if (singles(&engine, test, 0, &digest) != DAT_OK || batch(&engine, test, 2, &digest) != DAT_OK) {
            fail("a changed file cannot be walked");
        }
        for (size_t i = 0; i < 3; i++) {
            free(changed[i]);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        free(blocks[i]);
    }
    printf("%zu hostile files walked: %016llx\n", rounds, (unsigned long long)digest);
}

typedef struct {
    const cray_engine *engine;
    const test_case *test;
    uint64_t digests[4];
} racer;

static void *race(void *argument)
{
    racer *self = argument;
    for (size_t threads = 1; threads <= 4; threads++) {
        self->digests[threads - 1] = START;
        if (batch(self->engine, self->test, threads, &self->digests[threads - 1]) != DAT_OK) {
            fail("the case cannot be encoded");
        }
    }
    return NULL;
}

static void races(const test_case *test)
{
    enum { RACERS = 4 };
    int32_t *blocks[3];
    uint32_t count;
    if (build(test, DAT_BY_DEPTH, blocks, &count) != DAT_OK) {
        fail("the case cannot be packed");
    }
    cray_engine engine = {{blocks[0], blocks[1], blocks[2], count}, CRAY_REFUSE, 0};
    racer racers[RACERS];
    pthread_t threads[RACERS];
    for (int i = 0; i < RACERS; i++) {
        racers[i] = (racer){&engine, test, {0}};
        if (pthread_create(&threads[i], NULL, race, &racers[i]) != 0) {
            fail("no thread");
        }
    }
    for (int i = 0; i < RACERS; i++) {
        (void)pthread_join(threads[i], NULL);
        for (int j = 0; j < 4; j++) {
            if (racers[i].digests[j] != racers[0].digests[0]) {
                fail("threads give other ids");
            }
        }
    }
    for (size_t i = 0; i < 3; i++) {
        free(blocks[i]);
    }
    printf("%d threads of 1 to 4 threads: equal\n", RACERS);
}

int main(int count, char **words)
{
    if (count < 3) {
        fail("use: greedy encode|faults|races|hostile CASE [NUMBER]");
    }
    test_case test = read_case(words[2]);
    size_t number = count > 3 ? (size_t)strtoul(words[3], NULL, 10) : 1;
    if (strcmp(words[1], "races") == 0) {
        races(&test);
    } else if (strcmp(words[1], "hostile") == 0) {
        hostile(&test, number);
#ifdef DAT_FAULTS
    } else if (strcmp(words[1], "faults") == 0) {
        faults(&test);
#endif
    } else {
        uint64_t digest = START;
        if (everything(&test, number, &digest) != DAT_OK) {
            fail("the case cannot be encoded");
        }
        printf("%016llx\n", (unsigned long long)digest);
    }
    clear_case(&test);
    return 0;
}
