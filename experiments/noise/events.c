/* Measures how much inherited perf events slow a run, by their number. Stillwell opens one for each CPU to record switches.
 * Prints a line for each number: events, minimum and lower decile of the time of `true` in ns, from just before execve until
 * it is reaped. The numbers take turns.
 *     events RUNS */
#define _GNU_SOURCE
#include <err.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_EVENTS_MAX = 64, N_PAGES = 17, N_SIZES = 8 };
static const int sizes[N_SIZES] = {0, 1, 2, 4, 8, 16, 32, 64};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Opens the event as measure/switches.rs does. */
static int open_event(int cpu) {
    struct perf_event_attr event = {
        .size = sizeof event,
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .disabled = 1,
        .inherit = 1,
        .enable_on_exec = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .context_switch = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    return (int)syscall(SYS_perf_event_open, &event, 0, cpu, -1, 0);
}

static uint64_t run_ns(int n_events, volatile uint64_t *started_ns) {
    int files[N_EVENTS_MAX];
    void *rings[N_EVENTS_MAX];
    for (int i = 0; i < n_events; i++) {
        files[i] = open_event(i % (int)sysconf(_SC_NPROCESSORS_ONLN));
        if (files[i] < 0) err(1, "perf_event_open");
        rings[i] = mmap(NULL, N_PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, files[i], 0);
        if (rings[i] == MAP_FAILED) err(1, "ring buffer");
    }
    pid_t child = vfork();
    if (child == 0) {
        *started_ns = now_ns();
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
    uint64_t wall_ns = now_ns() - *started_ns;
    for (int i = 0; i < n_events; i++) {
        munmap(rings[i], N_PAGES * 4096);
        close(files[i]);
    }
    return wall_ns;
}

int main(int argc, char **argv) {
    int n_runs = argc > 1 ? atoi(argv[1]) : 400;
    volatile uint64_t *started_ns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t *walls = calloc((size_t)n_runs * N_SIZES, sizeof *walls);
    if (started_ns == MAP_FAILED || !walls) err(1, "memory");
    for (int run = 0; run < n_runs; run++)
        for (int i = 0; i < N_SIZES; i++) walls[i * n_runs + run] = run_ns(sizes[i], started_ns);
    for (int i = 0; i < N_SIZES; i++) {
        uint64_t *of_size = walls + (size_t)i * (size_t)n_runs;
        qsort(of_size, (size_t)n_runs, sizeof *of_size, by_size);
        printf("%d %llu %llu\n", sizes[i], (unsigned long long)of_size[0], (unsigned long long)of_size[n_runs / 10]);
    }
    return 0;
}
