// Tests the page of `stillwell bisect --report` in a real browser.
"use strict";
const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { colors, directory, open, unfit, weak } = require("./browser.js");
const { scatter, stillwell } = require("./records.js");

const HOSTILE = `</title></style><script>document.title='owned'</script><img src=x onerror="document.title='owned'">`;

/// Searches a history of 33 commits with made-up times: 3 % slower from commit 20 on, 2 % faster from commit 28 on; commits 12
/// and 13 do not build. Returns the page.
function page(name) {
  const repository = path.join(directory, name);
  fs.mkdirSync(repository);
  const git = (...words) => execFileSync("git", ["-C", repository, "-c", "user.name=a", "-c", "user.email=a@b.c", ...words], { encoding: "utf8" });
  git("init", "--quiet");
  for (let n = 0; n <= 32; n += 1) git("commit", "--quiet", "--allow-empty", "-m", `${n} ${HOSTILE}`);
  const ids = git("log", "--reverse", "--format=%H").trim().split("\n");
  const time = (n) => (n === 12 || n === 13 ? "" : `${20 * (n < 20 ? 1 : n < 28 ? 1.03 : 1.01)}ms`);
  const noise = Array.from({ length: 997 }, (_, at) => (1 + 0.01 * scatter(at)).toFixed(5));
  fs.writeFileSync(path.join(repository, "times"), `at ${noise.join(" ")}\n${ids.map((id, n) => `${id} ${time(n)}`).join("\n")}\n`);
  const words = ["bisect", "--script", "times", "--seed", "7", "--style", "none", "-o", "search", "--report", "page.html"];
  stillwell(repository, [...words, ids[0], ids[32], "--", "prog"]);
  return { file: path.join(repository, "page.html"), ids };
}

let made;
const known = () => (made ??= page("bisect"));

test("the page of a search has its answer, its curve and its steps", async (t) => {
  const { file, ids } = known();
  const shown = await open(t, file);
  const answer = await shown.locator(".verdict").innerText();
  for (const n of [20, 28]) assert.match(answer, new RegExp(`${ids[n].slice(0, 10)} "${n} `));
  assert.equal(await shown.locator("#curve svg.wide .culprit").count(), 2);
  assert.match(await shown.locator("#curve svg.wide .culprit.slower").innerHTML(), /\+(2\.9|3\.0|3\.1)/);
  assert.equal(await shown.locator("#curve svg.wide .culprit.faster").count(), 1);
  const marks = shown.locator("#curve svg.wide .mark");
  assert.ok((await marks.count()) >= 8);
  // The number below a commit is its place.
  const numbers = await shown.locator("#curve svg.wide text").evaluateAll((all) => all.filter((node) => /^\d+$/.test(node.textContent)).map((node) => [Number(node.textContent), Number(node.getAttribute("x"))]));
  assert.ok(numbers.length >= 2 && numbers.every(([n, x]) => Math.abs(x - (64 + (n * 1020) / 32)) < 0.5), JSON.stringify(numbers));
  // GOOD is at the left end, BAD at the right one, and a slower commit lies higher.
  const at = async (locator, name) => Number(await locator.getAttribute(name));
  const [good, bad] = [marks.first().locator("circle"), marks.last().locator("circle")];
  assert.ok((await at(good, "cx")) < 80 && (await at(bad, "cx")) > 1050);
  const slower = shown.locator("#curve svg.wide .mark", { has: shown.locator("title", { hasText: "+3" }) }).first().locator("circle");
  assert.ok((await at(slower, "cy")) < (await at(bad, "cy")) && (await at(bad, "cy")) < (await at(good, "cy")));
  const steps = shown.locator("#details tbody tr");
  assert.match(await steps.first().innerText(), /^ends\s/);
  assert.ok((await steps.filter({ hasText: "confirm" }).count()) >= 2);
  assert.doesNotMatch(await shown.title(), /owned/);
});

test("the page of a search can be read in light and dark, and on a telephone", async (t) => {
  for (const scheme of ["light", "dark"]) {
    const shown = await open(t, known().file, { scheme });
    assert.deepEqual(weak({ ...(await colors(shown, "#curve .mark circle")), marks: [] }), [], scheme);
  }
  const narrow = await open(t, known().file, { width: 400 });
  assert.deepEqual(await unfit(narrow), []);
  // Its letters are as large as on a wide screen, none is on another, and the legend has the dots of the curve.
  const texts = await narrow.locator("#curve > svg:visible text").evaluateAll((all) => all.map((node) => [node.textContent, node.getBoundingClientRect().toJSON()]));
  assert.ok(texts.length >= 8 && texts.every(([, box]) => box.height >= 11), JSON.stringify(texts));
  const touch = ([, a], [, b]) => a.left < b.right && b.left < a.right && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  assert.deepEqual(texts.flatMap((one, at) => texts.slice(at + 1).filter((other) => touch(one, other)).map(([other]) => `${one[0]} on ${other}`)), []);
  const look = (node) => [getComputedStyle(node).fill, getComputedStyle(node).stroke, node.getAttribute("r")].join();
  for (const kind of ["old", "new", "end"]) {
    assert.equal(await narrow.locator(`#curve .key .${kind} circle`).evaluate(look), await narrow.locator(`#curve svg.narrow .${kind} circle`).first().evaluate(look), kind);
  }
  // Subjects of commits are whole.
  assert.ok((await narrow.locator(".verdict").innerText()).includes(`20 ${HOSTILE}"`));
});
