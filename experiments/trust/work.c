/* A program with a known amount of work.
 *   work N          does N steps that depend on each other
 *   work busy MS    keeps a CPU busy for MS milliseconds, or until the parent ends */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>

static void steps(unsigned long n)
{
    unsigned x = 1;
    for (unsigned long i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(x));
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "busy")) {
        long ms = atol(argv[2]);
        struct itimerval end = {.it_value = {ms / 1000, ms % 1000 * 1000}};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setitimer(ITIMER_REAL, &end, NULL);
        for (;;)
            steps(1000000);
    }
    if (argc != 2)
        return 2;
    steps(strtoul(argv[1], NULL, 10));
}
