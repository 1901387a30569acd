// The page around the charts: when they are drawn, their buttons, the index, the downloads.
"use strict";
const LOG_CHARTS = new Set(["histogram", "ecdf", "time", "scan", "ridges", "pairs"]);
const hiddenOf = new Map();

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("aria-") || key.startsWith("data-")) made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

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

function prepare(figure) {
  const state = { all: false, comparison: 0, width: 0 };
  const { chart: kind, group: key } = figure.dataset;
  const holder = element("div", { className: "plot", tabIndex: 0, "aria-label": `${figure.querySelector("figcaption b").textContent} Arrow keys step through what is drawn.` });
  holder.setAttribute("role", "group");
  const readout = element("div", { className: "readout", "aria-live": "polite" });
  const note = element("p", { className: "note" });
  const tools = element("div", { className: "tools" });
  const { group, words: said } = groupOf(key);
  if ((kind === "pairs" || kind === "shift") && group.comparisons.length > 1) {
    const select = element("select", { "aria-label": "Comparison" }, ...said.comparisons.map((compared, at) => element("option", { value: at, textContent: compared.label })));
    select.addEventListener("change", () => { state.comparison = Number(select.value); drawFigure(figure, true); });
    tools.append(select);
  }
  if (scalesDiffer(figure)) {
    const button = element("button", { type: "button", textContent: kind === "scan" ? "log" : kind === "pairs" ? "all" : "all, log", "aria-pressed": "false" });
    button.addEventListener("click", () => { state.all = !state.all; button.setAttribute("aria-pressed", state.all); drawFigure(figure, true); });
    tools.append(button);
  }
  const save = element("button", { type: "button", textContent: "SVG", className: "save-svg" });
  save.addEventListener("click", () => download(`${kind}.svg`, "image/svg+xml", svgText(holder.querySelector("svg"))));
  const numbers = element("details", {}, element("summary", { textContent: "Numbers" }), element("div", { className: "scroll tall", tabIndex: 0 }));
  numbers.addEventListener("toggle", () => fillTable(numbers, figure));
  tools.append(save, readout, numbers);
  figure.append(holder, note, tools);
  figure.report = { state, holder, readout, note, numbers, drawn: null };
  holder.addEventListener("keydown", (event) => step(figure, event));
}

function drawFigure(figure, force = false) {
  if (!figure.report) prepare(figure);
  const { state, holder, readout, note, numbers } = figure.report;
  const width = Math.floor(holder.clientWidth);
  if (width < 50 || (!force && width === state.width)) return;
  state.width = width;
  const found = charts[figure.dataset.chart]({ ...groupOf(figure.dataset.group), width, all: state.all, comparison: state.comparison });
  figure.report.drawn = found;
  if (!found) { holder.replaceChildren(element("p", { className: "note", textContent: "Nothing to draw." })); return; }
  const key = (found.key ?? []).map(({ color, text }) => {
    const swatch = element("i", { className: "swatch" });
    swatch.style.setProperty("--arm", color);
    return element("span", {}, swatch, text, " ");
  });
  holder.replaceChildren(found.svg, ...(key.length ? [element("div", { className: "note" }, ...key)] : []));
  note.textContent = found.note;
  readout.textContent = "";
  found.svg.addEventListener("input", () => { readout.textContent = found.svg.value?.tip?.replaceAll("\n", "  ·  ") ?? ""; });
  if (numbers.open) fillTable(numbers, figure);
}

function fillTable(numbers, figure) {
  const holder = numbers.querySelector("div");
  if (!numbers.open || !figure.report.drawn) { holder.replaceChildren(); return; }
  const { head, rows } = figure.report.drawn.table();
  const cell = (tag, text) => element(tag, { textContent: text, className: typeof text === "number" ? "n" : "" });
  const header = element("thead", {}, element("tr", {}, ...head.map((text) => cell("th", text))));
  holder.replaceChildren(element("table", {}, header, element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((text) => cell("td", text)))))));
}

// Arrow keys do what the pointer does.
function step(figure, event) {
  const by = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
  const drawn = figure.report.drawn;
  if (!by || !drawn?.points.length) return;
  event.preventDefault();
  const at = Math.min(Math.max((figure.report.at ?? -1) + by, 0), drawn.points.length - 1);
  figure.report.at = at;
  const point = drawn.points[at];
  const box = drawn.svg.getBoundingClientRect();
  const zoom = box.width / drawn.svg.viewBox.baseVal.width;
  const place = (scale, value) => (drawn.svg.scale(scale) ? drawn.svg.scale(scale).apply(value) + (drawn.svg.scale(scale).bandwidth ?? 0) / 2 : 0);
  const where = { clientX: box.left + zoom * place("x", point.x), clientY: box.top + zoom * place("y", point.y), pointerType: "mouse", bubbles: true };
  drawn.svg.dispatchEvent(new PointerEvent("pointerenter", where));
  drawn.svg.dispatchEvent(new PointerEvent("pointermove", where));
  figure.report.readout.textContent = point.tip.replaceAll("\n", "  ·  ");
}

// A chart as a file of its own: with the colours that it has here.
function svgText(svg) {
  const copy = svg.cloneNode(true);
  const painted = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((node, at) => {
    const style = getComputedStyle(painted[at]);
    for (const name of ["fill", "stroke"]) if (node.hasAttribute(name) && node.getAttribute(name) !== "none") node.setAttribute(name, style[name]);
  });
  copy.querySelectorAll("[aria-label=tip]").forEach((node) => node.remove());
  const page = getComputedStyle(document.body);
  copy.setAttribute("color", page.color);
  copy.setAttribute("fill", page.color);
  copy.setAttribute("font-family", "sans-serif");
  copy.setAttribute("font-size", "12");
  copy.removeAttribute("class");
  copy.removeAttribute("style");
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  back.setAttribute("width", "100%");
  back.setAttribute("height", "100%");
  back.setAttribute("fill", page.backgroundColor);
  copy.prepend(back);
  return new XMLSerializer().serializeToString(copy);
}

function download(file, type, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: file });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
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

function prepareIndex() {
  const table = document.getElementById("index-table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const key = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent;
  table.querySelectorAll("thead th").forEach((header, column) => header.querySelector("button")?.addEventListener("click", () => {
    const isDown = header.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("thead th[aria-sort]").forEach((other) => other.setAttribute("aria-sort", "none"));
    header.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    const isNumber = rows.some((row) => row.cells[column].dataset.key !== undefined);
    // What has no number comes last, whichever way.
    const compare = (a, b) => {
      const [one, other] = [key(a, column), key(b, column)];
      if (isNumber && (one === "" || other === "")) return (one === "") - (other === "");
      const order = isNumber ? Number(one) - Number(other) : one.localeCompare(other, undefined, { numeric: true });
      return isDown ? -order : order;
    };
    body.append(...rows.sort(compare));
  }));
  const filter = document.getElementById("filter");
  const apply = () => {
    const part = document.getElementById("filter-name").value.toLowerCase();
    const verdicts = new Set([...filter.querySelectorAll("input[name=verdict]:checked")].map((box) => box.value));
    let n = 0;
    for (const row of rows) {
      row.hidden = !(verdicts.has(row.dataset.verdict) && row.cells[0].textContent.toLowerCase().includes(part));
      n += row.hidden ? 0 : 1;
    }
    document.getElementById("filter-count").textContent = `${n} of ${rows.length}`;
  };
  filter.addEventListener("input", apply);
  filter.addEventListener("submit", (event) => event.preventDefault());
  apply();
  const draws = new IntersectionObserver((seen) => seen.filter((one) => one.isIntersecting).forEach((one) => { draws.unobserve(one.target); sparkline(one.target); }), { rootMargin: "300px" });
  table.querySelectorAll(".spark").forEach((holder) => draws.observe(holder));
}

function openTarget() {
  const fold = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.querySelector("details.fold");
  if (fold) fold.open = true;
}

const seen = new IntersectionObserver((all) => all.filter((one) => one.isIntersecting).forEach((one) => drawFigure(one.target)), { rootMargin: "400px" });
const resized = new ResizeObserver((all) => requestAnimationFrame(() => all.forEach((one) => one.target.report && drawFigure(one.target))));
document.querySelectorAll("section[data-group]").forEach(prepareLegend);
document.querySelectorAll("figure.chart").forEach((figure) => { seen.observe(figure); resized.observe(figure); });
prepareIndex();
prepareDownloads();
addEventListener("hashchange", openTarget);
addEventListener("beforeprint", () => document.querySelectorAll("figure.chart").forEach((figure) => drawFigure(figure)));
openTarget();
