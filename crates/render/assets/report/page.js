// The page of a report: the input of its charts, their buttons, legends and downloads.
"use strict";
const LOG_CHARTS = new Set(["histogram", "ecdf", "time", "scan", "ridges", "pairs"]);
const hiddenOf = new Map();

function groupOf(key) {
  if (key === "all" || key === "together") return { group: key, words: { comparisons: [] }, hidden: new Set() };
  if (!hiddenOf.has(key)) hiddenOf.set(key, new Set());
  return { group: data.groups[key], words: words.groups[key], hidden: hiddenOf.get(key) };
}

function scalesDiffer(figure) {
  const { chart: kind, group: key } = figure.dataset;
  if (!LOG_CHARTS.has(kind)) return false;
  if (kind === "ridges") return Boolean(data.together?.log_histogram);
  const { group } = groupOf(key);
  if (kind === "scan") return group.scan?.is_numeric && group.scan.series.every((series) => series.points.every((point) => point.number > 0));
  return kind === "pairs" || Boolean(isWide(group));
}

function contextOf(figure) {
  return groupOf(figure.dataset.group);
}

function toolsOf(figure, state, redraw) {
  Object.assign(state, { all: false, comparison: 0 });
  const { chart: kind, group: key } = figure.dataset;
  const { group, words: said } = groupOf(key);
  const tools = [];
  if ((kind === "pairs" || kind === "shift") && group.comparisons.length > 1) {
    const select = element("select", { "aria-label": "Comparison" }, ...said.comparisons.map((compared, at) => element("option", { value: at, textContent: compared.label })));
    select.addEventListener("change", () => { state.comparison = Number(select.value); redraw(); });
    tools.push(select);
  }
  if (scalesDiffer(figure)) tools.push(toggle(state, "all", kind === "scan" ? "log" : kind === "pairs" ? "all" : "all, log", redraw));
  return tools;
}

function cell(value) {
  const text = value == null ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function rowsAsCsv() {
  const lines = ["group,arm,step,block,started_ns,value,cpu,cpu_ns,events"];
  data.groups.forEach((group, at) => {
    const { rows } = group.timeline;
    const events = rows.step.map(() => []);
    rows.events.forEach((event) => events[event.row].push(`${event.event}=${event.amount}`));
    rows.step.forEach((step, i) => lines.push([words.groups[at].title, words.groups[at].arms[rows.arm[i]], step, rows.block[i], rows.started_ns[i], rows.value[i], rows.cpu?.[i], rows.cpu_ns?.[i], events[i].join(" ")].map(cell).join(",")));
  });
  return `${lines.join("\n")}\n`;
}

function prepareDownloads() {
  document.getElementById("download-data").addEventListener("click", () => download("report.json", "application/json", document.getElementById("data").textContent));
  document.getElementById("download-rows").addEventListener("click", () => download("rows.csv", "text/csv", rowsAsCsv()));
  const isWhole = data.groups.every((group) => group.timeline.kind === "all");
  document.getElementById("download-note").textContent = isWhole ? "" : "Some groups have too many rows for a page: here are the extreme ones; stillwell dump FILE writes all.";
}

function prepareLegend(section) {
  const key = section.dataset.group;
  if (key === "together") return;
  const { group, hidden } = groupOf(key);
  section.querySelectorAll("[data-arm]").forEach((node) => {
    const arm = Number(node.dataset.arm);
    const swatch = node.matches(".swatch") ? node : node.querySelector(".swatch");
    swatch.style.setProperty("--arm", armColor(arm, group.arms.length));
    if (!node.matches("button")) return;
    node.addEventListener("click", () => {
      const shown = hidden.has(arm);
      if (shown) hidden.delete(arm);
      else hidden.add(arm);
      node.setAttribute("aria-pressed", shown);
      section.querySelectorAll("figure.chart").forEach((figure) => figure.report && drawFigure(figure, true));
    });
  });
}

function sparkline(holder) {
  const group = data.groups[holder.dataset.spark];
  if (!group.histogram) return;
  const tallest = d3.max(group.histogram.counts.flat());
  const n = group.histogram.counts[0].length;
  const svg = d3.create("svg:svg").attr("viewBox", "0 0 120 22").attr("role", "img").attr("aria-label", "histogram");
  group.histogram.counts.forEach((counts, arm) => {
    const area = d3.area().curve(d3.curveStep).x((_, bin) => (120 * (bin + 0.5)) / n).y0(22).y1((count) => 22 - (21 * count) / tallest);
    svg.append("path").attr("d", area(counts)).attr("fill", armColor(arm, group.arms.length)).attr("fill-opacity", 0.55);
  });
  holder.append(svg.node());
}

function openTarget() {
  const fold = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.querySelector("details.fold");
  if (fold) fold.open = true;
}

document.querySelectorAll("section[data-group]").forEach(prepareLegend);
watchFigures();
watchTables();
prepareIndex();
prepareDownloads();
addEventListener("hashchange", openTarget);
openTarget();
