/* The smallest possible benchmark loop: it starts a program and waits for it, again and again.
 *   loop vfork|spawn N PROGRAM
 * Prints a line for each run: ns from before vfork (or posix_spawn) to after wait4, and ns from just before execve in the
 * child to after wait4 (0 for spawn, which hides that moment). The last line: ns of the whole loop, and ru_maxrss in KiB. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int main(int argc, char **argv)
{
    int is_vfork = argc == 4 && !strcmp(argv[1], "vfork");
    int n = argc == 4 ? atoi(argv[2]) : 0;
    uint64_t(*runs)[2] = calloc(n + 1, sizeof *runs);
    char *child_argv[] = {argv[argc - 1], NULL};
    struct rusage usage;
    /* The child writes this into the parent's memory, which vfork shares. */
    static volatile uint64_t exec_ns;

    uint64_t loop_ns = now();
    for (int i = 0; i < n; i++) {
        int status;
        pid_t pid;
        uint64_t started_ns = now();
        if (!is_vfork) {
            if (posix_spawn(&pid, child_argv[0], NULL, NULL, child_argv, environ))
                return 2;
        } else if (!(pid = vfork())) {
            exec_ns = now();
            execve(child_argv[0], child_argv, environ);
            _exit(127);
        }
        if (wait4(pid, &status, 0, &usage) < 0 || status)
            return 3;
        uint64_t ended_ns = now();
        runs[i][0] = ended_ns - started_ns;
        runs[i][1] = is_vfork ? ended_ns - exec_ns : 0;
    }
    loop_ns = now() - loop_ns;
    for (int i = 0; i < n; i++)
        printf("%lu %lu\n", runs[i][0], runs[i][1]);
    printf("%lu %lu\n", loop_ns, usage.ru_maxrss);
    return 0;
}
