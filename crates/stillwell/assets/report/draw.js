// Shared parts of all charts: the data of the page, numbers as text, and a plot that obeys the style sheet.
"use strict";
const report = JSON.parse(document.getElementById("data").textContent);
const { data, words } = report;
const charts = {};

const HUES = [212, 24, 150, 285, 48, 185, 330, 95];
const UNITS = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9], ["min", 60e9], ["h", 3600e9]];

function armColor(index, n) {
  const hue = n <= HUES.length ? HUES[index] : 230 - (230 * index) / (n - 1);
  return `hsl(${Math.round(hue)} 62% var(--arm-l))`;
}
const digits = d3.format(",.5~r");
const percent = (fraction) => `${fraction > 0 ? "+" : ""}${d3.format(".3~r")(100 * fraction)} %`;
const ratioText = (ratio) => d3.format(".5~r")(ratio);
function duration(ns) {
  const unit = UNITS.findLast(([, size]) => Math.abs(ns) >= size) ?? UNITS[0];
  return `${d3.format(".3~r")(ns / unit[1])} ${unit[0]}`;
}
const inUnit = (unit, value) => `${digits(value / unit.size)} ${unit.name}`.trim();
const axisLabel = (unit, text) => (unit.name ? `${text} [${unit.name}]` : text);

// The input of a chart: its group, hidden arms, width, scale and comparison.
function draw(context, options) {
  const narrow = context.width < 480;
  const svg = Plot.plot({
    className: "plot-svg",
    width: context.width,
    marginLeft: narrow ? 50 : 60,
    marginRight: 14,
    marginBottom: 40,
    // Colours are CSS values, so no scale maps them.
    color: { type: "identity" },
    style: { fontSize: "12px" },
    ...options,
    marks: options.marks.filter(Boolean),
  });
  // The page's style sheet has these rules; the Content-Security-Policy allows no other style sheet.
  svg.querySelector("style")?.remove();
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return svg;
}
const tip = (points, channels, pointer = Plot.pointer) =>
  Plot.tip(points, pointer({ ...channels, title: "tip", fontSize: 12, maxRadius: 60, lineWidth: 30 }));
