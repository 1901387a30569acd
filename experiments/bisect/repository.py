"""Makes a git repository of many commits with planted changes of speed.

The work of the program is a loop; a change makes it longer or shorter. Other commits change a comment, only move
functions (another layout), or do not build. The truth is in FILE.json beside the repository.
"""
import argparse
import json
import pathlib
import random
import subprocess

C = """/* {comment} */
{before}
static volatile unsigned sink;
__attribute__((noinline)) static unsigned turn(unsigned x) {{ return x * 1664525u + 1013904223u; }}
int main(void) {{
    unsigned x = 1;
    for (long i = 0; i < {loops}L; i++) x = turn(x);
    sink = x;
    return 0;{broken}
}}
"""
PYTHON = """# {comment}
{before}
def turn(n):
    x = 1
    for i in range(n):
        x = (x * 1664525 + 1013904223) & 0xffffffff
    return x
turn({loops}){broken}
"""


N_PADS = 40


def pads(language, kinds):
    """Functions that are never called. In Python all are always there, in another order: each one costs time at the start."""
    if language == "c":
        return "\n".join(f"__attribute__((used)) static int pad{i}(int x) {{ return x * {i} + 1; }}" for i in range(kinds))
    return "\n".join(f"def pad{i}(x):\n    return x * {i:2} + 1" for i in [*range(kinds, N_PADS), *range(kinds)])


def stream(args, rng):
    """The input of git fast-import, and the truth."""
    loops, n_pads, broken_now = float(args.loops), 0, set()
    changes = dict(zip(rng.sample(range(2, args.commits - 1), len(args.change)), args.change))
    out, mark, main, truth = [], 0, None, []
    fork = None
    for n in range(args.commits + 1):
        if n in changes:
            loops *= 1 + changes[n] / 100
        if n and n not in changes and rng.random() < args.layout:
            n_pads = (n_pads + 1) % N_PADS
        is_broken = 0 < n < args.commits and n not in changes and rng.random() < args.broken
        text = (C if args.language == "c" else PYTHON).format(
            comment=f"commit {n}", before=pads(args.language, n_pads), loops=round(loops),
            broken=(" broken" if args.language == "c" else "\n)") if is_broken else "")
        name = "prog.c" if args.language == "c" else "prog.py"
        mark += 1
        message = f"commit {n}"
        out.append(f"commit refs/heads/main\nmark :{mark}\ncommitter a <a@example.org> {1700000000 + 60 * n} +0000\n"
                   f"data {len(message)}\n{message}\n" + (f"from :{main}\n" if main else ""))
        # A merge brings a side branch in that changed another file.
        if main and fork and rng.random() < args.merges:
            out.append(f"merge :{fork}\n")
        out.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}\n\n")
        main = mark
        if n in changes:
            truth.append({"n": n, "percent": changes[n]})
        if rng.random() < args.merges:
            mark += 1
            side = f"side {n}"
            out.append(f"commit refs/heads/side\nmark :{mark}\ncommitter a <a@example.org> {1700000030 + 60 * n} +0000\n"
                       f"data {len(side)}\n{side}\nfrom :{main}\nM 100644 inline notes/{n}\ndata 1\nx\n\n")
            fork = mark
    return "".join(out), truth


def make(args):
    rng = random.Random(args.seed)
    path = pathlib.Path(args.path)
    path.mkdir(parents=True)
    git = ["git", "-C", str(path)]
    subprocess.run([*git, "init", "-q", "-b", "main", "."], check=True)
    text, truth = stream(args, rng)
    subprocess.run([*git, "fast-import", "--quiet"], input=text.encode(), check=True)
    subprocess.run([*git, "checkout", "-q", "main"], check=True)
    ids = subprocess.run([*git, "log", "--first-parent", "--reverse", "--format=%H"], capture_output=True, text=True, check=True)
    ids = ids.stdout.split()
    for change in truth:
        change["id"] = ids[change["n"]]
    (path.parent / (path.name + ".json")).write_text(json.dumps({"good": ids[0], "bad": ids[-1], "changes": truth}))


def parser():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("path")
    options.add_argument("--language", choices=["c", "python"], default="c")
    options.add_argument("--commits", type=int, default=1024)
    options.add_argument("--change", type=float, action="append", default=[], help="percent; can be repeated")
    options.add_argument("--loops", type=int, default=8_000_000)
    options.add_argument("--broken", type=float, default=0.05)
    options.add_argument("--layout", type=float, default=0.1)
    options.add_argument("--merges", type=float, default=0.0)
    options.add_argument("--seed", type=int, default=1)
    return options


if __name__ == "__main__":
    make(parser().parse_args())
