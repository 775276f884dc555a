/* The same sources with their decisions recorded. */
#ifndef DAT_TRACE
#define DAT_TRACE 1
#endif
#include "unity.c"
