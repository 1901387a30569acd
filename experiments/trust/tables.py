"""The tables of live, from its sessions."""

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

import common
import usual_tests
from usual_tests import Rule

Session = dict[str, Any]

ALPHA = 0.01
CONDITIONS: dict[str, tuple[str, ...]] = {"quiet": ("quiet",), "bursts": ("bursts",), "both": ("quiet", "bursts")}
# Error rates as the tools are used: our α for hyperfine's script and perf's errors, always 5 % for pyperf. tim has no α.
RULES: dict[str, list[tuple[str, Rule | None, float]]] = {
    "hyperfine": [("Welch t, 1 %", usual_tests.welch, ALPHA)],
    "pyperf": [("pooled t, 5 %, as it is", usual_tests.student, 0.05), ("pooled t, 1 %", usual_tests.student, ALPHA)],
    # An early version does not print the value of its own rule, because it does not sort.
    "tim": [("2 sigma, as printed", None, ALPHA), ("2 sigma", lambda a, b, _: usual_tests.tim(a, b), ALPHA)],
    "perf stat": [("2.576 SEM", usual_tests.perf_stat, ALPHA)],
}
PARTS = [part / 20 for part in range(1, 21)]


def chosen(sessions: Sequence[Session], tool: str, kind: str, condition: str) -> list[Session]:
    return [session for session in sessions
            if (session["tool"], session["kind"]) == (tool, kind) and session["condition"] in CONDITIONS[condition]]


def said(session: Session, rule: Rule | None, alpha: float) -> str:
    if rule is None:
        return session["verdict"]
    return rule(session["a"], session["b"], alpha).verdict


def share(part: int, whole: int) -> str:
    return f"{part} of {whole}"


def show_verdicts(settings: dict[str, Any], sessions: Sequence[Session]) -> None:
    rows = []
    for tool in ("stillwell", *RULES):
        if tool != "stillwell" and not settings["versions"][tool]:
            rows.append([tool, "not installed", *[""] * 8])
            continue
        rules = RULES.get(tool, [("its verdict, 1 %", None, ALPHA)])
        for (name, rule, alpha), condition in itertools.product(rules, CONDITIONS):
            same, other = (chosen(sessions, tool, kind, condition) for kind in ("same", "other"))
            if not same or not other:
                continue
            on_same, on_other = ([said(session, rule, alpha) for session in ones] for ones in (same, other))
            is_called_same = [verdicts.count("same") if tool == "stillwell" else "" for verdicts in (on_same, on_other)]
            rows.append([f"{tool} ({name})", condition,
                         share(on_same.count("slower") + on_same.count("faster"), len(same)), is_called_same[0],
                         share(on_other.count("slower"), len(other)), on_other.count("faster"), is_called_same[1],
                         *(f"{statistics.fmean(session['wall_s'] for session in ones):.2f}" for ones in (same, other)),
                         f"{statistics.fmean(len(session['a']) for session in same + other):.0f}"])
    common.table("a program against itself (A/A) and against itself with 1 % more iterations (A/B); mean wall seconds",
                 ["", "", "A/A different", "A/A same", "A/B slower", "faster", "same", "s A/A", "s A/B", "runs a side"],
                 rows)


def runs_of_part(session: Session, part: float) -> int:
    return max(8, round(part * len(session["a"])))


def shortened(session: Session, part: float) -> tuple[list[float], list[float]]:
    """The runs of a shorter session: the end of A and the beginning of B."""
    n = runs_of_part(session, part)
    return session["a"][-n:], session["b"][:n]


def wall_of(session: Session, part: float, fixed_s: float) -> float:
    """The wall time of a shortened session."""
    return fixed_s + runs_of_part(session, part) / len(session["a"]) * (session["wall_s"] - fixed_s)


def adjusted(same: Sequence[Session], other: Sequence[Session], rule: Rule, part: float) -> tuple[int, int]:
    """How many of `same` exceed their own size-adjusted critical value, and how many of `other` it detects."""
    of_same, of_other = ([rule(*shortened(session, part), ALPHA).value for session in ones] for ones in (same, other))
    critical = usual_tests.size_adjusted(of_same, ALPHA)
    return sum(abs(value) > critical for value in of_same), sum(value > critical for value in of_other)


def time_needed(settings: dict[str, Any], tool: str, same: Sequence[Session], other: Sequence[Session],
                rule: Rule) -> tuple[list[str], float]:
    """Cells of the row of a peer, and the seconds for a power of 95 % (infinite if the whole session is too short)."""
    fixed_s = settings["cost"][tool][0]
    found = {part: adjusted(same, other, rule, part) for part in PARTS}
    walls = {part: statistics.fmean(wall_of(session, part, fixed_s) for session in other) for part in PARTS}
    enough = list(itertools.takewhile(lambda part: found[part][1] >= 0.95 * len(other), reversed(PARTS)))
    seconds = walls[enough[-1]] if enough else math.inf
    return [share(found[1.0][0], len(same)), *(share(found[part][1], len(other)) for part in (0.25, 0.5, 1.0)),
            f"{seconds:.2f} s" if enough else f"> {walls[1.0]:.2f} s"], seconds


def quantile(values: Sequence[float], p: float) -> float:
    """Quantile by definition 7 of Hyndman and Fan."""
    ordered, at = sorted(values), p * (len(values) - 1)
    low = math.floor(at)
    return ordered[low] + (at - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def show_time_needed(settings: dict[str, Any], sessions: Sequence[Session]) -> None:
    rows, best = [], {condition: math.inf for condition in CONDITIONS}
    for tool, rules in RULES.items():
        for condition in CONDITIONS:
            same, other = (chosen(sessions, tool, kind, condition) for kind in ("same", "other"))
            if same and other:
                name, rule, _ = rules[-1]
                assert rule
                cells, seconds = time_needed(settings, tool, same, other, rule)
                best[condition] = min(best[condition], seconds)
                rows.append([f"{tool} ({name.split(',')[0]})", condition, *cells])
    common.table("the peers at the same real error rate: critical values for which their own A/A sessions err in ≤ 1 %",
                 ["", "", "A/A different", "A/B slower, 1/4 of the time", "half", "all", "time for 95 %"], rows)
    rows = []
    for condition in CONDITIONS:
        other = chosen(sessions, "stillwell", "other", condition)
        walls = [session["wall_s"] for session in other]
        if walls:
            n_found = sum(session["verdict"] == "slower" for session in other)
            rows.append(["stillwell, as it is", condition, share(n_found, len(other)),
                         f"{statistics.fmean(walls):.2f}", f"{quantile(walls, 0.5):.2f}", f"{quantile(walls, 0.95):.2f}"])
    common.table("the time to our verdict when there is 1 %", ["", "", "A/B slower", "mean s", "median", "95th percentile"],
                 rows)
    show_goals(settings, sessions, best)


def show_goals(settings: dict[str, Any], sessions: Sequence[Session], best: dict[str, float]) -> None:
    for condition in CONDITIONS:
        same, other = (chosen(sessions, "stillwell", kind, condition) for kind in ("same", "other"))
        if not same or not other:
            continue
        n_false = sum(session["verdict"] in ("slower", "faster") for session in same)
        common.goal(n_false <= ALPHA * len(same), f"{condition}: A/A different in ≤ 1 %: {share(n_false, len(same))}")
        n_found = sum(session["verdict"] == "slower" for session in other)
        common.goal(n_found >= 0.95 * len(other), f"{condition}: 1 % found in ≥ 95 %: {share(n_found, len(other))}")
        mean_s = statistics.fmean(session["wall_s"] for session in other)
        # If no peer has this power, each needs at least a whole session.
        limit_s = best[condition] if math.isfinite(best[condition]) else settings["session_s"]
        known = "" if math.isfinite(best[condition]) else "more than "
        common.goal(n_found >= 0.95 * len(other) and mean_s <= limit_s / 2,
                    f"{condition}: 1 % found in ≥ 95 %, in ≤ half the time of the best peer at the same error rate: "
                    f"{mean_s:.2f} s, {known}{limit_s:.2f} s")


def is_not_of_its_rule(session: Session) -> bool:
    """Whether tim's output differs from its rule. A printed value has about two digits of its error."""
    sides = zip((session["a"], session["b"]), session["printed"]) if "printed" in session else []
    return any(abs(1e3 * usual_tests.tim_estimate(times)[0] - value_ms) > max(0.1 * error_ms, 1e-3)
               for times, (value_ms, error_ms) in sides)


def show(settings: dict[str, Any], sessions: Sequence[Session]) -> None:
    first_s, loops = settings["session_s"], settings["loops"]
    print(f"measured on {settings['machine']}")
    print(f"sessions of {first_s:.2f} s; A: work {loops}, B: work {loops * 101 // 100}")
    print("versions: " + ", ".join(f"{name} {version or 'not installed'}"
                                   for name, version in settings["versions"].items()))
    for condition in ("quiet", "bursts"):
        busy = [session["busy"] for session in sessions if session["condition"] == condition]
        if busy:
            print(f"{condition}: CPUs busy during the sessions, these themselves included: mean {statistics.fmean(busy):.2f}")
    different = sum(is_not_of_its_rule(session) for session in sessions)
    if different:
        print(f"tim: {different} of {sum('printed' in session for session in sessions)} times the printed value was not "
              "that of its rule, the windows' times sorted together")
    show_verdicts(settings, sessions)
    show_time_needed(settings, sessions)
