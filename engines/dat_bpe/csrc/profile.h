/* The block that holds a vocabulary's tables: the same in memory and in a profile file, little-endian. */
#ifndef DAT_PROFILE_H
#define DAT_PROFILE_H

#include "common.h"

enum { DAT_PROFILE_VERSION = 4, DAT_PROFILE_ALIGN = 64 };

enum dat_section {
    /* In the page of the head, with which they are checked and read. */
    DAT_ABOUT,         /* UTF-8 JSON: names, and what the added tokens are */
    DAT_ADDED_TEXT,    /* u8: all added tokens joined, in order of id */
    DAT_ADDED_OFFSETS, /* u64[added + 1] */
    DAT_ADDED_IDS,     /* u32[added] */
    DAT_ADDED_FLAGS,   /* u8[added], as special.h numbers them */
    /* Read when they are used, and not before. */
    DAT_TEXT,    /* u8: all tokens joined, in order of index */
    DAT_OFFSETS, /* u32[count + 1] */
    DAT_IDS,     /* u32[count] */
    DAT_BY_ID,   /* u32[count], or empty: ids ascend */
    DAT_NODES,   /* (i32 base, i32 check)[slots] */
    DAT_VALUES,  /* u32[slots] */
    DAT_PAIRS,   /* u64[1 << pair_bits] */
    DAT_FILTER,  /* u64[1 << filter_bits - 6] */
    DAT_TWO,     /* u32[65536] */
    DAT_BYTES,   /* u32[256] */
    DAT_FLAGS,   /* u8[count] */
    DAT_SHORTER, /* u32[count] */
    DAT_SPLITS,  /* u32[count][2] */
    DAT_WORDS,   /* dat_word[1 << word_bits] */
    DAT_FRONT,   /* dat_word[1 << DAT_FRONT_BITS]: those of the first tokens once more */
    DAT_CUTS,    /* u64[1 << cut_bits - 6] */
    DAT_NEVER,   /* u64[1024]: a bit for two bytes between which nothing is cut */
    DAT_SECTIONS
};

typedef struct {
    uint64_t at, size;
} dat_place;

enum {
    DAT_PLAIN_IDS = 1, DAT_REGULAR = 2, DAT_IGNORE_MERGES = 4, DAT_NFC = 8, DAT_PREFIX_SPACE = 16,
    DAT_GENERAL = 32 /* split by programs, made of the description's expressions */
};

typedef struct {
    char magic[8];
    uint32_t version, byte_order; /* 0x01020304 */
    uint64_t size;                /* of the whole block */
    uint32_t count, longest, unreachable, flags;
    uint32_t pair_bits, filter_bits, word_bits, cut_bits;
    uint32_t slots, pairs;        /* of the double array; merges that can be taken */
    uint32_t family, contractions, digits, marks_are_letters, trailing_blanks, added;
    char unicode[8];
    uint64_t classes;             /* digest of the class tables that it was built with */
    dat_place sections[DAT_SECTIONS];
    uint8_t contents[32];         /* SHA-256 of all that follows the head */
    uint64_t head;                /* digest of all that stands before it, and of what lies before the text */
} dat_profile;

extern const char dat_profile_magic[8];

/* FNV-1a over bytes, for heads: a thousand bytes. */
uint64_t dat_digest(const void *bytes, size_t size);

size_t dat_profile_start(void); /* of the first section */
void dat_profile_seal(dat_profile *profile); /* sets the head's digest */

/* Where section `which` lies in the block, if its place and size are possible; else NULL. */
const void *dat_profile_section(const dat_profile *profile, enum dat_section which, size_t size);

/* DAT_OK if the head is one of ours, it and what lies before the text have its digest, and every section lies inside the
 * block. */
dat_status dat_profile_check(const void *block, size_t size);

#endif
