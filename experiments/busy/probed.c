/* `probed RUNS COMMAND WORD...`: runs the command on its own CPU so many times. Before each run it makes three probes of some 5 us
   each on the same CPU. A line for each run has ns of CPU time: a chain of additions, four chains, a walk, the run. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WARM_UP = 200, ROUNDS = 1500, LINES = (1 << 20) / 64, STEPS = 150 };
static uint32_t next_line[LINES][16];
static volatile uint64_t sink;

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

#if defined(__x86_64__)
#define ADD(sum) "add %[c], %[" #sum "]\n"
#elif defined(__aarch64__)
#define ADD(sum) "add %[" #sum "], %[" #sum "], %[c]\n"
#endif
#define EIGHT(x) x x x x x x x x

/* Additions of which each waits for the one before: one a cycle, whoever else uses the core. */
static uint64_t chain(int rounds) {
    uint64_t from = cpu_ns(), a = 1, c = 3;
    for (int i = 0; i < rounds; i++) __asm__ volatile(EIGHT(ADD(a)) : [a] "+r"(a) : [c] "r"(c));
    return cpu_ns() - from;
}

/* Four such chains at a time. They take as long as one, unless another guest uses the core's units. */
static uint64_t four_chains(int rounds) {
    uint64_t from = cpu_ns(), a = 1, b = 1, d = 1, e = 1, c = 3;
    for (int i = 0; i < rounds; i++)
        __asm__ volatile(EIGHT(ADD(a) ADD(b) ADD(d) ADD(e)) : [a] "+r"(a), [b] "+r"(b), [d] "+r"(d), [e] "+r"(e) : [c] "r"(c));
    return cpu_ns() - from;
}

/* Follows a random ring through 1 MiB: it waits for the caches. */
static uint64_t walk(void) {
    static uint32_t at;
    uint64_t from = cpu_ns();
    for (int i = 0; i < STEPS; i++) at = next_line[at][0];
    sink += at;
    return cpu_ns() - from;
}

static void make_ring(void) {
    static uint32_t order[LINES];
    uint64_t x = 1;
    for (uint32_t i = 0; i < LINES; i++) order[i] = i;
    for (uint32_t i = LINES - 1; i > 0; i--) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        uint32_t j = (x >> 33) % (i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (uint32_t i = 0; i < LINES; i++) next_line[order[i]][0] = order[(i + 1) % LINES];
}

/* The first number of schedstat is the time on a CPU, in ns. The process has ended and is not reaped. */
static uint64_t cpu_of(pid_t pid) {
    char path[64], text[128] = {0};
    snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) exit(3);
    close(fd);
    return strtoull(text, NULL, 10);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
    make_ring();
    for (int run = 0, runs = atoi(argv[1]); run < runs; run++) {
        chain(WARM_UP);
        uint64_t one = chain(ROUNDS), four = four_chains(ROUNDS), w = walk();
        pid_t pid = fork();
        if (pid == 0) {
            int null = open("/dev/null", O_RDWR);
            dup2(null, 0), dup2(null, 1), dup2(null, 2);
            execvp(argv[2], argv + 2);
            _exit(127);
        }
        siginfo_t info;
        if (pid < 0 || waitid(P_PID, pid, &info, WEXITED | WNOWAIT) || info.si_status) return 3;
        printf("%llu %llu %llu %llu\n", (unsigned long long)one, (unsigned long long)four, (unsigned long long)w, (unsigned long long)cpu_of(pid));
        waitpid(pid, NULL, 0);
    }
}
