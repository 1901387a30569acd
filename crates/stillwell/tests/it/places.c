/* Appends to the file "places" a line for each start: the program's name, and the frame in memory of each page of its
   file. A frame is 0 for those who may not see it (Documentation/admin-guide/mm/pagemap.rst). */
#define _GNU_SOURCE
#include "stillwell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>

const char large[1 << 18] = {1};

__attribute__((constructor)) static void record(void) {
    struct stat status;
    int self = open("/proc/self/exe", O_RDONLY), map = open("/proc/self/pagemap", O_RDONLY);
    fstat(self, &status);
    volatile char *pages = mmap(0, status.st_size, PROT_READ, MAP_SHARED, self, 0);
    FILE *places = fopen("places", "a");
    setvbuf(places, 0, _IOFBF, 1 << 16);
    fputs(program_invocation_short_name, places);
    for (long at = 0; at < status.st_size; at += 4096) {
        uint64_t entry = 0;
        sw_keep(pages[at]);
        pread(map, &entry, sizeof entry, ((uintptr_t)pages + at) / 4096 * sizeof entry);
        fprintf(places, " %llu", (unsigned long long)(entry << 9 >> 9));
    }
    fputs("\n", places);
    fclose(places);
}

STILLWELL_BENCH(nothing) { for (SW_LOOP) { sw_keep(large[0]); } }
#ifdef WORKER
STILLWELL_MAIN()
#else
int main(void) { return 0; }
#endif
