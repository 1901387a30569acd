// Charts of two arms against each other, of all of them, and of several records.
"use strict";
const intervalOf = (evidence) => evidence.net_ratio ?? evidence.ratio;

// The ratio of a comparison, with its interval if it has one.
function ratioOf(compared) {
  const { evidence } = compared;
  if (evidence.kind === "paired") {
    const { ratio, lo, hi } = intervalOf(evidence);
    return { ratio, lo: lo ?? 0, hi: hi ?? Infinity, isTest: true };
  }
  if (evidence.kind === "unpaired") {
    const { value, err } = evidence.ratio;
    return { ratio: value, lo: value - (err ?? 0), hi: value + (err ?? 0), isTest: false };
  }
  return null;
}

charts.forest = (context) => {
  const groups = context.group === "all" ? data.groups.map((group, at) => [group, words.groups[at]]) : [[context.group, context.words]];
  const hasTitles = groups.length > 1;
  const rows = groups.flatMap(([group, said]) => group.comparisons.map((compared, at) => ({ ...ratioOf(compared), same: compared.same_within, said: said.comparisons[at], title: hasTitles ? `${said.title}: ${said.comparisons[at].label}` : said.comparisons[at].label }))).filter((row) => row.ratio != null);
  if (!rows.length) return null;
  const isWhole = (row) => Number.isFinite(row.hi) && row.lo > 0;
  const reach = rows.flatMap((row) => [row.ratio, 1 + 1.4 * row.same, 1 - Math.min(1.4 * row.same, 0.9), ...(isWhole(row) ? [row.lo, row.hi] : [])]);
  const { scale, at: place } = ratioAxis(reach, Math.max(3, Math.floor(context.width / 110)));
  const [left, right] = [14, context.width - 14];
  const pixel = (at) => left + ((right - left) * (at - scale.domain[0])) / (scale.domain[1] - scale.domain[0]);
  const letters = Math.floor((right - left) / 6.6) - 14;
  rows.forEach((row, at) => {
    row.at = at;
    row.x = place(row.ratio);
    row.x1 = place(row.lo);
    row.x2 = place(row.hi);
    const name = row.title.length > letters ? `${row.title.slice(0, letters)}…` : row.title;
    row.label = `${name}  ${row.said.word}`;
    // The label begins where its bar begins, or ends where it ends, or fills the line.
    const long = 6.8 * row.label.length;
    row.side = pixel(row.x1) + long <= right ? "start" : pixel(row.x2) - long >= left ? "end" : "line";
    row.tip = `${row.title}\n${row.said.word}\nratio ${ratioText(row.ratio)} [${ratioText(row.lo)}, ${Number.isFinite(row.hi) ? ratioText(row.hi) : "∞"}]${row.isTest ? "" : "\nan estimate, not a test"}`;
  });
  const color = (row) => `var(--${row.said.class})`;
  const on = (side) => rows.filter((row) => row.side === side);
  const label = { y: "at", text: "label", dy: -8, fontSize: 11.5, stroke: "var(--plot-background)", fill: color, strokeWidth: 4, className: "mark-labels" };
  const svg = draw(context, {
    height: 48 + 36 * rows.length,
    marginLeft: left,
    marginRight: 14,
    marginTop: 6,
    x: { label: "time ÷ time of the reference", ...scale },
    y: { axis: null, type: "band", domain: rows.map((row) => row.at), padding: 0 },
    marks: [
      Plot.barX(rows, { y: "at", x1: (row) => place(1 - row.same), x2: (row) => place(1 + row.same), fill: "var(--zone)", fillOpacity: 0.22, className: "mark-same-zone" }),
      Plot.ruleX([0], { strokeOpacity: 0.6 }),
      Plot.link(rows, { x1: "x1", x2: "x2", y: "at", stroke: color, strokeWidth: 2.5, strokeDasharray: (row) => (row.isTest ? null : "3 3"), dy: 8, className: "mark-intervals" }),
      Plot.dot(rows, { x: "x", y: "at", r: 4.5, fill: color, dy: 8, className: "mark-ratios" }),
      Plot.text(on("start"), { ...label, x: "x1", textAnchor: "start" }),
      Plot.text(on("end"), { ...label, x: "x2", textAnchor: "end" }),
      Plot.text(on("line"), { ...label, frameAnchor: "left", dx: 2, textAnchor: "start" }),
      tip(rows, { x: "x", y: "at" }),
    ],
  });
  const points = rows.map((row) => ({ x: row.x, y: row.at, tip: row.tip }));
  const cut = rows.some((row) => !isWhole(row));
  return { svg, points, table: () => ({ head: ["", "verdict", "ratio", "lower", "upper"], rows: rows.map((row) => [row.title, row.said.word, ratioText(row.ratio), ratioText(row.lo), Number.isFinite(row.hi) ? ratioText(row.hi) : "∞"]) }), note: cut ? "An interval that reaches the edge goes on beyond it." : "" };
};

charts.pairs = (context) => {
  const compared = context.group.comparisons[context.comparison];
  if (!compared?.pairs) return null;
  const { typical, blocks } = compared.pairs;
  if (!blocks.block.length) return null;
  const found = ratioOf(compared);
  const usual = [...(typical ?? []), 1 - compared.same_within, 1 + compared.same_within, ...(found ? [found.ratio] : [])];
  const { scale, at: place, isInside } = ratioAxis(context.all ? [...usual, ...blocks.ratio] : usual, 6, 0.12);
  const points = blocks.block.map((block, i) => {
    const ratio = blocks.ratio[i];
    return { x: block, y: place(ratio), isOut: !isInside(ratio), isUp: place(ratio) === scale.domain[1], tip: `block ${block}\nratio ${ratioText(ratio)} (${percent(ratio - 1)})` };
  });
  const slices = (blocks.slices ?? []).map((slice) => {
    const [min, lower, median, upper, max] = slice.quantiles.map(place);
    return { x1: slice.blocks[0], x2: slice.blocks[1], mid: (slice.blocks[0] + slice.blocks[1]) / 2, min, lower, median, upper, max };
  });
  const n = points.filter((point) => point.isOut).length;
  const word = `var(--${context.words.comparisons[context.comparison].class})`;
  const svg = draw(context, {
    height: 240,
    x: { label: "block" },
    y: { label: "time ÷ reference", labelAnchor: "center", ...scale },
    marks: [
      Plot.rectY([0], { y1: place(1 - compared.same_within), y2: place(1 + compared.same_within), fill: "var(--zone)", fillOpacity: 0.18, className: "mark-same-zone" }),
      Plot.ruleY([0], { strokeOpacity: 0.6 }),
      found?.isTest && Plot.rectY([found], { y1: (d) => place(d.lo), y2: (d) => place(d.hi), fill: word, fillOpacity: 0.16, clip: true, className: "mark-interval-of-the-ratio" }),
      found && Plot.ruleY([place(found.ratio)], { stroke: word, strokeWidth: 1.5, clip: true }),
      Plot.ruleX(slices, { x: "mid", y1: "min", y2: "max", strokeOpacity: 0.3, clip: true }),
      Plot.rect(slices, { x1: "x1", x2: "x2", y1: "lower", y2: "upper", fillOpacity: 0.4, clip: true }),
      Plot.dot(points.filter((point) => !point.isOut), { x: "x", y: "y", r: points.length > 800 ? 1.5 : 2.2, fill: "var(--soft)", className: "mark-blocks" }),
      Plot.dot(points.filter((point) => point.isOut), { x: "x", y: "y", r: 3, symbol: "triangle", rotate: (point) => (point.isUp ? 0 : 180), stroke: "var(--soft)", className: "mark-blocks-beyond" }),
      tip(points, { x: "x", y: "y" }),
    ],
  });
  const notes = [];
  if (blocks.kind === "sliced") notes.push(`${d3.format(",")(blocks.n)} blocks in exact slices (smallest, 25 to 75 %, largest), with the ${points.length} most extreme ones as dots.`);
  if (n) notes.push(`${n} beyond the frame (triangles).`);
  return { svg, points, table: () => ({ head: ["block", "ratio"], rows: blocks.block.map((block, i) => [block, ratioText(blocks.ratio[i])]) }), note: notes.join(" ") };
};

charts.shift = (context) => {
  const compared = context.group.comparisons[context.comparison];
  const deciles = compared?.deciles?.deciles;
  if (!deciles) return null;
  const bound = (ratio) => (ratio == null ? "∞" : ratioText(ratio));
  const usual = [...deciles.map(({ ratio }) => ratio), 1 - compared.same_within, 1 + compared.same_within].filter((ratio) => ratio > 0 && Number.isFinite(ratio));
  // A band much wider than the points would hide them.
  const [low, high] = d3.extent(usual);
  const most = (high / low) ** 2.5;
  const ends = deciles.flatMap(({ band }) => [band?.lo, band?.hi]).filter((ratio) => ratio > low / most && ratio < high * most);
  const { scale, at: place } = ratioAxis([...usual, ...ends], 6);
  const points = deciles.map(({ share, ratio, band }) => ({ x: 100 * share, y: place(ratio), y1: band ? place(band.lo ?? 0) : null, y2: band ? place(band.hi ?? Infinity) : null, tip: `${d3.format(".0f")(100 * share)} % quantile\nratio ${ratioText(ratio)}${band ? `\nband ${bound(band.lo)} … ${bound(band.hi)}` : ""}` }));
  const word = `var(--${context.words.comparisons[context.comparison].class})`;
  const svg = draw(context, {
    height: 240,
    x: { label: "quantile [%]", ticks: [10, 30, 50, 70, 90] },
    y: { label: "time ÷ reference", labelAnchor: "center", ...scale },
    marks: [
      Plot.rectY([0], { y1: place(1 - compared.same_within), y2: place(1 + compared.same_within), fill: "var(--zone)", fillOpacity: 0.18, className: "mark-same-zone" }),
      Plot.ruleY([0], { strokeOpacity: 0.6 }),
      Plot.areaY(points.filter((point) => point.y1 != null), { x: "x", y1: "y1", y2: "y2", fill: word, fillOpacity: 0.18, clip: true, className: "mark-band" }),
      Plot.line(points, { x: "x", y: "y", stroke: word }),
      Plot.dot(points, { x: "x", y: "y", fill: word, r: 3.5, className: "mark-deciles" }),
      tip(points, { x: "x", y: "y" }, Plot.pointerX),
    ],
  });
  return { svg, points, table: () => ({ head: ["quantile", "ratio", "band from", "to"], rows: deciles.map(({ share, ratio, band }) => [`${d3.format(".0f")(100 * share)} %`, ratioText(ratio), band ? bound(band.lo) : "", band ? bound(band.hi) : ""]) }), note: points[0].y1 == null ? "Without a random order there is no band." : "The band holds all nine at once." };
};

charts.ledger = (context) => {
  const ledgers = context.group.ledgers.map((ledger, at) => ({ ...ledger, at })).filter((ledger) => !context.hidden.has(ledger.arm));
  const share = (part, whole) => `${d3.format(".3~r")((100 * part) / whole)} %`;
  const parts = ledgers.flatMap((ledger) => ledger.entries.map((entry, i) => {
    const { name: label, advice } = context.words.ledgers[ledger.at][i];
    return { ...entry, arm: ledger.arm, label, advice, ofTime: (100 * entry.ns) / ledger.time_ns, ledger, tip: `${name(context, ledger.arm)}\n${label}: ${duration(entry.ns)}\n${share(entry.ns, ledger.total_ns)} of the time above t0, ${share(entry.ns, ledger.time_ns)} of all time${advice && `\nremoved by ${advice}`}` };
  }));
  if (!parts.length) return null;
  const kinds = [...new Set(parts.filter((part) => part.ns !== 0).map((part) => part.label))];
  const color = (part) => partColor(part, kinds.indexOf(part.label));
  const stacked = { y: "arm", x: "ofTime", z: "label", order: kinds };
  const svg = draw(context, {
    height: 52 + 30 * ledgers.length,
    marginLeft: 30,
    marginTop: 6,
    x: { label: "share of all time [%]", grid: true },
    y: { axis: null, domain: ledgers.map((ledger) => ledger.arm) },
    marks: [
      Plot.barX(parts.filter((part) => part.ns !== 0), { ...stacked, fill: color, insetTop: 3, insetBottom: 3, className: "mark-parts" }),
      Plot.text(ledgers, { y: "arm", text: (ledger) => context.words.numbers[ledger.arm], frameAnchor: "left", dx: -8, textAnchor: "end" }),
      Plot.ruleX([0]),
      Plot.tip(parts.filter((part) => part.ns !== 0), Plot.pointer(Plot.stackX({ ...stacked, title: "tip", fontSize: 12 }))),
    ],
  });
  const key = kinds.map((label) => ({ color: color(parts.find((part) => part.label === label)), text: label }));
  return { svg, key, points: [], table: () => ({ head: ["", "", "time", "share of the time above t0", "of all time", "removed by"], rows: parts.map((part) => [name(context, part.arm), part.label, duration(part.ns), share(part.ns, part.ledger.total_ns), share(part.ns, part.ledger.time_ns), part.advice]) }), note: ledgers.filter((ledger) => ledger.excess_ns > 0).map((ledger) => `${name(context, ledger.arm)}: the estimates add up to ${duration(ledger.excess_ns)} more than was lost.`).join(" ") };
};

charts.scan = (context) => {
  const { group, words: { unit } } = context;
  const { scan } = group;
  if (!scan) return null;
  const points = scan.series.flatMap((series, index) => series.points.filter((point) => !context.hidden.has(point.arm)).map((point) => {
    const arm = group.arms[point.arm];
    const t0 = arm.net_t0 ?? arm.t0;
    if (!t0) return null;
    const err = t0.err ?? 0;
    const y = t0.value / unit.size;
    const [y1, y2] = (arm.net_t0 ? null : arm.t0_range)?.map((end) => end / unit.size) ?? [y - err / unit.size, y + err / unit.size];
    return { series: index, arm: point.arm, x: scan.is_numeric ? point.number : point.value, y, y1, y2, err: err / unit.size, median: arm.median.value / unit.size, tip: `${name(context, point.arm)}\n${scan.parameter} = ${point.value}\nt0 ${arm.is_upper_limit ? "at most " : ""}${inUnit(unit, t0.value)}${t0.err == null ? "" : ` ± ${duration(t0.err)}`}` };
  }).filter(Boolean));
  if (!points.length) return null;
  const stroke = (point) => (scan.series.length > 1 ? armColor(point.series, scan.series.length) : "var(--soft)");
  const svg = draw(context, {
    height: 280,
    marginBottom: 36,
    x: { label: scan.parameter, type: scan.is_numeric ? (context.all ? "log" : "linear") : "point", ticks: scan.is_numeric && points.length <= 12 ? [...new Set(points.map((point) => point.x))] : undefined, tickFormat: scan.is_numeric ? "~r" : undefined },
    y: { label: axisLabel(unit, "t0"), grid: true, type: context.all ? "log" : "linear", zero: !context.all, tickFormat: context.all ? "~r" : undefined },
    marks: [
      Plot.line(points, { x: "x", y: "y", z: "series", stroke, strokeWidth: 1.5, className: "mark-curves" }),
      Plot.link(points, { x1: "x", x2: "x", y1: "y1", y2: "y2", stroke: (point) => colorIn(context)(point.arm), strokeWidth: 2, className: "mark-errors" }),
      Plot.dot(points, { x: "x", y: "y", r: 4.5, fill: (point) => colorIn(context)(point.arm), className: "mark-points" }),
      scan.series.length > 1 && Plot.text(points, Plot.selectLast({ x: "x", y: "y", z: "series", text: (point) => context.words.series[point.series], textAnchor: "end", dy: -12, fill: stroke, stroke: "var(--plot-background)", strokeWidth: 4 })),
      tip(points, { x: "x", y: "y" }),
    ],
  });
  return { svg, points, table: () => ({ head: ["", scan.parameter, axisLabel(unit, "t0"), "±"], rows: points.map((point) => [name(context, point.arm), point.x, digits(point.y), digits(point.err)]) }), note: "" };
};

charts.ridges = (context) => {
  const { together } = data;
  const { unit } = words.groups[together.series[0][0]];
  const histogram = context.all ? together.log_histogram : together.histogram;
  if (!histogram) return null;
  const records = new Map(together.series.map(([group]) => [group, words.groups[group].title]));
  const arms = together.series.map(([group, arm], at) => ({ ...data.groups[group].arms[arm], at, series: at, arm: at, group, place: arm, said: words.groups[group].numbers[arm], label: words.groups[group].arms[arm] }));
  const label = (at) => `${records.get(arms[at].group)}: ${arms[at].label}`;
  const fill = (at) => armColor(arms[at].place, data.groups[arms[at].group].arms.length);
  const bins = binsOf(histogram, arms, unit, label);
  const facet = { fy: (d) => d.arm };
  const svg = draw(context, {
    height: 40 + 54 * arms.length,
    marginLeft: 14,
    x: { type: context.all ? "log" : "linear", label: axisLabel(unit, "value"), grid: true, tickFormat: context.all ? "~s" : undefined },
    y: { axis: null },
    fy: { axis: null, padding: 0.08 },
    marks: [
      Plot.rectY(bins, { x1: "x1", x2: "x2", y1: 0, y2: "count", fill: (bin) => fill(bin.arm), fillOpacity: 0.7, inset: 0, className: "mark-bins", ...facet }),
      ...t0Marks(arms, unit, fill, facet),
      Plot.ruleY(arms, { y: 0, fy: "arm", strokeOpacity: 0.5 }),
      Plot.text(arms, { text: (arm) => label(arm.at), fy: "arm", frameAnchor: "top-right", textAnchor: "end", fontSize: 11.5, stroke: "var(--plot-background)", strokeWidth: 4, fill: "currentColor" }),
      tip(bins, { x: (bin) => (bin.x1 + bin.x2) / 2, y: "count", ...facet }),
    ],
  });
  return { svg, points: [], table: () => binTable(bins, label, unit), note: context.all ? "" : aboveNote(histogram, arms, label) };
};
