/* Merges of many pieces at once, a step of each in turn: what a step needs from memory is asked for one round before it is
 * looked at. Included once a level by segment.c (DAT_TARGET, DAT_NAME, DAT_IS_AVX512). */

/* Sets two ranks that were asked for, and finds the least of all and the first place that has it. */
DAT_TARGET static inline uint32_t DAT_NAME(least)(uint32_t *rank, size_t size, int left, uint32_t left_rank,
                                                  unsigned right, uint32_t right_rank, unsigned *at)
{
#if DAT_IS_AVX512
    /* In registers: a vector that is read right after a part of it was written would wait for the write. */
    /* Of no left neighbour, -1: the highest bit, which is of no symbol. */
    uint64_t left_bit = UINT64_C(1) << (left & 63), right_bit = UINT64_C(1) << right;
    if (size <= 16) {
        __m512i ranks = _mm512_load_si512(rank);
        ranks = _mm512_mask_set1_epi32(ranks, (__mmask16)left_bit, (int)left_rank);
        ranks = _mm512_mask_set1_epi32(ranks, (__mmask16)right_bit, (int)right_rank);
        _mm512_store_si512(rank, ranks);
        uint32_t lowest = _mm512_reduce_min_epu32(ranks);
        *at = (unsigned)__builtin_ctz(_mm512_cmpeq_epi32_mask(ranks, _mm512_set1_epi32((int)lowest)) | 1u << 16);
        return lowest;
    }
    __m512i lowest = _mm512_set1_epi32(-1);
    for (size_t i = 0; i < size; i += 16) {
        __m512i ranks = _mm512_load_si512(rank + i);
        ranks = _mm512_mask_set1_epi32(ranks, (__mmask16)(left_bit >> i), (int)left_rank);
        ranks = _mm512_mask_set1_epi32(ranks, (__mmask16)(right_bit >> i), (int)right_rank);
        _mm512_store_si512(rank + i, ranks);
        lowest = _mm512_min_epu32(lowest, ranks);
    }
    uint32_t least = _mm512_reduce_min_epu32(lowest);
    __m512i wanted = _mm512_set1_epi32((int)least);
    uint64_t equal = 0;
    for (size_t i = 0; i < size; i += 16) {
        equal |= (uint64_t)_mm512_cmpeq_epi32_mask(_mm512_load_si512(rank + i), wanted) << i;
    }
    *at = (unsigned)__builtin_ctzll(equal | UINT64_C(1) << 63);
    return least;
#else
    rank[left] = left_rank;
    rank[right] = right_rank;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < size; i++) {
        uint64_t here = (uint64_t)rank[i] << 32 | i;
        least = here < least ? here : least;
    }
    *at = (unsigned)least & 63;
    return (uint32_t)(least >> 32);
#endif
}

/* The rank of a pair whose line was fetched. */
DAT_TARGET static inline uint32_t DAT_NAME(rank_of)(const dat_pairs *pairs, const uint64_t *line, uint64_t key)
{
#if DAT_IS_AVX512
    __m512i slots = _mm512_loadu_si512(line);
    __mmask8 equal = _mm512_cmpeq_epi64_mask(_mm512_srli_epi64(slots, DAT_INDEX_BITS), _mm512_set1_epi64((long long)key));
    /* One test for both, for it nearly never holds; whether the pair is there cannot be foreseen. */
    if (_kortestz_mask8_u8(equal, _mm512_cmpeq_epi64_mask(slots, _mm512_set1_epi64(-1)))) {
        return dat_pairs_search(pairs, (size_t)(line - pairs->slots), key);
    }
    unsigned found = equal;
    DAT_OPAQUE(found);
    uint32_t merged = (uint32_t)(line[__builtin_ctz(found | 0x80u)] & DAT_INDEX_MASK);
    return merged | (0 - (uint32_t)(found == 0));
#else
    return line == no_pairs ? DAT_NONE : dat_pairs_search(pairs, (size_t)(line - pairs->slots), key);
#endif
}

/* Begins with a piece of at most DAT_SMALL_PIECE bytes. */
DAT_TARGET static inline void DAT_NAME(enter)(merge_lane *self, const dat_merges *merges, const uint8_t *piece, size_t size)
{
    uint32_t *token = self->token + BEFORE, *rank = self->rank + BEFORE;
    size_t count = 0;
    for (size_t i = 0; i < size;) {
        unsigned first = piece[i], second = i + 1 < size ? piece[i + 1] : 0;
        uint32_t both = merges->of_two[first << 8 | second];
        rank[count] = both;
        if (first >= 0xC2 && first < 0xE0 && (second & 0xC0) == 0x80 && whole(merges, piece, size, i, both)) {
            token[count++] = both;
            i += 2;
        } else {
            token[count++] = merges->of_byte[first];
            i++;
        }
    }
    if (count < size) {
        const dat_pairs *pairs = &merges->pairs;
        const uint64_t *line[DAT_SMALL_PIECE];
        for (size_t i = 0; i + 1 < count; i++) {
            uint64_t hash = dat_pair_hash(token[i], token[i + 1]);
            line[i] = either(pairs->slots + dat_pair_line(pairs, hash), dat_pair_maybe(pairs, hash));
            DAT_FETCH(line[i]);
        }
        for (size_t i = 0; i + 1 < count; i++) {
            rank[i] = DAT_NAME(rank_of)(pairs, line[i], (uint64_t)token[i] << DAT_INDEX_BITS | token[i + 1]);
        }
    }
    for (size_t i = count - 1; i < count + 16; i++) {
        rank[i] = DAT_NONE;
    }
    self->size = count;
    self->alive = dat_below((unsigned)count);
    self->left_line = self->right_line = no_pairs;
    self->left_key = self->right_key = 0;
    self->at = (unsigned)count - 1; /* no pair begins there */
    self->left = -1;
    self->finished = 0;
}

/* Looks at what was asked for, and merges once; 0 a round after nothing merged any more. There is no branch on what is
 * found: one that is foreseen wrongly costs the whole chain of look-ups before it, some 130 cycles, in all lanes. */
DAT_TARGET static inline int DAT_NAME(step)(merge_lane *self, const dat_merges *merges)
{
    if (self->finished) {
        return 0;
    }
    const dat_pairs *pairs = &merges->pairs;
    uint32_t *token = self->token + BEFORE, *rank = self->rank + BEFORE;
    uint32_t left_rank = DAT_NAME(rank_of)(pairs, self->left_line, self->left_key);
    uint32_t right_rank = DAT_NAME(rank_of)(pairs, self->right_line, self->right_key);
    unsigned at;
    uint32_t merged = DAT_NAME(least)(rank, self->size, self->left, left_rank, self->at, right_rank, &at);
    at &= 63;
    uint64_t after = self->alive & ~UINT64_C(1) << at;
    /* The last symbol merges with nothing: a damaged file may have a pair for what stands beyond the end. */
    uint64_t merges_ = (uint64_t)(merged != DAT_NONE) & (uint64_t)(after != 0);
    DAT_OPAQUE(merges_);
    self->finished = !merges_;
    int gone = __builtin_ctzll(after | UINT64_C(1) << 63);
    after &= after - 1;
    self->alive &= ~(merges_ << gone);
    rank[gone] = DAT_NONE;
    uint32_t keep = (uint32_t)merges_ - 1;
    token[at] = (merged & ~keep) | (token[at] & keep);
    /* Beyond either end stands a token that pairs with none. */
    uint64_t before = self->alive & ((UINT64_C(1) << at) - 1);
    int left = 63 - (int)DAT_LEADING(before), right = (int)DAT_TRAILING(after);
    uint64_t left_hash = dat_pair_hash(token[left], merged), right_hash = dat_pair_hash(merged, token[right]);
    self->left = left;
    self->at = at;
    self->left_key = (uint64_t)token[left] << DAT_INDEX_BITS | merged;
    self->right_key = (uint64_t)merged << DAT_INDEX_BITS | token[right];
    const uint64_t *left_line = pairs->slots + dat_pair_line(pairs, left_hash);
    const uint64_t *right_line = pairs->slots + dat_pair_line(pairs, right_hash);
    uint64_t left_maybe = dat_pair_maybe(pairs, left_hash), right_maybe = dat_pair_maybe(pairs, right_hash);
    self->left_line = either(left_line, left_maybe);
    self->right_line = either(right_line, right_maybe);
    DAT_FETCH(self->left_line);
    DAT_FETCH(self->right_line);
    return 1;
}

/* Appends the tokens of each piece to `out`, and where they lie to the misses. */
DAT_TARGET static dat_status DAT_NAME(merge_many)(const dat_merges *merges, const uint8_t *base, miss *misses,
                                                  const uint16_t *which, size_t count, dat_ids *out)
{
    merge_lane lanes[LANES];
    merge_lane *order[LANES]; /* those that are busy */
    size_t active = 0, next = 0;
    dat_status status = dat_ids_room(out, count * DAT_SMALL_PIECE);
    if (status != DAT_OK) {
        return status;
    }
    for (; active < LANES && next < count; active++, next++) {
        order[active] = &lanes[active];
        lanes[active].miss = &misses[which[next]];
        lanes[active].token[BEFORE - 1] = lanes[active].token[BEFORE + 64] = (uint32_t)DAT_INDEX_MASK;
        DAT_NAME(enter)(&lanes[active], merges, base + misses[which[next]].start, misses[which[next]].size);
    }
    while (active > 0) {
        for (size_t i = 0; i < active; i++) {
            merge_lane *here = order[i];
            if (DAT_NAME(step)(here, merges)) {
                continue;
            }
            miss *done = here->miss;
            done->first = out->count;
            for (uint64_t alive = here->alive; alive; alive &= alive - 1) {
                out->items[out->count++] = here->token[BEFORE + __builtin_ctzll(alive)];
            }
            done->count = out->count - done->first;
            if (next < count) {
                here->miss = &misses[which[next]];
                DAT_NAME(enter)(here, merges, base + misses[which[next]].start, misses[which[next]].size);
                next++;
            } else {
                order[i--] = order[--active];
            }
        }
    }
    return DAT_OK;
}
