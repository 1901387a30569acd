// A benchmark program for Node.js with its own implementation of the worker protocol (docs/worker-protocol.md). It needs
// no package. `stillwell bench 'node-old worker.js' 'node-new worker.js'` compares two interpreters.
'use strict';
const fs = require('fs');

const numbers = Array.from({ length: 1000 }, (_, i) => (i * 7919) % 1000);
const json = JSON.stringify({ names: ['a', 'b', 'c'], numbers });

// What a benchmark computes goes here, so that the compiler cannot leave it out.
let kept;

// Names and loops of the benchmarks.
const benchmarks = {
  parse: (loops) => { for (let i = 0; i < loops; i++) kept = JSON.parse(json); },
  sort_1000: (loops) => { for (let i = 0; i < loops; i++) kept = numbers.slice().sort((a, b) => a - b); },
};

// A text as one word.
function escape(text) {
  const bytes = [...Buffer.from(String(text))];
  const word = (c) => (c > 0x20 && c < 0x7f && c !== 0x5c ? String.fromCharCode(c) : `\\x${c.toString(16).padStart(2, '0')}`);
  return bytes.map(word).join('') || '\\x';
}

// CPU time of the process with all its threads, which Node.js has in microseconds.
function cpuNs() {
  const { user, system } = process.cpuUsage();
  return BigInt(user + system) * 1000n;
}

function measure(run, loops) {
  const cpu = cpuNs(); // the wall clock is the inner one
  const start = process.hrtime.bigint(); // CLOCK_MONOTONIC
  run(loops);
  const wall = process.hrtime.bigint() - start;
  return `time ${wall} ${cpuNs() - cpu}`;
}

let selected = null;

function answer(request) {
  const [verb, argument, ...more] = request.split(' ');
  if (request === 'list') return Object.keys(benchmarks).map((name) => `benchmark ${escape(name)}\n`).join('') + 'end';
  if (request === 'metadata') return `meta architecture ${process.arch}\nmeta v8 ${escape(process.versions.v8)}\nend`;
  if (verb === 'select' && more.length === 0) {
    selected = Object.keys(benchmarks).find((name) => escape(name) === argument) || null;
    return selected ? 'ok' : `error ${escape(`no benchmark is called ${argument}`)}`;
  }
  if (verb === 'run' && more.length === 0) {
    const loops = Number(argument);
    if (!selected) return `error ${escape('select a benchmark first')}`;
    if (!/^[0-9]+$/.test(argument) || !Number.isSafeInteger(loops) || loops < 1) return `error ${escape('LOOPS is not a whole number of 1 or more')}`;
    return measure(benchmarks[selected], loops);
  }
  return `error ${escape('unknown request')}`;
}

// Reads the requests without the event loop: a worker must sleep in read while it waits.
function serve(input, output) {
  const bytes = Buffer.alloc(65536);
  fs.writeSync(output, `stillwell 1 language=javascript implementation=node version=${escape(process.versions.node)} jit=1\n`);
  for (let waiting = ''; ;) {
    const end = waiting.indexOf('\n');
    if (end < 0) {
      const n = fs.readSync(input, bytes);
      if (n === 0) return;
      waiting += bytes.toString('latin1', 0, n);
      continue;
    }
    const request = waiting.slice(0, end);
    waiting = waiting.slice(end + 1);
    let text;
    if (request === 'quit') {
      fs.writeSync(output, 'bye\n');
      return;
    }
    try {
      text = answer(request);
    } catch (error) {
      console.error(error);
      text = `error ${escape(error)}`;
    }
    fs.writeSync(output, `${text}\n`);
  }
}

const descriptors = /^--stillwell-worker=(\d+),(\d+)$/.exec(process.argv[process.argv.length - 1]);
if (descriptors) {
  serve(Number(descriptors[1]), Number(descriptors[2]));
} else {
  console.error("This is a benchmark program: stillwell bench 'node-old worker.js' 'node-new worker.js'");
  process.exitCode = 2;
}
