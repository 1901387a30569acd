/* Follows pointers through 16 MiB in random order: `chase STEPS`. It waits for the caches and the memory. */
#include <stdint.h>
#include <stdlib.h>

enum { N = 16 << 20 >> 3 };

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    size_t *next = malloc(N * sizeof *next);
    if (!next)
        return 1;
    for (size_t i = 0; i < N; i++)
        next[i] = i;
    /* Sattolo's algorithm: one cycle through all of them. */
    uint64_t random = 88172645463325252u;
    for (size_t i = N - 1; i > 0; i--) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        size_t j = random % i, at = next[i];
        next[i] = next[j];
        next[j] = at;
    }
    size_t at = 0;
    for (unsigned long left = strtoul(argv[1], NULL, 10); left; left--)
        at = next[at];
    return at == N;
}
