/* A case that cases.py wrote: a vocabulary, how text is split, and documents; for driver.c and the fuzz targets. */
#ifndef CASE_H
#define CASE_H

#include "unity.c"

#include <stdio.h>
#include <stdlib.h>

typedef struct {
    dat_token_list tokens, specials;
    dat_pattern pattern;
    uint32_t unicode, ignore_merges;
    dat_before before;
    int listed; /* whether merges are a list of their own */
    dat_merge_list merges;
    const uint32_t *words; /* of programs, in place of the pattern */
    const uint64_t *starts;
    size_t programs;
    dat_document *documents;
    size_t count;
    uint64_t *memory[12];
    size_t used;
} test_case;

static inline void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static inline uint64_t read_u64(FILE *file)
{
    uint64_t value;
    if (fread(&value, sizeof value, 1, file) != 1) {
        fail("the case ends early");
    }
    return value;
}

static inline void *read_block(FILE *file, size_t size, test_case *test)
{
    uint64_t *block = malloc(size ? size : 1);
    if (block == NULL || fread(block, 1, size, file) != size) {
        fail("the case ends early");
    }
    test->memory[test->used++] = block;
    return block;
}

static inline dat_token_list read_tokens(FILE *file, test_case *test)
{
    dat_token_list list = {.flags = NULL};
    list.count = (size_t)read_u64(file);
    uint64_t *offsets = read_block(file, (list.count + 1) * sizeof *offsets, test);
    list.offsets = offsets;
    list.ids = read_block(file, list.count * sizeof *list.ids, test);
    list.text = read_block(file, (size_t)offsets[list.count], test);
    list.flags = NULL;
    return list;
}

static inline test_case read_case(const char *path)
{
    test_case test = {.used = 0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail("no such case");
    }
    test.pattern.family = (dat_family)read_u64(file);
    test.pattern.contractions = (dat_contractions)read_u64(file);
    test.pattern.digits = (unsigned)read_u64(file);
    test.unicode = (uint32_t)read_u64(file);
    test.ignore_merges = (uint32_t)read_u64(file);
    test.before.nfc = read_u64(file) ? &dat_nfc_versions[test.unicode] : NULL;
    test.before.prefix_space = (int)read_u64(file);
    test.listed = (int)read_u64(file);
    test.programs = (size_t)read_u64(file);
    test.starts = read_block(file, (test.programs + 1) * sizeof *test.starts, &test);
    test.words = read_block(file, (size_t)test.starts[test.programs] * sizeof *test.words, &test);
    test.tokens = read_tokens(file, &test);
    test.specials = read_tokens(file, &test);
    test.specials.flags = read_block(file, test.specials.count, &test);
    test.merges.count = (size_t)read_u64(file);
    test.merges.triples = read_block(file, test.merges.count * 3 * sizeof *test.merges.triples, &test);
    test.count = (size_t)read_u64(file);
    uint64_t *offsets = read_block(file, (test.count + 1) * sizeof *offsets, &test);
    test.documents = malloc((test.count + 1) * sizeof *test.documents);
    if (test.documents == NULL) {
        fail("no memory");
    }
    /* Each document is a block of its own exact size, so that a read past its end is seen. */
    for (size_t i = 0; i < test.count; i++) {
        size_t size = (size_t)(offsets[i + 1] - offsets[i]);
        uint8_t *data = malloc(size);
        if ((data == NULL && size > 0) || fread(data, 1, size, file) != size) {
            fail("the case ends early");
        }
        test.documents[i] = (dat_document){data, size};
    }
    fclose(file);
    return test;
}

static inline void clear_case(test_case *test)
{
    for (size_t i = 0; i < test->count; i++) {
        free((void *)(uintptr_t)test->documents[i].data);
    }
    free(test->documents);
    for (size_t i = 0; i < test->used; i++) {
        free(test->memory[i]);
    }
}

/* FNV-1a over 64-bit words. */
static inline uint64_t mix(uint64_t digest, uint64_t word)
{
    for (int i = 0; i < 8; i++) {
        digest = (digest ^ ((word >> (8 * i)) & 0xFF)) * UINT64_C(0x100000001B3);
    }
    return digest;
}

static inline dat_status build(dat_vocab *vocab, dat_splitter *splitter, const test_case *test)
{
    size_t culprit;
    memset(splitter, 0, sizeof *splitter);
    dat_status status = dat_vocab_build(vocab, test->tokens, test->listed ? &test->merges : NULL, test->specials,
                                        &dat_unicode_versions[test->unicode], test->pattern, test->before,
                                        (int)test->ignore_merges, &culprit);
    if (status == DAT_OK && test->programs > 0) {
        status = dat_splitter_build(splitter, test->words, test->starts, test->programs, &vocab->classes, &culprit);
        if (status != DAT_OK) {
            dat_vocab_clear(vocab);
        }
        vocab->splitter = splitter;
    }
    return status;
}

#endif
