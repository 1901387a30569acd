/* Stillwell: benchmarks in C (C99) and C++ (C++11), for GCC and Clang on Linux. One header that needs only libc.
 * docs/benchmark-programs.md explains how to write and compare benchmark programs.
 *
 *     #include "stillwell.h"
 *     STILLWELL_BENCH(parse)
 *     {
 *         char *text = load();            // not timed; repeated for each run
 *         for (SW_LOOP)                   // timed from here
 *             sw_keep(parse(text));
 *         free(text);                     // not timed
 *     }
 *     STILLWELL_MAIN()                    // in one file of the program, or call sw_main(argc, argv) in your own main
 *
 * STILLWELL_BENCH_INNER(name, n)        a benchmark whose loop repeats the code n times: the time is divided by n
 * STILLWELL_BENCH_NAMED("any text", n)  the same, with any UTF-8 text as its name
 * for (SW_LOOP) { ... }  the timed loop, once in each benchmark. `continue` is allowed. Leaving the loop by break, return or
 *                        goto is an error, because the number of loops would be wrong
 * sw_keep(x)             makes the compiler compute x, and returns a value that is unknown to it. So
 *                        `sw_keep(f(sw_keep(20)))` computes f(20) in each loop. Memory that x points to counts as read and
 *                        changed. In C++ `sw_keep(x);` changes a variable x. A C macro cannot tell variables from values:
 *                        there write `f(sw_keep(x))`, `x = sw_keep(x)` or, without a copy of a struct, `sw_keep(&x)`
 * sw_clobber()           all memory that other code can reach counts as read and changed
 * sw_count("name", n)    adds n to a counter, which is shown beside the times. Call it from the benchmark's own thread only
 *
 * Several files of a program may include this header, in C and in C++. Their benchmarks form one list.
 * Names that end in _ and names that contain _sw_ are internal. Licence: MIT or Apache-2.0, as Stillwell. */
#ifndef STILLWELL_H
#define STILLWELL_H

/* With -std=c99 and -std=c11, libc declares clock_gettime only after this definition. The gnu modes declare it anyway, and
 * the definition would hide other functions there (features.h: _DEFAULT_SOURCE). */
#if defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE) && !defined(_XOPEN_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if !defined(CLOCK_MONOTONIC) || !defined(CLOCK_PROCESS_CPUTIME_ID)
#error "stillwell.h: libc hides clock_gettime. Include stillwell.h first, or compile with -D_POSIX_C_SOURCE=200809L"
#endif
#ifdef __cplusplus
#include <exception>
#include <type_traits>
#endif

#define SW_LINE_MAX_ 65536 /* docs/worker-protocol.md, "Lines" */
#define SW_NAME_MAX_ 4096  /* escaping takes up to four bytes each: an answer stays below SW_LINE_MAX_ */
#define SW_COUNTER_NAME_MAX_ 256
#define SW_COUNTERS_ 32
#define SW_INT_MAX_ 0x7fffffffffffffffULL /* the protocol's integers are below 2^63 */

enum sw_state_ { SW_READY_, SW_LOOPING_, SW_DONE_, SW_AGAIN_ };

/* One run of one benchmark. */
struct sw_run_ {
    unsigned long long loops, wall_ns, cpu_ns;
    enum sw_state_ state;
    unsigned counters;
    struct {
        const char *name;
        unsigned long long count;
    } counter[SW_COUNTERS_];
    char error[1024]; /* empty if there is none */
};

/* One benchmark. `guard` and `build` belong to its file, because files may be compiled differently. */
struct sw_item_ {
    void (*bench)(struct sw_run_ *);
    void (*guard)(void (*)(struct sw_run_ *), struct sw_run_ *);
    const char *const *build;
    const char *name, *file;
    int line;
    unsigned long long inner_loops;
    struct sw_item_ *next;
};

/* The only data that all files of a program share. It is weak, so each file may define it and the linker keeps one. */
struct sw_all_ {
    struct sw_item_ *first;
    struct sw_run_ *running;
};
#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) struct sw_all_ sw_all_;
#ifdef __cplusplus
}
#endif

#define SW_VALUE__(x) #x
#define SW_VALUE_(x) SW_VALUE__(x)
#define SW_CAT__(a, b) a##b
#define SW_CAT_(a, b) SW_CAT__(a, b)
#define SW_INLINE_ static inline __attribute__((always_inline, unused))

#ifdef __clang__
#define SW_COMPILER_ "clang"
#define SW_VERSION_ SW_VALUE_(__clang_major__) "." SW_VALUE_(__clang_minor__) "." SW_VALUE_(__clang_patchlevel__)
#else
#define SW_COMPILER_ "gcc"
#define SW_VERSION_ SW_VALUE_(__GNUC__) "." SW_VALUE_(__GNUC_MINOR__) "." SW_VALUE_(__GNUC_PATCHLEVEL__)
#endif
#ifdef __cplusplus
#define SW_LANGUAGE_ "c++"
#define SW_STANDARD_ __cplusplus
#else
#define SW_LANGUAGE_ "c"
#define SW_STANDARD_ __STDC_VERSION__
#endif
/* Build of this file: names and values for `metadata`. */
static const char *const sw_build_[] __attribute__((unused)) = {
    "compiler", SW_COMPILER_ " " SW_VERSION_, "compiler_text", __VERSION__,
    "standard", SW_LANGUAGE_ " " SW_VALUE_(SW_STANDARD_),
#ifdef __OPTIMIZE__
    "optimised", "1",
#else
    "optimised", "0",
#endif
#ifdef NDEBUG
    "assertions", "0",
#else
    "assertions", "1",
#endif
    NULL};

/* ---- Keeping values alive ---- */

/* Constraint of a float in an empty piece of assembly: the register that it is in anyway. Through memory it would cost
 * a store and a load, in an integer register two moves. "m" works on every machine. */
#if defined(__SSE2__)
#define SW_FLOAT_REGISTER_ "+x"
#elif defined(__aarch64__)
#define SW_FLOAT_REGISTER_ "+w"
#else
#define SW_FLOAT_REGISTER_ "+m"
#endif

#define sw_clobber() __asm__ volatile("" : : : "memory")

#ifdef __cplusplus
template <class T> struct sw_where_ { /* 0: a float register, 1: a register, 2: memory */
    static const int value = std::is_same<T, float>::value || std::is_same<T, double>::value ? 0
                             : std::is_scalar<T>::value && sizeof(T) <= sizeof(void *)       ? 1
                                                                                             : 2;
};
template <int WHERE> using sw_tag_ = std::integral_constant<int, WHERE>;
template <class T> SW_INLINE_ void sw_touch_(T &x, sw_tag_<0>) { __asm__ volatile("" : SW_FLOAT_REGISTER_(x) : : "memory"); }
template <class T> SW_INLINE_ void sw_touch_(T &x, sw_tag_<1>) { __asm__ volatile("" : "+r"(x) : : "memory"); }
template <class T> SW_INLINE_ void sw_touch_(T &x, sw_tag_<2>) { __asm__ volatile("" : "+m"(x) : : "memory"); }
/* A variable of a simple type stays in its place, and its value changes. */
template <class T>
SW_INLINE_ typename std::enable_if<std::is_scalar<T>::value && !std::is_const<T>::value, T &>::type sw_keep(T &x)
{
    sw_touch_(x, sw_tag_<sw_where_<typename std::remove_cv<T>::type>::value>());
    return x;
}
/* For a constant or a value of a simple type, a copy changes. */
template <class T> SW_INLINE_ typename std::enable_if<std::is_scalar<T>::value, T>::type sw_keep(const T &x)
{
    T copy = x;
    return sw_keep(copy);
}
/* Objects and arrays are passed by their address and never copied. */
template <class T>
SW_INLINE_ typename std::enable_if<!std::is_scalar<typename std::remove_reference<T>::type>::value, T &&>::type
sw_keep(T &&x)
{
    __asm__ volatile("" : : "r"(&reinterpret_cast<const volatile char &>(x)) : "memory");
    return static_cast<T &&>(x);
}
#else
#define SW_IS_(x, type) __builtin_types_compatible_p(__typeof__(x), type)
#define SW_IS_FLOAT_(x) (SW_IS_(x, float) || SW_IS_(x, double))
/* 0 to 5: integers, characters, enumerations, booleans and pointers. */
#define SW_IS_WORD_(x) (__builtin_classify_type(x) <= 5 && sizeof(x) <= sizeof(void *))
/* x itself if `is`. Otherwise the branch is never taken, and a dummy has a type that Clang accepts as the operand. */
#define SW_IF_(is, x, dummy) (*__builtin_choose_expr(is, &(x), &sw_dummy_.dummy))
static union {
    double number;
    long word;
} sw_dummy_ __attribute__((unused));
/* The type is that of a comma expression, so an array becomes a pointer and const is removed (GCC 11 and later). */
#define SW_KEEP_(x, kept)                                                                               \
    __extension__({                                                                                     \
        __typeof__(((void)0, (x))) kept = (x);                                                          \
        if (SW_IS_FLOAT_(kept))                                                                         \
            __asm__ volatile("" : SW_FLOAT_REGISTER_(SW_IF_(SW_IS_FLOAT_(kept), kept, number)) : : "memory"); \
        else if (SW_IS_WORD_(kept))                                                                     \
            __asm__ volatile("" : "+r"(SW_IF_(SW_IS_WORD_(kept), kept, word)) : : "memory");              \
        else                                                                                            \
            __asm__ volatile("" : "+m"(kept) : : "memory");                                             \
        kept;                                                                                           \
    })
/* One sw_keep may contain another, so each needs a name of its own, or no warning. Newer Clangs warn of __COUNTER__ too,
 * and GCC accepts no pragma inside an expression. */
#ifdef __clang__
#define sw_keep(x)                                                                                      \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wshadow\"") SW_KEEP_(x, kept_sw_) \
        _Pragma("clang diagnostic pop")
#else
#define sw_keep(x) SW_KEEP_(x, SW_CAT_(kept_sw_, __COUNTER__))
#endif
#endif

/* ---- The timed loop ---- */

static inline unsigned long long sw_clock_ns_(clockid_t clock)
{
    struct timespec t = {0, 0};
    clock_gettime(clock, &t);
    return (unsigned long long)t.tv_sec * 1000000000ULL + (unsigned long long)t.tv_nsec;
}

/* The wall clock is the inner one of the two clocks, so its time contains only the loop. The function is not inlined, so
 * the benchmark's own code has the registers. */
static __attribute__((noinline, unused)) unsigned long long sw_begin_(struct sw_run_ *run)
{
    if (run->state != SW_READY_) {
        run->state = SW_AGAIN_;
        return 0;
    }
    run->state = SW_LOOPING_;
    run->cpu_ns = sw_clock_ns_(CLOCK_PROCESS_CPUTIME_ID);
    run->wall_ns = sw_clock_ns_(CLOCK_MONOTONIC);
    return run->loops;
}

static __attribute__((noinline, unused)) void sw_end_(struct sw_run_ *run)
{
    unsigned long long wall_ns = sw_clock_ns_(CLOCK_MONOTONIC), cpu_ns = sw_clock_ns_(CLOCK_PROCESS_CPUTIME_ID);
    if (run->state == SW_LOOPING_) {
        run->wall_ns = wall_ns - run->wall_ns;
        run->cpu_ns = cpu_ns - run->cpu_ns;
        run->state = SW_DONE_;
    }
}

/* The assembly prevents the compiler from merging the loops. It comes before the subtraction, so the branch uses the
 * flags of that: a loop costs these two instructions. */
SW_INLINE_ unsigned long long sw_next_(unsigned long long left)
{
    __asm__ volatile("" : "+r"(left));
    return left - 1;
}

/* The count is a local variable, so it can be in a register. Only the condition stops the clock: if the code leaves the
 * loop in another way, the state is still SW_LOOPING_. */
#define SW_LOOP                                                                                  \
    unsigned long long left_sw_ = sw_begin_(run_sw_);                                            \
    __builtin_expect(left_sw_ != 0, 1) || (sw_end_(run_sw_), 0);                                     \
    left_sw_ = sw_next_(left_sw_)

#define STILLWELL_BENCH(name) SW_BENCH_(name##_sw_, #name, 1)
#define STILLWELL_BENCH_INNER(name, inner_loops) SW_BENCH_(name##_sw_, #name, inner_loops)
#define STILLWELL_BENCH_NAMED(text, inner_loops) SW_BENCH__(SW_CAT_(named_sw_, __LINE__), text, inner_loops)
#define SW_BENCH__(id, text, inner_loops) SW_BENCH_(id, text, inner_loops) /* pastes the line number, not __LINE__ */
#define SW_BENCH_(id, text, inner_loops)                                                                        \
    static void id##bench(struct sw_run_ *);                                                                    \
    static struct sw_item_ id##item = {id##bench, sw_guard_, sw_build_, text, __FILE__, __LINE__, inner_loops, NULL}; \
    __attribute__((constructor)) static void id##add(void) { sw_add_(&id##item); }                              \
    static void id##bench(struct sw_run_ *run_sw_ __attribute__((unused)))

/* Adds a benchmark in the order of its file. Compilers may run the constructors of a file in any order. */
static inline void sw_add_(struct sw_item_ *item)
{
    struct sw_item_ **at = &sw_all_.first;
    while (*at && !(strcmp((*at)->file, item->file) == 0 && (*at)->line > item->line)) at = &(*at)->next;
    item->next = *at;
    *at = item;
}

static inline void sw_guard_(void (*bench)(struct sw_run_ *), struct sw_run_ *run)
{
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
    try {
        bench(run);
    } catch (const std::exception &e) {
        snprintf(run->error, sizeof run->error, "std::exception: %s", e.what());
    } catch (...) {
        snprintf(run->error, sizeof run->error, "an exception that is not a std::exception");
    }
#else
    bench(run);
#endif
}

#define sw_count(name, n) sw_count_(name, (unsigned long long)(n))
static inline void sw_count_(const char *name, unsigned long long n)
{
    struct sw_run_ *run = sw_all_.running;
    const char *what = NULL;
    unsigned i = 0;
    if (!run || run->error[0]) return; /* the answer has the first error */
    while (i < run->counters && strcmp(run->counter[i].name, name) != 0) i++;
    if (strlen(name) > SW_COUNTER_NAME_MAX_) what = "has a name of more than 256 bytes";
    else if (i == SW_COUNTERS_) what = "is one too many: there may be 32";
    else if (n > SW_INT_MAX_ - (i < run->counters ? run->counter[i].count : 0)) what = "is negative, or 2^63 and more";
    if (what) {
        snprintf(run->error, sizeof run->error, "counter %.300s %s", name, what);
        return;
    }
    if (i == run->counters) run->counter[run->counters++].name = name; /* sw_measure_ has set its count to 0 */
    run->counter[i].count += n;
}

/* Runs a benchmark. Returns whether the time in `run` is valid; if not, run->error has the reason. */
static inline int sw_measure_(const struct sw_item_ *item, unsigned long long loops, struct sw_run_ *run)
{
    const char *what = NULL;
    memset(run, 0, sizeof *run);
    run->loops = loops;
    sw_all_.running = run;
    item->guard(item->bench, run);
    sw_all_.running = NULL;
    if (run->error[0]) return 0;
    if (run->state == SW_READY_) what = "did not come to its loop: there must be one for (SW_LOOP)";
    if (run->state == SW_LOOPING_) what = "left its loop early";
    if (run->state == SW_AGAIN_) what = "came to a second loop: there must be one for (SW_LOOP)";
    if (what) snprintf(run->error, sizeof run->error, "benchmark %.800s %s", item->name, what);
    return !what;
}

/* ---- The worker ---- */

/* `s` as one word of the protocol, cut to `room` bytes. The byte `also` is escaped, too. */
static inline const char *sw_escape_(char *to, size_t room, const char *s, char also)
{
    char *at = to;
    if (!*s) return "\\x";
    for (; *s && (size_t)(at - to) + 5 <= room; s++)
        if (*s >= '!' && *s <= '~' && *s != '\\' && *s != also)
            *at++ = *s;
        else
            at += snprintf(at, 5, "\\x%02x", (unsigned)(unsigned char)*s);
    *at = 0;
    return to;
}

/* Writes a line. Returns whether the parent still reads. The lengths of texts are limited, so every line fits. */
__attribute__((format(printf, 2, 3))) static inline int sw_say_(int out, const char *format, ...)
{
    static char line[SW_LINE_MAX_];
    char *at = line;
    size_t left;
    va_list values;
    va_start(values, format);
    left = (size_t)vsnprintf(line, sizeof line - 1, format, values);
    va_end(values);
    line[left++] = '\n';
    while (left) {
        ssize_t n = write(out, at, left);
        if (n < 0 && errno != EINTR) return 0;
        if (n > 0) {
            at += n;
            left -= (size_t)n;
        }
    }
    return 1;
}

static inline int sw_refuse_(int out, const char *why)
{
    char word[4 * sizeof(((struct sw_run_ *)0)->error)];
    return sw_say_(out, "error %s", sw_escape_(word, sizeof word, why, 0));
}

struct sw_input_ {
    int fd, too_long;
    size_t begin, end; /* the bytes that are read but not yet used */
    char bytes[SW_LINE_MAX_];
};

/* The next request without its line end, or NULL at the end of input. */
static inline char *sw_request_(struct sw_input_ *in)
{
    for (;;) {
        char *line = in->bytes + in->begin, *stop = (char *)memchr(line, '\n', in->end - in->begin);
        ssize_t n;
        if (stop) {
            *stop = 0;
            in->begin = (size_t)(stop + 1 - in->bytes);
            return line;
        }
        in->end -= in->begin;
        memmove(in->bytes, line, in->end);
        in->begin = 0;
        if (in->end == sizeof in->bytes) {
            in->too_long = 1; /* the end of the line is still to come: drop this part */
            in->end = 0;
        }
        n = read(in->fd, in->bytes + in->end, sizeof in->bytes - in->end);
        if (n == 0 || (n < 0 && errno != EINTR)) return NULL;
        if (n > 0) in->end += (size_t)n;
    }
}

/* The benchmark with this name, or with this word if `escaped`. A name has only one escaped form. */
static inline const struct sw_item_ *sw_find_(const char *name, int escaped)
{
    const struct sw_item_ *item = sw_all_.first;
    char word[4 * SW_NAME_MAX_ + 5];
    while (item && strcmp(escaped ? sw_escape_(word, sizeof word, item->name, 0) : item->name, name) != 0)
        item = item->next;
    return item;
}

static inline int sw_answer_list_(int out)
{
    const struct sw_item_ *item;
    char word[4 * SW_NAME_MAX_ + 5];
    for (item = sw_all_.first; item; item = item->next)
        if (!sw_say_(out, "benchmark %s inner_loops=%llu", sw_escape_(word, sizeof word, item->name, 0), item->inner_loops))
            return 0;
    return sw_say_(out, "end");
}

static inline int sw_answer_run_(int out, const struct sw_item_ *item, const char *s)
{
    static struct sw_run_ run;
    char counters[SW_COUNTERS_ * (4 * SW_COUNTER_NAME_MAX_ + 32)], word[4 * SW_COUNTER_NAME_MAX_ + 5], *at = counters;
    unsigned long long loops = 0;
    unsigned i;
    for (; *s >= '0' && *s <= '9' && loops <= (SW_INT_MAX_ - (unsigned)(*s - '0')) / 10; s++)
        loops = loops * 10 + (unsigned)(*s - '0');
    if (*s || !loops) return sw_refuse_(out, "run LOOPS: LOOPS must be a whole number from 1 to 9223372036854775807");
    if (!item) return sw_refuse_(out, "no benchmark is selected: send select NAME before run");
    if (!sw_measure_(item, loops, &run)) return sw_refuse_(out, run.error);
    *at = 0;
    for (i = 0; i < run.counters; i++) /* '=' is escaped, because it ends the name for the parent */
        at += sprintf(at, " %s=%llu", sw_escape_(word, sizeof word, run.counter[i].name, '='), run.counter[i].count);
    return sw_say_(out, "time %llu %llu%s", run.wall_ns, run.cpu_ns, counters);
}

static inline int sw_answer_metadata_(int out, const struct sw_item_ *item)
{
    const char *const *fact = item ? item->build : sw_build_;
    char word[4 * SW_NAME_MAX_ + 5];
    struct utsname machine;
    for (; *fact; fact += 2)
        if (!sw_say_(out, "meta %s %s", fact[0], sw_escape_(word, sizeof word, fact[1], 0))) return 0;
    if (item && !sw_say_(out, "meta source_file %s", sw_escape_(word, sizeof word, item->file, 0))) return 0;
    if (uname(&machine) == 0 && !sw_say_(out, "meta architecture %s", sw_escape_(word, sizeof word, machine.machine, 0)))
        return 0;
    return sw_say_(out, "meta pointer_bits %u", (unsigned)sizeof(void *) * 8) && sw_say_(out, "end");
}

static inline int sw_answer_(int out, const char *line, const struct sw_item_ **selected)
{
    char why[1024];
    if (strcmp(line, "list") == 0) return sw_answer_list_(out);
    if (strncmp(line, "run ", 4) == 0) return sw_answer_run_(out, *selected, line + 4);
    if (strcmp(line, "metadata") == 0) return sw_answer_metadata_(out, *selected);
    if (strncmp(line, "select ", 7) == 0) {
        *selected = sw_find_(line + 7, 1);
        if (*selected) return sw_say_(out, "ok");
        snprintf(why, sizeof why, "no benchmark is called %.800s: list tells those there are", line + 7);
        return sw_refuse_(out, why);
    }
    return sw_refuse_(out, "unknown request");
}

static inline int sw_serve_(int in_fd, int out)
{
    static struct sw_input_ in; /* too large for some stacks */
    const struct sw_item_ *selected = NULL;
    const char *line;
    int alive;
    in.fd = in_fd;
    alive = sw_say_(out, "stillwell 1 language=%s implementation=%s version=%s", SW_LANGUAGE_, SW_COMPILER_, SW_VERSION_);
    while (alive && (line = sw_request_(&in)) != NULL) {
        if (strcmp(line, "quit") == 0 && !in.too_long) return sw_say_(out, "bye"), 0;
        alive = in.too_long ? sw_refuse_(out, "the request is longer than 65536 bytes") : sw_answer_(out, line, &selected);
        in.too_long = 0;
    }
    return 0;
}

/* ---- The program by itself ---- */

/* Width in columns. In UTF-8, the bytes of a character after its first take no column. */
static inline int sw_width_(const char *s)
{
    int width = 0;
    while (*s) width += ((unsigned char)*s++ & 0xC0) != 0x80;
    return width;
}

/* Prints a rough time, the best of five runs of at least 10 ms. It does not check whether other programs ran meanwhile. */
static inline int sw_show_(const struct sw_item_ *item, int width)
{
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    static struct sw_run_ run;
    unsigned long long loops = 1, best = SW_INT_MAX_;
    double ns;
    int i, u = 0, ok;
    while ((ok = sw_measure_(item, loops, &run)) && run.wall_ns < 10000000 && loops < 1ULL << 40) loops *= 2;
    for (i = 0; i < 5 && ok; i++, ok = i == 5 || sw_measure_(item, loops, &run))
        if (run.wall_ns < best) best = run.wall_ns;
    if (!ok) return fprintf(stderr, "stillwell: %s: %s\n", item->name, run.error), 0;
    ns = (double)best / (double)loops / (double)item->inner_loops;
    for (; u < 3 && ns >= 999.5; u++) ns /= 1000;
    printf("%s%*s  ", item->name, width - sw_width_(item->name), "");
    printf("%7.*f %s\n", ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0, ns, unit[u]);
    fflush(stdout);
    return 1;
}

/* Prints the times of the named benchmarks, or of all. */
static inline int sw_show_all_(int names, char **name)
{
    const struct sw_item_ *item;
    int i, width = 0, ok = 1;
    for (i = 0; i < names; i++)
        if (!sw_find_(name[i], 0)) return fprintf(stderr, "stillwell: no benchmark is called %s: see --list\n", name[i]), 2;
    for (item = sw_all_.first; item; item = item->next)
        if (sw_width_(item->name) > width) width = sw_width_(item->name);
    for (item = sw_all_.first; item; item = item->next) {
        for (i = 0; i < names && strcmp(name[i], item->name) != 0;) i++;
        if (!names || i < names) ok &= sw_show_(item, width);
    }
    printf("\nRough times. To compare two builds: stillwell bench ./old ./new\n");
    return ok ? 0 : 2;
}

/* Checks that the names of the benchmarks are unique and that their lines fit. */
static inline int sw_check_(void)
{
    const struct sw_item_ *item, *same;
    for (item = sw_all_.first; item; item = item->next) {
        if (strlen(item->name) > SW_NAME_MAX_ || !item->inner_loops || item->inner_loops > SW_INT_MAX_)
            return fprintf(stderr, "stillwell: %s:%d: a name has at most %d bytes, inner loops are at least 1\n", item->file,
                           item->line, SW_NAME_MAX_), 0;
        if ((same = sw_find_(item->name, 0)) != item)
            return fprintf(stderr, "stillwell: %s:%d and %s:%d: both benchmarks are called %s; rename one\n", same->file,
                           same->line, item->file, item->line, item->name), 0;
    }
    if (!sw_all_.first) fprintf(stderr, "stillwell: no benchmark here: define one with STILLWELL_BENCH(name)\n");
    return sw_all_.first != NULL;
}

static inline int sw_main(int argc, char **argv)
{
    const char *last = argc > 1 ? argv[argc - 1] : "";
    const struct sw_item_ *item;
    int in, out, used = 0;
    if (!sw_check_()) return 2;
    if (strncmp(last, "--stillwell-worker=", 19) == 0) {
        if (sscanf(last, "--stillwell-worker=%9d,%9d%n", &in, &out, &used) != 2 || last[used])
            return fprintf(stderr, "stillwell: %s: two file descriptors must come after =, as in =3,4\n", last), 2;
        /* Programs that the benchmark starts must not hold the pipes open. */
        if (fcntl(in, F_SETFD, FD_CLOEXEC) != 0 || fcntl(out, F_SETFD, FD_CLOEXEC) != 0)
            return fprintf(stderr, "stillwell: %s: %s; this option is for stillwell bench only\n", last, strerror(errno)), 2;
        return sw_serve_(in, out);
    }
    if (strcmp(last, "--help") == 0 || strcmp(last, "-h") == 0)
        return printf("Usage: %s [--list | NAME...]\n\nPrints a rough time of each benchmark, or of those named.\n"
                      "To compare two builds: stillwell bench ./old ./new\n", argv[0]), 0;
    if (strcmp(last, "--list") != 0) return sw_show_all_(argc - 1, argv + 1);
    for (item = sw_all_.first; item; item = item->next) puts(item->name);
    return 0;
}

#define STILLWELL_MAIN() \
    int main(int argc, char **argv) { return sw_main(argc, argv); }

#endif
