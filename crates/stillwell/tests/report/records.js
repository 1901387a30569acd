// Records with chosen rows. The program itself makes them.
"use strict";
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const STILLWELL = process.env.STILLWELL;

/// Runs the program in a directory.
function stillwell(directory, args) {
  return execFileSync(STILLWELL, args, { cwd: directory, encoding: "utf8", env: { ...process.env, XDG_STATE_HOME: directory }, stdio: ["ignore", "pipe", "inherit"] });
}

/// The header line of a session of these commands, and the end line.
function session(directory, commands, options = [], nArms = commands.length) {
  const record = path.join(directory, "header.swell");
  fs.rmSync(record, { force: true });
  fs.writeFileSync(path.join(directory, "times"), Array.from({ length: nArms }, (_, arm) => `${10 + arm}ms\n`).join(""));
  stillwell(directory, ["run", "--script", "times", "-w", "0", "-r", "1", "--seed", "1", "--style", "none", "-o", record, ...options, ...commands]);
  const lines = fs.readFileSync(record, "utf8").trim().split("\n");
  const header = JSON.parse(lines[0]);
  header.columns = ["step", "arm", "block", "started_ns", "cpu", "exit", "timed_out", "wall_ns", "user_us", "sys_us", "run_queue_wait_ns", "migrations", "preempted_ns", "major_faults"];
  header.created = "2026-11-22T08:00:00+00:00";
  header.plan.stopping = "at_the_end";
  return { header, end: lines.at(-1) };
}

/// A pseudo-random number from 0 to 1, the same in each run.
function scatter(n) {
  return ((n * 7919 + 13) % 1009) / 1009;
}

/// Writes a record. `wall(arm, block)` gives the time in ns; `change(cells, arm, block)` may change all metrics of the row.
function write(file, { header, end }, { nBlocks, nWarmups = 1, wall, change = () => {} }) {
  header.plan.n_warmups = nWarmups;
  header.plan.blocks = { exactly: nBlocks };
  const out = fs.openSync(file, "w");
  fs.writeSync(out, `${JSON.stringify(header)}\n`);
  const nArms = header.plan.arms.length;
  let [step, clock] = [0, 1_000_000];
  for (let block = -nWarmups; block < nBlocks; block += 1) {
    let text = "";
    for (let slot = 0; slot < nArms; slot += 1) {
      // The order of two neighbouring arms is random.
      const arm = scatter(block + 5) > 0.5 && (slot ^ 1) < nArms ? slot ^ 1 : slot;
      const ns = Math.round(wall(arm, block, step));
      const cells = { wall: ns, user: Math.round(ns / 1100), sys: 40, wait: 0, migrations: 0, preempted: 0, faults: 0 };
      change(cells, arm, block);
      text += `[${step},${arm},${block < 0 ? "null" : block},${clock},${arm % 2},0,0,${cells.wall},${cells.user},${cells.sys},${cells.wait},${cells.migrations},${cells.preempted},${cells.faults}]\n`;
      clock += cells.wall + 50_000;
      step += 1;
    }
    fs.writeSync(out, text);
  }
  fs.writeSync(out, `${end}\n`);
  fs.closeSync(out);
}

/// Two commands in 60 blocks, the second 5 % slower. One run was preempted and moved.
function known(directory, file, options = [], commands = ["./old", "./new"]) {
  const wall = (arm, block, step) => (10e6 + 400e3 * scatter(step) ** 2) * (arm === 1 ? 1.05 : 1);
  const change = (cells, arm, block) => {
    if (arm === 1 && block === 40) Object.assign(cells, { wall: cells.wall + 8e6, preempted: 8_000_000, migrations: 2 });
  };
  write(path.join(directory, file), session(directory, commands, options), { nBlocks: 60, wall, change });
}

/// A suite of benchmarks with two variants each. A third of them is slower, a third the same, a third faster. With the
/// order `sequential` Stillwell makes no tests, which saves time.
function suite(directory, file, { nBenchmarks, nBlocks, order = "interleave" }) {
  const made = session(directory, ["./old", "./new"]);
  made.header.plan.order = order;
  const [old, fresh] = made.header.plan.arms;
  made.header.plan.arms = [];
  for (let n = 0; n < nBenchmarks; n += 1) {
    const benchmark = `bench_${String(n).padStart(3, "0")}`;
    for (const arm of [old, fresh]) made.header.plan.arms.push({ ...arm, name: arm === old ? "old" : "new", benchmark });
  }
  const wall = (arm, block, step) => {
    const n = Math.floor(arm / 2);
    const change = arm % 2 === 0 ? 1 : [1.2, 1, 0.8][n % 3];
    return (1e6 * (n + 1) + 4e3 * scatter(step)) * change;
  };
  write(path.join(directory, file), made, { nBlocks, nWarmups: 0, wall });
}

module.exports = { known, session, stillwell, suite, scatter, write };
