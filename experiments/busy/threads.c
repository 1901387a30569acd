/* Four threads, each with N steps that depend on each other: `threads N`. */
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4 };

static void *steps(void *n)
{
    unsigned x = 1;
    for (unsigned long i = 0; i < *(unsigned long *)n; i++) {
        x = x * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(x));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    unsigned long n = strtoul(argv[1], NULL, 10);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, steps, &n))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
