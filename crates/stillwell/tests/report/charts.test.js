// Tests where the marks of the charts are, for small and large ratios; and the pages on paper and on a phone.
"use strict";
const assert = require("node:assert/strict");
const path = require("node:path");
const { test } = require("node:test");
const { directory, drawn, marks, open } = require("./browser.js");
const { known, session, stillwell, suite, scatter, write } = require("./records.js");

const RATIOS = [1e-3, 0.01, 0.5, 0.97, 1, 1.03, 2, 100, 1e3];
const nameOf = (ratio) => `ratio-${ratio}`;

/// Makes a page from these files.
function report(page, files, ...options) {
  stillwell(directory, ["report", ...files, "-o", page, ...options]);
  return path.join(directory, page);
}

/// A record of two commands with this ratio of their times.
function pair(ratio, nBlocks = 30) {
  const file = `${nameOf(ratio)}-${nBlocks}.swell`;
  const wall = (arm, block, step) => 1e6 * (1 + 0.02 * scatter(step)) * (arm === 1 ? ratio : 1);
  const made = session(directory, ["./old", "./new"]);
  made.header.clock_origin_ns += RATIOS.indexOf(ratio) + 1;
  write(path.join(directory, file), made, { nBlocks, wall });
  return file;
}

/// The marks whose coordinates are no numbers, and those of ratio charts outside of their picture; with the labels of axes
/// that are empty.
const faults = (page) => page.evaluate(() => [...document.querySelectorAll("figure.chart svg:not(.sample)")].flatMap((svg) => {
  const chart = svg.closest("figure").dataset.chart;
  const box = svg.getBoundingClientRect();
  const nodes = [...svg.querySelectorAll("[class*=mark-]")].flatMap((mark) => [mark, ...mark.querySelectorAll("circle, path, rect, line, text")]);
  const broken = nodes.filter((node) => [...node.attributes].some(({ value }) => /NaN|Infinity|undefined/.test(value)));
  const isOutside = (node) => {
    const at = node.getBoundingClientRect();
    return at.left < box.left - 2 || at.right > box.right + 2 || at.top < box.top - 2 || at.bottom > box.bottom + 2;
  };
  const ofRatios = ["forest", "pairs", "shift"].includes(chart) ? nodes.filter((node) => node.localName !== "g" && !node.closest("[clip-path]")) : [];
  const labels = [...svg.querySelectorAll("[aria-label$='tick label'] text")];
  return [
    ...broken.map((node) => `${chart}: ${node.outerHTML.slice(0, 90)}`),
    ...ofRatios.filter(isOutside).map((node) => `${chart}, outside: ${node.outerHTML.slice(0, 90)}`),
    ...labels.filter((label) => !label.textContent.trim()).map(() => `${chart}: a tick without a label`),
  ];
}));

/// Left and right edge of the only mark of a kind in the ratio chart.
const edges = (page, mark) => page.locator(`[data-chart=forest] .mark-${mark}`).locator("circle, path, text").first().evaluate((node) => { const { left, right } = node.getBoundingClientRect(); return { left, right }; });

for (const ratio of RATIOS) {
  test(`every chart has its marks at a ratio of ${ratio}`, async (t) => {
    const page = await open(t, report(`${nameOf(ratio)}.html`, [pair(ratio)]));
    await drawn(page);
    for (const scale of ["usual", "all"]) {
      assert.deepEqual(await faults(page), [], scale);
      assert.equal(await marks(page, "forest", "ratios").count(), 1, scale);
      assert.equal(await marks(page, "forest", "intervals").count(), 1, scale);
      assert.equal((await marks(page, "pairs", "blocks").count()) + (await marks(page, "pairs", "blocks-beyond").count()), 30, scale);
      assert.equal(await marks(page, "shift", "deciles").count(), 9, scale);
      assert.ok((await marks(page, "histogram", "bins").count()) >= 2, scale);
      assert.equal(await marks(page, "ecdf", "distribution-functions").count(), 2, scale);
      assert.equal((await marks(page, "time", "rows").count()) + (await marks(page, "time", "rows-above").count()), 62, scale);
      assert.ok((await marks(page, "ledger", "parts").count()) >= 1, scale);
      for (const button of await page.locator(".chart .tools button").filter({ hasText: /^all/ }).all()) await button.click();
    }
    // The dot is on its side of the line at 1, and the label begins or ends with its bar.
    const [dot, bar, label] = [await edges(page, "ratios"), await edges(page, "intervals"), await edges(page, "labels")];
    const one = await page.locator("[data-chart=forest] [aria-label=rule] line").first().evaluate((node) => node.getBoundingClientRect().left);
    if (ratio < 1) assert.ok(dot.right < one + 5, "left of 1");
    if (ratio > 1) assert.ok(dot.left > one - 5, "right of 1");
    assert.ok(Math.abs(label.left - bar.left) < 12 || Math.abs(label.right - bar.right) < 12, JSON.stringify({ bar, label }));
    assert.ok((await page.locator("[data-chart=forest] [aria-label='x-axis tick label'] text").count()) >= 2);
  });
}

test("ratios from a thousandth to a thousand are on one axis", async (t) => {
  const page = await open(t, report("all-ratios.html", RATIOS.map((ratio) => pair(ratio))));
  await drawn(page);
  assert.deepEqual(await faults(page), []);
  assert.equal(await marks(page, "forest", "ratios").count(), RATIOS.length);
  const places = await page.locator("[data-chart=forest] .mark-ratios circle").evaluateAll((all) => all.map((node) => node.getBoundingClientRect().left));
  assert.deepEqual(places, [...places].sort((a, b) => a - b));
  // On a logarithmic axis ×0.001 and ×1000 are equally far from 1.
  const one = places[RATIOS.indexOf(1)];
  assert.ok(Math.abs(one - places[0] - (places.at(-1) - one)) < 12, String(places));
});

test("few runs with a large ratio and an open interval are drawn", async (t) => {
  const page = await open(t, report("few.html", [pair(50, 10)]));
  await drawn(page);
  assert.deepEqual(await faults(page), []);
  assert.equal(await marks(page, "forest", "ratios").count(), 1);
  assert.equal(await marks(page, "forest", "intervals").count(), 1);
});

test("rows have the names of benchmark and variants, and each chart says how to read it", async (t) => {
  suite(directory, "named.swell", { nBenchmarks: 3, nBlocks: 40 });
  const page = await open(t, report("named.html", ["named.swell"]));
  const n = await drawn(page);
  const labels = await page.locator("[data-chart=forest] .mark-labels text").allTextContents();
  assert.deepEqual(labels.map((label) => label.split("  ")[0]).sort(), ["bench_000: new against old", "bench_001: new against old", "bench_002: new against old"]);
  const readings = await page.locator("figure.chart:visible .reading").evaluateAll((all) => all.map((node) => [node.textContent.length > 60, node.previousElementSibling.className]));
  assert.deepEqual(readings, Array(n).fill([true, "plot"]));
});

test("a printed page keeps its legends and the size of its letters", async (t) => {
  known(directory, "print.swell");
  const page = await open(t, report("print.html", ["print.swell"]));
  await drawn(page);
  const widths = () => page.locator("figure.chart:visible svg:not(.sample)").evaluateAll((all) => all.map((svg) => svg.viewBox.baseVal.width));
  const before = await widths();
  await page.evaluate(() => addEventListener("beforeprint", () => { globalThis.printed = [...document.querySelectorAll("figure.chart svg:not(.sample)")].map((svg) => svg.viewBox.baseVal.width); }));
  await page.pdf({ format: "A4", margin: { left: "12mm", right: "12mm" } });
  assert.deepEqual(new Set(await page.evaluate(() => globalThis.printed)), new Set([700]));
  assert.deepEqual(await widths(), before, "the screen has its own widths again");
  // What is on the paper: the style sheet for print, at the width of A4 without the margins.
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 703, height: 1000 });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const zooms = await page.locator("figure.chart:visible svg:not(.sample)").evaluateAll((all) => all.map((svg) => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width));
  assert.ok(zooms.length >= 7 && zooms.every((zoom) => zoom > 0.9), String(zooms));
  assert.equal(await page.locator(".legend button:visible").count(), 2);
  const swatches = await page.locator(".swatch:visible").evaluateAll((all) => all.map((node) => getComputedStyle(node).printColorAdjust));
  assert.ok(swatches.length >= 4 && swatches.every((adjust) => adjust === "exact"), String(swatches));
  assert.equal(await page.locator(".tools:visible, .swipe:visible").count(), 0);
});

test("a table that is wider than the phone says so", async (t) => {
  const files = ["wide-of-a-rather-long-name.swell", "wide-of-another-long-name.swell"];
  for (const name of files) known(directory, name, [], ["./a-rather-long-program", "./another-long-program"]);
  const file = report("wide.html", files);
  const phone = await open(t, file, { width: 390 });
  assert.ok((await phone.locator(".swipe:visible").count()) >= 1);
  const cut = await phone.locator(".scroll.is-cut").first().evaluate((node) => [node.scrollWidth > node.clientWidth, node.tabIndex, getComputedStyle(node).backgroundImage.split("gradient").length]);
  assert.deepEqual(cut, [true, 0, 5]);
  const desk = await open(t, file);
  assert.equal(await desk.locator(".swipe:visible").count(), 0);
});
