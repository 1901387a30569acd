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
  const letters = Math.floor((right - left) / 6.8);
  rows.forEach((row, at) => {
    row.at = at;
    row.x = place(row.ratio);
    row.x1 = place(row.lo);
    row.x2 = place(row.hi);
    // The word of the verdict stays in one piece behind the name.
    const lines = wrapped(row.title, letters);
    if (lines.at(-1).length + 2 + row.said.word.length <= letters) lines.push(`${lines.pop()}  ${row.said.word}`);
    else lines.push(row.said.word);
    row.lines = lines.length;
    row.label = lines.join("\n");
    // The label begins where its bar begins, or ends where it ends, or fills the line.
    const long = 6.8 * d3.max(lines, (line) => line.length);
    row.side = pixel(row.x1) + long <= right ? "start" : pixel(row.x2) - long >= left ? "end" : "line";
    row.tip = `${row.title}\n${row.said.word}\nratio ${ratioText(row.ratio)} [${ratioText(row.lo)}, ${Number.isFinite(row.hi) ? ratioText(row.hi) : "∞"}]${row.isTest ? "" : "\nan estimate, not a test"}`;
  });
  const color = (row) => `var(--${row.said.class})`;
  const on = (side) => rows.filter((row) => row.side === side);
  const more = 14 * (d3.max(rows, (row) => row.lines) - 1);
  const label = { y: "at", text: "label", lineAnchor: "bottom", lineHeight: 1.2, dy: -1 + more / 2, fontSize: 11.5, stroke: "var(--plot-background)", fill: color, strokeWidth: 4, className: "mark-labels" };
  const svg = draw(context, {
    height: 48 + (36 + more) * rows.length,
    marginLeft: left,
    marginRight: 14,
    marginTop: 6,
    x: { label: "new ÷ reference", ...scale },
    y: { axis: null, type: "band", domain: rows.map((row) => row.at), padding: 0 },
    marks: [
      Plot.barX(rows, { y: "at", x1: (row) => place(1 - row.same), x2: (row) => place(1 + row.same), fill: "var(--zone)", fillOpacity: 0.22, className: "mark-same-zone" }),
      Plot.ruleX([0], { strokeOpacity: 0.6 }),
      ...[true, false].map((isTest) => Plot.link(rows.filter((row) => row.isTest === isTest), { x1: "x1", x2: "x2", y: "at", stroke: color, strokeWidth: 2.5, strokeDasharray: isTest ? undefined : "3 3", dy: 8 + more / 2, className: "mark-intervals" })),
      Plot.dot(rows, { x: "x", y: "at", r: 4.5, fill: color, dy: 8 + more / 2, className: "mark-ratios" }),
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
    y: { label: "new ÷ reference", ...scale },
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
  if (n) notes.push(`${n} beyond the frame (${n === 1 ? "triangle" : "triangles"}).`);
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
    y: { label: "new ÷ reference", ...scale },
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
    return { ...entry, arm: ledger.arm, key: partKey(entry), label, advice, ofTime: (100 * entry.ns) / ledger.time_ns, ledger, tip: `${name(context, ledger.arm)}\n${label}: ${duration(entry.ns)}${entry.is_estimate ? " (estimate)" : ""}\n${share(entry.ns, ledger.total_ns)} of the time above t0, ${share(entry.ns, ledger.time_ns)} of all time${advice && `\nremoved by ${advice}`}` };
  }));
  if (!parts.length) return null;
  // The same order and colours in each bar and group. What has no place of its own comes before what has no cause.
  const order = Object.keys(PARTS);
  const rank = ({ source }) => (source in PARTS ? order.indexOf(source) : order.indexOf("host") - 0.5);
  const drawn = d3.sort(parts.filter((part) => part.ns !== 0), rank, (part) => part.key);
  const kinds = [...new Set(drawn.map((part) => part.key))];
  const color = (part) => PARTS[part.source] ?? armColor(kinds.indexOf(part.key), kinds.length);
  const stacked = { y: "arm", x: "ofTime", z: "key", order: kinds };
  const svg = draw(context, {
    height: 52 + 30 * ledgers.length,
    marginLeft: 30,
    marginTop: 6,
    x: { label: "share of all time [%]", grid: true },
    y: { axis: null, domain: ledgers.map((ledger) => ledger.arm) },
    marks: [
      Plot.barX(drawn, { ...stacked, fill: color, stroke: "currentColor", strokeWidth: 0.5, insetTop: 3, insetBottom: 3, className: "mark-parts" }),
      Plot.text(ledgers, { y: "arm", text: (ledger) => context.words.numbers[ledger.arm], frameAnchor: "left", dx: -8, textAnchor: "end" }),
      Plot.ruleX([0]),
      Plot.tip(drawn, Plot.pointer(Plot.stackX({ ...stacked, title: tipText, fontSize: 12, lineWidth: 60 }))),
    ],
  });
  const key = kinds.map((kind) => {
    const at = drawn.findIndex((part) => part.key === kind);
    const isEstimate = drawn.every((part) => part.key !== kind || part.is_estimate);
    return { marks: ["mark-parts"], at, text: drawn[at].label + (isEstimate ? " (estimate)" : "") };
  });
  return { svg, key, points: [], table: () => ({ head: ["", "", "time", "share of the time above t0", "of all time", "removed by"], rows: parts.map((part) => [name(context, part.arm), part.label + (part.is_estimate ? " (estimate)" : ""), duration(part.ns), share(part.ns, part.ledger.total_ns), share(part.ns, part.ledger.time_ns), part.advice]) }), note: ledgers.filter((ledger) => ledger.excess_ns > 0).map((ledger) => `${name(context, ledger.arm)}: the estimates add up to ${duration(ledger.excess_ns)} more than was lost.`).join(" ") };
};

// The curves of a scan differ in dashes and dots: a colour is that of a command.
const DASHES = [undefined, "7 3", "2 3", "9 3 2 3", "4 2", "12 4"];
const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "wye", "cross"];

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
  const curves = d3.range(scan.series.length).map((at) => [at, points.filter((point) => point.series === at)]).filter(([, own]) => own.length);
  const svg = draw(context, {
    height: 280,
    marginBottom: 36,
    x: { label: scan.parameter, type: scan.is_numeric ? (context.all ? "log" : "linear") : "point", ticks: scan.is_numeric && points.length <= 12 ? [...new Set(points.map((point) => point.x))] : undefined, tickFormat: scan.is_numeric ? "~r" : undefined },
    y: { label: axisLabel(unit, `own ${context.words.location}`), grid: true, type: context.all ? "log" : "linear", zero: !context.all, tickFormat: context.all ? "~r" : undefined },
    marks: [
      ...curves.map(([at, own]) => Plot.line(own, { x: "x", y: "y", stroke: "var(--soft)", strokeWidth: 1.5, strokeDasharray: DASHES[at % DASHES.length], className: `mark-curves mark-curve-${at}` })),
      Plot.link(points, { x1: "x", x2: "x", y1: "y1", y2: "y2", stroke: (point) => colorIn(context)(point.arm), strokeWidth: 2, className: "mark-errors" }),
      ...curves.map(([at, own]) => Plot.dot(own, { x: "x", y: "y", r: 4.5, symbol: SYMBOLS[at % SYMBOLS.length], fill: (point) => colorIn(context)(point.arm), className: `mark-points mark-points-${at}` })),
      tip(points, { x: "x", y: "y" }),
    ],
  });
  const key = curves.length > 1 ? curves.map(([at]) => ({ marks: [`mark-curve-${at}`, `mark-points-${at}`], text: context.words.series[at] })) : [];
  return { svg, key, points, table: () => ({ head: ["", scan.parameter, axisLabel(unit, context.words.location), "±"], rows: points.map((point) => [name(context, point.arm), point.x, digits(point.y), digits(point.err)]) }), note: "" };
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
  const lines = arms.map((arm) => wrapped(label(arm.at), Math.floor((context.width - 40) / 6.8)));
  const svg = draw(context, {
    height: 40 + (41 + 14 * d3.max(lines, (own) => own.length)) * arms.length,
    marginLeft: 14,
    marginTop: 6,
    x: { type: context.all ? "log" : "linear", label: axisLabel(unit, "value"), grid: true, tickFormat: context.all ? "~s" : undefined },
    y: { axis: null },
    fy: { axis: null, padding: 0.08 },
    marks: [
      Plot.rectY(bins, { x1: "x1", x2: "x2", y1: 0, y2: "count", fill: (bin) => fill(bin.arm), fillOpacity: 0.7, inset: 0, className: "mark-bins", ...facet }),
      ...t0Marks(arms, unit, fill, facet),
      Plot.ruleY(arms, { y: 0, fy: "arm", strokeOpacity: 0.5 }),
      Plot.text(arms, { text: (arm) => lines[arm.at].join("\n"), fy: "arm", frameAnchor: "top-right", textAnchor: "end", fontSize: 11.5, lineHeight: 1.2, stroke: "var(--plot-background)", strokeWidth: 4, fill: "currentColor" }),
      tip(bins, { x: (bin) => (bin.x1 + bin.x2) / 2, y: "count", ...facet }),
    ],
  });
  return { svg, points: [], table: () => binTable(bins, label, unit), note: context.all ? "" : aboveNote(histogram, arms, label, together.log_histogram) };
};
