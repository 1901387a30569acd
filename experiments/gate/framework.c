/* A benchmark program that speaks as Google Benchmark 1.8 does: it lists its benchmarks, and times those of a filter, for a
   time or for a number of iterations. ROUNDS is the work of an iteration of the first one, USUAL that of the others. */
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

/* Whether the filter, `^BM_1$` or `^(BM_1|BM_12)$`, has this benchmark. */
static int is_in(const char *filter, long which) {
    char name[32];
    snprintf(name, sizeof name, "BM_%ld", which);
    const char *at = filter ? strstr(filter, name) : NULL;
    while (at && strchr("0123456789", at[strlen(name)]) && at[strlen(name)]) at = strstr(at + 1, name);
    return at != NULL;
}

static double timed_ns(long n, long rounds) {
    double start = now_ns();
    iterate(n, rounds);
    return now_ns() - start;
}

int main(int n_words, char **words) {
    long wanted = 0, repetitions = 1;
    const char *filter = NULL, *comma = "";
    for (int at = 1; at < n_words; at++) {
        char *word = words[at], *value = strchr(word, '=');
        if (!strcmp(word, "--help"))
            return puts("[--benchmark_list_tests={true|false}] [--benchmark_filter=<regex>]\n"
                        "[--benchmark_min_time=`<integer>x` OR `<float>s`]") < 0;
        if (strstr(word, "list_tests")) {
            for (int of = 0; of < BENCHMARKS; of++) printf("BM_%d\n", of);
            return 0;
        }
        if (strstr(word, "filter=")) filter = value + 1;
        if (strstr(word, "min_time=") && word[strlen(word) - 1] == 'x') wanted = atol(value + 1);
        if (strstr(word, "repetitions=")) repetitions = atol(value + 1);
    }
    printf("{\"benchmarks\": [");
    for (long which = 0; which < BENCHMARKS; which++) {
        if (!is_in(filter, which)) continue;
        long rounds = which == 0 ? ROUNDS : USUAL, n = wanted ? wanted : 1;
        while (!wanted && timed_ns(n, rounds) < 1e6) n *= 2;
        for (long at = 0; at < repetitions; at++, comma = ", ") {
            double ns = timed_ns(n, rounds) / n;
            printf("%s{\"name\": \"BM_%ld\", \"real_time\": %.3f, \"time_unit\": \"ns\"}", comma, which, ns);
        }
    }
    puts("]}");
    return 0;
}
