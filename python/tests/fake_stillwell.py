"""Stand-in for the program in the tests. It drives workers as the program does, with two launches of three slices, and no statistics.

It logs its requests to $FAKE_LOG, one JSON array a line. $FAKE_STATUS is its exit status, $FAKE_VERDICT the verdict of `show`.
"""
import array
import json
import os
import shlex
import signal
import socket
import sys

from client import Worker, decode

N_LAUNCHES, N_SLICES, LOOPS = 2, 3, 4


def log(*words):
    with open(os.environ["FAKE_LOG"], "a") as file:
        file.write(json.dumps(words) + "\n")


def option(words, name):
    return words[words.index(name) + 1]


def measure(worker, block, arm, name):
    """The rows of one launch in a block. The first row is a warm-up."""
    log("hello", worker.read_line())
    if name is not None:
        answer = worker.ask("select " + "".join("\\x%02x" % byte for byte in name.encode()))
        if answer != "ok":
            sys.exit("fake: " + (decode(answer[6:]) if answer else "the worker died"))
    rows = []
    for slice_number in range(N_SLICES):
        answer = worker.ask("run %d" % LOOPS)
        if answer is None or not answer.startswith("time "):
            sys.exit("fake: " + (decode(answer[6:]) if answer else "the worker died"))
        rows.append([slice_number, arm, block if slice_number else None, int(answer.split(" ")[1]), LOOPS, 7])
    log("metadata", *(worker.ask_lines("metadata")))
    log("quit", worker.ask("quit"), worker.read_line())
    return rows


def write_record(path, arms, rows):
    header = {"format": "stillwell", "version": 1, "columns": ["step", "arm", "block", "wall_ns", "loops", "maxrss_kib"], "plan": {"arms": arms}}
    with open(path, "x") as file:
        for line in [header] + rows + [{"event": "end", "reason": "complete"}]:
            file.write(json.dumps(line) + "\n")


def bench(words):
    name, commands, rows = option(words, "--benchmark"), words[words.index("--") + 1:], []
    for step in range(N_LAUNCHES * len(commands)):
        arm = step % len(commands)
        worker = Worker(shlex.split(commands[arm]))
        rows += measure(worker, step // len(commands), arm, name)
        status = worker.wait()
        log("ended", status, *worker.output())
    arms = [{"name": None, "command": command, "inner_loops": 1} for command in commands]
    write_record(option(words, "--record"), arms, rows)
    print("SUMMARY of", name)


def serve_forks(words, fd):
    host = socket.socket(fileno=fd)
    lines = host.makefile("r")
    names = [words[place + 1] for place, word in enumerate(words) if word == "--command-name"]
    rows = []

    def ask(text, fds=()):
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        host.sendmsg([text.encode() + b"\n"], ancillary)
        answer = lines.readline().rstrip("\n")
        log(text, answer)
        return answer

    for step in range(N_LAUNCHES * len(names)):
        arm = step % len(names)
        (theirs_read, write_fd), (read_fd, theirs_write) = os.pipe(), os.pipe()
        process_id = int(ask("fork %d" % arm, [theirs_read, theirs_write]).split(" ")[1])
        os.close(theirs_read)
        os.close(theirs_write)
        log("group", os.getpgid(process_id) == process_id)
        worker = Worker([], fds=(read_fd, write_fd))
        if "FAKE_DIE" in os.environ:
            worker.read_line()
            worker.send(b"run 1\n")
            os._exit(9)
        if "FAKE_KILL" in os.environ:
            os.killpg(process_id, signal.SIGKILL)
            ask("reap %d" % process_id)
            continue
        rows += measure(worker, step // len(names), arm, None)
        worker.end()
        ask("reap %d" % process_id)
    for text in ("reap 1", "fork 0", "fork x", "dance"):
        ask(text)
    write_record(option(words, "--record"), [{"name": name} for name in names], rows)


def show(words):
    if "--json" in words:
        verdict = os.environ.get("FAKE_VERDICT", "slower")
        lo, hi = (None, None) if verdict == "open" else (1.25, 2.0)
        interval = {"ratio": 1.5, "lo": lo, "hi": hi} if verdict != "undecided" else None
        evidence = {"kind": "paired", "ratio": interval} if interval else {"kind": "unpaired", "ratio": {"value": 1.1, "err": 0.2}}
        comparison = {"arm": 1, "reference": 0, "evidence": evidence}
        if words[0] == "compare":
            past = {"n_sessions": len(words) - 3, "n_faster": 4, "n_slower": 1, "lowest": 0.98, "highest": 1.2} if len(words) > 4 else None
            print(json.dumps({"pairs": [{"comparison": {"evidence": {"kind": "unpaired", "ratio": {"value": 1.1}, "past": past}}}]}))
            return
        with open(words[-1]) as file:
            is_pair = len(json.loads(file.readline())["plan"]["arms"]) > 1
        pairs = [comparison] if is_pair else []
        print(json.dumps({"analysis": {"comparisons": pairs}, "judgements": [{"verdict": verdict, "interval": interval}] if pairs else []}))
    else:
        print("TEXT <of> %s" % os.path.basename(words[-1]))


def main():
    words = sys.argv[1:]
    log("asked", *words)
    server = [word for word in words if word.startswith("--fork-server=")]
    if server:
        serve_forks(words, int(server[0].split("=")[1]))
    elif words[0] == "bench":
        bench(words)
    elif words[0] == "run":
        write_record(option(words, "--record"), [{"name": option(words, "--command-name")}], [[0, 0, 0, 2000000, None, 3]])
    elif "--fail-on" in words:
        sys.exit({"slower": 1, "undecided": 3}.get(os.environ.get("FAKE_VERDICT", "slower"), 0))
    else:
        show(words)
    if "FAKE_STATUS" in os.environ:
        print("fake: told to fail", file=sys.stderr)
        sys.exit(int(os.environ["FAKE_STATUS"]))


if __name__ == "__main__":
    main()
