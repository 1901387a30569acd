"""The tables of the experiment."""

import itertools
import math
import statistics

import common


def percent(share, decimals=1):
    return "-" if share is None else f"{100 * share:.{decimals}f} %"


def apart(values, errors):
    """Share of the pairs of (value, error) that are more than so many combined errors apart."""
    pairs = list(itertools.combinations(values, 2))
    if not pairs:
        return None
    return sum(abs(a - b) > errors * math.hypot(ea, eb) for (a, ea), (b, eb) in pairs) / len(pairs)


def median_err(values):
    return statistics.median(err / value for value, err in values) if values else None


def outside(values, floor):
    return sum(abs(value - floor) > 2 * err for value, err in values) / len(values) if values else None


def spread(values):
    return statistics.stdev(values) / statistics.median(values) if len(values) > 1 else None


def row_of(name, sessions, rule, floor):
    values = [(one["t0"], one[rule]) for one in sessions if one[rule] is not None]
    return [name, len(values), percent(apart(values, 2)), percent(apart(values, 3)), percent(median_err(values)),
            percent(outside(values, floor))]


def show(sessions, theirs):
    names = list(dict.fromkeys(one["program"] for one in sessions))
    of = {name: [one for one in sessions if one["program"] == name] for name in names}
    floors = {name: min(one["least"] for one in of[name]) for name in names}
    show_met(names, of, floors)
    head = ["", "sessions", "pairs > 2 errs", "> 3 errs", "median err", "floor outside 2"]
    for title, rule, kept in (("the rule before: every session has an error", "before", (True, False, None)),
                              ("the rule before, sessions that met a quiet core or have no probe", "before", (True, None)),
                              ("the rule before, sessions that met none", "before", (False,)),
                              ("sessions with an error: that of the low end alone", "low end", (True, None)),
                              ("this rule: sessions with an error", "now", (True, None)),
                              ("the errors of this rule in the sessions that say `at most` (not printed)", "unsaid", (False,))):
        chosen = {name: [one for one in of[name] if one["met"] in kept] for name in names}
        common.table(title, head, [row_of(name, chosen[name], rule, floors[name]) for name in names] + all_of(chosen, rule, floors))
    show_theirs(names, theirs, floors)


def all_of(chosen, rule, floors):
    """All programs together. Pairs are of one program."""
    values = {name: [(one["t0"], one[rule]) for one in ones if one[rule] is not None] for name, ones in chosen.items()}
    n_pairs = {name: len(of) * (len(of) - 1) // 2 for name, of in values.items()}
    n, total = sum(map(len, values.values())), sum(n_pairs.values())
    if not total:
        return []
    share = [sum((apart(of, errors) or 0) * n_pairs[name] for name, of in values.items()) / total for errors in (2, 3)]
    errs = statistics.median(err / value for of in values.values() for value, err in of)
    n_outside = sum((outside(of, floors[name]) or 0) * len(of) for name, of in values.items())
    return [["all", n, *map(percent, share), percent(errs), percent(n_outside / n)]]


def show_met(names, of, floors):
    rows = []
    for name in names:
        ones = of[name]
        limits = [one for one in ones if one["now"] is None]
        excess = {met: [one["least"] / floors[name] - 1 for one in ones if one["met"] is met] for met in (True, False)}
        middle = {met: percent(statistics.median(values)) if values else "-" for met, values in excess.items()}
        met = [one for one in ones if one["met"] is not False and one["now"] is not None]
        rows.append([name, len(ones), f"{floors[name] / 1e6:.2f}", percent(len(limits) / len(ones), 0), middle[True], middle[False],
                     percent(spread([one["t0"] for one in met])), percent(median_err([(one["t0"], one["now"]) for one in met]))])
    common.table("sessions; the floor is the lowest run of all sessions of a program",
                 ["", "sessions", "floor, ms", "at most", "minimum above it: met", "not met", "met: sd of t0", "met: median err"], rows)


def show_theirs(names, theirs, floors):
    for tool, fields in (("hyperfine", ("mean", "sd")), ("tim", ("t0", "err"))):
        answers = theirs.get(tool, {})
        if not answers:
            common.table(f"{tool}: {' ± '.join(fields)}", ["", ""], [["not installed", ""]])
            continue
        rows = []
        for name in names:
            ones = answers.get(name, [])
            values = [(one[fields[0]], one[fields[1]]) for one in ones]
            row = [name, len(ones), percent(apart(values, 2)), percent(apart(values, 3)), percent(median_err(values)),
                   percent(outside(values, floors[name]))]
            if tool == "hyperfine":
                row += [percent(spread([one["min"] for one in ones]))]
            rows.append(row)
        head = ["", "sessions", "pairs > 2 errs", "> 3 errs", "median err", "floor outside 2"]
        common.table(f"{tool}: {' ± '.join(fields)}", head + ["sd of its min (printed without an error)"] * (tool == "hyperfine"), rows)
