/* Times three functions one by one. This compares two builds of the file, function by function:
 *
 *     gcc -O2 -I../../c bench.c -o bench-old
 *     gcc -O2 -I../../c -DNEW_HASH bench.c -o bench-new
 *     stillwell bench ./bench-old ./bench-new
 *
 * Only `hash` differs. The others show how quiet the machine is. */
#include "stillwell.h"
#include <stdint.h>
#include <stdlib.h>

#define WORDS 1000

static const char text[] = "The gauge in the well reads the true level while the water of the river outside is rough.";

/* FNV-1a. The new version takes eight bytes at once, so it computes a different hash. */
static uint64_t hash(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
#ifdef NEW_HASH
    for (; n >= 8; s += 8, n -= 8) {
        uint64_t word;
        memcpy(&word, s, 8);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 32;
    }
#endif
    for (; n > 0; s++, n--) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

STILLWELL_BENCH(hash)
{
    for (SW_LOOP) sw_keep(hash(sw_keep(text), sizeof text - 1));
}

STILLWELL_BENCH(search)
{
    for (SW_LOOP) sw_keep(strstr(sw_keep(text), "river"));
}

/* The time includes the copy, because sorting a sorted array would be another benchmark. */
STILLWELL_BENCH(sort_1000)
{
    int unsorted[WORDS], sorted[WORDS];
    uint32_t seed = 1;
    for (int i = 0; i < WORDS; i++) unsorted[i] = (int)((seed = seed * 1664525u + 1013904223u) >> 8);
    for (SW_LOOP) {
        memcpy(sorted, unsorted, sizeof sorted);
        qsort(sw_keep(sorted), WORDS, sizeof *sorted, by_value);
        sw_clobber();
    }
}

STILLWELL_MAIN()
