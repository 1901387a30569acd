/* A benchmark program that speaks as Google Benchmark 1.8 does: it lists its benchmarks, and times one of them, for a time or
   for a number of iterations. ROUNDS is the work of an iteration of the first one, USUAL that of the others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int never_called(void) { return NUMBER; }

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * now.tv_sec + now.tv_nsec;
}

static volatile unsigned sink = 1;

static void iterate(long n, long rounds) {
    for (long i = 0; i < n; i++)
        for (long round = 0; round < rounds; round++) sink = sink * 1664525 + 1013904223;
}

int main(int n_words, char **words) {
    long wanted = 0, repetitions = 1, which = -1;
    for (int at = 1; at < n_words; at++) {
        char *word = words[at], *value = strchr(word, '=');
        if (!strcmp(word, "--help"))
            return puts("[--benchmark_list_tests={true|false}] [--benchmark_filter=<regex>]") < 0;
        if (strstr(word, "list_tests")) {
            for (int of = 0; of < BENCHMARKS; of++) printf("BM_%d\n", of);
            return 0;
        }
        if (strstr(word, "filter=^BM_")) which = atol(strstr(word, "BM_") + 3);
        if (strstr(word, "min_time=") && word[strlen(word) - 1] == 'x') wanted = atol(value + 1);
        if (strstr(word, "repetitions=")) repetitions = atol(value + 1);
    }
    long rounds = which == 0 ? ROUNDS : USUAL;
    long n = wanted ? wanted : 1;
    if (!wanted)
        for (;;) {
            double start = now_ns();
            iterate(n, rounds);
            if (now_ns() - start > 1e6) break;
            n *= 2;
        }
    printf("{\"benchmarks\": [");
    for (long at = 0; at < repetitions; at++) {
        double start = now_ns();
        iterate(n, rounds);
        double ns = (now_ns() - start) / n;
        printf("%s{\"name\": \"BM_%ld\", \"real_time\": %.3f, \"time_unit\": \"ns\"}", at ? ", " : "", which, ns);
    }
    puts("]}");
    return 0;
}
