/* A run that leaves notes: it notes its start, lasts 0.2 to 3 ms, and notes its end as its very last act.
 *   counted ARM
 * A note has: start or end, the arm, the number of the run, CLOCK_MONOTONIC in ns. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000l + t.tv_nsec;
}

static int note(const char *what, const char *arm)
{
    char line[96];
    const char *iteration = getenv("STILLWELL_ITERATION");
    int log = open("log", O_WRONLY | O_APPEND);
    snprintf(line, sizeof line, "%s %s %s %ld\n", what, arm, iteration ? iteration : "?", now());
    return write(log, line, strlen(line)) < 0;
}

int main(int argc, char **argv)
{
    if (argc != 2 || note("start", argv[1]))
        return 1;
    nanosleep(&(struct timespec){.tv_nsec = 200000 + now() % 2800000}, NULL);
    _exit(note("end", argv[1]));
}
