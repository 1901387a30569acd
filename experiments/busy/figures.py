"""The tables and goals of the experiment."""

import collections
import statistics

import common
import programs
from loads import IDLE

CLOCKS = ("clean", "wall", "cpu")


def show(sessions, theirs, others):
    users = list(dict.fromkeys(session["user"] for session in sessions))
    for clock in CLOCKS:
        say_missing(sessions, clock)
    for user in users:
        ours = [session for session in sessions if session["user"] == user]
        for clock in CLOCKS:
            show_clock(ours, user, clock)
    for tool in others:
        show_peer([row for row in theirs if row["tool"] == tool], tool)
    for user in users:
        goals([session for session in sessions if session["user"] == user], user)


def say_missing(sessions, clock):
    reasons = collections.Counter(session["why_not"][clock] for session in sessions if not session["clocks"][clock])
    for reason, n in reasons.items():
        print(f"\n{reason}: {n} of {len(sessions)} sessions")


def programs_of(rows):
    # The order of the rounds is random, so the tables need their own.
    return sorted({row["program"] for row in rows})


def conditions_of(rows):
    """Idle, the two steady loads, the others."""
    found = {row["condition"] for row in rows}
    return sorted(found, key=lambda name: (name != IDLE, not name.startswith("load"), len(name), name))


def ratios(rows, program, condition, value):
    """Busy : idle in each round that has both."""
    by_round = collections.defaultdict(dict)
    for row in rows:
        if row["program"] == program and row["condition"] in (IDLE, condition):
            by_round[row["round"]][row["condition"]] = value(row)
    return [both[condition] / both[IDLE] for both in by_round.values() if both.get(condition) and both.get(IDLE)]


def middle(found):
    return f"{statistics.median(found):.3f}" if found else "-"


def of_clock(clock, field):
    return lambda row: row["clocks"][clock] and row["clocks"][clock][field]


def show_clock(rows, user, clock):
    if not any(row["clocks"][clock] for row in rows):
        return
    busy = [name for name in conditions_of(rows) if name != IDLE]
    cells = []
    for program in programs_of(rows):
        both = [[middle(ratios(rows, program, name, of_clock(clock, field))) for field in ("t0", "median")]
                for name in busy]
        idle = [row["clocks"][clock]["t0"] for row in rows
                if row["program"] == program and row["condition"] == IDLE and row["clocks"][clock]]
        idle_ms = f"{statistics.median(idle) * 1e3:.2f}" if idle else "-"
        limits = [row["clocks"][clock]["is_upper_limit"] for row in rows
                  if row["program"] == program and row["condition"] != IDLE and row["clocks"][clock]]
        cells.append([program, idle_ms, *(" / ".join(pair) for pair in both), f"{sum(limits)} of {len(limits)}"])
    common.table(f"{clock} time, {user}: t0 / median, busy : idle", ["", "idle t0, ms", *busy, "busy: at most"], cells)


def show_peer(rows, tool):
    title = f"{tool}: {'its value' if tool == 'tim' else 'minimum'} / mean, busy : idle"
    if not rows:
        print(f"\n{title}\nnot installed")
        return
    busy = [name for name in conditions_of(rows) if name != IDLE]
    def cell(program, name):
        return " / ".join(middle(ratios(rows, program, name, lambda row: row[field])) for field in ("least", "mean"))
    cells = [[program, *(cell(program, name) for name in busy)] for program in programs_of(rows)]
    common.table(title, ["", *busy], cells)


def is_outside(session, idle, clock):
    """Whether the idle time of this program is more than 3 errors away. Both times have an error.

    A time that is given as an upper limit may be any amount above the idle one.
    """
    busy = session["clocks"][clock]
    error = (busy["err"] ** 2 + statistics.median(value["err"] for value in idle) ** 2) ** 0.5
    above = busy["t0"] - statistics.median(value["t0"] for value in idle)
    return above < -3 * error or (above > 3 * error and not busy["is_upper_limit"])


def outside(rows, clock):
    """Of the busy sessions: how many have the idle time outside 3 errors, and how many there are."""
    n, n_outside = 0, 0
    for program in programs_of(rows):
        of_program = [row for row in rows if row["program"] == program and (row["clocks"][clock] or {}).get("err")]
        idle = [row["clocks"][clock] for row in of_program if row["condition"] == IDLE]
        busy = [row for row in of_program if row["condition"] != IDLE]
        if idle:
            n += len(busy)
            n_outside += sum(is_outside(row, idle, clock) for row in busy)
    return n_outside, n


def goals(rows, user):
    print()
    for clock in CLOCKS:
        n_outside, n = outside(rows, clock)
        n_limits = sum(bool(row["clocks"][clock] and row["clocks"][clock]["is_upper_limit"]) for row in rows)
        if n:
            print(f"        {user}, {clock}: idle time outside 3 errors in {n_outside} of {n} busy sessions; "
                  f"t0 is an upper limit in {n_limits} of {len(rows)}")
    if not any(row["clocks"]["clean"] for row in rows):
        print(f"        {user}: no clean time, so its goals are not judged")
        return
    for program in programs_of(rows):
        limit = 1.02 if user == "root" or program in programs.SMALL else 1.05
        for field, most in (("t0", limit), ("median", 1.05)):
            found = [statistics.median(values) for name in conditions_of(rows) if name != IDLE
                     and (values := ratios(rows, program, name, of_clock("clean", field)))]
            worst = max(found, key=lambda ratio: abs(ratio - 1), default=None)
            is_met = worst is not None and 1 / most <= worst <= most
            common.goal(is_met, f"{user}, {program}: clean {field} busy : idle within {most - 1:.0%}: "
                                + (f"{worst:.3f}" if worst else "none"))
    n_outside, n = outside(rows, "clean")
    common.goal(n and n_outside <= 0.01 * n,
                f"{user}: idle time outside 3 errors in ≤ 1 % of sessions: {n_outside} of {n}")


def show_pairs(verdicts):
    """`verdicts`: clock → kind → words."""
    cells = []
    for clock, kinds in verdicts.items():
        for kind, words in kinds.items():
            n_different = words.count("slower") + words.count("faster")
            cells.append([clock, kind, f"{n_different} of {len(words)}", words.count("faster")])
    common.table("under load 10: called different", ["clock", "", "different", "of them faster"], cells)
    for clock, kinds in verdicts.items():
        found = kinds["1 % more work"]
        n_found = found.count("slower")
        common.goal(n_found >= 0.95 * len(found),
                    f"{clock}: 1 % more work found in ≥ 95 %: {n_found} of {len(found)}")
        same = kinds["the same program"]
        n_false = same.count("slower") + same.count("faster")
        common.goal(n_false <= 0.01 * len(same),
                    f"{clock}: same program called different in ≤ 1 %: {n_false} of {len(same)}")
