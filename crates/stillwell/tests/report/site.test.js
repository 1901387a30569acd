// Tests the pages of `stillwell history report` in a real browser.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { pathToFileURL } = require("node:url");
const { colors, directory, drawn, marks, misplaced, open, unfit, weak } = require("./browser.js");
const { scatter, stillwell } = require("./records.js");

const HOSTILE = `</script><script>document.title='owned'</script><img src=x onerror="document.title='owned'">{{ 7*7 }}\u202e`;

/// Makes a history with one session a day and returns the directory of its site. `level(benchmark, day)` is a time in s.
function site(name, { benchmarks, nDays, level, host = () => "box" }) {
  const results = path.join(directory, `${name}-results`);
  fs.mkdirSync(results);
  for (let n = 0; n < nDays; n += 1) {
    const date = new Date(Date.UTC(2026, 0, 1 + n)).toISOString();
    const runs = (at) => Array.from({ length: 8 }, (_, run) => ({ values: [level(at, n) * (1 + 0.002 * scatter(n * 8 + run + 977 * at))] }));
    const made = benchmarks.map((benchmark, at) => ({ metadata: { name: benchmark, unit: "second" }, runs: runs(at) }));
    const file = { version: "1.0", metadata: { hostname: host(n), date, commit_id: `${n}`.padStart(40, "0") }, benchmarks: made };
    fs.writeFileSync(path.join(results, `${String(n).padStart(5, "0")}.json`), JSON.stringify(file));
  }
  if (nDays > 0) stillwell(directory, ["history", "add", "--db", `${name}.db`, results]);
  stillwell(directory, ["history", "report", "--db", `${name}.db`, "-o", name]);
  return path.join(directory, name);
}

function visit(t, made, page, options = {}) {
  return open(t, path.join(made, page), { isOwn: (url) => url.startsWith(`${pathToFileURL(made).href}/`), ...options });
}

const pageOf = (made, start) => `b/${fs.readdirSync(path.join(made, "b")).find((name) => name.startsWith(start))}`;
const step = (at, n) => [1e-3, 2e-3, 5e-6][at] * (at === 0 && n >= 40 ? 1.05 : at === 1 && n >= 20 ? 0.9 : 1) * (at === 2 && n === 30 ? 1.8 : 1);
let known;
const knownSite = () => (known ??= site("known", { benchmarks: ["json", "fib", "still"], nDays: 60, level: step, host: (n) => (n === 59 ? "other" : "box") }));

test("the index is sorted and filtered, and its changes lead to their pages", async (t) => {
  const page = await visit(t, knownSite(), "index.html");
  const changes = page.locator(".change");
  assert.match(await changes.nth(0).innerText(), /SLOWER\s+\+5\.\d+ %\s+json.*from 2026-02-09 .*record 40\) to 2026-02-10 .*\(record 41\)/s);
  assert.match(await changes.nth(1).innerText(), /FASTER\s+-10\.?\d* %\s+fib/);
  const rows = page.locator("#index-table tbody tr:visible");
  assert.equal(await rows.count(), 6);
  await page.locator("#filter-name").fill("BOX");
  assert.equal(await rows.count(), 3);
  await page.getByRole("button", { name: "last change" }).click();
  assert.deepEqual(await rows.locator("a").allInnerTexts(), ["fib", "json", "still"]);
  await page.getByRole("button", { name: "last change" }).click();
  assert.deepEqual(await rows.locator("a").allInnerTexts(), ["json", "fib", "still"]);
  await page.locator("#filter input[value=none]").uncheck();
  assert.equal(await page.locator("#filter-count").innerText(), "2 of 6");
  await page.locator(".spark svg").first().waitFor();
  await changes.nth(0).getByRole("link", { name: "record 41" }).click();
  await page.locator("tr.found").waitFor();
  assert.match(await page.locator("tr.found").innerText(), /^41\s+2026-02-10\s.*\+5/s);
  await page.getByRole("link", { name: "All benchmarks" }).click();
  await page.locator("#index-table").waitFor();
});

test("a page draws every result, the levels and the changes", async (t) => {
  const page = await visit(t, knownSite(), pageOf(known, "json-"));
  assert.equal(await drawn(page), 2);
  const first = page.locator("#s0 [data-chart=series]");
  const count = (mark) => first.locator(`.mark-${mark}`).locator("circle, path, rect, line").count();
  const data = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).data.series[0]);
  assert.equal((await count("results")) + (await count("results-beyond")), 59);
  assert.equal(await count("errors"), (await count("results")));
  assert.deepEqual(data.changes.map((change) => change.at), [40]);
  assert.deepEqual([await count("changes"), await count("levels")], [1, 2]);
  assert.match(await first.locator(".mark-sizes").textContent(), /^\+5/);
  // The text of the line is the level that Stillwell computed, not a number of the script.
  assert.match(await page.locator("#s0 > p").first().innerText(), /^Level 1\.05\d* ms, the median of 19 results since the last change; 59 results in all\./);
  await first.locator(".tools").getByText("one after another").click();
  assert.equal((await count("results")) + (await count("results-beyond")), 59);
  // The tooltip describes a result, and a click shows its row.
  const box = await marks(page, "series", "results").nth(10).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await first.locator("[aria-label=tip]", { hasText: "record 11" }).waitFor();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await page.locator("tr.found", { hasText: "2026-01-11" }).waitFor();
  assert.equal(await first.locator("tbody tr").count(), 59);
});

test("one wild session does not hide the others", async (t) => {
  const page = await visit(t, knownSite(), pageOf(known, "still-"));
  await drawn(page);
  const beyond = page.locator("#s0 .mark-results-beyond path");
  assert.equal(await beyond.count(), 1);
  await page.locator("#s0 .tools").getByText("all", { exact: true }).click();
  assert.equal(await beyond.count(), 0);
  assert.equal(await page.locator("#s0 .mark-results circle").count(), 59);
});

test("of a long history, a part is drawn and looked up", async (t) => {
  const made = site("long", { benchmarks: ["long"], nDays: 300, level: () => 1e-3 });
  const page = await visit(t, made, pageOf(made, "long-"));
  await drawn(page);
  const points = () => page.locator(".mark-results circle, .mark-results-beyond path").count();
  assert.equal(await points(), 300);
  await page.locator("select.range").selectOption("100");
  assert.equal(await points(), 100);
  assert.match(await page.locator("figure .note").last().innerText(), /newest 100 of 300/);
  // The address names a record that is not drawn, so the page draws all.
  await page.evaluate(() => { location.hash = "#s0-record-7"; });
  await page.locator("tr.found", { hasText: "2026-01-07" }).waitFor();
  assert.equal(await points(), 300);
});

test("hostile names are text", async (t) => {
  const made = site("hostile", { benchmarks: [HOSTILE, "b"], nDays: 60, level: (at, n) => (n < 30 ? 1e-3 : 1.1e-3), host: () => HOSTILE });
  for (const name of ["index.html", pageOf(made, "script-")]) {
    const page = await visit(t, made, name, { expected: /Executing inline script violates|Refused to load|violates the following Content Security Policy/ });
    await page.locator("h1").waitFor();
    assert.notEqual(await page.title(), "owned");
    assert.equal(await page.locator("img, iframe, object, embed").count(), 0);
    assert.equal(await page.locator("script").count(), 6);
    const text = await page.locator("body").innerText();
    assert.ok(text.includes("</script><script>document.title='owned'</script>") && text.includes("{{ 7*7 }}"));
    assert.ok(!text.includes("\u202e"));
    // The browser does not run an injected script.
    const ran = await page.evaluate(() => {
      const made = document.createElement("script");
      made.textContent = "globalThis.ranAnyway = true";
      document.body.append(made);
      return globalThis.ranAnyway === true;
    });
    assert.equal(ran, false);
  }
});

for (const scheme of ["light", "dark"]) {
  test(`a site can be read, ${scheme}`, async (t) => {
    for (const name of ["index.html", pageOf(knownSite(), "json-")]) {
      const page = await visit(t, known, name, { scheme });
      await drawn(page);
      const found = await colors(page, ".mark-results circle, .mark-levels path, .mark-changes line");
      assert.ok(found.texts.length > 8);
      assert.deepEqual(weak({ ...found, marks: found.marks.filter(([, color]) => color !== "none") }), [], name);
    }
  });
}

test("a phone needs no scrolling to the side", async (t) => {
  for (const name of ["index.html", pageOf(knownSite(), "json-")]) {
    const page = await visit(t, known, name, { width: 400 });
    await drawn(page);
    assert.deepEqual([...(await misplaced(page)), ...(await unfit(page))], [], name);
  }
});
