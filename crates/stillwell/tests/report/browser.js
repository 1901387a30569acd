// Opens pages in a real browser, with the checks that every page must pass.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { after, before } = require("node:test");
const { pathToFileURL } = require("node:url");
const { chromium } = require(process.env.PLAYWRIGHT);

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "stillwell-report-"));
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
});
after(async () => {
  await browser?.close();
  fs.rmSync(directory, { recursive: true, force: true });
});

/// Opens a page. Fails if the page writes to the console or requests a resource.
async function open(t, file, options = {}) {
  const isOwn = options.isOwn ?? ((url) => url === pathToFileURL(file).href);
  const context = await browser.newContext({ viewport: { width: options.width ?? 1200, height: 900 }, colorScheme: options.scheme ?? "light", acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints = [];
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => { if (!isOwn(request.url())) complaints.push(`asked for ${request.url()}`); });
  page.on("dialog", (dialog) => { complaints.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  await page.goto(pathToFileURL(file).href);
  t.after(async () => {
    await context.close();
    assert.deepEqual(complaints.filter((complaint) => !options.expected?.test(complaint)), []);
  });
  return page;
}

/// Scrolls to each chart that is not folded away, because the page draws it only then. Returns their number.
async function drawn(page) {
  const figures = page.locator("figure.chart:visible");
  const n = await figures.count();
  for (let at = 0; at < n; at += 1) {
    await figures.nth(at).scrollIntoViewIfNeeded();
    await figures.nth(at).locator("svg, .plot .note").first().waitFor();
  }
  return n;
}
const marks = (page, chart, mark) => page.locator(`[data-chart=${chart}] .mark-${mark}`).locator("circle, path, rect, line");

/// Contrast of two colours, WCAG 2.
function contrast(one, other) {
  const light = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}

/// Colours of the text, the labels and these marks, each with its background colour.
function colors(page, marks) {
  return page.evaluate((marked) => {
    const ground = (node) => {
      for (let at = node; at; at = at.parentElement) {
        const color = getComputedStyle(at).backgroundColor;
        if (!/, 0\)$|transparent/.test(color)) return color;
      }
      return "rgb(255, 255, 255)";
    };
    const texts = [...document.querySelectorAll("p, h1, h2, h3, td, th, li, dt, dd, summary, button, small, .badge, figcaption, code")].filter((node) => node.checkVisibility() && node.textContent.trim());
    const marks = [...document.querySelectorAll(marked)];
    return {
      texts: texts.map((node) => [node.textContent.trim().slice(0, 30), getComputedStyle(node).color, ground(node)]),
      labels: [...document.querySelectorAll(".chart svg text")].map((node) => [node.textContent, getComputedStyle(node).fill, ground(node.closest("figure"))]),
      marks: marks.map((node) => [node.parentNode.getAttribute("class"), getComputedStyle(node).stroke, ground(node.closest("figure"))]),
    };
  }, marks);
}

/// Colours with too little contrast to their background.
function weak({ texts, labels, marks }) {
  const isWeak = (limit) => ([, color, ground]) => color !== "none" && contrast(color, ground) < limit;
  return [...[...texts, ...labels].filter(isWeak(4.5)), ...marks.filter(isWeak(3))];
}

/// Titles of y axes that touch a label of a tick, an event or the size of a change; and labels of ticks outside of their figure.
function misplaced(page) {
  return page.evaluate(() => [...document.querySelectorAll("figure.chart svg:not(.sample)")].filter((svg) => svg.checkVisibility()).flatMap((svg) => {
    const boxes = (pattern) => [...svg.querySelectorAll(pattern)].map((node) => [node.textContent || node.parentNode.getAttribute("class"), node.getBoundingClientRect()]);
    const touch = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const ticks = boxes("[aria-label='y-axis tick label'] text");
    const others = [...ticks, ...boxes(".mark-event :is(path, circle), .mark-sizes text")];
    const titles = boxes("[aria-label='y-axis label'] text");
    const figure = svg.closest("figure").getBoundingClientRect();
    return [
      ...titles.flatMap(([title, a]) => others.filter(([, b]) => touch(a, b)).map(([other]) => `${title} on ${other}`)),
      ...ticks.filter(([, box]) => box.left < figure.left - 1).map(([text]) => `${text} is outside`),
    ];
  }));
}

/// What is wider than the screen and in no table that scrolls, and cells of tables that are broken into letters.
function unfit(page) {
  return page.evaluate(() => {
    const name = (node) => `${node.localName}.${node.getAttribute("class")} ${node.textContent.trim().slice(0, 30)}`;
    const seen = [...document.body.querySelectorAll("*")].filter((node) => node.checkVisibility() && !node.closest(".skip"));
    const wide = seen.filter((node) => !node.closest(".scroll, svg") && node.getBoundingClientRect().right > innerWidth + 1);
    const cells = seen.filter((node) => node.matches("th, td") && node.textContent.trim() !== "");
    const broken = cells.filter((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top / 8)));
      return lines.size > 2 && cell.textContent.trim().length / lines.size < 6;
    });
    return [...(document.documentElement.scrollWidth > innerWidth ? ["the page scrolls to the side"] : []), ...wide.map((node) => `wide: ${name(node)}`), ...broken.map((node) => `broken: ${name(node)}`)];
  });
}

module.exports = { colors, contrast, directory, drawn, marks, misplaced, open, unfit, weak };
