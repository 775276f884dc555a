#include "scan.h"

size_t dat_scan_all(const uint8_t *text, size_t size, uint32_t *values)
{
    size_t count = 0;
    for (const uint8_t *p = text, *end = text + size; p < end; count++) {
        p += dat_scan(p, end, &values[count]);
    }
    return count;
}
