#include "encode.h"

dat_status dat_scratch_init(dat_scratch *scratch, dat_settings settings)
{
    memset(scratch, 0, sizeof *scratch);
    scratch->settings = settings;
    dat_cache *cache = &scratch->cache;
    cache->seed = settings.seed;
    cache->bits = settings.uses & DAT_USE_CACHE ? settings.cache_bits : 0;
    cache->wide_bits = settings.uses & DAT_USE_WIDE ? settings.wide_bits : 0;
    size_t narrow = cache->bits > 0 ? sizeof *cache->pairs << cache->bits : 0;
    size_t wide = cache->wide_bits > 0 ? sizeof *cache->wide << cache->wide_bits : 0;
    if (narrow + wide > 0) {
        cache->size = narrow + wide;
        uint8_t *block = cache->block = dat_large(cache->size);
        if (block == NULL) {
            return DAT_NO_MEMORY;
        }
        cache->pairs = narrow > 0 ? (dat_cache_entry *)(void *)block : NULL;
        cache->wide = wide > 0 ? (dat_wide_entry *)(void *)(block + narrow) : NULL;
    }
    return DAT_OK;
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
