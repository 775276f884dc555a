/* Keys, and what the cache says of them, for eight pieces at once (AVX-512; included by segment.c). */

DAT_TARGET static void look_avx512(const dat_cache *cache, const finder *found, const uint8_t *limit, lookups *made)
{
    if (cache->pairs == NULL) {
        look_scalar(cache, found, limit, made);
        return;
    }
    const uint8_t *base = found->base;
    const __m512i all = _mm512_set1_epi64(-1), eight = _mm512_set1_epi64(8), sixty_four = _mm512_set1_epi64(64);
    const __m512i seed = _mm512_set1_epi64((long long)cache->seed);
    const __m512i mix_low = _mm512_set1_epi64((long long)DAT_MIX_LOW), mix_high = _mm512_set1_epi64((long long)DAT_MIX_HIGH);
    const __m128i down = _mm_cvtsi32_si128((int)(64 - cache->bits));
    const __m512i pairs = _mm512_set1_epi64((long long)(uintptr_t)cache->pairs), one = _mm512_set1_epi64(1);
    size_t i = 0;
    __m512i before = _mm512_setzero_si512(); /* lane 7: where the piece before the eight ends */
    for (; i + 8 <= found->count && limit - (base + found->ends[i + 7]) >= 16; i += 8) {
        __m512i stop = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)(found->ends + i)));
        __m512i start = _mm512_alignr_epi64(stop, before, 7);
        before = stop;
        __m512i size = _mm512_sub_epi64(stop, start);
        __mmask8 fits = _mm512_cmple_epu64_mask(size, _mm512_set1_epi64(DAT_CACHE_BYTES));
        __m512i bits = _mm512_slli_epi64(size, 3);
        __m512i low = _mm512_i64gather_epi64(start, base, 1);
        __m512i high = _mm512_i64gather_epi64(_mm512_add_epi64(start, eight), base, 1);
        /* Shifts are by what is left of 64 bits, and by none where nothing is (subtraction that stops at zero). */
        low = _mm512_and_si512(low, _mm512_srlv_epi64(all, _mm512_subs_epu16(sixty_four, bits)));
        high = _mm512_andnot_si512(_mm512_sllv_epi64(all, _mm512_subs_epu16(bits, sixty_four)), high);
        high = _mm512_or_si512(high, _mm512_slli_epi64(size, 56));
        high = _mm512_mask_mov_epi64(_mm512_set1_epi64((long long)NO_KEY), fits, high);
        __m512i hash = _mm512_mullo_epi64(_mm512_xor_si512(low, seed), mix_low);
        hash = _mm512_ternarylogic_epi64(hash, _mm512_srli_epi64(hash, 32), high, 0x96); /* a ^ b ^ c */
        hash = _mm512_srl_epi64(_mm512_mullo_epi64(hash, mix_high), down);
        __m512i pair = _mm512_add_epi64(pairs, _mm512_slli_epi64(_mm512_andnot_si512(one, hash), 5));
        _mm512_storeu_si512(made->low + i, low);
        _mm512_storeu_si512(made->high + i, high);
        _mm512_storeu_si512(made->entry + i, pair);
        for (size_t k = 0; k < 8; k++) {
            DAT_FETCH(made->entry[i + k]);
        }
    }
    size_t eights = i, unknown = 0;
    make_keys(cache, found, eights, limit, made);
    const __m512i other = _mm512_set1_epi64(sizeof(dat_cache_entry));
    const __m128i steps = _mm_set_epi16(7, 6, 5, 4, 3, 2, 1, 0);
    for (i = 0; i < eights; i += 8) {
        __m512i low = _mm512_loadu_si512(made->low + i), high = _mm512_loadu_si512(made->high + i);
        __m512i entry = _mm512_loadu_si512(made->entry + i);
        /* The number of ids stands above the length: shifted out, what is left is the key. */
        __m512i low0 = _mm512_i64gather_epi64(entry, NULL, 1), high0 = _mm512_i64gather_epi64(entry, (void *)8, 1);
        __m512i low1 = _mm512_i64gather_epi64(entry, (void *)32, 1), high1 = _mm512_i64gather_epi64(entry, (void *)40, 1);
        __mmask8 first = _mm512_cmpeq_epi64_mask(low0, low) &
                         _mm512_testn_epi64_mask(_mm512_slli_epi64(_mm512_xor_si512(high0, high), 4), all);
        __mmask8 second = _mm512_cmpeq_epi64_mask(low1, low) &
                          _mm512_testn_epi64_mask(_mm512_slli_epi64(_mm512_xor_si512(high1, high), 4), all);
        _mm512_storeu_si512(made->entry + i, _mm512_mask_add_epi64(entry, (__mmask8)~first, entry, other));
        __mmask8 neither = (__mmask8)~(first | second);
        __m128i places = _mm_add_epi16(steps, _mm_set1_epi16((short)i));
        _mm_storeu_si128((__m128i *)(void *)(made->unknown + unknown), _mm_maskz_compress_epi16(neither, places));
        unknown += (size_t)__builtin_popcount(neither);
    }
    probe(cache, found, eights, unknown, made);
}
