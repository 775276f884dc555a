/* Damaged profiles: bytes of a block are changed anywhere, its head is sealed again, and what opens must encode, decode,
 * give spans and (trace build) trace without a read or write out of place, and in time. Ids may be anything.
 *
 * Built with -DDAT_TRACE and run by fuzz.py; fuzz.h says how. */
#include "fuzz.h"

#include <signal.h>
#include <unistd.h>

enum { HEAD = 4, SECONDS_MOST = 60 };

#ifndef DAT_LIBFUZZER
static void too_long(int signal)
{
    (void)signal;
    differ("it does not end");
}
#endif

static test_case test;
static dat_vocab sound, open_vocab;
static uint8_t *block, *damaged;
static size_t block_size;

static void start(const char *folder)
{
    char path[4096];
    dat_splitter none;
    snprintf(path, sizeof path, "%s/damage", folder);
    test = read_case(path);
    if (build(&sound, &none, &test) != DAT_OK) {
        fail("the case is refused");
    }
    block_size = (size_t)sound.profile->size;
    block = aligned_alloc(64, block_size);
    damaged = aligned_alloc(64, block_size);
    if (block == NULL || damaged == NULL) {
        fail("no memory");
    }
    memcpy(block, sound.profile, block_size);
#ifndef DAT_LIBFUZZER
    (void)signal(SIGALRM, too_long);
#endif
}

/* Numbers that are worth trying where a table has one. */
static uint32_t number(uint64_t *state)
{
    static const uint32_t kinds[] = {0, 1, 2, 255, 256, 699, 700, 701, 0x1FFFFE, 0x1FFFFF, 0x200000, 0x7FFFFFFF, 0x80000000,
                                     0xFFFFFF00, 0xFFFFFFFE, 0xFFFFFFFF};
    size_t choice = below(state, 24);
    return choice < 16 ? kinds[choice] : choice < 20 ? (uint32_t)below(state, 800) : (uint32_t)draw(state);
}

static void damage(uint64_t *state)
{
    dat_profile *head = (dat_profile *)(void *)damaged;
    dat_place sections[DAT_SECTIONS];
    memcpy(sections, head->sections, sizeof sections);
    size_t changes = 1 + below(state, below(state, 4) ? 8 : 200);
    for (size_t i = 0; i < changes; i++) {
        size_t which = below(state, DAT_SECTIONS + 2);
        size_t at = 0, size = which == DAT_SECTIONS ? offsetof(dat_profile, head) : block_size;
        if (which < DAT_SECTIONS) {
            at = (size_t)sections[which].at;
            size = (size_t)sections[which].size;
        }
        if (size < 4) {
            continue;
        }
        if (which == DAT_SECTIONS && below(state, 2) == 0) {
            at = offsetof(dat_profile, count); /* the numbers of the head are refused less often than the rest */
            size = offsetof(dat_profile, unicode) - at;
        }
        uint32_t value = number(state);
        switch (below(state, 6)) {
        case 0: /* a stretch of one value */
            at += below(state, size / 4) * 4;
            for (size_t left = below(state, 4096); left > 0 && at + 4 <= block_size; left--, at += 4) {
                memcpy(damaged + at, &value, 4);
            }
            break;
        case 1: /* a stretch of anything */
            at += below(state, size);
            for (size_t left = below(state, 4096); left > 0 && at < block_size; left--) {
                damaged[at++] = (uint8_t)draw(state);
            }
            break;
        case 2: /* a stretch of small numbers: indexes that there are */
            at += below(state, size / 4) * 4;
            for (size_t left = below(state, 4096); left > 0 && at + 4 <= block_size; left--, at += 4) {
                value = (uint32_t)below(state, 700);
                memcpy(damaged + at, &value, 4);
            }
            break;
        case 3:
            damaged[at + below(state, size)] ^= (uint8_t)(1u << below(state, 8));
            break;
        default:
            memcpy(damaged + at + below(state, size / 4) * 4, &value, 4);
        }
    }
    memcpy(head->magic, dat_profile_magic, sizeof head->magic);
    head->version = DAT_PROFILE_VERSION;
    head->byte_order = 0x01020304;
    head->size = block_size;
    if (below(state, 4)) {
        memcpy(head->sections, sections, sizeof sections);
        memcpy(&head->classes, block + offsetof(dat_profile, classes), sizeof head->classes);
    }
    dat_profile_seal(head);
}

static void try_all(const uint8_t *text, size_t size, unsigned uses)
{
    dat_ids ids = {NULL, 0, 0};
    dat_marks marks = {NULL, 0, 0};
    for (dat_level level = DAT_SCALAR; level <= dat_best_level(); level++) {
        dat_scratch scratch;
        dat_settings settings = {.cache_bits = uses & 128 ? 6 : 0, .wide_bits = 4, .uses = uses, .level = level, .seed = 5};
        if (dat_scratch_init(&scratch, settings) != DAT_OK) {
            fail("no memory");
        }
        for (int specials = 0; specials < 2; specials++) {
            ids.count = marks.count = 0;
            dat_status status = dat_encode(&open_vocab, &scratch, text, size, specials, &ids, &marks, NULL);
            if (status == DAT_DAMAGED) {
                continue;
            }
            if (status != DAT_OK) {
                fail("a status that cannot be");
            }
            size_t total = 0, bad;
            uint64_t *spans = malloc(2 * ids.count * sizeof *spans + 1);
            if (spans == NULL) {
                fail("no memory");
            }
            dat_spans(&open_vocab, ids.items, ids.count, &marks, spans);
            free(spans);
            if (dat_decoded_size(&open_vocab, ids.items, ids.count, &total, &bad) == DAT_OK && total < (size_t)1 << 30) {
                uint8_t *back = malloc(total + 1);
                if (back == NULL) {
                    fail("no memory");
                }
                (void)dat_decode(&open_vocab, ids.items, ids.count, back, total);
                free(back);
            }
        }
#ifdef DAT_TRACE
        if (level == DAT_SCALAR) {
            dat_trace trace = {.items = NULL};
            ids.count = 0;
            (void)dat_encode(&open_vocab, &scratch, text, size, 1, &ids, NULL, &trace);
            dat_trace_clear(&trace);
        }
#endif
        dat_scratch_clear(&scratch);
    }
    dat_ids_clear(&ids);
    dat_marks_clear(&marks);
}

/* An input: the seed of the damage and the settings, then text. */
static void once(const uint8_t *data, size_t given)
{
    if (given < HEAD) {
        return;
    }
    uint64_t state = (uint64_t)data[0] << 16 | (uint64_t)data[1] << 8 | data[2];
#ifndef DAT_LIBFUZZER
    (void)alarm(SECONDS_MOST);
#endif
    memcpy(damaged, block, block_size);
    damage(&state);
    dat_status status = dat_vocab_view(&open_vocab, damaged, block_size);
    if (status == DAT_OK) {
        size_t size = given - HEAD;
        uint8_t *text = malloc(size);
        if (text == NULL && size > 0) {
            fail("no memory");
        }
        if (size > 0) {
            memcpy(text, data + HEAD, size);
        }
        try_all(text, size, data[3]);
        free(text);
        dat_vocab_clear(&open_vocab);
    }
}

static size_t make_input(uint64_t *state, uint8_t *data)
{
    for (size_t i = 0; i < HEAD; i++) {
        data[i] = (uint8_t)draw(state);
    }
    data[3] |= (uint8_t)(below(state, 2) ? 255 : 0);
    return HEAD + make_text(&sound, state, data + HEAD, INPUT_MOST - HEAD);
}
