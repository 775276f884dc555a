#include "pack.h"

dat_status cray_pack(cray_arrays *arrays, dat_key *keys, size_t count, dat_order order)
{
    dat_trie trie;
    *arrays = (cray_arrays){NULL, NULL, NULL, 0};
    dat_status status = dat_trie_pack(&trie, keys, count, order);
    if (status != DAT_OK) {
        return status;
    }
    /* The format ends with a free slot. */
    size_t slots = trie.count + 1;
    int32_t *block = slots <= INT32_MAX ? dat_alloc(slots, 3 * sizeof *block) : NULL;
    if (block == NULL) {
        dat_trie_clear(&trie);
        return DAT_NO_MEMORY;
    }
    *arrays = (cray_arrays){block, block + slots, block + 2 * slots, slots};
    for (size_t i = 0; i < slots; i++) {
        int used = i == 0 || (i < trie.count && trie.nodes[i].check >= 0);
        arrays->base[i] = used ? trie.nodes[i].base : 0;
        arrays->check[i] = used && i > 0 ? trie.nodes[i].check : -1;
        arrays->values[i] = used ? (int32_t)trie.values[i] : -1;
    }
    dat_trie_clear(&trie);
    return DAT_OK;
}
