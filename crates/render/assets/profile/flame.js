// The flame graph: a tree of call chains, callers above. Width is time; colour is a difference that the test names.
"use strict";
const graph = JSON.parse(document.getElementById("data").textContent);
const { frames, arms } = graph;
const isPair = arms.length > 1;
const plot = document.getElementById("plot");
const readout = document.getElementById("readout");
const found = document.getElementById("found");
const ROW = 20, CHARACTER = 6.7, NARROWEST = 0.4;

frames.forEach((frame) => { frame.children = []; });
frames.forEach((frame, at) => { if (frame.parent !== null) frames[frame.parent].children.push(at); });
frames.forEach((frame) => {
  frame.depth = frame.parent === null ? 0 : frames[frame.parent].depth + 1;
  frame.differs = isPair && frame.p <= graph.alpha;
});

const state = { root: 0, chosen: 0, width: isPair ? "1" : "0", query: "" };
const weight = (frame) => (state.width === "both" ? (frame.means_ns[0] + frame.means_ns[1]) / 2 : frame.means_ns[Number(state.width)]);

const UNITS = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
function time(ns, sign = false) {
  const [name, size] = UNITS.findLast(([, one]) => Math.abs(ns) >= one) ?? UNITS[0];
  return `${sign && ns > 0 ? "+" : ""}${(ns / size).toPrecision(3)} ${name}`;
}
const percent = (part, whole) => `${(100 * part / whole).toPrecision(3)} %`;

// The place of each branch that is wide enough: from 0 to 1, with the callers of the root at full width.
function places() {
  const found = new Map();
  for (let at = state.root; at !== null; at = frames[at].parent) found.set(at, { x: 0, width: 1 });
  const whole = weight(frames[state.root]) || 1;
  const under = (at) => {
    let { x } = found.get(at);
    // Children in a steady order: the same branches stay in the same place when the width changes.
    for (const child of [...frames[at].children].sort((a, b) => frames[a].name.localeCompare(frames[b].name))) {
      const width = weight(frames[child]) / whole;
      found.set(child, { x, width });
      x += width;
      under(child);
    }
  };
  under(state.root);
  return found;
}

const make = (name, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  return element;
};
const largest = Math.max(1, ...frames.slice(1).filter((frame) => frame.differs).map((frame) => Math.abs(frame.estimate_ns)));
const matches = (frame) => state.query !== "" && frame.name.toLowerCase().includes(state.query);

function draw() {
  const width = plot.clientWidth || 800;
  const shown = [...places()].filter(([, place]) => place.width * width >= NARROWEST);
  const height = ROW * (1 + Math.max(...shown.map(([at]) => frames[at].depth)));
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, height, tabindex: 0, role: "img", "aria-label": "Flame graph; the table below has its numbers" });
  for (const [at, place] of shown) {
    const frame = frames[at];
    const direction = !frame.differs ? "even" : frame.estimate_ns > 0 ? "more" : "less";
    const classes = [direction, frame.is_kernel && "is-kernel", at === state.chosen && "is-chosen", matches(frame) && "is-found"];
    const group = make("g", { class: classes.filter(Boolean).join(" "), "data-at": at });
    const [x, w] = [place.x * width, place.width * width];
    const strength = frame.differs && at > 0 ? 0.45 + 0.55 * Math.abs(frame.estimate_ns) / largest : 1;
    group.append(make("rect", { x, y: frame.depth * ROW, width: w, height: ROW - 1, rx: 2, "fill-opacity": strength }));
    const room = Math.floor((w - 6) / CHARACTER);
    if (room >= 3) {
      const text = make("text", { x: x + 3, y: frame.depth * ROW + 14 });
      text.textContent = frame.name.length <= room ? frame.name : `${frame.name.slice(0, room - 1)}…`;
      group.append(text);
    }
    svg.append(group);
  }
  const hadFocus = plot.contains(document.activeElement);
  plot.replaceChildren(svg);
  plot.classList.toggle("is-searched", state.query !== "");
  if (hadFocus) svg.focus();
}

function say(at) {
  const frame = frames[at];
  const whole = frames[0].means_ns;
  const file = frame.file ? ` (${frame.file})` : "";
  const lines = [`${frame.name}${file}, with what it calls`];
  if (isPair) {
    lines.push(`${time(frame.means_ns[0])} → ${time(frame.means_ns[1])}: ${percent(frame.means_ns[0], whole[0])} → ${percent(frame.means_ns[1], whole[1])} of the CPU time`);
    const verdict = frame.differs ? "" : ", not distinguishable from noise";
    lines.push(`change ${time(frame.estimate_ns, true)} ± ${time(frame.half_width_ns)}${verdict}`);
  } else {
    lines.push(`${time(frame.means_ns[0])} ± ${time(frame.half_width_ns)}: ${percent(frame.means_ns[0], whole[0])} of the CPU time`);
  }
  readout.textContent = lines.join("\n");
}

function choose(at) {
  state.chosen = at;
  plot.querySelectorAll(".is-chosen").forEach((group) => group.classList.remove("is-chosen"));
  plot.querySelector(`g[data-at="${at}"]`)?.classList.add("is-chosen");
  say(at);
}
function show(root) {
  state.root = root;
  choose(root);
  draw();
}
const under = (event) => event.target.closest?.("g[data-at]");
plot.addEventListener("pointermove", (event) => { const group = under(event); if (group) say(Number(group.dataset.at)); });
plot.addEventListener("pointerleave", () => say(state.chosen));
plot.addEventListener("click", (event) => { const group = under(event); if (group) show(Number(group.dataset.at)); });

// The branches that the keys can reach are those that are drawn.
function neighbour(step) {
  const parent = frames[state.chosen].parent;
  if (parent === null) return state.chosen;
  const drawn = [...plot.querySelectorAll("g[data-at]")].map((group) => Number(group.dataset.at)).filter((at) => frames[at].parent === parent);
  return drawn[drawn.indexOf(state.chosen) + step] ?? state.chosen;
}
function firstChild() {
  const drawn = new Set([...plot.querySelectorAll("g[data-at]")].map((group) => Number(group.dataset.at)));
  const children = frames[state.chosen].children.filter((at) => drawn.has(at));
  return children.sort((a, b) => weight(frames[b]) - weight(frames[a]))[0] ?? state.chosen;
}
plot.addEventListener("keydown", (event) => {
  const to = {
    ArrowUp: () => choose(frames[state.chosen].parent ?? 0),
    ArrowDown: () => choose(firstChild()),
    ArrowLeft: () => choose(neighbour(-1)),
    ArrowRight: () => choose(neighbour(1)),
    Enter: () => show(state.chosen),
    Escape: () => show(0),
  }[event.key];
  if (to) { event.preventDefault(); to(); }
});

function search(query) {
  state.query = query.trim().toLowerCase();
  // Of a branch in a branch only the outer one counts.
  const isInside = (at) => { for (let up = frames[at].parent; up !== null; up = frames[up].parent) if (matches(frames[up])) return true; return false; };
  const all = frames.filter(matches);
  const outer = frames.filter((frame, at) => matches(frame) && !isInside(at));
  const sum = outer.reduce((total, frame) => total + weight(frame), 0);
  found.textContent = state.query === "" ? "" : `${all.length} ${all.length === 1 ? "branch" : "branches"}, ${percent(sum, weight(frames[0]) || 1)} of the time`;
  draw();
}
document.getElementById("search").addEventListener("input", (event) => search(event.target.value));
document.getElementById("width")?.addEventListener("change", (event) => { state.width = event.target.value; search(state.query); });
document.getElementById("reset").addEventListener("click", () => show(0));
new ResizeObserver(draw).observe(plot);
say(0);
