// The timed program. `memory` reads and writes more memory than the caches of a core hold; `calls` makes system calls.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    long n = argc > 2 ? atol(argv[2]) : 1;
    if (argc > 1 && !strcmp(argv[1], "memory")) {
        size_t bytes = 32 << 20;
        unsigned char *memory = malloc(bytes);
        if (!memory) return 1;
        memset(memory, 1, bytes);
        unsigned long sum = 0;
        for (long round = 0; round < n; round++)
            for (size_t at = 0; at < bytes; at += 64) sum += memory[at]++;
        return sum == 42;
    }
    int null = open("/dev/null", O_WRONLY);
    for (long call = 0; call < n; call++)
        if (write(null, argv[0], 1) != 1) return 1;
    return 0;
}
