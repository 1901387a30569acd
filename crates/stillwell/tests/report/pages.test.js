// Tests what a reader looks at first: the answer, the titles and legends of charts, whole names, and all of it on a phone.
"use strict";
const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { directory, drawn, marks, misplaced, open, unfit } = require("./browser.js");
const { known, session, stillwell, suite, scatter, write } = require("./records.js");

const LONG = "/home/somebody/projects/a-rather-long-directory-name/target/release/program --input=/data/sets/2026/november/big.json --level=";

/// Makes a page from these records.
function report(page, ...files) {
  stillwell(directory, ["report", ...files, "-o", page]);
  return path.join(directory, page);
}

/// A record of these commands, each 5 % slower than the one before it. `change` is that of `write`.
function record(file, commands, { options, nArms, nBlocks = 60, change } = {}) {
  const wall = (arm, block, step) => (10e6 + 400e3 * scatter(step) ** 2) * (1 + 0.05 * arm);
  write(path.join(directory, file), session(directory, commands, options, nArms), { nBlocks, wall, change });
  return file;
}

/// Rows with everything that happens to them. `weight` decides which part of the lost time is the largest.
const eventful = (weight) => (cells, arm, block) => {
  if (block % 7 === 3) Object.assign(cells, { wall: cells.wall + 3e6 * weight, preempted: 2.5e6 * weight });
  if (block % 9 === 4) Object.assign(cells, { wall: cells.wall + 3e6 / weight, wait: 2.8e6 / weight });
  if (block % 11 === 2) cells.migrations = 2;
  if (block % 13 === 5) cells.faults = 3;
};

test("the answer is the sentence of the terminal", async (t) => {
  known(directory, "answer-pair.swell");
  suite(directory, "answer-suite.swell", { nBenchmarks: 3, nBlocks: 40 });
  const files = [
    "answer-pair.swell",
    "answer-suite.swell",
    record("answer-alone.swell", ["./alone"]),
    record("answer-several.swell", ["./old", "./new", "./other"]),
    record("answer-scan.swell", ["./prog {n} {m}"], { options: ["-L", "n", "1,2,4", "-L", "m", "x,y"], nArms: 6 }),
  ];
  for (const file of files) {
    const page = await open(t, report(`${file}.html`, file));
    const answers = await page.locator("p.answer").allInnerTexts();
    assert.equal(answers.length, 1, file);
    const said = stillwell(directory, ["show", file]).replaceAll(/\s+/g, " ").replaceAll("+-", "±");
    assert.ok(answers[0].length > 20 && said.startsWith(answers[0]), `${file}: ${answers[0]}`);
    // It is above everything else, and no card repeats it.
    assert.ok(!(await page.locator(".verdict").allInnerTexts()).some((text) => text.includes(answers[0])), file);
  }
});

test("several records without cards have an answer each", async (t) => {
  const files = ["one", "two"].map((name) => record(`many-${name}.swell`, ["./a", "./b", "./c"]));
  const page = await open(t, report("many-answers.html", ...files));
  const answers = await page.locator("p.answer").allInnerTexts();
  assert.deepEqual(answers.map((text) => text.split(":")[0]), files);
});

for (const width of [1280, 400]) {
  test(`titles of axes stand beside no tick and no mark, ${width} px`, async (t) => {
    record("titles.swell", ["./old", "./new"], { change: eventful(1) });
    const page = await open(t, report(`titles-${width}.html`, "titles.swell"), { width });
    await drawn(page);
    assert.ok((await page.locator("svg [aria-label='y-axis label']").count()) >= 5);
    assert.deepEqual(await misplaced(page), []);
  });
}

test("a legend shows the marks of its chart", async (t) => {
  record("legend.swell", ["./old", "./new"], { change: eventful(1) });
  const page = await open(t, report("legend.html", "legend.swell"));
  await drawn(page);
  const look = (node) => {
    const { fill, stroke, strokeWidth } = getComputedStyle(node);
    return { tag: node.localName, shape: node.getAttribute("d") ?? node.getAttribute("r"), fill, stroke, strokeWidth };
  };
  const entries = page.locator("[data-chart=time] .key > *");
  const kinds = ["preempted", "queued", "migrated", "major_faults"];
  assert.equal(await entries.count(), kinds.length);
  const seen = new Set();
  for (const [at, kind] of kinds.entries()) {
    const shown = await entries.nth(at).locator("svg :is(path, circle)").evaluate(look);
    assert.deepEqual(shown, await marks(page, "time", `event-${kind}`).first().evaluate(look), kind);
    seen.add(`${shown.shape} ${shown.stroke}`);
  }
  assert.equal(seen.size, kinds.length);
  const signs = await page.locator("[data-chart=ledger] .key rect").evaluateAll((all) => all.map((node) => getComputedStyle(node).fill));
  const bars = await marks(page, "ledger", "parts").evaluateAll((all) => all.map((node) => getComputedStyle(node).fill));
  assert.ok(signs.length >= 3 && new Set(signs).size === signs.length, String(signs));
  assert.deepEqual(new Set(bars), new Set(signs));
});

test("the curves of a scan are told apart by more than the colours of commands", async (t) => {
  record("curves.swell", ["./prog {n} {m}"], { options: ["-L", "n", "1,2,4", "-L", "m", "x,y"], nArms: 6 });
  const page = await open(t, report("curves.html", "curves.swell"));
  await drawn(page);
  const entries = page.locator("[data-chart=scan] .key > *");
  assert.deepEqual(await entries.allInnerTexts(), ["./prog {n} x · m = x", "./prog {n} y · m = y"]);
  const looks = await entries.evaluateAll((all) => all.map((entry) => [...entry.querySelectorAll("path, circle")].map((node) => `${node.localName} ${getComputedStyle(node).strokeDasharray}`).join()));
  assert.equal(new Set(looks).size, 2, String(looks));
});

/// Distance of two colours (CIE 1976) as people see them who lack red, green or blue, and as others do: the smallest.
function distance(one, other) {
  const lacking = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    [[0.367, 0.861, -0.228], [0.28, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
  ];
  const linear = (color) => color.match(/[\d.]+/g).slice(0, 3).map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  const lab = ([r, g, b]) => {
    const [x, y, z] = [[0.4124, 0.3576, 0.1805, 0.95047], [0.2126, 0.7152, 0.0722, 1], [0.0193, 0.1192, 0.9505, 1.08883]].map(([a, c, d, white]) => (a * r + c * g + d * b) / white).map((part) => (part > 0.008856 ? Math.cbrt(part) : 7.787 * part + 16 / 116));
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  return Math.min(...lacking.map((matrix) => {
    const [a, b] = [one, other].map(linear).map((color) => lab(matrix.map((row) => Math.min(Math.max(row.reduce((sum, part, at) => sum + part * color[at], 0), 0), 1))));
    return Math.hypot(...a.map((part, at) => part - b[at]));
  }));
}

test("the parts of lost time have one order and one colour in all bars", async (t) => {
  const files = [record("parts-1.swell", ["./a", "./b"], { change: eventful(1) }), record("parts-2.swell", ["./a", "./b"], { change: eventful(0.4) })];
  const page = await open(t, report("parts.html", ...files));
  await drawn(page);
  const charts = await page.locator("[data-chart=ledger]").evaluateAll((all) => all.map((figure) => {
    const fill = (node) => getComputedStyle(node).fill;
    const bars = new Map();
    for (const node of figure.querySelectorAll(".mark-parts rect")) {
      const y = node.getAttribute("y");
      bars.set(y, [...(bars.get(y) ?? []), [node.getBoundingClientRect().x, fill(node)]]);
    }
    return { legend: [...figure.querySelectorAll(".key > *")].map((entry) => [entry.textContent, fill(entry.querySelector("rect"))]), bars: [...bars.values()].map((bar) => bar.sort((a, b) => a[0] - b[0]).map(([, color]) => color)) };
  }));
  assert.equal(charts.length, 2);
  const order = [...new Map(charts.flatMap(({ legend }) => legend))];
  assert.ok(order.length >= 4, String(order));
  for (const { legend, bars } of charts) {
    assert.deepEqual(legend, order.filter(([name]) => legend.some(([own]) => own === name)), "the same parts, order and colours");
    assert.equal(bars.length, 2);
    for (const bar of bars) assert.deepEqual(bar, legend.map(([, color]) => color).filter((color) => bar.includes(color)));
  }
  // All colours that there are, not only those of this page.
  const colors = await page.evaluate(() => Object.values(PARTS).map((color) => { document.body.style.color = color; return getComputedStyle(document.body).color; }));
  assert.ok(colors.length >= 14);
  for (const [at, one] of colors.entries()) for (const other of colors.slice(at + 1)) assert.ok(distance(one, other) > 10, `${one} and ${other}: ${distance(one, other)}`);
});

test("names are whole, and one row is not rows", async (t) => {
  const change = (cells, arm, block) => { if (arm === 1 && block === 12) cells.wall = 5e8; };
  record("whole.swell", [`${LONG}1`, `${LONG}2`], { change });
  for (const width of [1280, 400]) {
    const page = await open(t, report(`whole-${width}.html`, "whole.swell"), { width });
    await drawn(page);
    const text = await page.evaluate(() => [document.body.innerText, ...[...document.querySelectorAll("svg text")].map((node) => node.textContent)].join("\n").replace(/\[[^\]]*…[^\]]*\]/g, ""));
    assert.ok(!text.includes("…"), text.split("\n").find((line) => line.includes("…")));
    assert.ok((await page.locator("p.answer").innerText()).includes(`${LONG}2 is 5`));
    const label = await page.locator("[data-chart=forest] .mark-labels text").textContent();
    assert.equal(label.replaceAll(" ", ""), `${LONG}2against${LONG}1SLOWER`.replaceAll(" ", ""));
    assert.match(await page.locator("[data-chart=time] .note").last().innerText(), /^1 row above the frame is the filled triangle at its edge; "all, log" shows where it is\./);
    assert.deepEqual([...(await misplaced(page)), ...(await unfit(page))], [], width);
  }
});

test("an axis of factors has numbers where the ratios are", async (t) => {
  const wall = (arm, block, step) => (10e6 + 400e3 * scatter(step) ** 2) * (arm === 1 ? 3.4 : 1);
  write(path.join(directory, "factors.swell"), session(directory, ["./old", "./new"]), { nBlocks: 60, wall });
  for (const [width, most] of [[1280, 11], [400, 3]]) {
    const page = await open(t, report(`factors-${width}.html`, "factors.swell"), { width });
    await drawn(page);
    const ticks = await page.locator("[data-chart=forest] [aria-label='x-axis tick label'] text").allTextContents();
    assert.ok(ticks.length >= 2 && ticks.length <= most && (width < 1000 || ticks.includes("×3")), ticks.join());
  }
});

test("tables and charts of a report fit a phone", async (t) => {
  suite(directory, "fit-suite.swell", { nBenchmarks: 8, nBlocks: 20 });
  record("fit-scan.swell", ["./prog {n}", "./another-program {n}"], { options: ["-L", "n", "1,2,4,8"], nArms: 8, nBlocks: 20 });
  record("fit-pair.swell", ["./old", "./new"], { change: eventful(1) });
  for (const name of ["fit-suite", "fit-scan", "fit-pair"]) {
    const page = await open(t, report(`${name}.html`, `${name}.swell`), { width: 400 });
    await drawn(page);
    assert.deepEqual([...(await misplaced(page)), ...(await unfit(page))], [], name);
    // No table scrolls: each number stands behind the name of its column.
    assert.equal(await page.locator(".scroll.is-cut:visible").count(), 0, name);
    assert.ok((await page.locator(".arms td[data-head^=median]").count()) > 0);
  }
});

test("the page of why fits a phone, with whole names", async (t) => {
  const name = "a_function_with_a_rather_long_name_that_counts_up_to_its_argument";
  const source = `unsigned long ${name}(unsigned long n) { unsigned long h = 1; while (n--) h = h * 33 ^ n; return h; }
int main(int n, char **words) { volatile unsigned long h = ${name}(n > 1 ? 6000000 : 3000000); return h == 1; }`;
  fs.writeFileSync(path.join(directory, "counts.c"), source);
  try {
    execFileSync("gcc", ["-g", "-O1", "-fno-inline", "-o", "counts", "counts.c"], { cwd: directory });
    stillwell(directory, ["why", "--style", "none", "-r", "12", "--report", "why.html", "./counts", "./counts --with-an-argument-that-makes-it-slower"]);
  } catch {
    t.skip("no compiler, or no samples");
    return;
  }
  const page = await open(t, path.join(directory, "why.html"), { width: 400 });
  const rows = page.locator("#details tbody th");
  assert.ok((await rows.allInnerTexts()).includes(name));
  const callers = page.locator("#details table").first().locator("tbody").nth(1).locator("tr");
  assert.ok((await callers.locator("th").allInnerTexts()).includes("main"), "what calls it takes its time too");
  assert.deepEqual(await unfit(page), []);
  assert.deepEqual((await page.locator("#details thead").first().locator("th").allInnerTexts()).slice(0, 3), ["", "first", "second"]);
  assert.match(await page.locator(".verdict").innerText(), /\.\/counts --with-an-argument-that-makes-it-slower (is|and) /);
});
