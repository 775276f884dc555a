#include "profile.h"

#include <string.h>

const char dat_profile_magic[8] = {'T', 'K', 'A', 'P', 'R', 'O', 'F', '\n'};

static uint64_t digest_on(uint64_t digest, const uint8_t *p, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        digest = (digest ^ p[i]) * UINT64_C(0x100000001B3);
    }
    return digest;
}

uint64_t dat_digest(const void *bytes, size_t size)
{
    return digest_on(UINT64_C(0xCBF29CE484222325), bytes, size);
}

static uint64_t head_digest(const dat_profile *profile)
{
    uint64_t start = dat_profile_start(), stop = profile->sections[DAT_TEXT].at;
    uint64_t digest = dat_digest(profile, offsetof(dat_profile, head));
    /* A place that there is not: it is refused for that. */
    return stop < start || stop > profile->size ? digest
                                                : digest_on(digest, (const uint8_t *)profile + start, (size_t)(stop - start));
}

size_t dat_profile_start(void)
{
    return (sizeof(dat_profile) + DAT_PROFILE_ALIGN - 1) / DAT_PROFILE_ALIGN * DAT_PROFILE_ALIGN;
}

void dat_profile_seal(dat_profile *profile)
{
    profile->head = head_digest(profile);
}

dat_status dat_profile_check(const void *block, size_t size)
{
    const dat_profile *profile = block;
    if (size < dat_profile_start() || memcmp(profile->magic, dat_profile_magic, sizeof dat_profile_magic) != 0 ||
        profile->version != DAT_PROFILE_VERSION || profile->byte_order != 0x01020304 || profile->size != size ||
        profile->head != head_digest(profile)) {
        return DAT_DAMAGED;
    }
    for (int i = 0; i < DAT_SECTIONS; i++) {
        dat_place place = profile->sections[i];
        if (place.at % DAT_PROFILE_ALIGN != 0 || place.at < sizeof *profile || place.at > size ||
            place.size > size - place.at) {
            return DAT_DAMAGED;
        }
    }
    return DAT_OK;
}

const void *dat_profile_section(const dat_profile *profile, enum dat_section which, size_t size)
{
    dat_place place = profile->sections[which];
    return place.size == size ? (const uint8_t *)profile + place.at : NULL;
}
