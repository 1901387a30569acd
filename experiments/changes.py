"""Functions of the experiments on changes in histories: made files, the changes that each tool finds, their score."""

import json
import os
import pathlib
import shutil
import subprocess
import time

from common import STILLWELL

OTAVA = os.environ.get("OTAVA") or shutil.which("otava")
NEAR = 5
DAY_S = 86_400
FIRST_DAY_S = 1_700_000_000


def write(folder, number, benchmarks):
    date = time.strftime("%Y-%m-%d %H:%M:%S.000000", time.gmtime(FIRST_DAY_S + number * DAY_S))
    made = {"version": "1.0", "metadata": {"hostname": "made", "unit": "second", "date": date, "commit_id": f"{number:040x}"},
            "benchmarks": [{"metadata": {"name": name}, "runs": [{"values": [value]} for value in values]}
                           for name, values in benchmarks.items()]}
    (folder / f"{number:06}.json").write_text(json.dumps(made))


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def ours(db, *name):
    """The changes of each benchmark that has some, as places and kinds, and how long that took."""
    started = time.monotonic()
    changes = json.loads(run(STILLWELL, "history", "changes", "--json", "--db", db, *name))["changes"]
    found = {}
    for change in changes:
        places = found.setdefault(change["benchmark"], [])
        places.append((change["at"], change["kind"]))
        if change["kind"] == "spell":
            places.append((change["until"], "spell"))
    return found, time.monotonic() - started


def others(db):
    """The same of Otava, which takes all benchmarks as columns of one file; each is looked at by itself."""
    all_series = json.loads(run(STILLWELL, "history", "show", "--json", "--db", db))
    names = [series["benchmark"] for series in all_series]
    with open("otava.csv", "w") as file:
        file.write(",".join(["time", "commit", *names]) + "\n")
        for number, values in enumerate(zip(*(series["values"] for series in all_series))):
            stamp = time.strftime("%Y.%m.%d %H:%M:%S +0000", time.gmtime(FIRST_DAY_S + number * DAY_S))
            file.write(",".join([stamp, str(number), *map(repr, values)]) + "\n")
    metrics = "".join(f"      {name}:\n        column: {name}\n" for name in names)
    pathlib.Path("otava.yaml").write_text(
        "tests:\n  made:\n    type: csv\n    file: otava.csv\n    time_column: time\n    attributes: [commit]\n"
        f"    metrics:\n{metrics}    csv_options:\n      delimiter: ','\n")
    started = time.monotonic()
    said = run(OTAVA, "analyze", "--config-file", "otava.yaml", "--since", "2020-01-01", "--output", "json", "made")
    seconds = time.monotonic() - started
    found = {}
    for change in json.loads(said[said.index("{"):])["made"]:
        for changed in change["changes"]:
            found.setdefault(changed["metric"], []).append((round((change["time"] - FIRST_DAY_S) / DAY_S), "level"))
    return found, seconds


def score(places, found):
    found = [at for at, kind in found if kind != "drift"]
    n_found = sum(any(abs(place - it) <= NEAR for it in found) for place in places)
    n_false = sum(all(abs(place - it) > NEAR for place in places) for it in found)
    return n_found, n_false
