"""Tests of pools on a real Slurm of three nodes. `run` starts it and passes the paths."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

STILLWELL = os.environ["STILLWELL"]
SCRATCH = pathlib.Path(os.environ["SCRATCH"])
CLUSTER = SCRATCH / "cluster"
# Longest wait of a test. Only a failing test reaches it: Slurm notices a missing node after 25 s.
DEADLINE_S = 90

SUITE = """
name = "naps"
[[variant]]
name = "base"
env = { NAP = "0.05" }
[[variant]]
name = "new"
env = { NAP = "0.1" }
[[benchmark]]
name = "nap"
command = "sh -c 'sleep $NAP'"
[[benchmark]]
name = "same"
command = "sleep 0.05"
"""


def ask(*words, code=0):
    ran = subprocess.run(words, capture_output=True, text=True, timeout=2 * DEADLINE_S)
    assert ran.returncode == code, f"{words}: {ran}"
    return ran.stdout


def stillwell(*words, code=0):
    return ask(STILLWELL, *words, code=code)


def until(holds, what):
    end = time.monotonic() + DEADLINE_S
    while not (found := holds()):
        assert time.monotonic() < end, f"not within {DEADLINE_S} s: {what}\n{ask('squeue')}{ask('sinfo', '-N')}"
        time.sleep(0.1)
    return found


def daemon(name):
    """The pid of a daemon that `cluster` has started."""
    pids = dict(reversed(line.split()) for line in (CLUSTER / "pids").read_text().splitlines())
    return int(pids[name])


def steps(job):
    """The processes that watch a job of this cluster: they have its log open."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().startswith(f"slurmstepd: [{job}.".encode()):
                files = [os.readlink(file) for file in (process / "fd").iterdir()]
                if any(file.startswith(str(CLUSTER)) for file in files):
                    yield int(process.name)
        except OSError:
            pass


def tree(pid):
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        children = []
    return [it for child in children for it in tree(int(child))] + [pid]


def kill(*pids):
    for pid in [it for pid in pids for it in tree(pid)]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def again(name):
    ask(os.environ["CLUSTER"], "again", str(CLUSTER), name)


def heal():
    """Repairs the queue as an administrator does after the controller died before it saved its state.

    The controller starts a running job again. Its node reports "Duplicate jobid" and is drained, and the job is held. Slurm
    also delays every requeued job for two minutes."""
    for line in ask("sinfo", "-h", "-N", "-o", "%N %T").splitlines():
        node, state = line.split()
        if state.startswith("drain"):
            subprocess.run(["scontrol", "update", f"nodename={node}", "state=resume"], capture_output=True)
    for line in ask("squeue", "-h", "-r", "-t", "PENDING", "-o", "%F_%K %r").splitlines():
        job, reason = line.split(maxsplit=1)
        subprocess.run(["scontrol", "release", job], capture_output=True) if "held" in reason else None
        subprocess.run(["scontrol", "update", f"job={job}", "StartTime=now"], capture_output=True)


class Pools(unittest.TestCase):
    def setUp(self):
        # The failure of one test does not stop the others.
        ask("scancel", "--user=root")
        heal()
        self.folder = SCRATCH / self.id().split(".")[-1]
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        os.chdir(self.folder)
        os.environ["XDG_STATE_HOME"] = str(self.folder / "state")
        pathlib.Path("naps.toml").write_text(SUITE)

    def pool(self, *options):
        return stillwell("pool", "run", "naps.toml", "--seed", "7", "-o", "p", *options)

    def status(self):
        return json.loads(stillwell("pool", "status", "p", "--json"))

    def until_done(self, n):
        until(lambda: self.status()["done"] >= n, f"{n} tasks are done")

    def table(self, repetitions, blocks):
        """The final table. Fails unless every task is there once, with all of its rows."""
        manifest = json.loads(pathlib.Path("p/pool.json").read_text())
        seeds = {task["seed"] for task in manifest["tasks"]}
        measured = {}
        for file in pathlib.Path("p/done").iterdir():
            header, *rest = [json.loads(line) for line in file.read_text().splitlines()]
            rows = [dict(zip(header["columns"], row)) for row in rest if isinstance(row, list)]
            timed = sorted((row["block"], row["arm"]) for row in rows if row["block"] is not None)
            self.assertEqual(timed, [(block, arm) for block in range(blocks) for arm in (0, 1)], file)
            seed = next(int(word[7:]) for word in header["command_line"] if word.startswith("--seed="))
            self.assertEqual(manifest["tasks"][int(file.stem)]["seed"], seed)
            self.assertNotIn(seed, measured)
            measured[seed] = header["facts"]["host"]
        self.assertEqual(set(measured), seeds)
        found = json.loads(stillwell("pool", "collect", "p", "--json"))
        self.assertEqual((found["n_done"], found["missing"], found["damaged"]), (2 * repetitions, [], []))
        for line in found["variants"]:
            self.assertEqual(sum(node["n_pairs"] for node in line["nodes"]), repetitions * blocks)
        lines = [(line["benchmark"], line["arm"], line["n_pairs"]) for line in found["variants"]]
        self.assertEqual(lines, [("nap", "new", repetitions * blocks), ("same", "new", repetitions * blocks)])
        return found, set(measured.values())

    def test_a_suite_over_three_nodes(self):
        said = self.pool("--repetitions", "9", "--runs", "2")
        # 18 tasks, and Slurm allows 10 in one array.
        self.assertRegex(said, r"^18 tasks: 2 benchmarks × 9 repetitions, 2 blocks each\n18 jobs submitted: \d+, \d+\n")
        job = re.search(r"submitted: (\d+)", said).group(1)
        said = stillwell("pool", "watch", "p")
        self.assertIn("18 done", said)
        found, nodes = self.table(9, 2)
        self.assertEqual(nodes, {"n1", "n2", "n3"})
        nap = found["variants"][0]
        self.assertEqual(nap["evidence"]["kind"], "pooled")
        # Slurm says which node gets a task: a slow one may have none of this benchmark.
        self.assertEqual(nap["evidence"]["n_nodes"], nap["evidence"]["n_slower"])
        self.assertGreaterEqual(nap["evidence"]["n_nodes"], 2)
        self.assertTrue(1.5 < nap["evidence"]["ratio"]["ratio"] < 2.0, nap)
        # A job names the folder too.
        self.assertIn("18 of 18 tasks on n1, n2, n3", stillwell("pool", "collect", job))

    def test_a_node_and_the_controller_die_and_the_table_is_the_same(self):
        self.pool("--repetitions", "12", "--runs", "4")
        self.until_done(3)
        # The machine of a job dies: its daemon, the process that watches the job, and the job.
        running = lambda: [line.split() for line in ask("squeue", "-h", "-t", "RUNNING", "-o", "%A %N").splitlines()]
        job, node = until(running, "a job runs")[0]
        kill(daemon(node), *steps(job))
        # The controller dies too, and restarts from its saved state.
        kill(daemon("slurmctld"))
        again("slurmctld")
        until(lambda: subprocess.run(["scontrol", "ping"], capture_output=True).stdout.count(b"is UP"), "slurmctld answers")

        def noticed():
            # A controller that died before it had saved a job forgets it, and then does not ask for the node.
            status = self.status()
            is_down = ask("sinfo", "-h", "-n", node, "-o", "%T").startswith("down")
            return is_down or status["running"] + status["queued"] == 0

        try:
            until(noticed, f"{node} is missed")
        finally:
            again(node)

        def is_empty():
            heal()
            status = self.status()
            return status["running"] + status["queued"] == 0

        until(is_empty, "the queue is empty")
        if self.status()["done"] < 24:
            stillwell("pool", "resume", "p")
        stillwell("pool", "watch", "p")
        found, _ = self.table(12, 4)
        self.assertGreater(found["variants"][0]["evidence"]["ratio"]["ratio"], 1.5)

    def test_cancelled_and_resumed(self):
        self.pool("--repetitions", "9", "--runs", "1", "--nodes", "1", "--tasks-per-job", "2")
        self.until_done(1)
        self.assertIn("taken from the queue", stillwell("pool", "cancel", "p"))
        until(lambda: self.status()["running"] + self.status()["queued"] == 0, "the queue is empty")
        before = self.status()
        self.assertTrue(0 < before["done"] < 18, before)
        self.assertEqual(before["done"] + before["missing"] + before["failed"], 18)
        self.assertIn("pool resume", stillwell("pool", "watch", "p", code=2))
        self.assertIn("not done", stillwell("pool", "collect", "p"))
        stillwell("pool", "resume", "p")
        # Stillwell does not submit a queued task again.
        self.assertIn("nothing to submit", stillwell("pool", "resume", "p"))
        stillwell("pool", "watch", "p")
        self.table(9, 1)

    def test_resumed_jobs_wait_for_those_that_are_queued(self):
        said = self.pool("--repetitions", "9", "--runs", "1", "--nodes", "1")
        arrays = re.search(r"submitted: (\d+), (\d+)", said).groups()
        self.until_done(1)
        # The cancelled job has no worker; the others are still queued.
        ask("scancel", f"{arrays[1]}_7")
        until(lambda: self.status()["missing"] == 1, "the job is gone")
        said = stillwell("pool", "resume", "p")
        resumed = re.search(r"1 job submitted: (\d+)", said).group(1)
        awaited = ask("squeue", "-h", "-j", resumed, "-o", "%E")
        for array in arrays:
            self.assertIn(array, awaited)
        stillwell("pool", "watch", "p")
        self.table(9, 1)

    def test_what_slurm_refuses_leaves_nothing_behind(self):
        ran = subprocess.run([STILLWELL, "pool", "run", "naps.toml", "-o", "p", "--constraint", "nosuch"],
                             capture_output=True, text=True)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("Invalid feature specification", ran.stderr)
        self.assertFalse(pathlib.Path("p").exists())
        # n1 does not have this feature, so the job runs on the other nodes.
        self.pool("--repetitions", "3", "--runs", "1", "--constraint", "zen3")
        stillwell("pool", "watch", "p")
        self.assertLessEqual(self.table(3, 1)[1], {"n2", "n3"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
