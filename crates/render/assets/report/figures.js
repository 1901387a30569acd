// The frame around a chart: its time of drawing, buttons and numbers; and the index above the charts. The page defines a
// chart's input (`contextOf`) and buttons (`toolsOf`).
"use strict";
// Width of the text on A4 with the browser's margins, in CSS pixels.
const PAPER_WIDTH = 700;
let isPrinting = false;
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("aria-") || key.startsWith("data-")) made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

// A button that toggles a setting of a chart.
function toggle(state, what, text, redraw) {
  const button = element("button", { type: "button", textContent: text, "aria-pressed": "false" });
  button.addEventListener("click", () => { state[what] = !state[what]; button.setAttribute("aria-pressed", state[what]); redraw(); });
  return button;
}

// The sign of an entry in the legend: copies of what the chart draws.
function sample(svg, { marks, at = 0 }) {
  const made = d3.create("svg:svg").attr("class", "sample").attr("aria-hidden", "true");
  for (const mark of marks) {
    const drawn = svg.querySelectorAll(`.${mark} :is(circle, path, rect)`)[at];
    const copy = made.append(() => drawn.parentNode.cloneNode(false)).attr("class", null).attr("transform", null).attr("clip-path", null).append(() => drawn.cloneNode(false)).attr("transform", null);
    if (drawn.localName === "circle") copy.attr("cx", 0).attr("cy", 0);
    if (drawn.localName === "rect") copy.attr("x", -5).attr("y", -5).attr("width", 10).attr("height", 10);
    if (mark.startsWith("mark-curve")) copy.attr("d", "M-14,0H14");
  }
  const half = marks.length > 1 ? 14 : 7;
  return made.attr("viewBox", `${-half} -7 ${2 * half} 14`).attr("width", 2 * half).attr("height", 14).node();
}

function prepare(figure) {
  const state = { width: 0 };
  const kind = figure.dataset.chart;
  const holder = element("div", { className: "plot", tabIndex: 0, "aria-label": `${figure.querySelector("figcaption b").textContent} Arrow keys step through what is drawn.` });
  holder.setAttribute("role", "group");
  const readout = element("div", { className: "readout", "aria-live": "polite" });
  const note = element("p", { className: "note" });
  const tools = element("div", { className: "tools" }, ...toolsOf(figure, state, () => drawFigure(figure, true)));
  const save = element("button", { type: "button", textContent: "SVG", className: "save-svg" });
  save.addEventListener("click", () => download(`${kind}.svg`, "image/svg+xml", svgText(holder.querySelector("svg"))));
  const numbers = element("details", {}, element("summary", { textContent: "Numbers" }), element("div", { className: "scroll tall", tabIndex: 0 }));
  numbers.addEventListener("toggle", () => fillTable(numbers, figure));
  tools.append(save, readout, numbers);
  // The sentence that says how to read the chart stands right below it.
  const reading = figure.querySelector(".reading");
  if (reading) reading.before(holder);
  figure.append(...(reading ? [] : [holder]), note, tools);
  figure.report = { state, holder, readout, note, numbers, drawn: null };
  holder.addEventListener("keydown", (event) => step(figure, event));
}

function drawFigure(figure, force = false, fixed = 0) {
  if (!figure.report) prepare(figure);
  const { state, holder, readout, note, numbers } = figure.report;
  const width = fixed || Math.floor(holder.clientWidth);
  if (width < 50 || (!force && width === state.width)) return;
  state.width = width;
  const found = charts[figure.dataset.chart]({ ...contextOf(figure), ...state, width });
  figure.report.drawn = found;
  if (!found) { holder.replaceChildren(element("p", { className: "note", textContent: "Nothing to draw." })); return; }
  const key = (found.key ?? []).map((entry) => element("span", {}, sample(found.svg, entry), entry.text));
  holder.replaceChildren(found.svg, ...(key.length ? [element("div", { className: "note key" }, ...key)] : []));
  note.textContent = found.note;
  readout.textContent = "";
  found.svg.addEventListener("input", () => { readout.textContent = found.svg.value?.tip?.replaceAll("\n", "  ·  ") ?? ""; });
  if (numbers.open) fillTable(numbers, figure);
}

function fillTable(numbers, figure) {
  const holder = numbers.querySelector("div");
  if (!numbers.open || !figure.report.drawn) { holder.replaceChildren(); return; }
  const { head, rows, ids } = figure.report.drawn.table();
  const cell = (tag, text) => element(tag, { textContent: text, className: typeof text === "number" ? "n" : "" });
  const header = element("thead", {}, element("tr", {}, ...head.map((text) => cell("th", text))));
  holder.replaceChildren(element("table", {}, header, element("tbody", {}, ...rows.map((row, at) => element("tr", ids ? { id: ids[at] } : {}, ...row.map((text) => cell("td", text)))))));
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

// A chart as an SVG file with the page's colours.
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

// The table of all benchmarks: its headings sort it, name and class filter it. Each row has a small picture.
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
    // Rows without a number come last in both directions.
    const compare = (a, b) => {
      const [one, other] = [key(a, column), key(b, column)];
      if (isNumber && (one === "" || other === "")) return (one === "") - (other === "");
      const order = isNumber ? Number(one) - Number(other) : one.localeCompare(other, undefined, { numeric: true });
      return isDown ? -order : order;
    };
    body.append(...rows.sort(compare));
  }));
  const named = (row) => [...row.querySelectorAll(".name")].map((cell) => cell.textContent.toLowerCase()).join(" ");
  const filter = document.getElementById("filter");
  const apply = () => {
    const part = document.getElementById("filter-name").value.toLowerCase();
    const verdicts = new Set([...filter.querySelectorAll("input[name=verdict]:checked")].map((box) => box.value));
    let n = 0;
    for (const row of rows) {
      row.hidden = !(verdicts.has(row.dataset.verdict) && named(row).includes(part));
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

function watchFigures() {
  const seen = new IntersectionObserver((all) => all.filter((one) => one.isIntersecting).forEach((one) => drawFigure(one.target)), { rootMargin: "400px" });
  const resized = new ResizeObserver((all) => requestAnimationFrame(() => all.forEach((one) => one.target.report && !isPrinting && drawFigure(one.target))));
  const figures = [...document.querySelectorAll("figure.chart")];
  figures.forEach((figure) => { seen.observe(figure); resized.observe(figure); });
  // Drawn for the screen and shrunk to the paper, a chart would have tiny letters.
  addEventListener("beforeprint", () => { isPrinting = true; figures.filter((figure) => figure.checkVisibility()).forEach((figure) => drawFigure(figure, true, PAPER_WIDTH)); });
  addEventListener("afterprint", () => { isPrinting = false; figures.filter((figure) => figure.report).forEach((figure) => drawFigure(figure, true)); });
}

// A table that is wider than its place says so: a phone shows no scroll bar.
function watchTables() {
  const mark = (holder) => holder.classList.toggle("is-cut", holder.scrollWidth > holder.clientWidth + 1);
  const resized = new ResizeObserver((all) => all.forEach((one) => mark(one.target)));
  document.querySelectorAll(".scroll").forEach((holder) => {
    holder.tabIndex = 0;
    holder.before(element("p", { className: "swipe", textContent: "This table is wider than the screen: scroll it to the side →" }));
    resized.observe(holder);
    mark(holder);
  });
}
