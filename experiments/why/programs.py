"""Programs of 200 functions of unequal weight, in C and in Rust, and pairs of programs that differ in another way."""

import os
import pathlib
import random
import subprocess

N_FUNCTIONS = 200
# Loops of all functions together: about 12 ms.
N_LOOPS = 4_000_000

C_HEAD = """#include <stdint.h>
volatile uint64_t sink;
#define FUNCTION(name, n) __attribute__((noinline)) void name(uint64_t x) { \\
    for (uint64_t i = 0; i < (n); i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } sink = x; }
"""
RUST_FUNCTION = """#[inline(never)]
fn f%d(mut x: u64) -> u64 {
    for _ in 0..%d { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
    std::hint::black_box(x)
}
"""


def weights(draw):
    """The loops of each function: a few have most of the time."""
    shares = [1 / (rank + 3) for rank in range(N_FUNCTIONS)]
    draw.shuffle(shares)
    return [round(N_LOOPS * share / sum(shares)) for share in shares]


def pair(language, seed, more):
    """Two programs, ./old and ./new; `more` of all loops are added to one function of the new one. Returns its name."""
    draw = random.Random(seed)
    loops = weights(draw)
    planted = draw.randrange(N_FUNCTIONS)
    write(language, "old", loops)
    loops[planted] += round(N_LOOPS * more)
    write(language, "new", loops)
    return f"f{planted}"


def write(language, name, loops):
    if language == "C":
        functions = [f"FUNCTION(f{at}, {n})\n" for at, n in enumerate(loops)]
        calls = "".join(f"f{at}({at + 1});" for at in range(len(loops)))
        compiled(name, C_HEAD + "".join(functions) + "int main(void) {" + calls + "return 0;}\n")
        return
    functions = [RUST_FUNCTION % it for it in enumerate(loops)]
    calls = "".join(f"f{at}({at + 1});" for at in range(len(loops)))
    pathlib.Path(f"{name}.rs").write_text("".join(functions) + "fn main() {" + calls + "}\n")
    # Two builds of one crate: its name is a part of the functions' names.
    subprocess.run(["rustc", "-O", "-g", "--crate-name", "work", "-o", name, f"{name}.rs"], check=True)


def compiled(name, source, *options):
    pathlib.Path(f"{name}.c").write_text(source)
    subprocess.run(["cc", "-O2", "-g", "-fno-omit-frame-pointer", *options, "-o", name, f"{name}.c"], check=True)


# A loop that the compiler can neither remove nor shorten.
WORK = """#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
volatile uint64_t sink;
__attribute__((noinline)) void steady(void) {
    uint64_t x = 1;
    for (int i = 0; i < 3000000; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; } sink = x;
}
"""
FAULTS = """__attribute__((noinline)) void touch(void) {
    char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int turn = 0; turn < 2; turn++) {
        for (size_t at = 0; at < SIZE; at += 4096) p[at] = 1;
        if (AGAIN) madvise(p, SIZE, MADV_DONTNEED);
    }
}
"""
CALLS = """__attribute__((noinline)) void ask(void) {
    for (int i = 0; i < 3000; i++) { syscall(SYS_getppid); if (AGAIN) syscall(SYS_getppid); }
}
"""
COLD = """__attribute__((noinline)) void load(void) {
    static char text[1 << 16];
    int file = open("cold.data", O_RDONLY);
    if (AGAIN) posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    while (read(file, text, sizeof text) > 0) {}
    close(file);
}
"""
INLINED = """static %s uint64_t step(uint64_t x) { return x * 6364136223846793005u + 1442695040888963407u; }
__attribute__((noinline)) void walk(void) {
    uint64_t x = 1; for (int i = 0; i < 1000000; i++) x = step(x); sink = x;
}
"""
LIBC = """static char text[1 << 16];
__attribute__((noinline)) void scan(void) {
    memset(text, 'a', sizeof text - 1);
    for (int i = 0; i < 400; i++) { text[i] = 'b'; sink += AGAIN ? (uint64_t)strrchr(text, 'z') + strlen(text) : strlen(text); }
}
"""
MALLOC = """__attribute__((noinline)) void allocate(void) {
    static void *kept[1000];
    for (int i = 0; i < 60000; i++) { free(kept[i % 1000]); kept[i % 1000] = malloc(16 + i % 200); }
}
"""
# A slower allocator: it writes into all of what it gives out.
OTHER_MALLOC = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <stdlib.h>
extern void *__libc_malloc(size_t);
void *malloc(size_t n) { void *p = __libc_malloc(n); if (p) for (size_t i = 0; i < n; i++) ((volatile char *)p)[i] = 0; return p; }
"""


ENCODING = """fn main() {
    let data: Vec<u8> = (0..600_000u32).map(|at| (at * at >> 3) as u8).collect();
    for _ in 0..10 { std::hint::black_box(%s); }
}
"""
RELEASES = (("0.10.1", "base64::encode(std::hint::black_box(&data))"),
            ("0.22.1", "{ use base64::Engine as _; base64::engine::general_purpose::STANDARD.encode(std::hint::black_box(&data)) }"))


def releases():
    """Two releases of the crate base64, each in a program that encodes; nothing without cargo and the registry."""
    found = []
    for version, call in RELEASES:
        folder = pathlib.Path(f"base64-{version}")
        (folder / "src").mkdir(parents=True, exist_ok=True)
        (folder / "src/main.rs").write_text(ENCODING % call)
        (folder / "Cargo.toml").write_text('[package]\nname = "encode"\nversion = "1.0.0"\nedition = "2021"\n[workspace]\n'
                                           f'[dependencies]\nbase64 = "={version}"\n[profile.release]\ndebug = true\n')
        if subprocess.run(["cargo", "build", "--release", "-q"], cwd=folder).returncode:
            return []
        found.append(f"{folder}/target/release/encode")
    return [tuple(found)]


def main_of(function):
    return "int main(void) { steady(); %s(); return 0; }\n" % function


def other_changes():
    """Pairs that differ in something else than work in a function: (what, old command, new command, words of the right answer)."""
    found = []
    # Only pages that were written to the disk leave the cache.
    with open("cold.data", "wb") as file:
        file.write(bytes(8 << 20))
        os.fsync(file)
    for what, body, function, words in (
        ("each page is given back, and faults again", FAULTS, "touch", ("touch", "kernel", "page faults")),
        ("a system call twice", CALLS, "ask", ("ask", "syscall", "kernel", "getppid")),
        ("a second call of libc", LIBC, "scan", ("scan", "str")),
        ("the file is not in the cache", COLD, "load", ("asleep", "disk")),
    ):
        for name, again in (("old", 0), ("new", 1)):
            compiled(f"{function}-{name}", WORK + body + main_of(function), f"-DAGAIN={again}", "-DSIZE=(8<<20)")
        found.append((what, f"./{function}-old", f"./{function}-new", words))
    for name, how in (("old", "inline __attribute__((always_inline))"), ("new", "__attribute__((noinline))")):
        compiled(f"walk-{name}", WORK + INLINED % how + main_of("walk"))
    found.append(("a function is no longer inlined", "./walk-old", "./walk-new", ("walk", "step")))
    compiled("allocate", WORK + MALLOC + main_of("allocate"))
    compiled("other.so", OTHER_MALLOC, "-shared", "-fPIC")
    found.append(("another allocator by LD_PRELOAD", "./allocate", "env LD_PRELOAD=./other.so ./allocate", ("malloc",)))
    return found
