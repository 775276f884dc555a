#include "encode.h"

/* Caches of megabytes are not for a process that encodes one line: the first GROW_AT bytes make do with small ones. */
enum { SMALL_BITS = 9, GROW_AT = 1 << 15 };

static dat_status allocate(dat_cache *cache, unsigned bits, unsigned wide_bits)
{
    size_t narrow = bits > 0 ? sizeof *cache->pairs << bits : 0, wide = wide_bits > 0 ? sizeof *cache->wide << wide_bits : 0;
    if (narrow + wide == 0) {
        return DAT_OK;
    }
    uint8_t *block = dat_large(narrow + wide);
    if (block == NULL) {
        return DAT_NO_MEMORY;
    }
    dat_large_free(cache->block, cache->size);
    cache->block = block;
    cache->size = narrow + wide;
    cache->bits = bits;
    cache->wide_bits = wide_bits;
    cache->pairs = bits > 0 ? (dat_cache_entry *)(void *)block : NULL;
    cache->wide = wide_bits > 0 ? (dat_wide_entry *)(void *)(block + narrow) : NULL;
    return DAT_OK;
}

dat_status dat_scratch_init(dat_scratch *scratch, dat_settings settings)
{
    memset(scratch, 0, sizeof *scratch);
    if (!(settings.uses & DAT_USE_CACHE)) {
        settings.cache_bits = 0;
    }
    if (!(settings.uses & DAT_USE_WIDE)) {
        settings.wide_bits = 0;
    }
    scratch->settings = settings;
    scratch->cache.seed = settings.seed;
    return allocate(&scratch->cache, settings.cache_bits < SMALL_BITS ? settings.cache_bits : SMALL_BITS, 0);
}

dat_status dat_scratch_see(const dat_vocab *vocab, dat_scratch *scratch, size_t size)
{
    if (scratch->grown || (scratch->seen += size) < GROW_AT) {
        return DAT_OK;
    }
    scratch->grown = 1;
    dat_status status = allocate(&scratch->cache, scratch->settings.cache_bits, scratch->settings.wide_bits);
    if (status == DAT_OK) {
        dat_seed(vocab, scratch);
    }
    return status;
}

void dat_scratch_clear(dat_scratch *scratch)
{
    dat_large_free(scratch->cache.block, scratch->cache.size);
    dat_merge_room_clear(&scratch->room);
    dat_ids_clear(&scratch->found);
    dat_split_room_clear(&scratch->split);
    dat_normal_clear(&scratch->normal);
    dat_bytes_clear(&scratch->prefixed);
    memset(scratch, 0, sizeof *scratch);
}
