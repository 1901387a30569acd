/* Takes time from other programs on the same CPU, in a known way, and keeps an account of it.
 *
 *   culprit spin FILE        computes for 1 ms of every 10 ms
 *   culprit timer FILE       wakes up 1000 times a second and does next to nothing
 *   culprit read FILE PATH   reads one block of PATH after another, without the page cache
 *   culprit compute N        multiplies N thousand times and ends
 *   culprit pages N          touches N fresh pages (N + a number that changes from run to run) and ends
 *
 * It writes some hundred lines a second to FILE: CLOCK_MONOTONIC and the CPU time of this program, both in ns. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void account(FILE *file)
{
    fprintf(file, "%lu %lu\n", (unsigned long)now(CLOCK_MONOTONIC), (unsigned long)now(CLOCK_PROCESS_CPUTIME_ID));
    fflush(file);
}

static void wait_until(uint64_t time_ns)
{
    struct timespec t = {.tv_sec = time_ns / 1000000000, .tv_nsec = time_ns % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (!strcmp(argv[1], "compute")) {
        volatile uint64_t last;
        uint64_t x = 1;
        for (long n = atol(argv[2]) * 1000; n; n--)
            x = x * 6364136223846793005u + 1;
        last = x;
        (void)last;
        return 0;
    }
    if (!strcmp(argv[1], "pages")) {
        size_t n = atol(argv[2]) + now(CLOCK_MONOTONIC) / 1000 % 8 * atol(argv[2]) / 8;
        volatile char *at = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise((void *)at, n * 4096, MADV_NOHUGEPAGE);
        for (size_t page = 0; page < n; page++)
            at[page * 4096] = 1;
        return 0;
    }
    FILE *file = fopen(argv[2], "w");
    if (!file)
        return 2;
    if (!strcmp(argv[1], "read")) {
        void *block;
        int fd = open(argv[3], O_RDONLY | O_DIRECT);
        if (fd < 0 || posix_memalign(&block, 4096, 4096))
            return 2;
        off_t size = lseek(fd, 0, SEEK_END) / 4096;
        for (unsigned long n = 0;; n++) {
            if (n % 100 == 0)
                account(file);
            if (pread(fd, block, 4096, n * 7919 % size * 4096) != 4096)
                return 1;
        }
    }
    int is_spin = !strcmp(argv[1], "spin");
    uint64_t period_ns = is_spin ? 10000000 : 1000000, next_ns = now(CLOCK_MONOTONIC);
    for (unsigned long n = 0;; n++) {
        if (is_spin || n % 10 == 0)
            account(file);
        if (is_spin) {
            uint64_t begun_ns = now(CLOCK_PROCESS_CPUTIME_ID);
            while (now(CLOCK_PROCESS_CPUTIME_ID) - begun_ns < 1000000)
                ;
        }
        next_ns += period_ns;
        if (next_ns < now(CLOCK_MONOTONIC))
            next_ns = now(CLOCK_MONOTONIC);
        wait_until(next_ns);
    }
}
