/* All stages as one translation unit; common.c and dat.c are dat-bpe's. */
#include "common.c"
#include "dat.c"
#include "greedy.c"
#include "batch.c"
#include "index.c"
#include "pack.c"
