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
const counted = (n, what) => `${d3.format(",")(n)} ${what}${n === 1 ? "" : "s"}`;
const axisLabel = (unit, text) => (unit.name ? `${text} [${unit.name}]` : text);

// A text in lines of at most `room` letters: broken at a space or before a sign, and elsewhere only in a longer word.
function wrapped(text, room) {
  const lines = [""];
  for (const piece of text.match(/[/=_,.-]*[^\s/=_,.-]*\s*/g)) {
    if (lines.at(-1) !== "" && lines.at(-1).length + piece.trimEnd().length > room) lines.push("");
    for (let rest = piece; rest !== ""; rest = rest.slice(room)) {
      if (lines.at(-1).length + rest.trimEnd().length > room && lines.at(-1) !== "") lines.push("");
      lines[lines.length - 1] += rest.slice(0, room);
    }
  }
  return lines.map((line) => line.trimEnd());
}

// An axis of ratios, logarithmic: half and double are equally far from 1. Near 1 the ticks are percentages, which are
// usual there; else they are factors. `at` is the place of a ratio; 0 and ∞ are at the edge. The scale is linear in the
// logarithm, because a logarithmic scale of d3 leaves out labels.
function ratioAxis(ratios, room, pad = 0.06) {
  const drawable = ratios.filter((ratio) => ratio > 0 && Number.isFinite(ratio));
  const [least, most] = drawable.length ? d3.extent(drawable) : [1, 1];
  const by = Math.max((most / least) ** pad, 1.002);
  const [lo, hi] = [least / by, most * by];
  const isInside = (ratio) => ratio >= lo && ratio <= hi;
  const isNarrow = hi / lo < 2.5;
  const powers = d3.range(Math.floor(Math.log10(lo)), Math.log10(hi) + 1);
  const sets = [[1, 1.5, 2, 3, 4, 5, 7], [1, 2, 5], [1]].map((digits) => powers.flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`))).filter(isInside));
  const factors = sets.find((set) => set.length <= room) ?? sets[2].filter((_, at) => at % Math.ceil(sets[2].length / room) === 0);
  const changes = d3.ticks(100 * (lo - 1), 100 * (hi - 1), room).map((change) => 1 + change / 100);
  const ticks = isNarrow ? changes : factors;
  const label = isNarrow ? (ratio) => percent(Math.round(1e6 * (ratio - 1)) / 1e6) : (ratio) => `×${d3.format(".3~r")(ratio)}`;
  const labels = new Map(ticks.map((ratio) => [Math.log(ratio), label(ratio)]));
  return {
    scale: { domain: [Math.log(lo), Math.log(hi)], grid: true, ticks: [...labels.keys()], tickFormat: (at) => labels.get(at) },
    at: (ratio) => Math.log(Math.min(Math.max(ratio, lo), hi)),
    isInside,
  };
}

// The input of a chart: its group, hidden arms, width, scale and comparison. The margin has room for the labels of the ticks.
function draw(context, options, marginLeft = options.marginLeft ?? 50) {
  const svg = Plot.plot({
    className: "plot-svg",
    width: context.width,
    marginTop: 30,
    marginRight: 14,
    marginBottom: 40,
    // Colours are CSS values, so no scale maps them.
    color: { type: "identity" },
    style: { fontSize: "12px" },
    ...options,
    marginLeft,
    marks: options.marks.filter(Boolean),
  });
  const labels = [...svg.querySelectorAll("[aria-label='y-axis tick label'] text")];
  const room = 7.2 * (d3.max(labels, (label) => label.textContent.length) ?? 0) + 14;
  if (room > marginLeft) return draw(context, options, room);
  // The page's style sheet has these rules; the Content-Security-Policy allows no other style sheet.
  svg.querySelector("style")?.remove();
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return svg;
}
const tipText = ({ tip }) => tip.split("\n").flatMap((line) => wrapped(line, 44)).join("\n");
const tip = (points, channels, pointer = Plot.pointer) =>
  Plot.tip(points, pointer({ ...channels, title: tipText, fontSize: 12, maxRadius: 60, lineWidth: 60 }));
