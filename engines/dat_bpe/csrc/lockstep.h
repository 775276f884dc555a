/* Merges of many pieces at once, a step of each in turn: what a step needs from memory is asked for one round before it is
 * looked at. Included once a level by segment.c (DAT_TARGET, DAT_NAME, DAT_IS_AVX512). */

/* Sets two ranks that were asked for, and finds the least of all and the first place that has it. What merges there will
 * not, and neither will `gone`: the caller says so to forget(). */
DAT_TARGET static inline uint32_t DAT_NAME(least)(uint32_t *rank, size_t size, int left, uint32_t left_rank, int right,
                                                  uint32_t right_rank, unsigned *at)
{
#if DAT_IS_AVX512
    if (size <= 16) {
        /* In a register: a vector that is read right after a part of it was written would wait for the write. */
        __m512i ranks = _mm512_load_si512(rank);
        ranks = _mm512_mask_set1_epi32(ranks, (__mmask16)(UINT32_C(1) << (left + 1) >> 1), (int)left_rank);
        ranks = _mm512_mask_set1_epi32(ranks, (__mmask16)(1u << right), (int)right_rank);
        _mm512_store_si512(rank, ranks);
        uint32_t least = _mm512_reduce_min_epu32(ranks);
        *at = (unsigned)__builtin_ctz(_mm512_cmpeq_epi32_mask(ranks, _mm512_set1_epi32((int)least)) | 0x10000u);
        return least;
    }
#endif
    rank[left] = left_rank;
    rank[right] = right_rank;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < size; i++) {
        uint64_t here = (uint64_t)rank[i] << 32 | i;
        least = here < least ? here : least;
    }
    *at = (unsigned)least & 63;
    return (uint32_t)(least >> 32);
}

/* The rank of a pair whose line was fetched. */
DAT_TARGET static inline uint32_t DAT_NAME(rank_of)(const dat_pairs *pairs, const uint64_t *line, uint64_t key)
{
#if DAT_IS_AVX512
    __m512i slots = _mm512_loadu_si512(line);
    __mmask8 equal = _mm512_cmpeq_epi64_mask(_mm512_srli_epi64(slots, DAT_INDEX_BITS), _mm512_set1_epi64((long long)key));
    /* One test for both, for it nearly never holds; whether the pair is there cannot be foreseen. */
    unsigned ends = equal | _mm512_cmpeq_epi64_mask(slots, _mm512_set1_epi64(-1));
    DAT_OPAQUE(ends);
    if (ends == 0) {
        return dat_pairs_search(pairs, (size_t)(line - pairs->slots), key);
    }
    uint32_t merged = (uint32_t)(line[__builtin_ctz(equal | 0x80u)] & DAT_INDEX_MASK);
    uint32_t absent = (uint32_t)(equal == 0);
    return merged | (0 - absent);
#else
    return line == no_pairs ? DAT_NONE : dat_pairs_search(pairs, (size_t)(line - pairs->slots), key);
#endif
}

/* Begins with the bytes of a piece of at most DAT_SMALL_PIECE. */
DAT_TARGET static inline void DAT_NAME(enter)(lane *lane, const dat_merges *merges, const uint8_t *piece, size_t size)
{
    uint32_t *token = lane->token + BEFORE, *rank = lane->rank + BEFORE;
    lane->size = size;
    lane->alive = dat_below((unsigned)size);
    lane->left_line = lane->right_line = no_pairs;
    lane->at = 0;
    lane->left = -1;
    for (size_t i = (size - 1) & ~(size_t)15; i < size + 16; i++) {
        rank[i] = DAT_NONE;
    }
    token[0] = merges->of_byte[piece[0]];
    for (size_t i = 1; i < size; i++) {
        token[i] = merges->of_byte[piece[i]];
        rank[i - 1] = merges->of_two[(size_t)piece[i - 1] << 8 | piece[i]];
    }
    lane->first = rank[0];
    lane->finished = 0;
}

/* Looks at what was asked for, and merges once; 0 a round after nothing merged any more. There is no branch on what is
 * found: one that is foreseen wrongly costs the whole chain of look-ups before it, some 130 cycles, in all lanes. */
DAT_TARGET static inline int DAT_NAME(step)(lane *lane, const dat_merges *merges)
{
    if (lane->finished) {
        return 0;
    }
    const dat_pairs *pairs = &merges->pairs;
    uint32_t *token = lane->token + BEFORE, *rank = lane->rank + BEFORE;
    uint32_t left_rank = DAT_NAME(rank_of)(pairs, lane->left_line, lane->left_key);
    uint32_t right_rank = DAT_NAME(rank_of)(pairs, lane->right_line, lane->right_key) & lane->first;
    lane->first = DAT_NONE;
    unsigned at;
    uint32_t merged = DAT_NAME(least)(rank, lane->size, lane->left, left_rank, lane->at, right_rank, &at);
    uint64_t merges_ = merged != DAT_NONE;
    DAT_OPAQUE(merges_);
    lane->finished = !merges_;
    at &= 63;
    uint64_t after = lane->alive & ~dat_below(at + 1);
    int gone = __builtin_ctzll(after | UINT64_C(1) << 63);
    after &= after - 1;
    lane->alive &= ~(merges_ << gone);
    rank[gone] = DAT_NONE;
    uint32_t keep = (uint32_t)merges_ - 1;
    token[at] = (merged & ~keep) | (token[at] & keep);
    /* Beyond either end stands a token that pairs with none. */
    uint64_t before = lane->alive & dat_below(at);
    int left = 63 - (int)DAT_LEADING(before), right = (int)DAT_TRAILING(after);
    uint64_t left_hash = dat_pair_hash(token[left], merged), right_hash = dat_pair_hash(merged, token[right]);
    lane->left = left;
    lane->at = (int)at;
    lane->left_key = (uint64_t)token[left] << DAT_INDEX_BITS | merged;
    lane->right_key = (uint64_t)merged << DAT_INDEX_BITS | token[right];
    const uint64_t *left_line = pairs->slots + dat_pair_line(pairs, left_hash);
    const uint64_t *right_line = pairs->slots + dat_pair_line(pairs, right_hash);
    uint64_t left_maybe = dat_pair_maybe(pairs, left_hash), right_maybe = dat_pair_maybe(pairs, right_hash);
    lane->left_line = either(left_line, left_maybe);
    lane->right_line = either(right_line, right_maybe);
    DAT_FETCH(lane->left_line);
    DAT_FETCH(lane->right_line);
    return 1;
}

/* Appends the tokens of each piece to `out`, and where they lie to the misses. */
DAT_TARGET static dat_status DAT_NAME(merge_many)(const dat_merges *merges, const uint8_t *base, miss *misses,
                                                  const uint16_t *which, size_t count, dat_ids *out)
{
    lane lanes[LANES];
    uint16_t of_lane[LANES];
    unsigned order[LANES];
    size_t active = 0, next = 0;
    dat_status status = dat_ids_room(out, count * DAT_SMALL_PIECE);
    if (status != DAT_OK) {
        return status;
    }
    for (; active < LANES && next < count; active++, next++) {
        order[active] = (unsigned)active;
        of_lane[active] = which[next];
        lanes[active].token[BEFORE - 1] = lanes[active].token[BEFORE + 64] = (uint32_t)DAT_INDEX_MASK;
        DAT_NAME(enter)(&lanes[active], merges, base + misses[which[next]].start, misses[which[next]].size);
    }
    while (active > 0) {
        for (size_t i = 0; i < active; i++) {
            lane *here = &lanes[order[i]];
            if (DAT_NAME(step)(here, merges)) {
                continue;
            }
            miss *done = &misses[of_lane[order[i]]];
            done->first = out->count;
            for (uint64_t alive = here->alive; alive; alive &= alive - 1) {
                out->items[out->count++] = here->token[BEFORE + __builtin_ctzll(alive)];
            }
            done->count = out->count - done->first;
            if (next < count) {
                of_lane[order[i]] = which[next];
                DAT_NAME(enter)(here, merges, base + misses[which[next]].start, misses[which[next]].size);
                next++;
            } else {
                order[i--] = order[--active];
            }
        }
    }
    return DAT_OK;
}
