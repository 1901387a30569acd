/* A simulated stillwell for the nodes. Its `bench` copies an earlier record, with the seed of its command line, instead of
   measuring. The real stillwell does everything else. REAL and TEMPLATES are compiled in. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEED "--seed="
#define PLACE "--seed=0000000000000000"

int main(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "bench")) {
        argv[0] = REAL;
        execv(REAL, argv);
        perror(REAL);
        return 127;
    }
    const char *only = "", *seed = "", *out = "";
    for (int i = 2; i < argc; i++) {
        if (!strncmp(argv[i], "--only=", 7)) only = argv[i] + 7;
        else if (!strncmp(argv[i], SEED, strlen(SEED))) seed = argv[i];
        else if (!strcmp(argv[i], "-o") && i + 1 < argc) out = argv[++i];
    }
    char path[4096];
    unsigned long long which = strtoull(seed + strlen(SEED), NULL, 10) % N_TEMPLATES;
    snprintf(path, sizeof path, "%s/%s.%llu.swell", TEMPLATES, only, which);
    FILE *from = fopen(path, "r"), *to = fopen(out, "wx");
    if (!from || !to) {
        perror(from ? out : path);
        return 2;
    }
    static char text[1 << 20];
    size_t n = fread(text, 1, sizeof text - 1, from);
    char *place = strstr(text, PLACE);
    if (!place) return 2;
    const char *node = getenv("SLURMD_NODENAME");
    char *host = strstr(text, "\"host\":\"NODE\"");
    if (!host) return 2;
    /* The placeholder of the seed comes before that of the node. */
    fwrite(text, 1, place - text, to);
    fputs(seed, to);
    place += strlen(PLACE);
    fwrite(place, 1, host - place, to);
    fprintf(to, "\"host\":\"%s\"", node ? node : "none");
    host += strlen("\"host\":\"NODE\"");
    fwrite(host, 1, text + n - host, to);
    return fclose(to) ? 2 : 0;
}
