/* What the fuzz targets share: a seeded generator of texts, and a main() for compilers without libFuzzer.
 *
 *     target CASES SECONDS SEED     generated inputs, the same for the same seed; how many is printed
 *     target CASES file FILE        one input again
 *
 * Built with -DDAT_LIBFUZZER there is no main(): libFuzzer's arguments count, and the folder of cases is $DAT_CASES. */
#ifndef FUZZ_H
#define FUZZ_H

#include <time.h>

#include "case.h"

enum { INPUT_MOST = 1 << 12 };

/* SplitMix64. */
static inline uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static inline size_t below(uint64_t *state, size_t most)
{
    return (size_t)(draw(state) % (most ? most : 1));
}

/* What patterns tell apart, and what has been got wrong before. */
static const char *const parts[] = {
    "the ", " of", "and", "'s", "'LL", "'\xC5\xBF", "\n", "\r\n", "   ", "\t", "\xC2\xA0", "\xE2\x80\xA8", "1234567",
    "\xD9\xA3", "\xC2\xB2", "\xE6\xBC\xA2\xE5\xAD\x97", "\xE3\x81\x8B\xE3\x81\xAA", "\xD0\xB4\xD0\xBE\xD0\xBC",
    "\xD0\x94\xD0\xBE\xD0\xBC", "\xC7\x85", "\xCA\xB0", "\xCC\x81", "\xE0\xA4\x83", "/", "...", "\xF0\x9F\x99\x82",
    "HTTPServer", "x", "    ", "\xC3\xA9", "\xC3\xA9\x80", "\x80", "\x9F", "\xA0", "\xBF", "\xC1", "\xC3", "\xE0", "\xED",
    "\xF0\x9F", "\xF4", "\xF5", "\xFF", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "\xEF\xBB\xBF",
    "<|endoftext|>", "<|end", "|><|", "aaaaaaaaaaaaaaaa", "                ", "\xE4\xB8\x80", "\xEA\xB0\x80\xEB\x82\x98",
};

/* A text of parts, of whole tokens and of any bytes, in `room` bytes. */
static inline size_t make_text(const dat_vocab *vocab, uint64_t *state, uint8_t *text, size_t room)
{
    /* Mostly short, and often around the sizes where something changes. */
    static const size_t sizes[] = {0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129, 600, 4000};
    size_t size = sizes[below(state, sizeof sizes / sizeof *sizes)], count = 0, kind = below(state, 8);
    size = size < room ? size : room;
    if (kind == 0) {
        size = below(state, size + 1);
    }
    while (count < size) {
        const uint8_t *from;
        size_t width;
        uint8_t any[4];
        size_t choice = below(state, 8);
        if (kind == 1 || choice == 0) {
            width = 1 + below(state, 3);
            for (size_t i = 0; i < width; i++) {
                any[i] = (uint8_t)draw(state);
            }
            from = any;
        } else if (kind < 5 && choice < 6) {
            /* Two tokens side by side are what merging may get wrong; without their blanks they make long pieces. */
            from = dat_token(vocab, (uint32_t)below(state, vocab->count), &width);
            size_t skip = kind == 3 && width > 1 && from[0] == ' ';
            from += skip;
            width -= skip;
        } else {
            const char *part = parts[below(state, sizeof parts / sizeof *parts)];
            from = (const uint8_t *)part;
            width = strlen(part);
        }
        width = width < size - count ? width : size - count;
        memcpy(text + count, from, width);
        count += width;
    }
    /* One byte changed makes of well-formed characters what nobody foresaw. */
    for (size_t changes = below(state, 4); changes > 1 && count > 0; changes--) {
        text[below(state, count)] = (uint8_t)draw(state);
    }
    return count;
}

/* To be defined by the target. */
static void start(const char *folder);
static void once(const uint8_t *data, size_t size);
static size_t make_input(uint64_t *state, uint8_t *data); /* at most INPUT_MOST bytes */

#ifdef DAT_LIBFUZZER
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

int LLVMFuzzerInitialize(int *count, char ***words)
{
    (void)count;
    (void)words;
    const char *folder = getenv("DAT_CASES");
    start(folder ? folder : ".");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    once(data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    uint64_t state = seed;
    if (most >= INPUT_MOST && below(&state, 3) == 0) {
        return make_input(&state, data);
    }
    return LLVMFuzzerMutate(data, size, most);
}
#else
static uint8_t current[INPUT_MOST];
static size_t current_size;
static uint64_t current_number;

/* What was being run is said, so that a sanitizer's finding can be run again. */
static void say_current(void)
{
    FILE *file = fopen("fuzz-input", "wb");
    if (file != NULL) {
        (void)fwrite(current, 1, current_size, file);
        fclose(file);
    }
    fprintf(stderr, "input %llu: written to fuzz-input\n", (unsigned long long)current_number);
}

#if defined(__SANITIZE_ADDRESS__)
void __asan_set_death_callback(void (*callback)(void));
#define ON_DEATH(callback) __asan_set_death_callback(callback)
#else
#define ON_DEATH(callback) ((void)0)
#endif

int main(int count, char **words)
{
    if (count < 4) {
        fail("use: target CASES SECONDS SEED, or target CASES file FILE");
    }
    start(words[1]);
    if (strcmp(words[2], "file") == 0) {
        FILE *file = fopen(words[3], "rb");
        if (file == NULL) {
            fail("no such file");
        }
        current_size = fread(current, 1, sizeof current, file);
        fclose(file);
        once(current, current_size);
        printf("one input: no difference\n");
        return 0;
    }
    ON_DEATH(say_current);
    double seconds = strtod(words[2], NULL);
    uint64_t state = (uint64_t)strtoull(words[3], NULL, 10);
    clock_t begin = clock();
    do {
        current_size = make_input(&state, current);
        current_number++;
        once(current, current_size);
    } while ((double)(clock() - begin) / CLOCKS_PER_SEC < seconds);
    printf("%llu inputs: no difference\n", (unsigned long long)current_number);
    return 0;
}
#endif

/* A difference: the input is kept, and the program ends as on a crash, so that libFuzzer sees it. */
static inline void differ(const char *what)
{
    fprintf(stderr, "%s\n", what);
#ifndef DAT_LIBFUZZER
    say_current();
#endif
    abort();
}

#endif
