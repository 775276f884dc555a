/* The pieces of one block of up to 64 bytes, for one level of instructions (segment.c includes this once a level with
 * DAT_TARGET, DAT_NAME and DAT_IS_AVX512 set). */

/* Classes of the ASCII bytes of a block as masks; n bytes from p, n <= 64. *high: the bytes above 0x7F. Only the masks that
 * the family asks for are made: all letters are `lower` where case does not matter. */
DAT_INLINE DAT_TARGET void DAT_NAME(load_masks)(const dat_classes *classes, dat_family family, const uint8_t *p,
                                                   unsigned n, const uint8_t *end, dat_masks *m, uint64_t *high,
                                                   uint64_t *apostrophe)
{
    const int cased = family == DAT_O200K || family == DAT_DEEPSEEK;
#if DAT_IS_AVX512
    (void)end;
    __mmask64 there = dat_below(n);
    __m512i bytes = _mm512_maskz_loadu_epi8(there, p);
    __m512i low_half = _mm512_loadu_si512(classes->of_byte), high_half = _mm512_loadu_si512(classes->of_byte + 64);
    __m512i class = _mm512_permutex2var_epi8(low_half, bytes, high_half);
    *high = _mm512_movepi8_mask(bytes);
    __mmask64 ascii = there & ~*high;
    m->upper = cased ? _mm512_mask_test_epi8_mask(ascii, class, _mm512_set1_epi8(DAT_UPPER)) : 0;
    m->lower = _mm512_mask_test_epi8_mask(ascii, class, _mm512_set1_epi8(cased ? DAT_LOWER : DAT_LETTER));
    m->number = _mm512_mask_test_epi8_mask(ascii, class, _mm512_set1_epi8(DAT_NUMBER));
    m->space = _mm512_mask_test_epi8_mask(ascii, class, _mm512_set1_epi8(DAT_SPACE));
    m->newline = _mm512_mask_test_epi8_mask(ascii, class, _mm512_set1_epi8(DAT_NEWLINE));
    m->other = _mm512_mask_test_epi8_mask(ascii, class, _mm512_set1_epi8((char)DAT_OTHER));
    m->blank = _mm512_mask_cmpeq_epi8_mask(ascii, bytes, _mm512_set1_epi8(' '));
    m->slash = cased ? _mm512_mask_cmpeq_epi8_mask(ascii, bytes, _mm512_set1_epi8('/')) : 0;
    *apostrophe = _mm512_mask_cmpeq_epi8_mask(ascii, bytes, _mm512_set1_epi8('\''));
#else
    (void)classes;
    uint64_t there = dat_below(n), letter = 0, number = 0, space = 0, newline = 0, blank = 0, slash = 0, upper = 0;
    *high = *apostrophe = 0;
    uint8_t copy[64];
    if (end - p < 64) {
        memset(copy, 0, sizeof copy);
        memcpy(copy, p, n);
        p = copy;
    }
    for (int half = 0; half < 2; half++) {
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32 * half));
        int shift = 32 * half;
#define MASK(vector) ((uint64_t)(uint32_t)_mm256_movemask_epi8(vector) << shift)
#define IS(byte) _mm256_cmpeq_epi8(b, _mm256_set1_epi8(byte))
#define WITHIN(vector, first, width) \
    _mm256_cmpgt_epi8(_mm256_set1_epi8((char)(-128 + (width))), \
                      _mm256_add_epi8(_mm256_sub_epi8(vector, _mm256_set1_epi8(first)), _mm256_set1_epi8(-128)))
        *high |= MASK(b);
        if (cased) {
            upper |= MASK(WITHIN(b, 'A', 26));
            letter |= MASK(WITHIN(b, 'a', 26));
            slash |= MASK(IS('/'));
        } else {
            letter |= MASK(WITHIN(_mm256_or_si256(b, _mm256_set1_epi8(0x20)), 'a', 26));
        }
        number |= MASK(WITHIN(b, '0', 10));
        blank |= MASK(IS(' '));
        /* White_Space below 0x80: 09 to 0D and 20; 1C to 1F are not. */
        space |= MASK(WITHIN(b, 9, 5));
        newline |= MASK(_mm256_or_si256(IS('\n'), IS('\r')));
        *apostrophe |= MASK(IS('\''));
#undef MASK
#undef IS
#undef WITHIN
    }
    *high &= there;
    there &= ~*high;
    m->upper = upper & there;
    m->lower = letter & there;
    m->number = number & there;
    m->blank = blank & there;
    m->newline = newline & there;
    m->space = ((space & ~newline) | blank) & there;
    m->slash = slash & there;
    m->other = there & ~(m->upper | m->lower | m->number | m->space | m->newline);
    *apostrophe &= there;
#endif
    m->caseless = m->mark = m->ascii = m->control = m->cjk = 0;
}

/* Which of the ASCII characters in `other` are controls. */
DAT_INLINE DAT_TARGET uint64_t DAT_NAME(controls)(const uint8_t *p, uint64_t other)
{
#if DAT_IS_AVX512
    __m512i bytes = _mm512_maskz_loadu_epi8(other, p);
    return _mm512_mask_cmplt_epu8_mask(other, bytes, _mm512_set1_epi8(' ')) |
           _mm512_mask_cmpeq_epi8_mask(other, bytes, _mm512_set1_epi8(0x7F));
#else
    uint64_t found = 0;
    for (; other; other &= other - 1) {
        uint8_t byte = p[__builtin_ctzll(other)];
        found |= byte < ' ' || byte == 0x7F ? other & (0 - other) : 0;
    }
    return found;
#endif
}

/* The code point at p, of which four bytes can be read, and its width: the usual forms by arithmetic, the others, and what
 * is ill-formed, as everywhere else. */
DAT_INLINE DAT_TARGET unsigned DAT_NAME(scan)(const uint8_t *p, const uint8_t *end, uint32_t *value)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    word = __builtin_bswap32(word);
    /* Three bytes, the first neither E0 nor ED: those must be looked at closer. */
    uint32_t lead = word >> 24;
    if (PLANTED(12, (word & 0xF0C00000u) == 0xE0800000u, (word & 0xF0C0C000u) == 0xE0808000u) && lead != 0xE0 &&
        lead != 0xED) {
        *value = _pext_u32(word, 0x0F3F3F00u);
        return 3;
    }
    if (PLANTED(22, (word & 0x00C00000u) == 0x00800000u && lead < 0xE0 && lead != 0xC0 && lead != 0xC1,
                (word & 0xE0C00000u) == 0xC0800000u && lead >= 0xC2)) {
        *value = _pext_u32(word, 0x1F3F0000u);
        return 2;
    }
    return dat_scan(p, end, value);
}

/* The characters of a block that are not ASCII: their classes, all bytes but the first of each (*follow), and where a cut
 * may be (*cuts). Returns how many bytes of the block are whole characters. */
DAT_INLINE DAT_TARGET unsigned DAT_NAME(add_high)(const finder *found, dat_family family, const uint8_t *p, unsigned n,
                                                     uint64_t high, dat_masks *m, uint64_t *follow, uint64_t *cuts)
{
    const dat_text *text = &found->text;
    uint64_t by_class[8] = {0};
    uint32_t before = DAT_ILL_FORMED;
    unsigned expected = 0;
    const int near_end = text->end - p < 68;
    for (uint64_t leads = high; leads;) {
        unsigned i = (unsigned)__builtin_ctzll(leads);
        uint32_t value;
        unsigned width = near_end ? dat_scan(p + i, text->end, &value) : DAT_NAME(scan)(p + i, text->end, &value);
        if (i + width > 64) {
            n = i;
            break;
        }
        if (family == DAT_DEEPSEEK) {
            unsigned kind = dat_kind(text->classes, value);
            by_class[__builtin_ctz(kind)] |= UINT64_C(1) << i;
            m->cjk |= (uint64_t)(kind / DAT_KIND_CJK) << i;
        } else {
            by_class[__builtin_ctz(dat_class(text->classes, value))] |= UINT64_C(1) << i;
        }
        *follow |= ((UINT64_C(1) << width) - 2) << i;
        leads &= ~(((UINT64_C(1) << width) - 1) << i);
        if (found->cuts != NULL && i > 0) {
            before = expected == i ? before : p[i - 1];
            int cut = !((before | value) & DAT_ILL_FORMED) && dat_cut(found->cuts, before, value, p[i - 1], p[i]);
            *cuts |= (uint64_t)cut << i;
        }
        before = value;
        expected = i + width;
    }
    if (family == DAT_DEEPSEEK) {
        m->caseless |= by_class[0];
        m->mark |= by_class[1];
        m->number |= by_class[2];
        m->other |= by_class[3];
        m->space |= by_class[4];
        m->control |= by_class[6];
        return n;
    }
    if (family == DAT_O200K) {
        m->upper |= by_class[0];
        m->lower |= by_class[1];
        m->caseless |= by_class[2];
        m->mark |= by_class[3];
        m->other |= by_class[7];
    } else {
        uint64_t marks = by_class[3];
        m->lower |= by_class[0] | by_class[1] | by_class[2] | (text->pattern->marks_are_letters ? marks : 0);
        m->other |= by_class[7] | (text->pattern->marks_are_letters ? 0 : marks);
    }
    m->number |= by_class[4];
    m->space |= by_class[5];
    return n;
}

/* Appends the pieces that are decided within blocks from p on, and returns where the next one begins. */
DAT_INLINE DAT_TARGET const uint8_t *DAT_NAME(find_in)(finder *found, dat_family family, const uint8_t *p)
{
    const dat_text *text = &found->text;
    const dat_pattern *pattern = text->pattern;
    while (p < text->end && found->count < PIECES) {
        size_t left = (size_t)(text->end - p);
        unsigned n = left < 64 ? (unsigned)left : 64;
        dat_masks m;
        uint64_t high, apostrophe, cuts = 0, follow = 0;
        DAT_FETCH((const void *)((uintptr_t)p + AHEAD));
        DAT_NAME(load_masks)(text->classes, family, p, n, text->end, &m, &high, &apostrophe);
        if (family == DAT_DEEPSEEK) {
            m.control = DAT_NAME(controls)(p, m.other);
            m.other &= ~m.control;
        }
        if (high) {
            n = DAT_NAME(add_high)(found, family, p, n, high, &m, &follow, &cuts);
        }
        uint64_t chars = dat_below(n) & ~follow;
        m.last = n == left;
        m.ascii = family == DAT_DEEPSEEK ? chars & ~high : 0;
        m.short_ = m.long_ = 0;
        if (pattern->contractions != DAT_NO_CONTRACTIONS) {
            for (uint64_t marks = apostrophe & chars; marks; marks &= marks - 1) {
                unsigned i = (unsigned)__builtin_ctzll(marks);
                unsigned size = contraction(text, p + i);
                m.short_ |= (uint64_t)(size == 2 || (size == 3 && p[i + 1] >= 0x80)) << i;
                m.long_ |= (uint64_t)(size == 3 && p[i + 1] < 0x80) << i;
            }
        }
        if (high) {
            m.upper = _pext_u64(m.upper, chars);
            m.lower = _pext_u64(m.lower, chars);
            m.caseless = _pext_u64(m.caseless, chars);
            m.mark = _pext_u64(m.mark, chars);
            m.number = _pext_u64(m.number, chars);
            m.space = _pext_u64(m.space, chars);
            m.newline = _pext_u64(m.newline, chars);
            m.other = _pext_u64(m.other, chars);
            m.blank = _pext_u64(m.blank, chars);
            m.slash = _pext_u64(m.slash, chars);
            m.short_ = _pext_u64(m.short_, chars);
            m.long_ = _pext_u64(m.long_, chars);
            m.ascii = _pext_u64(m.ascii, chars);
            m.control = _pext_u64(m.control, chars);
            m.cjk = _pext_u64(m.cjk, chars);
        }
        m.count = (unsigned)__builtin_popcountll(chars);
        m.valid = dat_below(m.count);
        uint64_t starts, doubtful = 0;
        if (family == DAT_GPT2) {
            starts = dat_starts_gpt2(&m);
        } else if (family == DAT_CL100K) {
            starts = dat_starts_cl100k(&m, pattern);
        } else if (family == DAT_DEEPSEEK) {
            starts = dat_starts_deepseek(&m, &doubtful);
        } else {
            starts = dat_starts_o200k(&m, pattern, &doubtful);
        }
        unsigned decided = m.count;
        if (!m.last || pattern->trailing_blanks) {
            unsigned first = dat_trailing(m.space | m.newline, m.count);
            decided = first < m.count ? first + 1 : m.count;
        }
        if (doubtful) {
            unsigned first = (unsigned)__builtin_ctzll(doubtful);
            decided = first < decided ? first : decided;
        }
        starts &= dat_below(decided) & ~UINT64_C(1);
        if (high) {
            starts = _pdep_u64(starts, chars);
        }
        const uint8_t *next;
        uint64_t all;
        if (m.last && decided == m.count) {
            next = text->end;
            all = starts | cuts;
        } else if (starts) {
            unsigned last = 63 - (unsigned)__builtin_clzll(starts);
            next = p + last;
            all = (starts | cuts) & (dat_below(last) | UINT64_C(1) << last);
        } else {
            p = find_one(found, p);
            if (found->rest_stop != NULL || found->long_stop != NULL) {
                break;
            }
            continue;
        }
        if (found->marking) {
            mark_borders(found, _pext_u64(starts, all), (size_t)__builtin_popcountll(all));
        }
        uint32_t at = (uint32_t)(p - found->base);
        unsigned pieces = (unsigned)__builtin_popcountll(all);
        uint32_t *ends = found->ends + found->count;
#if DAT_IS_AVX512
        __m512i places = _mm512_maskz_compress_epi8(all, _mm512_set_epi8(
            63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37,
            36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10,
            9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
        __m512i from = _mm512_set1_epi32((int)at);
        _mm512_storeu_si512(ends, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places))));
        if (pieces > 16) {
            _mm512_storeu_si512(
                ends + 16, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 1))));
            if (pieces > 32) {
                _mm512_storeu_si512(
                    ends + 32, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 2))));
                _mm512_storeu_si512(
                    ends + 48, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 3))));
            }
        }
#else
        for (unsigned i = 0; all; i++, all &= all - 1) {
            ends[i] = at + (uint32_t)__builtin_ctzll(all);
        }
#endif
        found->count += pieces;
        if (next == text->end) {
            if (found->marking) {
                mark_borders(found, 1, 1);
            }
            found->ends[found->count++] = (uint32_t)(next - found->base);
        }
        p = next;
    }
    return p;
}

/* One function a family: what another family needs is not computed. */
DAT_TARGET static const uint8_t *DAT_NAME(find_gpt2)(finder *found, const uint8_t *p)
{
    return DAT_NAME(find_in)(found, DAT_GPT2, p);
}

DAT_TARGET static const uint8_t *DAT_NAME(find_cl100k)(finder *found, const uint8_t *p)
{
    return DAT_NAME(find_in)(found, DAT_CL100K, p);
}

DAT_TARGET static const uint8_t *DAT_NAME(find_o200k)(finder *found, const uint8_t *p)
{
    return DAT_NAME(find_in)(found, DAT_O200K, p);
}

DAT_TARGET static const uint8_t *DAT_NAME(find_deepseek)(finder *found, const uint8_t *p)
{
    return DAT_NAME(find_in)(found, DAT_DEEPSEEK, p);
}
