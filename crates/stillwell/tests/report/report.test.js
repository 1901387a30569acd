// Tests the pages of `stillwell report` in a real browser: their content, and that they run no foreign script.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { colors, contrast, directory, drawn, marks, open, weak } = require("./browser.js");
const { known, session, stillwell, suite, scatter, write } = require("./records.js");

/// Makes a page from these files.
function report(page, files, ...options) {
  stillwell(directory, ["report", ...files, "-o", page, ...options]);
  return path.join(directory, page);
}

const data = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent).data);

test("a comparison says its verdict first and draws every row once", async (t) => {
  known(directory, "known.swell");
  const page = await open(t, report("known.html", ["known.swell"]));
  const verdict = page.locator(".verdict").first();
  assert.match(await page.locator("p.answer").innerText(), /^\.\/new is 5(\.\d+)? % slower than \.\/old \([\d.]+ to [\d.]+ %\)$/);
  assert.match(await verdict.innerText(), /^SLOWER\s/);
  assert.match(await verdict.locator(".numbers").innerText(), /^1\.0\d+ \[.*\] at 99 %, .*p = /);
  assert.equal(await drawn(page), 7);
  // 60 blocks and a warm-up of two arms. Points beyond the frame are triangles.
  const [inside, above] = [await marks(page, "time", "rows").count(), await marks(page, "time", "rows-above").count()];
  assert.equal(inside + above, 122);
  assert.equal(above >= 1, true);
  assert.equal(await page.locator("[data-chart=time] .mark-event-preempted path, [data-chart=time] .mark-event-preempted circle").count(), 1);
  assert.equal((await marks(page, "pairs", "blocks").count()) + (await marks(page, "pairs", "blocks-beyond").count()), 60);
  assert.equal(await marks(page, "shift", "deciles").count(), 9);
  assert.equal(await marks(page, "forest", "intervals").count(), 1);
  const { groups } = await data(page);
  const nBins = groups[0].histogram.counts.flat().filter((count) => count > 0).length;
  assert.equal(await marks(page, "histogram", "bins").count(), nBins);
  assert.equal(await marks(page, "histogram", "t0").count(), 2);
  const ledger = groups[0].ledgers[1];
  const sum = ledger.entries.reduce((total, entry) => total + entry.ns, 0);
  assert.ok(Math.abs(sum - ledger.total_ns) < 1, "the parts of a ledger add up");
});

test("tables have the numbers of the rows, and axes go up", async (t) => {
  known(directory, "numbers.swell");
  const page = await open(t, report("numbers.html", ["numbers.swell"]));
  await drawn(page);
  const { rows } = (await data(page)).groups[0].timeline;
  const tables = page.locator("table.arms");
  for (const arm of [0, 1]) {
    const timed = rows.value.filter((_, at) => rows.arm[at] === arm && rows.block[at] != null).map((ns) => ns / 1e6).sort((a, b) => a - b);
    const mean = timed.reduce((sum, value) => sum + value, 0) / timed.length;
    const cell = (heading) => tables.first().locator("tbody tr").nth(arm).locator(`[data-head="${heading} [ms]"]`).textContent();
    for (const [heading, expected] of [["median", (timed[29] + timed[30]) / 2], ["mean", mean], ["min", timed[0]], ["max", timed[59]]]) {
      assert.ok(Math.abs(Number.parseFloat(await cell(heading)) - expected) < 0.0006, `${heading} of arm ${arm}: ${await cell(heading)} for ${expected}`);
    }
    const metric = await tables.nth(1).locator("tr", { has: page.locator("th", { hasText: "wall [ms]" }) }).locator("td").nth(arm).textContent();
    assert.ok(Math.abs(Number.parseFloat(metric) - mean) < 0.06, `${metric} for ${mean}`);
  }
  const ticks = await page.locator("[data-chart=ecdf] [aria-label='y-axis tick label'] text").evaluateAll((all) => all.map((node) => [Number(node.textContent), node.getBoundingClientRect().top]));
  assert.ok(ticks.length > 2 && ticks.every(([share, top], at) => at === 0 || share > ticks[at - 1][0] === top < ticks[at - 1][1]), JSON.stringify(ticks));
  // Most blocks are near the interval of the ratio.
  const places = await marks(page, "pairs", "blocks").evaluateAll((all) => all.map((node) => node.getBoundingClientRect().top).sort((a, b) => a - b));
  const interval = await page.locator("[data-chart=pairs] .mark-interval-of-the-ratio").evaluate((node) => node.getBoundingClientRect());
  const middle = places[places.length >> 1];
  assert.ok(middle > interval.top - 12 && middle < interval.bottom + 12, `${middle} for ${interval.top} to ${interval.bottom}`);
});

test("the pointer and the arrow keys show a row", async (t) => {
  known(directory, "hover.swell");
  const page = await open(t, report("hover.html", ["hover.swell"]));
  const chart = page.locator("[data-chart=time]");
  await chart.scrollIntoViewIfNeeded();
  // The preempted run is far above the others.
  const box = await marks(page, "time", "rows-above").first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const tip = chart.locator("[aria-label=tip]", { hasText: "preempted" });
  await tip.waitFor();
  const text = await tip.textContent();
  assert.match(text, /\.\/new.*block 40.*preempted 8 ms.*moved to another CPU ×2/s);
  assert.match(await chart.locator(".readout").innerText(), /block 40/);
  await page.mouse.move(0, 0);
  await chart.locator(".plot").focus();
  await page.keyboard.press("Home");
  assert.match(await chart.locator(".readout").innerText(), /step 0 · warm-up/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.match(await chart.locator(".readout").innerText(), /step 2 · block 0/);
});

test("each chart has its numbers, and is a file of its own", async (t) => {
  known(directory, "svg.swell");
  const page = await open(t, report("svg.html", ["svg.swell"]));
  const n = await drawn(page);
  for (let at = 0; at < n; at += 1) {
    const figure = page.locator("figure.chart").nth(at);
    await figure.getByText("Numbers").click();
    // The page makes the table when the user opens it.
    await figure.locator("tbody tr").first().waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), figure.locator(".save-svg").click()]);
    const text = fs.readFileSync(await download.path(), "utf8");
    const parsed = await page.evaluate((svg) => {
      const found = new DOMParser().parseFromString(svg, "image/svg+xml");
      return { error: found.querySelector("parsererror")?.textContent, name: found.documentElement.localName, n: found.querySelectorAll("path, circle, rect, line").length };
    }, text);
    assert.deepEqual([parsed.error, parsed.name], [undefined, "svg"]);
    assert.ok(parsed.n > 2, `marks of chart ${at}`);
    assert.ok(!text.includes("var(--"), "its colours are its own");
  }
  assert.equal(await page.locator("[data-chart=time] tbody tr").count(), 122);
  const [rows] = await Promise.all([page.waitForEvent("download"), page.locator("#download-rows").click()]);
  assert.equal(fs.readFileSync(await rows.path(), "utf8").trim().split("\n").length, 1 + 122);
  const [whole] = await Promise.all([page.waitForEvent("download"), page.locator("#download-data").click()]);
  assert.equal(JSON.parse(fs.readFileSync(await whole.path(), "utf8")).data.groups.length, 1);
});

test("an arm can be hidden, and a scale be chosen", async (t) => {
  known(directory, "hide.swell");
  const page = await open(t, report("hide.html", ["hide.swell"]));
  await drawn(page);
  await page.locator(".legend button").nth(1).click();
  assert.equal(await marks(page, "time", "rows").count(), 61);
  assert.equal(await marks(page, "time", "rows-above").count(), 0);
  await page.locator(".legend button").nth(1).click();
  await page.locator("[data-chart=time] .tools").getByText("all, log").click();
  assert.equal(await marks(page, "time", "rows").count(), 122);
});

test("a suite is sorted and filtered", async (t) => {
  suite(directory, "suite.swell", { nBenchmarks: 12, nBlocks: 100 });
  const page = await open(t, report("suite.html", ["suite.swell"]));
  const rows = page.locator("#index-table tbody tr:visible");
  assert.equal(await rows.count(), 12);
  await page.getByRole("button", { name: /^ratio/ }).click();
  const values = (await page.locator("#index-table tbody tr td:nth-child(3)").allInnerTexts()).map(Number.parseFloat);
  assert.deepEqual(values, [...values].sort((a, b) => a - b));
  assert.deepEqual([values[0], values.at(-1)].map((value) => value.toFixed(1)), ["0.8", "1.2"]);
  await page.getByRole("button", { name: /^ratio/ }).click();
  assert.match(await rows.first().innerText(), /SLOWER\s+1\.2/);
  await page.locator("#filter-name").fill("BENCH_01");
  assert.deepEqual((await rows.locator("a").allInnerTexts()).sort(), ["bench_010", "bench_011"]);
  await page.locator("#filter-name").fill("");
  await page.locator("#filter input[value=faster]").uncheck();
  await page.locator("#filter input[value=same]").uncheck();
  assert.deepEqual(await rows.evaluateAll((found) => found.map((row) => row.dataset.verdict)), Array(4).fill("slower"));
  assert.equal(await page.locator("#filter-count").innerText(), "4 of 12");
  assert.ok((await page.locator(".spark svg path").count()) >= 8);
  await rows.first().locator("a").click();
  const name = await rows.first().locator("a").innerText();
  await page.locator("section.group", { has: page.locator("h2", { hasText: name }) }).locator("[data-chart=histogram] svg").waitFor();
});

test("two hundred benchmarks are one page", async (t) => {
  suite(directory, "many.swell", { nBenchmarks: 200, nBlocks: 30, order: "sequential" });
  const file = report("many.html", ["many.swell"]);
  assert.ok(fs.statSync(file).size <= 5e6, `${fs.statSync(file).size} bytes`);
  const page = await open(t, file);
  assert.equal(await page.locator("#index-table tbody tr").count(), 200);
  await page.locator("#filter-name").fill("199");
  assert.equal(await page.locator("#index-table tbody tr:visible").count(), 1);
});

test("hostile names are text", async (t) => {
  const script = "</script><script>document.title='owned'</script>";
  const image = `<img src=x onerror="document.title='owned'">`;
  const bidi = "\u202eevil\u2028line";
  const name = `${image}'"&{{ 7*7 }}.swell`;
  known(directory, name, ["-n", `${script}${bidi}`, "-n", "{{ 7*7 }}${7*7}&lt;b&gt;", "-N"], [`./a '${script}' # ${image}`, "./b -- '<!-- <svg onload=alert(1)>'"]);
  const page = await open(t, report("hostile.html", [name]), { expected: /Executing inline script violates/ });
  await drawn(page);
  assert.notEqual(await page.title(), "owned");
  assert.equal(await page.locator("img, iframe, object, embed, script[src], link").count(), 0);
  const text = await page.locator("body").innerText();
  assert.ok(text.includes("</script><script>document.title='owned'</script>"));
  assert.ok(text.includes("{{ 7*7 }}") && text.includes("&lt;b&gt;"));
  assert.ok(!text.includes("\u202e"));
  await page.locator("[data-chart=time]").getByText("Numbers").click();
  const count = await page.evaluate(() => document.querySelectorAll("script").length);
  assert.equal(count, 8);
  // The browser does not run an injected script.
  const ran = await page.evaluate(() => {
    const made = document.createElement("script");
    made.textContent = "globalThis.ranAnyway = true";
    document.body.append(made);
    return globalThis.ranAnyway === true;
  });
  assert.equal(ran, false);
});

for (const scheme of ["light", "dark"]) {
  test(`text and marks can be told from the ground, ${scheme}`, async (t) => {
    known(directory, "colors.swell");
    const page = await open(t, report("colors.html", ["colors.swell"]), { scheme });
    await drawn(page);
    const found = await colors(page, "[data-chart=time] .mark-rows circle, [data-chart=ecdf] .mark-distribution-functions path, [data-chart=histogram] .mark-t0 line");
    assert.ok(found.texts.length > 50 && found.labels.length > 20 && found.marks.length > 100);
    assert.deepEqual(weak(found), []);
    const body = found.texts[0][2];
    assert.equal(contrast(body, "rgb(0,0,0)") > 10, scheme === "light");
  });
}

test("a phone needs no scrolling to the side", async (t) => {
  known(directory, "phone.swell", ["-n", "a_name_without_any_place_to_break_it_".repeat(5), "-n", "b"]);
  suite(directory, "phone-suite.swell", { nBenchmarks: 8, nBlocks: 20 });
  for (const name of ["phone", "phone-suite"]) {
    const page = await open(t, report(`${name}.html`, [`${name}.swell`]), { width: 390 });
    await drawn(page);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, name);
  }
});

test("several records are side by side, a scan is a curve", async (t) => {
  for (const [at, name] of ["idle", "busy", "shielded"].entries()) {
    const noise = [1, 40, 2][at];
    const wall = (arm, block, step) => (10e6 + noise * 1e5 * scatter(step + at) ** 2) * (arm === 1 ? 1.05 : 1);
    const made = session(directory, ["./old", "./new"]);
    made.header.clock_origin_ns += at;
    write(path.join(directory, `${name}.swell`), made, { nBlocks: 40, wall });
  }
  const page = await open(t, report("three.html", ["idle.swell", "busy.swell", "shielded.swell"], "--title", "Three"));
  await drawn(page);
  assert.equal(await page.locator("h1").innerText(), "Three");
  assert.equal(await page.locator(".verdict").count(), 3);
  assert.equal(await marks(page, "ridges", "t0").count(), 6);
  assert.equal(await page.locator("#together tbody tr").count(), 4);
  assert.equal(await marks(page, "forest", "ratios").count(), 3);

  const wall = (arm, block, step) => (arm + 1) * 1e6 + 2e4 * scatter(step);
  write(path.join(directory, "scan.swell"), session(directory, ["./prog {n}"], ["-L", "n", "1,2,4,8"], 4), { nBlocks: 20, wall });
  const scan = await open(t, report("scan.html", ["scan.swell"]));
  await drawn(scan);
  assert.equal(await marks(scan, "scan", "points").count(), 4);
  assert.equal(await marks(scan, "scan", "curves").count(), 1);
  assert.equal(await scan.locator("h1").innerText(), "./prog {n}");
});

/// A hundred thousand in `make test`, a million each night.
test("many rows are all there, in a page that opens at once", async (t) => {
  const nBlocks = process.env.STILLWELL_TEST_ALL_ROWS ? 500_000 : 50_000;
  const slowest = Math.floor(nBlocks / 4);
  const wall = (arm, block, step) => 1e6 + 1e5 * scatter(step) + (block === slowest && arm === 1 ? 5e8 : 0);
  const change = (cells, arm, block) => { if (block % 1000 === 0) cells.preempted = 200_000; };
  write(path.join(directory, "million.swell"), session(directory, ["./old", "./new"]), { nBlocks, nWarmups: 0, wall, change });
  const file = report("million.html", ["million.swell"]);
  fs.rmSync(path.join(directory, "million.swell"));
  assert.ok(fs.statSync(file).size <= 5e6, `${fs.statSync(file).size} bytes`);
  const start = performance.now();
  const page = await open(t, file);
  await page.locator("[data-chart=histogram] svg").waitFor();
  const opened_ms = performance.now() - start;
  t.diagnostic(`opened in ${Math.round(opened_ms)} ms, ${fs.statSync(file).size} bytes`);
  await drawn(page);
  const [group] = (await data(page)).groups;
  const counted = group.log_histogram.counts.flat().reduce((sum, n) => sum + n, 0);
  assert.equal(counted, 2 * nBlocks);
  assert.equal(group.timeline.kind, "sliced");
  assert.equal(group.timeline.slices.reduce((sum, slice) => sum + slice.n, 0), 2 * nBlocks);
  // The page always draws the slowest run.
  assert.ok(group.timeline.rows.block.includes(slowest));
  const note = await page.locator("[data-chart=time] .note").last().innerText();
  assert.ok(note.includes(`${(2 * nBlocks).toLocaleString("en")} rows are too many`), note);
});
