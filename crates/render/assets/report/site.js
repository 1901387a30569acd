// The pages of a history: the chart of a series, and the small pictures of the index. Stillwell computed every number.
"use strict";
// More results than this are drawn only on request.
const DRAWN_AT_ONCE = 2000;
const RANGES = [100, 1000];
const day = (time_s) => d3.utcFormat("%Y-%m-%d")(new Date(1000 * time_s));
const short = (revision) => (revision ?? "–").slice(0, 12);
const rowId = (at, record) => `s${at}-record-${record}`;

function resultPoints({ series, said, at, byOrder, newest }) {
  const n = series.value.length;
  const first = Math.max(0, n - newest);
  const sizes = new Map(series.changes.map((change, i) => [change.at, said.sizes[i]]));
  const points = [];
  for (let i = first; i < n; i += 1) {
    const [value, err] = [series.value[i], series.err[i]];
    if (value == null) continue;
    const size = said.unit.size;
    const shown = `${digits(value / size)}${err == null ? "" : ` ± ${d3.format(",.2~r")(err / size)}`} ${said.unit.name}`.trim();
    const place = byOrder ? i + 1 : new Date(1000 * series.time_s[i]);
    points.push({ i, id: rowId(at, series.record[i]), x: place, y: value / size, lo: err == null ? null : (value - err) / size, hi: err == null ? null : value / size, tip: [`${day(series.time_s[i])} ${short(series.revision[i])}`, shown, ...(sizes.has(i) ? [`changed ${sizes.get(i)}`] : []), `record ${series.record[i]}${series.n_runs[i] == null ? "" : `, ${counted(series.n_runs[i], "run")}`}`].join("\n") });
  }
  return { first, points, placeOf: (i) => (byOrder ? i + 1 : new Date(1000 * series.time_s[i])) };
}

charts.series = (context) => {
  const { series, said, all } = context;
  const { first, points, placeOf } = resultPoints(context);
  if (!points.length) return null;
  const frame = all || !series.frame ? null : series.frame.map((value) => value / said.unit.size);
  const isInside = (point) => !frame || (point.y >= frame[0] && point.y <= frame[1]);
  const [inside, beyond] = [points.filter(isInside), points.filter((point) => !isInside(point))];
  const edge = (point) => (point.y > frame[1] ? frame[1] : frame[0]);
  const last = series.value.length - 1;
  const levels = series.levels.filter((level) => level.end > first).map((level) => ({ x1: placeOf(Math.max(level.start, first)), x2: placeOf(Math.min(level.end, last)), y: level.median / said.unit.size }));
  const changes = series.changes.map((change, i) => ({ ...change, x: placeOf(change.at), size: said.sizes[i], color: said.is_worse[i] ? "var(--slower)" : "var(--faster)" })).filter((change) => change.at >= first);
  const lane = (change, i) => -8 - 13 * (i % 2);
  const svg = draw(context, {
    height: 340,
    marginBottom: 50,
    marginTop: changes.length > 1 ? 48 : 36,
    x: { type: context.byOrder ? "linear" : "utc", label: context.byOrder ? "result" : series.is_by_commit ? "committed" : "measured", labelOffset: 46, tickFormat: context.byOrder ? d3.format(",d") : undefined },
    y: { label: axisLabel(said.unit, said.estimate), grid: true, domain: frame ?? undefined, nice: false },
    marks: [
      Plot.ruleX(changes, { x: "x", stroke: "color", strokeDasharray: "4 3", className: "mark-changes" }),
      ...changes.map((change, i) => Plot.text([change], { x: "x", frameAnchor: "top", dy: lane(change, i), text: "size", fill: "color", fontWeight: 600, className: "mark-sizes" })),
      Plot.ruleX(inside.filter((point) => point.lo != null), { x: "x", y1: "lo", y2: "hi", stroke: armColor(0, 1), strokeOpacity: 0.35, clip: true, className: "mark-errors" }),
      Plot.dot(inside, { x: "x", y: "y", r: points.length > 400 ? 1.8 : 2.6, fill: armColor(0, 1), fillOpacity: 0.8, className: "mark-results" }),
      frame && Plot.dot(beyond, { x: "x", y: edge, r: 3.5, symbol: "triangle", rotate: (point) => (point.y > frame[1] ? 0 : 180), stroke: armColor(0, 1), fill: "var(--plot-background)", className: "mark-results-beyond" }),
      Plot.link(levels, { x1: "x1", x2: "x2", y1: "y", y2: "y", stroke: "currentColor", strokeWidth: 1.6, className: "mark-levels" }),
      tip(inside, { x: "x", y: "y" }),
      beyond.length > 0 && frame && tip(beyond, { x: "x", y: edge }),
    ],
  });
  svg.classList.add("opens-rows");
  svg.addEventListener("click", () => { if (svg.value?.id) location.hash = svg.value.id; });
  const notes = [];
  if (first > 0) notes.push(`The newest ${d3.format(",")(series.value.length - first)} of ${d3.format(",")(series.value.length)} results.`);
  if (beyond.length) notes.push(`${beyond.length} beyond the frame, at its edge; "all" shows where.`);
  return { svg, points: points.map((point) => (isInside(point) ? point : { ...point, y: edge(point) })), table: () => resultTable(context, first), note: notes.join(" ") };
};

// The table of all results, the newest first.
function resultTable({ series, said, at }, first) {
  const sizes = new Map(series.changes.map((change, i) => [change.at, said.sizes[i]]));
  const size = said.unit.size;
  const rows = d3.range(series.value.length - 1, first - 1, -1);
  const cells = (i) => [series.record[i], ...(series.is_by_commit ? [day(series.time_s[i])] : []), day(series.measured_s[i]), short(series.revision[i]), series.value[i] == null ? "" : digits(series.value[i] / size), series.err[i] == null ? "" : d3.format(",.2~r")(series.err[i] / size), series.n_runs[i] ?? "", sizes.get(i) ?? ""];
  return { head: ["record", ...(series.is_by_commit ? ["committed"] : []), "measured", "revision", axisLabel(said.unit, said.estimate), "±", "runs", "change"], rows: rows.map(cells), ids: rows.map((i) => rowId(at, series.record[i])) };
}

function contextOf(figure) {
  const at = Number(figure.dataset.series);
  return { series: data.series[at], said: words.series[at], at };
}

function toolsOf(figure, state, redraw) {
  const { series } = contextOf(figure);
  const n = series.value.length;
  Object.assign(state, { all: false, byOrder: false, newest: n > DRAWN_AT_ONCE ? RANGES.at(-1) : n });
  const ranges = [n, ...RANGES.filter((range) => range < n).reverse()];
  const tools = [];
  if (ranges.length > 1) {
    const option = (range) => element("option", { value: range, textContent: range === n ? `all ${d3.format(",")(n)}` : `newest ${d3.format(",")(range)}`, selected: range === state.newest });
    const select = element("select", { "aria-label": "Results", className: "range" }, ...ranges.map(option));
    select.addEventListener("change", () => { state.newest = Number(select.value); redraw(); });
    tools.push(select);
  }
  tools.push(toggle(state, "byOrder", "one after another", redraw));
  const isBeyond = (value) => value != null && (value < series.frame[0] || value > series.frame[1]);
  if (series.frame && series.value.some(isBeyond)) tools.push(toggle(state, "all", "all", redraw));
  return tools;
}

function sparkline(holder) {
  const { values, changes } = data.sparks[holder.dataset.spark];
  const known = values.filter((value) => value != null);
  if (known.length < 2) return;
  const [lo, hi] = d3.extent(known);
  const x = (i) => 2 + (116 * i) / (values.length - 1);
  const y = (value) => (hi > lo ? 20 - (18 * (value - lo)) / (hi - lo) : 11);
  const svg = d3.create("svg:svg").attr("viewBox", "0 0 120 22").attr("role", "img").attr("aria-label", "newest results");
  for (const at of changes) svg.append("path").attr("d", `M${x(at)},0V22`).attr("stroke", "var(--undecided)").attr("stroke-width", 1.5);
  svg.append("path").attr("d", d3.line((_, i) => x(i), y).defined((value) => value != null)(values)).attr("fill", "none").attr("stroke", armColor(0, 1)).attr("stroke-width", 1.2);
  holder.append(svg.node());
}

// Opens the row of a record in the table of its chart. An old record needs the full table.
function openTarget() {
  const [, at, record] = /^#s(\d+)-record-(\d+)$/.exec(location.hash) ?? [];
  const figure = at === undefined ? null : document.querySelector(`figure[data-series="${at}"]`);
  if (!figure) return;
  if (!figure.report) prepare(figure);
  const { state, numbers } = figure.report;
  const { series } = contextOf(figure);
  const place = series.record.indexOf(Number(record));
  if (place < 0) return;
  if (place < series.value.length - state.newest) {
    state.newest = series.value.length;
    const range = figure.querySelector(".range");
    if (range) range.value = state.newest;
  }
  drawFigure(figure, true);
  const show = () => {
    figure.querySelectorAll("tr.found").forEach((row) => row.classList.remove("found"));
    const row = document.getElementById(rowId(at, record));
    row.classList.add("found");
    row.scrollIntoView({ block: "center" });
  };
  if (numbers.open) { show(); return; }
  // The table is filled on opening.
  numbers.addEventListener("toggle", show, { once: true });
  numbers.open = true;
}

watchFigures();
watchTables();
prepareIndex();
addEventListener("hashchange", openTarget);
openTarget();
