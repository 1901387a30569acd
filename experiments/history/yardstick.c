/* `yardstick KIND`: one of five small loops of some 10 ms, each of which needs one part of a machine. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile uint64_t sink;

static void arithmetic(void) {
    uint64_t s[8] = {0};
    for (uint64_t i = 0; i < 4000000; i++)
        for (int j = 0; j < 8; j++) {
            s[j] += i ^ j;
            __asm__ volatile("" : "+r"(s[j]));
        }
    for (int j = 0; j < 8; j++) sink += s[j];
}

/* Follows a ring through so many lines, in steps that no prefetcher follows. */
static void follow(size_t lines, int steps) {
    char *at, *base = malloc(lines * 64);
    if (!base) exit(1);
    for (size_t i = 0; i < lines; i++) {
        char *next = base + (i * 40503 + 12345) % lines * 64;
        memcpy(base + i * 64, &next, sizeof next);
    }
    at = base;
    for (int i = 0; i < steps; i++) memcpy(&at, at, sizeof at);
    sink = (uintptr_t)at;
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    if (!strcmp(kind, "arithmetic")) arithmetic();
    else if (!strcmp(kind, "cache")) follow(1 << 14, 600000);
    else if (!strcmp(kind, "memory")) follow(1 << 19, 60000);
    else if (!strcmp(kind, "calls")) for (int i = 0; i < 60000; i++) syscall(SYS_getppid);
    else if (!strcmp(kind, "processes")) {
        for (int i = 0; i < 15; i++) {
            pid_t pid = vfork();
            if (pid == 0) {
                execl(argv[0], argv[0], "none", (char *)0);
                _exit(1);
            }
            waitpid(pid, NULL, 0);
        }
    } else return strcmp(kind, "none") != 0;
}
