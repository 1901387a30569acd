/* Stillwell: benchmarks in C (C99) and C++ (C++11), for GCC and Clang on Linux. One header, nothing but libc.
 *
 *     #include "stillwell.h"
 *     STILLWELL_BENCH(parse)
 *     {
 *         char *text = load();            // not timed, made anew for each run: keep it cheap
 *         for (SW_LOOP)                   // timed from here
 *             sw_keep(parse(text));
 *         free(text);                     // not timed
 *     }
 *     STILLWELL_MAIN()                    // in one file of the program
 *
 *     stillwell bench ./bench-old ./bench-new
 *
 * STILLWELL_BENCH(name)              a benchmark called `name`, in C++ also inside a namespace
 * STILLWELL_BENCH_INNER(name, n)     the code is repeated n times in one loop: the time is divided by n
 * STILLWELL_BENCH_NAMED("any text", n)     the same, called by any text in UTF-8
 * for (SW_LOOP) { ... }              the timed loop, once in each benchmark. `continue` is fine; leaving it by break,
 *                                    return or goto is an error, because the loops would be miscounted
 * sw_keep(x)     x must really be computed, and what sw_keep returns is a value that the compiler cannot know.
 *                So `sw_keep(f(sw_keep(20)))` computes f(20) in each loop. What memory x points to counts as read and
 *                changed. In C++ `sw_keep(x);` also changes a variable x. C macros cannot tell variables from
 *                values: there write `f(sw_keep(x))`, `x = sw_keep(x)`, or for a big struct `sw_keep(&x)`.
 * sw_clobber()   all memory that others can reach counts as read and changed
 * sw_count("name", n)    adds n to a counter, shown beside the times; from the benchmark's own thread only
 * STILLWELL_MAIN()       defines main; or call `sw_main(argc, argv)` in your own main and return what it returns
 *
 * Several files may include this; their benchmarks come together in one program, C and C++ mixed if you like.
 * Names that end in _ and names with _sw_ in them are not for you.
 *
 * Protocol: docs/worker-protocol.md, version 1. Licence: MIT or Apache-2.0, as Stillwell itself. */
#ifndef STILLWELL_H
#define STILLWELL_H

/* -std=c99 and -std=c11 hide clock_gettime unless this is asked for before the first header of libc. In the gnu modes it is
 * there anyway, and the definition would take other things away (features.h: _DEFAULT_SOURCE). */
#if defined(__STRICT_ANSI__) && !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE) && !defined(_XOPEN_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if !defined(CLOCK_MONOTONIC) || !defined(CLOCK_PROCESS_CPUTIME_ID)
#error "stillwell.h: libc hides clock_gettime. Include stillwell.h first, or compile with -D_POSIX_C_SOURCE=200809L"
#endif
#ifdef __cplusplus
#include <exception>
#include <type_traits>
#include <utility>
#endif

#define SW_LINE_MAX_ 65536 /* docs/worker-protocol.md, "Lines" */
#define SW_NAME_MAX_ 4096  /* four bytes for each when escaped: an answer stays far below SW_LINE_MAX_ */
#define SW_COUNTERS_ 32
#define SW_COUNTER_NAME_MAX_ 256
#define SW_INT_MAX_ 0x7fffffffffffffffULL /* the protocol's integers are below 2^63 */

/* How a file of the program was compiled. Each file keeps its own, as the files may differ. */
struct sw_build_ {
    const char *language, *implementation, *version, *compiler, *standard, *optimised, *assertions, *architecture;
};

enum sw_state_ { SW_READY_, SW_LOOPING_, SW_DONE_, SW_AGAIN_ };

/* One run of one benchmark. */
struct sw_run_ {
    unsigned long long loops, wall_ns, cpu_ns; /* loops: asked for */
    enum sw_state_ state;
    unsigned counters;
    struct {
        const char *name;
        unsigned long long count;
    } counter[SW_COUNTERS_];
    char error[1024]; /* empty: none */
};

struct sw_item_ {
    void (*bench)(struct sw_run_ *);
    void (*guard)(void (*)(struct sw_run_ *), struct sw_run_ *); /* of the file that has the benchmark */
    const struct sw_build_ *build;
    const char *name, *file;
    int line;
    unsigned long long inner_loops;
    struct sw_item_ *next;
};

/* The only thing that all files of a program share. Weak, so that each may define it and the linker keeps one. */
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

#define SW_STRING_(x) #x
#define SW_VALUE_(x) SW_STRING_(x)
#define SW_CAT__(a, b) a##b
#define SW_CAT_(a, b) SW_CAT__(a, b)
#define SW_INLINE_ static inline __attribute__((always_inline, unused))

static const struct sw_build_ sw_build_ __attribute__((unused)) = {
#ifdef __cplusplus
    "c++",
#else
    "c",
#endif
#ifdef __clang__
    "clang",
    SW_VALUE_(__clang_major__) "." SW_VALUE_(__clang_minor__) "." SW_VALUE_(__clang_patchlevel__),
    __VERSION__, /* begins with the compiler's name */
#else
    "gcc",
    SW_VALUE_(__GNUC__) "." SW_VALUE_(__GNUC_MINOR__) "." SW_VALUE_(__GNUC_PATCHLEVEL__),
    "GCC " __VERSION__,
#endif
#ifdef __cplusplus
    "C++ " SW_VALUE_(__cplusplus),
#else
    "C " SW_VALUE_(__STDC_VERSION__),
#endif
#ifdef __OPTIMIZE__
    "1",
#else
    "0",
#endif
#ifdef NDEBUG
    "0",
#else
    "1",
#endif
#if defined(__x86_64__)
    "x86_64"
#elif defined(__i386__)
    "i386"
#elif defined(__aarch64__)
    "aarch64"
#elif defined(__arm__)
    "arm"
#elif defined(__riscv)
    "riscv"
#elif defined(__powerpc__)
    "powerpc"
#elif defined(__s390x__)
    "s390x"
#else
    "unknown"
#endif
};

/* ---- Keeping values alive ---- */

/* Where an empty piece of assembly finds a float: in the register where it is anyway. Through memory it would cost
 * a store and a load, in an integer register two moves. "m" is right everywhere. */
#if defined(__SSE2__)
#define SW_FLOAT_REGISTER_ "+x"
#elif defined(__aarch64__)
#define SW_FLOAT_REGISTER_ "+w"
#else
#define SW_FLOAT_REGISTER_ "+m"
#endif

#define sw_clobber() __asm__ volatile("" : : : "memory")

#ifdef __cplusplus
namespace sw_detail_ {
enum { IN_REGISTER, IN_FLOAT_REGISTER, IN_MEMORY };
template <class T> struct kind {
    static const int value =
        std::is_same<T, float>::value || std::is_same<T, double>::value ? IN_FLOAT_REGISTER
        : (std::is_integral<T>::value || std::is_enum<T>::value || std::is_pointer<T>::value) && sizeof(T) <= sizeof(void *)
            ? IN_REGISTER
            : IN_MEMORY;
};
template <int KIND> using tag = std::integral_constant<int, KIND>;
template <class T> SW_INLINE_ void touch(T &x, tag<IN_REGISTER>) { __asm__ volatile("" : "+r"(x) : : "memory"); }
template <class T> SW_INLINE_ void touch(T &x, tag<IN_FLOAT_REGISTER>) { __asm__ volatile("" : SW_FLOAT_REGISTER_(x) : : "memory"); }
template <class T> SW_INLINE_ void touch(T &x, tag<IN_MEMORY>) { __asm__ volatile("" : "+m"(x) : : "memory"); }
} // namespace sw_detail_

/* A variable of a simple type: it stays where it is, and is changed. */
template <class T>
SW_INLINE_ typename std::enable_if<std::is_scalar<T>::value && !std::is_const<T>::value, T &>::type sw_keep(T &x)
{
    sw_detail_::touch(x, sw_detail_::tag<sw_detail_::kind<typename std::remove_cv<T>::type>::value>());
    return x;
}
/* A constant or a value of a simple type: a copy is changed. */
template <class T> SW_INLINE_ typename std::enable_if<std::is_scalar<T>::value, T>::type sw_keep(const T &x)
{
    T copy = x;
    return sw_keep(copy);
}
/* Objects and arrays: by their address, never copied. */
template <class T>
SW_INLINE_ typename std::enable_if<!std::is_scalar<typename std::remove_reference<T>::type>::value, T &&>::type
sw_keep(T &&x)
{
    __asm__ volatile("" : : "r"(&reinterpret_cast<const volatile char &>(x)) : "memory");
    return std::forward<T>(x);
}
#else
#define SW_IS_(x, type) __builtin_types_compatible_p(__typeof__(x), type)
#define SW_IS_FLOAT_(x) (SW_IS_(x, float) || SW_IS_(x, double))
/* 0 to 5: integers, characters, enumerations, booleans and pointers. */
#define SW_IS_WORD_(x) (__builtin_classify_type(x) <= 5 && sizeof(x) <= sizeof(void *))
/* x itself where `is`; where the branch is not taken, something that Clang accepts as such an operand. */
#define SW_IF_(is, x, dummy) (*__builtin_choose_expr(is, &(x), &sw_dummy_.dummy))
static union {
    double number;
    long word;
} sw_dummy_ __attribute__((unused));
/* The type is that of a comma expression: so an array becomes a pointer, and const falls away (GCC 11 and later). */
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
/* One sw_keep may be inside another, so that each needs a name of its own, or no warning (newer Clangs warn of
 * __COUNTER__ too, and GCC does not take a pragma inside an expression). */
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

/* The wall clock is the inner one of the two: its time has nothing in it but the loop. */
static inline unsigned long long sw_begin_(struct sw_run_ *run)
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

static inline int sw_end_(struct sw_run_ *run)
{
    unsigned long long wall_ns = sw_clock_ns_(CLOCK_MONOTONIC), cpu_ns = sw_clock_ns_(CLOCK_PROCESS_CPUTIME_ID);
    if (run->state == SW_LOOPING_) {
        run->wall_ns = wall_ns - run->wall_ns;
        run->cpu_ns = cpu_ns - run->cpu_ns;
        run->state = SW_DONE_;
    }
    return 0;
}

/* The assembly keeps the compiler from doing all loops at once. It comes before the subtraction, whose flags the
 * branch then takes: a loop costs these two instructions. */
SW_INLINE_ unsigned long long sw_next_(unsigned long long left)
{
    __asm__ volatile("" : "+r"(left));
    return left - 1;
}

/* The count is a local variable, so that it can be in a register. Only the condition stops the clock: a loop
 * left in any other way is still SW_LOOPING_ afterwards. */
#define SW_LOOP                                                                                  \
    unsigned long long left_sw_ = sw_begin_(run_sw_);                                            \
    __builtin_expect(left_sw_ != 0, 1) || sw_end_(run_sw_);                                      \
    left_sw_ = sw_next_(left_sw_)

#define STILLWELL_BENCH(name) SW_BENCH_(name##_sw_, #name, 1)
#define STILLWELL_BENCH_INNER(name, inner_loops) SW_BENCH_(name##_sw_, #name, inner_loops)
#define STILLWELL_BENCH_NAMED(text, inner_loops) SW_BENCH__(SW_CAT_(named_sw_, __LINE__), text, inner_loops)
#define SW_BENCH__(id, text, inner_loops) SW_BENCH_(id, text, inner_loops) /* pastes the line's number, not its name */
#define SW_BENCH_(id, text, inner_loops)                                                                        \
    static void id##bench(struct sw_run_ *);                                                                    \
    static struct sw_item_ id##item = {id##bench, sw_guard_, &sw_build_, text, __FILE__, __LINE__, inner_loops, NULL}; \
    __attribute__((constructor)) static void id##add(void) { sw_add_(&id##item); }                              \
    static void id##bench(struct sw_run_ *run_sw_ __attribute__((unused)))

/* In the order of the file: compilers may run its constructors in any. */
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
    unsigned i = 0;
    if (!run || run->error[0]) return;
    while (i < run->counters && strcmp(run->counter[i].name, name) != 0) i++;
    if (i == SW_COUNTERS_ || !name[0] || strlen(name) > SW_COUNTER_NAME_MAX_) {
        snprintf(run->error, sizeof run->error, "counter \"%.300s\": at most %d counters, with names of 1 to %d bytes", name,
                 SW_COUNTERS_, SW_COUNTER_NAME_MAX_);
        return;
    }
    if (i == run->counters) {
        run->counter[i].name = name;
        run->counter[i].count = 0;
        run->counters++;
    }
    if (n > SW_INT_MAX_ - run->counter[i].count)
        snprintf(run->error, sizeof run->error, "counter \"%s\": its sum is negative, or 2^63 and more", name);
    else
        run->counter[i].count += n;
}

/* Whether the time in `run` is one; if not, why is in run->error. */
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

struct sw_worker_ {
    int in, out, too_long;
    size_t begin, end, length; /* of what was read and not used; of the answer */
    char request[SW_LINE_MAX_], answer[SW_LINE_MAX_];
};

/* Answers are short by the limits above; one that is not is cut here rather than let over the end. */
static inline void sw_put_(struct sw_worker_ *w, const char *s)
{
    while (*s && w->length < sizeof w->answer - 1) w->answer[w->length++] = *s++;
}

/* `also` is escaped too: an equals sign in NAME=COUNT. */
static inline void sw_text_(struct sw_worker_ *w, const char *s, char also)
{
    if (!*s) sw_put_(w, "\\x");
    for (; *s; s++) {
        char c[5] = {*s, 0, 0, 0, 0};
        if (*s < '!' || *s > '~' || *s == '\\' || *s == also) snprintf(c, sizeof c, "\\x%02x", (unsigned)(unsigned char)*s);
        sw_put_(w, c);
    }
}

static inline void sw_number_(struct sw_worker_ *w, const char *before, unsigned long long n)
{
    char s[32];
    snprintf(s, sizeof s, "%llu", n);
    sw_put_(w, before);
    sw_put_(w, s);
}

static inline int sw_send_(struct sw_worker_ *w)
{
    size_t sent = 0;
    w->answer[w->length++] = '\n';
    while (sent < w->length) {
        ssize_t n = write(w->out, w->answer + sent, w->length - sent);
        if (n >= 0)
            sent += (size_t)n;
        else if (errno != EINTR)
            return 0; /* nobody is there any more */
    }
    w->length = 0;
    return 1;
}

static inline int sw_say_(struct sw_worker_ *w, const char *line)
{
    sw_put_(w, line);
    return sw_send_(w);
}

static inline int sw_refuse_(struct sw_worker_ *w, const char *why)
{
    sw_put_(w, "error ");
    sw_text_(w, why, 0);
    return sw_send_(w);
}

/* The next request without its line end, or NULL at the end of input. */
static inline char *sw_request_(struct sw_worker_ *w)
{
    for (;;) {
        char *line = w->request + w->begin, *stop = (char *)memchr(line, '\n', w->end - w->begin);
        if (stop) {
            *stop = 0;
            w->begin = (size_t)(stop + 1 - w->request);
            return line;
        }
        if (w->begin == 0 && w->end == sizeof w->request) {
            w->too_long = 1; /* the rest of the line is read and thrown away */
            w->end = 0;
        }
        memmove(w->request, w->request + w->begin, w->end - w->begin);
        w->end -= w->begin;
        w->begin = 0;
        ssize_t n = read(w->in, w->request + w->end, sizeof w->request - w->end);
        if (n > 0)
            w->end += (size_t)n;
        else if (n == 0 || errno != EINTR)
            return NULL;
    }
}

/* Makes a text of its escaped form, in place; 0 if that is malformed. */
static inline int sw_unescape_(char *text)
{
    static const char digits[] = "0123456789abcdef";
    char *to = text;
    if (strcmp(text, "\\x") == 0) *text = 0;
    for (; *text; text++) {
        const char *high, *low;
        if (*text < '!' || *text > '~') return 0;
        if (*text != '\\') {
            *to++ = *text;
            continue;
        }
        if (text[1] != 'x' || !text[2] || !text[3]) return 0;
        high = strchr(digits, text[2]);
        low = strchr(digits, text[3]);
        if (!high || !low) return 0;
        *to++ = (char)((high - digits) * 16 + (low - digits));
        text += 3;
    }
    *to = 0;
    return 1;
}

/* A whole number from 1 to 2^63-1, or 0. */
static inline unsigned long long sw_loops_(const char *s)
{
    unsigned long long n = 0;
    do {
        if (*s < '0' || *s > '9' || n > (SW_INT_MAX_ - (unsigned)(*s - '0')) / 10) return 0;
        n = n * 10 + (unsigned)(*s - '0');
    } while (*++s);
    return n;
}

static inline const struct sw_item_ *sw_find_(const char *name)
{
    const struct sw_item_ *item = sw_all_.first;
    while (item && strcmp(item->name, name) != 0) item = item->next;
    return item;
}

static inline int sw_answer_list_(struct sw_worker_ *w)
{
    const struct sw_item_ *item;
    for (item = sw_all_.first; item; item = item->next) {
        sw_put_(w, "benchmark ");
        sw_text_(w, item->name, 0);
        if (item->inner_loops != 1) sw_number_(w, " inner_loops=", item->inner_loops);
        if (!sw_send_(w)) return 0;
    }
    return sw_say_(w, "end");
}

static inline int sw_answer_run_(struct sw_worker_ *w, const struct sw_item_ *item, const char *loops)
{
    static struct sw_run_ run;
    unsigned i;
    if (!sw_loops_(loops)) return sw_refuse_(w, "run LOOPS: LOOPS must be a whole number from 1 to 9223372036854775807");
    if (!item) return sw_refuse_(w, "no benchmark is selected: send select NAME before run");
    if (!sw_measure_(item, sw_loops_(loops), &run)) return sw_refuse_(w, run.error);
    sw_number_(w, "time ", run.wall_ns);
    sw_number_(w, " ", run.cpu_ns);
    for (i = 0; i < run.counters; i++) {
        sw_put_(w, " ");
        sw_text_(w, run.counter[i].name, '=');
        sw_number_(w, "=", run.counter[i].count);
    }
    return sw_send_(w);
}

/* Of the file that has the benchmark: it may be compiled in another way than the one with sw_main. */
static inline int sw_answer_metadata_(struct sw_worker_ *w, const struct sw_item_ *item)
{
    const struct sw_build_ *b = item ? item->build : &sw_build_;
    const char *facts[] = {"compiler", b->compiler, "standard", b->standard, "optimised", b->optimised, "assertions", b->assertions,
                           "architecture", b->architecture, "source_file", item ? item->file : ""};
    size_t i;
    for (i = 0; i < sizeof facts / sizeof *facts; i += 2) {
        char value[SW_NAME_MAX_];
        snprintf(value, sizeof value, "%s", facts[i + 1]);
        if (!*value) continue;
        sw_put_(w, "meta ");
        sw_put_(w, facts[i]);
        sw_put_(w, " ");
        sw_text_(w, value, 0);
        if (!sw_send_(w)) return 0;
    }
    return sw_say_(w, "end");
}

static inline int sw_answer_select_(struct sw_worker_ *w, char *name, const struct sw_item_ **selected)
{
    const struct sw_item_ *item;
    char why[1024];
    if (!sw_unescape_(name)) return sw_refuse_(w, "select NAME: NAME is not one text with its bytes escaped as \\xHH");
    item = sw_find_(name);
    snprintf(why, sizeof why, "no benchmark is called \"%.800s\": list tells those there are", name);
    if (!item) return sw_refuse_(w, why);
    *selected = item;
    return sw_say_(w, "ok");
}

static inline int sw_serve_(int in, int out)
{
    static struct sw_worker_ w; /* too big for some stacks */
    const struct sw_item_ *selected = NULL;
    char *line;
    int alive;
    w.in = in;
    w.out = out;
    sw_put_(&w, "stillwell 1 language=");
    sw_put_(&w, sw_build_.language);
    sw_put_(&w, " implementation=");
    sw_put_(&w, sw_build_.implementation);
    sw_put_(&w, " version=");
    sw_put_(&w, sw_build_.version);
    alive = sw_send_(&w);
    while (alive && (line = sw_request_(&w)) != NULL) {
        if (w.too_long) {
            w.too_long = 0;
            alive = sw_refuse_(&w, "the request is longer than 65536 bytes");
        } else if (strcmp(line, "list") == 0)
            alive = sw_answer_list_(&w);
        else if (strncmp(line, "select ", 7) == 0)
            alive = sw_answer_select_(&w, line + 7, &selected);
        else if (strncmp(line, "run ", 4) == 0)
            alive = sw_answer_run_(&w, selected, line + 4);
        else if (strcmp(line, "metadata") == 0)
            alive = sw_answer_metadata_(&w, selected);
        else if (strcmp(line, "quit") == 0) {
            sw_say_(&w, "bye");
            break;
        } else
            alive = sw_refuse_(&w, "unknown request");
    }
    return 0;
}

/* ---- The program ---- */

static inline void sw_print_(const char *name, int width, double ns)
{
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    int u = 0;
    /* Columns, not bytes: the bytes of a UTF-8 character after its first one take no room. */
    for (; *name; name++) {
        putchar(*name);
        if (((unsigned char)*name & 0xC0) != 0x80) width--;
    }
    for (; u < 3 && ns >= 999.5; u++) ns /= 1000;
    printf("%*s  %7.*f %s\n", width > 0 ? width : 0, "", ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0, ns, unit[u]);
}

/* A rough time for people: the best of five runs of 10 ms and more. Whether an interruption was in it is not known. */
static inline int sw_show_(const struct sw_item_ *item, int width)
{
    static struct sw_run_ run;
    unsigned long long loops = 1;
    double best = 0;
    int i, ok;
    while ((ok = sw_measure_(item, loops, &run)) && run.wall_ns < 10000000 && loops < 1ULL << 40) loops *= 2;
    for (i = 0; ok && i < 5; i++) {
        double ns = (double)run.wall_ns / (double)loops / (double)item->inner_loops;
        if (i == 0 || ns < best) best = ns;
        if (i < 4) ok = sw_measure_(item, loops, &run);
    }
    if (ok)
        sw_print_(item->name, width, best);
    else
        fprintf(stderr, "stillwell: %s: %s\n", item->name, run.error);
    fflush(stdout);
    return ok;
}

/* What is wrong with the program itself; 0 if so. */
static inline int sw_check_(void)
{
    const struct sw_item_ *item;
    if (!sw_all_.first) fprintf(stderr, "stillwell: no benchmark in this program: define one with STILLWELL_BENCH(name)\n");
    for (item = sw_all_.first; item; item = item->next) {
        const struct sw_item_ *same = sw_find_(item->name);
        if (same != item)
            return fprintf(stderr, "stillwell: two benchmarks are called \"%s\": %s:%d and %s:%d; rename one\n", item->name,
                           same->file, same->line, item->file, item->line), 0;
        if (strlen(item->name) > SW_NAME_MAX_ || item->inner_loops < 1 || item->inner_loops > SW_INT_MAX_)
            return fprintf(stderr, "stillwell: %s:%d: a name has at most %d bytes, and there is at least one inner loop\n", item->file,
                           item->line, SW_NAME_MAX_), 0;
    }
    return sw_all_.first != NULL;
}

static inline int sw_show_all_(int argc, char **argv)
{
    const struct sw_item_ *item;
    int i, width = 0, ok = 1;
    for (i = 1; i < argc; i++)
        if (!sw_find_(argv[i]))
            return fprintf(stderr, "stillwell: no benchmark is called \"%s\": see %s --list\n", argv[i], argv[0]), 2;
    for (item = sw_all_.first; item; item = item->next)
        if ((int)strlen(item->name) > width) width = (int)strlen(item->name);
    for (item = sw_all_.first; item; item = item->next) {
        for (i = 1; i < argc && strcmp(argv[i], item->name) != 0;) i++;
        if (argc < 2 || i < argc) ok &= sw_show_(item, width);
    }
    printf("\nRough times. To compare two builds: stillwell bench ./old ./new\n");
    return ok ? 0 : 2;
}

static inline int sw_main(int argc, char **argv)
{
    const char *last = argc > 1 ? argv[argc - 1] : "";
    const struct sw_item_ *item;
    int in, out, end = 0;
    if (!sw_check_()) return 2;
    if (strncmp(last, "--stillwell-worker=", 19) == 0) {
        if (sscanf(last + 19, "%9d,%9d%n", &in, &out, &end) != 2 || last[19 + end] || in < 0 || out < 0)
            return fprintf(stderr, "stillwell: %s: it must end in two numbers of file descriptors, as in =3,4\n", last), 2;
        /* The benchmark's own children must not hold the pipes open. */
        if (fcntl(in, F_SETFD, FD_CLOEXEC) != 0 || fcntl(out, F_SETFD, FD_CLOEXEC) != 0)
            return fprintf(stderr, "stillwell: %s: %s; only stillwell itself gives this argument\n", last, strerror(errno)), 2;
        return sw_serve_(in, out);
    }
    if (strcmp(last, "--help") == 0 || strcmp(last, "-h") == 0)
        return printf("Usage: %s [--list | NAME...]\n\nPrints a rough time of each benchmark, or of those named.\n"
                      "To compare two builds: stillwell bench ./old ./new\n", argv[0]), 0;
    if (strcmp(last, "--list") == 0) {
        for (item = sw_all_.first; item; item = item->next) puts(item->name);
        return 0;
    }
    return sw_show_all_(argc, argv);
}

#define STILLWELL_MAIN() \
    int main(int argc, char **argv) { return sw_main(argc, argv); }

#endif
