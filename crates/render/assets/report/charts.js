// The marks of each chart. Stillwell computed every number; this file only draws them.
"use strict";
const EVENTS = {
  preempted: ["preempted", "triangle", true],
  queued: ["waited for a CPU", "circle", true],
  migrated: ["moved to another CPU", "diamond", false],
  major_faults: ["read from a device", "square", false],
  throttled: ["slower clock", "wye", false],
  unshielded: ["shield lost", "star", null],
  failed: ["failed", "times", false],
  timed_out: ["timed out", "asterisk", true],
};
// The parts of lost time in the order of every bar, each with its own colour. Also a reader who does not see red, green or
// blue can tell any two apart.
const PARTS = {
  preempted: "#d55e00", queued: "#e69f00", waited: "#f0e442", seen_late: "#000000", quota: "#7a0c3e", after_interruptions: "#454f00", migrations: "#cc79a7",
  neighbours: "#332288", memory_traffic: "#a4f0cf", frequency: "#56b4e9", faults: "#009e73", asleep: "#0072b2", host: "#68717a", unexplained: "#c4cad2",
};
const partKey = ({ source, name, line, vector }) => [source, name ?? line ?? vector ?? ""].join(" ").trim();
const shownArms = (context) => context.group.arms.map((arm, at) => ({ ...arm, at })).filter((arm) => !context.hidden.has(arm.at));
const colorIn = (context) => (arm) => armColor(arm, context.group.arms.length);
const name = (context, arm) => context.words.arms[arm];
const isWide = (group) => group.log_histogram && group.histogram && group.log_histogram.edges.at(-1) > 1.02 * group.histogram.edges.at(-1);

function binsOf(histogram, arms, unit, label) {
  const bins = [];
  for (const { series, at } of arms) {
    histogram.counts[series].forEach((count, bin) => {
      const [from, to] = [histogram.edges[bin], histogram.edges[bin + 1]];
      if (count > 0) bins.push({ arm: at, count, x1: from / unit.size, x2: to / unit.size, tip: `${label(at)}\n${inUnit(unit, from)} … ${inUnit(unit, to)}\n${counted(count, "value")}` });
    });
  }
  return bins;
}
function t0Marks(arms, unit, fill, facet = {}) {
  const known = arms.filter((arm) => arm.t0);
  const at = (arm) => arm.t0.value / unit.size;
  return [
    Plot.rectX(known.filter((arm) => arm.t0_range), { x1: (arm) => arm.t0_range[0] / unit.size, x2: (arm) => arm.t0_range[1] / unit.size, fill: (arm) => fill(arm.at), fillOpacity: 0.2, clip: true, className: "mark-error-of-t0", ...facet }),
    Plot.ruleX(known, { x: at, stroke: (arm) => fill(arm.at), strokeWidth: 1.5, className: "mark-t0", ...facet }),
  ];
}
const binTable = (bins, label, unit) => ({ head: ["", axisLabel(unit, "from"), axisLabel(unit, "to"), "values"], rows: bins.map((bin) => [label(bin.arm), digits(bin.x1), digits(bin.x2), bin.count]) });
function aboveNote(histogram, arms, label, hasMore) {
  const above = arms.filter(({ series }) => histogram.n_above[series] > 0).map(({ series, at }) => `${histogram.n_above[series]} of ${label(at)}`);
  return above.length ? `Beyond the right edge: ${above.join(", ")}.${hasMore ? ' "all, log" shows all.' : ""}` : "";
}

charts.histogram = (context) => {
  const { group, words: { unit } } = context;
  const histogram = context.all ? group.log_histogram : group.histogram;
  if (!histogram) return null;
  const arms = shownArms(context).map((arm) => ({ ...arm, series: arm.at }));
  const label = (arm) => name(context, arm);
  const bins = binsOf(histogram, arms, unit, label);
  const many = arms.length > 3;
  const facet = many ? { fy: (d) => d.arm ?? d.at } : {};
  const svg = draw(context, {
    height: many ? 46 + 40 * arms.length : 240,
    marginTop: many ? 6 : 30,
    x: { type: context.all ? "log" : "linear", label: axisLabel(unit, "value"), tickFormat: context.all ? "~s" : undefined },
    y: { label: many ? null : "values", axis: many ? null : "left", grid: !many },
    fy: { axis: null },
    marks: [
      Plot.rectY(bins, { x1: "x1", x2: "x2", y1: 0, y2: "count", fill: (bin) => colorIn(context)(bin.arm), fillOpacity: many ? 0.7 : 0.5, inset: 0, className: "mark-bins", ...facet }),
      ...t0Marks(arms.map((arm) => ({ ...arm, arm: arm.at })), unit, colorIn(context), facet),
      Plot.ruleY([0]),
      many && Plot.text(arms, { text: (arm) => context.words.numbers[arm.at], fy: "at", frameAnchor: "left", dx: -8, textAnchor: "end" }),
      tip(bins, { x: (bin) => (bin.x1 + bin.x2) / 2, y: "count", ...facet }, Plot.pointerX),
    ],
  });
  return { svg, points: bins.map((bin) => ({ x: (bin.x1 + bin.x2) / 2, y: bin.count, tip: bin.tip })), table: () => binTable(bins, label, unit), note: context.all ? "" : aboveNote(histogram, arms, label, isWide(group)) };
};

charts.ecdf = (context) => {
  const { group, words: { unit } } = context;
  const arms = shownArms(context);
  const points = arms.flatMap((arm) => arm.cumulative.values.map((value, i) => ({ arm: arm.at, x: value / unit.size, y: arm.cumulative.shares[i], tip: `${name(context, arm.at)}\n${inUnit(unit, value)}\n${d3.format(".4~r")(100 * arm.cumulative.shares[i])} % are not above it` })));
  if (!points.length) return null;
  const starts = arms.filter((arm) => arm.cumulative.values.length).map((arm) => ({ arm: arm.at, x: arm.cumulative.values[0] / unit.size, y: 0 }));
  const domain = context.all || !group.histogram ? undefined : [Math.min(group.histogram.edges[0], ...arms.filter((arm) => arm.t0).map((arm) => arm.t0.value)) / unit.size, group.histogram.edges.at(-1) / unit.size];
  const svg = draw(context, {
    height: 240,
    x: { type: context.all ? "log" : "linear", domain, label: axisLabel(unit, "value"), tickFormat: context.all ? "~s" : undefined },
    y: { label: "share of the values", domain: [0, 1], grid: true, percent: false },
    marks: [
      ...t0Marks(arms, unit, colorIn(context)).slice(arms.length > 3 ? 1 : 0),
      Plot.line([...starts, ...points], { x: "x", y: "y", z: "arm", stroke: (point) => colorIn(context)(point.arm), strokeWidth: 1.6, curve: "step-after", clip: true, sort: "y", className: "mark-distribution-functions" }),
      tip(context.all ? points : points.filter((point) => !domain || point.x <= domain[1]), { x: "x", y: "y" }),
    ],
  });
  const thinned = arms.some((arm) => !arm.cumulative.is_exact);
  return { svg, points, table: () => ({ head: ["", axisLabel(unit, "value"), "share"], rows: points.map((point) => [name(context, point.arm), digits(point.x), d3.format(".4~r")(point.y)]) }), note: thinned ? "Of so many values, quantiles of all of them and the 50 at either end are drawn." : "" };
};

function rowPoints(context, rows) {
  const { unit } = context.words;
  const events = rows.step.map(() => []);
  rows.events.forEach((event) => events[event.row].push(event));
  return rows.step.map((step, i) => {
    const said = events[i].map(({ event, amount }) => `${EVENTS[event][0]}${EVENTS[event][2] == null ? "" : EVENTS[event][2] ? ` ${duration(amount)}` : event === "failed" ? `: exit ${amount}` : ` ×${d3.format(".3~r")(amount)}`}`);
    const where = rows.cpu?.[i] == null ? "" : ` · CPU ${rows.cpu[i]}`;
    const own = rows.cpu_ns?.[i] == null || unit.kind !== "time" || context.group.in_slices ? "" : ` · CPU time ${duration(rows.cpu_ns[i])}`;
    const block = rows.block[i] == null ? "warm-up" : `block ${rows.block[i]}`;
    return { i, arm: rows.arm[i], isWarmup: rows.block[i] == null, x: rows.started_ns[i] / 1e9, y: rows.value[i] / unit.size, events: events[i], tip: [`${name(context, rows.arm[i])}`, `${inUnit(unit, rows.value[i])}${own}`, `step ${step} · ${block}${where}`, ...said].join("\n") };
  }).filter((point) => !context.hidden.has(point.arm));
}

charts.time = (context) => {
  const { group, words: { unit } } = context;
  const { timeline } = group;
  const points = rowPoints(context, timeline.rows);
  const slices = (timeline.slices ?? []).filter((slice) => !context.hidden.has(slice.arm)).map((slice) => {
    const [min, lower, median, upper, max] = slice.quantiles.map((value) => value / unit.size);
    const [from, to] = slice.started_ns.map((ns) => ns / 1e9);
    return { ...slice, min, lower, median, upper, max, from, to, mid: (from + to) / 2, tip: `${name(context, slice.arm)}\n${counted(slice.n, "row")}\nsmallest ${digits(min)}, 25 % ${digits(lower)}, median ${digits(median)}, 75 % ${digits(upper)}, largest ${digits(max)} ${unit.name}\n${slice.n_with_events} with events` };
  });
  if (!points.length && !slices.length) return null;
  const top = group.histogram && !context.all && isWide(group) ? (group.histogram.edges.at(-1) * 1.03) / unit.size : Infinity;
  const low = d3.min(points, (point) => point.y);
  const fill = (point) => colorIn(context)(point.arm);
  const inside = points.filter((point) => point.y <= top);
  const above = points.filter((point) => point.y > top).map((point) => ({ ...point, y: top }));
  const kinds = Object.keys(EVENTS).filter((kind) => points.some((point) => point.events.some(({ event }) => event === kind)));
  const lanes = kinds.map((kind, lane) => {
    const hit = points.filter((point) => point.events.some(({ event }) => event === kind));
    const dy = -14 - 13 * (kinds.length - 1 - lane);
    return Plot.dot(hit, { x: "x", frameAnchor: "top", dy, r: 2.8, symbol: EVENTS[kind][1], stroke: `var(--event-${kind})`, strokeWidth: 1.2, className: `mark-event mark-event-${kind}` });
  });
  const svg = draw(context, {
    height: 260 + 13 * kinds.length,
    marginTop: 18 + 13 * kinds.length + 6,
    x: { label: "time of the session [s]" },
    y: { type: context.all ? "log" : "linear", label: axisLabel(unit, "value"), grid: true, domain: top < Infinity ? [low, top] : undefined, nice: false, tickFormat: context.all ? "~s" : undefined },
    marks: [
      Plot.ruleX(slices, { x: "mid", y1: "min", y2: "max", stroke: fill, strokeOpacity: 0.3, clip: true, className: "mark-slices-smallest-to-largest" }),
      Plot.rect(slices, { x1: "from", x2: "to", y1: "lower", y2: "upper", fill, fillOpacity: 0.35, clip: true, className: "mark-slices-25-to-75-" }),
      Plot.line(slices, { x: "mid", y: "median", z: "arm", stroke: fill, strokeWidth: 1.4, clip: true, className: "mark-slices-median" }),
      Plot.dot(inside, { x: "x", y: "y", r: points.length > 800 ? 1.6 : 2.4, fill: (point) => (point.isWarmup ? "none" : fill(point)), stroke: fill, strokeWidth: 0.8, fillOpacity: 0.75, className: "mark-rows" }),
      Plot.dot(above, { x: "x", y: "y", r: 3, symbol: "triangle", stroke: fill, fill, className: "mark-rows-above" }),
      ...lanes,
      tip([...inside, ...above], { x: "x", y: "y" }),
      tip(slices, { x: "mid", y: "median" }, Plot.pointerX),
    ].filter((mark, at, all) => slices.length || at !== all.length - 1),
  });
  const notes = [];
  if (timeline.kind === "sliced") notes.push(`${d3.format(",")(timeline.n)} rows are too many to draw one by one: each bar is a slice of time with all its rows (smallest, 25 %, median, 75 %, largest), and the dots are the ${points.length} rows with extreme values.`);
  if (above.length) notes.push(above.length === 1 ? '1 row above the frame is the filled triangle at its edge; "all, log" shows where it is.' : `${above.length} rows above the frame are the filled triangles at its edge; "all, log" shows where they are.`);
  if (points.some((point) => point.isWarmup)) notes.push("Hollow: warm-ups.");
  const rows = () => points.map((point) => [name(context, point.arm), timeline.rows.step[point.i], timeline.rows.block[point.i] ?? "warm-up", digits(point.x), digits(point.y), point.events.map(({ event }) => EVENTS[event][0]).join(", ")]);
  const key = kinds.map((kind) => ({ marks: [`mark-event-${kind}`], text: EVENTS[kind][0] }));
  return { svg, key, points: [...inside, ...above].sort((a, b) => a.x - b.x), table: () => ({ head: ["", "step", "block", "started [s]", axisLabel(unit, "value"), "events"], rows: rows() }), note: notes.join(" ") };
};
