"""Makes repositories of empty commits with made-up times, for whole searches without builds and clocks.

The graph, the planted changes and the commits that do not build are those of repository.py. The noise is a series of real
runs of one program: each made-up run is the level of its commit times the next factor of the series.
"""
import math
import pathlib
import random
import subprocess


def plant(rng, commits, changes, broken, layout, merges):
    """Parents, log levels and failures of the commits; each change is in one commit of the main branch."""
    at = dict(zip(rng.sample(range(2, commits - 1), len(changes)), changes))
    parents, steps, failing, planted, moved = [[]], [0.0], set(), [], set()

    def commit(own, step=0.0):
        parents.append(own)
        steps.append(step)
        return len(parents) - 1

    main = 0
    for n in range(1, commits + 1):
        own = [main]
        # A side branch of one commit from the last but one, merged here.
        if n not in at and parents[main] and rng.random() < merges:
            own.append(commit([parents[main][0]]))
        main = commit(own, math.log1p(at[n] / 100) if n in at else 0.0)
        if n in at:
            planted.append(main)
            continue
        if rng.random() < layout[0]:
            steps[main] = rng.gauss(0, layout[1] / 100)
            moved.add(main)
        if n < commits and rng.random() < broken:
            failing.add(main)
    return parents, steps, failing, planted, moved


def levels(parents, steps):
    """The log level of each commit: the sum of the steps of all its ancestors and its own."""
    inside, out = [], []
    for n, own in enumerate(parents):
        bits = 1 << n
        for parent in own:
            bits |= inside[parent]
        inside.append(bits)
        out.append(sum(step for at, step in enumerate(steps) if step and bits >> at & 1))
    return out


def repository(path, parents):
    """Commits without files. Returns their ids."""
    path.mkdir(parents=True)
    git = ["git", "-C", str(path)]
    subprocess.run([*git, "init", "-q", "-b", "main", "."], check=True)
    lines = []
    for n, own in enumerate(parents):
        message = f"commit {n}"
        lines.append(f"commit refs/heads/main\nmark :{n + 1}\ncommitter a <a@example.org> {1700000000 + 60 * n} +0000\n"
                     f"data {len(message)}\n{message}\n")
        lines += [f"{'merge' if k else 'from'} :{parent + 1}\n" for k, parent in enumerate(own)]
        lines.append("\n")
    marks = path / "marks"
    subprocess.run([*git, "fast-import", "--quiet", f"--export-marks={marks}"], input="".join(lines).encode(), check=True)
    ids = dict(line.split() for line in marks.read_text().splitlines())
    return [ids[f":{n + 1}"] for n in range(len(parents))]


def script(path, ids, level, failing, noise, run_ms):
    lines = ["at " + " ".join(f"{factor:.5f}" for factor in noise)]
    lines += [own if n in failing else f"{own} {run_ms * math.exp(level[n]):.7f}ms" for n, own in enumerate(ids)]
    path.write_text("\n".join(lines) + "\n")


def make(folder, seed, changes, noise, commits=1024, broken=0.05, layout=(0.0, 0.0), merges=0.0, run_ms=20):
    """A repository and its script in `folder`. Returns the ends, and the ids of the planted commits and of those that move
    code."""
    rng = random.Random(seed)
    parents, steps, failing, planted, moved = plant(rng, commits, changes, broken, layout, merges)
    ids = repository(folder / "repo", parents)
    script(folder / "times", ids, levels(parents, steps), failing, noise, run_ms)
    return {"good": ids[0], "bad": ids[-1], "planted": {ids[n] for n in planted}, "moved": {ids[n] for n in moved}}


def weather(rng, n, bursts):
    """Factors of a machine that wanders; a share of the runs is hit by a burst."""
    drift, out = 0.0, []
    for _ in range(n):
        drift = 0.98 * drift + rng.gauss(0, 0.002)
        burst = rng.uniform(0.05, 0.45) if rng.random() < bursts else 0.0
        out.append(math.exp(drift) * (1 + rng.expovariate(1 / 0.004) + burst))
    return out
