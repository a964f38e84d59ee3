"use strict";
// The live page. Everything that comes from the cluster is put in as text (textContent) or as a number, never as markup.
// Rows are made once and changed in place, so that nothing flickers and a screen reader keeps its place.

const HISTORY = 180; // seconds
const STALE = 6000; // milliseconds without an event after which the page says so
const COLOURS = 8;

const byId = (id) => document.getElementById(id);
const view = { resource: "", folded: new Set(), tree: null, samples: [], heard: 0 };

function make(tag, className, parent) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (parent) parent.append(element);
  return element;
}

function say(element, text) {
  const words = String(text);
  if (element.textContent !== words) element.textContent = words;
}

function attribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

// Keep one child for each key, in the order of the keys. `build` makes a child.
function reconcile(parent, keys, build) {
  const kept = parent.kept || (parent.kept = new Map());
  const wanted = new Set(keys);
  for (const [key, child] of kept) {
    if (!wanted.has(key)) {
      child.remove();
      kept.delete(key);
    }
  }
  let place = parent.firstElementChild;
  return keys.map((key) => {
    let child = kept.get(key);
    if (!child) kept.set(key, (child = build(key)));
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
    return child;
  });
}

// Numbers for people: cores, bytes in binary units, anything else as it is.
function shown(resource, value) {
  if (resource === "cpu") return trim(value / 1000);
  if (resource === "memory" || resource === "ephemeral-storage") {
    const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
    let power = 0;
    while (value >= 1024 && power < units.length - 1) {
      value /= 1024;
      power += 1;
    }
    return trim(value) + units[power];
  }
  return trim(value);
}

// nvidia.com/gpu is gpu to people.
function short(resource) {
  return resource.slice(resource.lastIndexOf("/") + 1);
}

function trim(value) {
  return value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : String(Math.round(value * 10) / 10);
}

function percent(part, whole) {
  return whole > 0 ? Math.max(0, Math.min(100, (100 * part) / whole)) : 0;
}

function width(element, from, to) {
  element.style.left = `${from.toFixed(2)}%`;
  element.style.width = `${Math.max(0, to - from).toFixed(2)}%`;
}

// The resource of a queue that is shown: the chosen one, or that which it has most of.
function resourceOf(queue, totals) {
  if (view.resource && queue.resources[view.resource]) return view.resource;
  const fraction = (name, field) => queue.resources[name][field] / totals[name];
  const names = Object.keys(queue.resources).filter((name) => name !== "pods" && totals[name] > 0);
  const highest = (field) => names.reduce((best, name) => (fraction(name, field) > fraction(best, field) + 1e-9 ? name : best), names[0]);
  const most = highest("used");
  return most && queue.resources[most].used > 0 ? most : highest("fair_share");
}

// ---- the cluster

function fact(key) {
  const box = make("div", "fact");
  box.term = make("dt", "", box);
  const value = make("dd", "", box);
  box.value = make("span", "", value);
  box.extra = make("small", "", value);
  return box;
}

function drawFacts(tree) {
  const { pods, cluster } = tree;
  const root = tree.queues.root;
  const facts = [["nodes", "Nodes", cluster.nodes, ""]];
  for (const name of resourceNames(tree)) {
    const used = root ? root.resources[name].used : 0;
    const total = cluster.resources[name];
    facts.push([`use-${name}`, `${short(name)} used`, `${Math.round(percent(used, total))}%`, ` of ${shown(name, total)}`, percent(used, total)]);
  }
  if (pods.created !== undefined) facts.push(["created", "Pods created", pods.created, ""]);
  facts.push(["bound", pods.created === undefined ? "Pods placed" : "Pods bound", pods.bound, ""]);
  if (pods.finished !== undefined) facts.push(["finished", "Pods finished", pods.finished, pods.failed ? ` ${pods.failed} failed` : ""]);
  facts.push(["waiting", "Pods waiting", pods.waiting, ""]);
  if (tree.binds) facts.push(["rate", "Binds / s", trim(rate()), ""]);
  reconcile(byId("facts"), facts.map(([key]) => key), fact).forEach((box, position) => {
    const [key, term, value, extra, meter] = facts[position];
    say(box.term, term);
    say(box.value, value);
    say(box.extra, extra);
    if (meter !== undefined) {
      if (!box.meter) box.meter = make("i", "", make("span", "meter", box));
      box.meter.style.width = `${meter.toFixed(1)}%`;
    }
    if (key === "rate") sparkline(box);
  });
}

function resourceNames(tree) {
  return Object.keys(tree.cluster.resources).filter((name) => name !== "pods" && name !== "ephemeral-storage").sort();
}

// Binds per second between the newest sample and one some seconds before it.
function rate(newest = view.samples.length - 1, span = 5) {
  const last = view.samples[newest];
  const first = view.samples[Math.max(0, newest - span)];
  return last && first && last.at > first.at ? (last.binds - first.binds) / (last.at - first.at) : 0;
}

function sparkline(box) {
  if (!box.line) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    attribute(svg, "viewBox", "0 0 60 20");
    attribute(svg, "preserveAspectRatio", "none");
    attribute(svg, "aria-hidden", "true");
    box.line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
    svg.append(box.line);
    box.append(svg);
  }
  const from = Math.max(1, view.samples.length - 60);
  const rates = view.samples.slice(from).map((_, index) => rate(from + index, 3));
  const most = Math.max(1, ...rates);
  const points = rates.map((value, index) => `${60 - rates.length + index + 1},${(19 - (17 * value) / most).toFixed(1)}`);
  attribute(box.line, "points", points.join(" "));
}

function drawChoice(tree) {
  const names = ["", ...resourceNames(tree)];
  if (view.resource && !names.includes(view.resource)) view.resource = "";
  reconcile(byId("resources"), names, (name) => {
    const label = make("label");
    const input = make("input", "", label);
    input.type = "radio";
    input.name = "resource";
    input.checked = name === view.resource;
    input.addEventListener("change", () => {
      view.resource = name;
      draw();
    });
    make("span", "", label).textContent = name || "dominant";
    return label;
  });
}

// ---- the queues

function queueRow(path) {
  const row = make("tr");
  const name = make("th", "", row);
  name.scope = "row";
  const label = make("div", "label", name);
  row.fold = make("button", "fold", label);
  row.fold.type = "button";
  row.fold.addEventListener("click", () => {
    if (!view.folded.delete(path)) view.folded.add(path);
    draw();
  });
  row.name = make("span", "title", label);
  row.state = make("span", "tag", label);
  row.about = make("span", "about", name);
  const depth = path.split(".").length - 1;
  name.style.paddingLeft = `${depth * 1.15}rem`;
  row.about.style.paddingLeft = "1.45rem";
  say(row.name, path.slice(path.lastIndexOf(".") + 1));
  row.name.title = path;
  attribute(row.fold, "aria-label", `Queues below ${path}`);

  row.bar = make("div", "bar", make("td", "", row));
  attribute(row.bar, "role", "img");
  const track = make("div", "track", row.bar);
  for (const part of ["beyond", "pending", "used", "over"]) row[part] = make("i", part, track);
  row.guaranteed = make("span", "mark guaranteed", row.bar);
  row.fair = make("span", "mark fair", row.bar);
  row.figures = ["used", "fair", "pending", "applications", "pods"].map(() => make("td", "number", row));
  return row;
}

function drawQueues(tree) {
  const paths = Object.keys(tree.queues).sort(byPath);
  const visible = paths.filter((path) => !above(path).some((parent) => view.folded.has(parent)));
  const rows = reconcile(byId("queues").tBodies[0], visible, queueRow);
  visible.forEach((path, index) => drawQueue(rows[index], path, tree.queues[path], tree.cluster.resources));
}

function above(path) {
  const parts = path.split(".");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("."));
}

function byPath(one, other) {
  const [a, b] = [one.split("."), other.split(".")];
  for (let part = 0; part < Math.min(a.length, b.length); part += 1) {
    if (a[part] !== b[part]) return a[part] < b[part] ? -1 : 1;
  }
  return a.length - b.length;
}

function drawQueue(row, path, queue, totals) {
  const name = resourceOf(queue, totals);
  const has = queue.resources[name] || { used: 0, fair_share: 0, guaranteed: 0, maximum: null, pending: 0 };
  const total = totals[name] || 0;
  row.fold.classList.toggle("none", queue.leaf || path === "root");
  attribute(row.fold, "aria-expanded", !view.folded.has(path));
  say(row.state, queue.state === "Running" ? "" : queue.state);
  row.state.hidden = queue.state === "Running";
  say(row.about, path === "root" ? queue.policy : `weight ${trim(queue.weight)} · ${queue.policy}${queue.dynamic ? " · made by a rule" : ""}`);

  const root = path === "root";
  const used = percent(has.used, total);
  const fair = percent(has.fair_share, total);
  const most = has.maximum === null ? 100 : percent(has.maximum, total);
  width(row.used, 0, Math.min(used, fair));
  width(row.over, Math.min(used, fair), used);
  width(row.pending, used, Math.min(Math.max(used, most), used + percent(has.pending, total)));
  width(row.beyond, most, 100);
  row.beyond.hidden = most >= 100;
  row.fair.hidden = root;
  row.fair.style.left = `${fair.toFixed(2)}%`;
  row.guaranteed.hidden = root || !has.guaranteed;
  row.guaranteed.style.left = `${percent(has.guaranteed, total).toFixed(2)}%`;

  const unit = name === "memory" ? "" : ` ${short(name)}`;
  const limits = [has.guaranteed ? `, guaranteed ${shown(name, has.guaranteed)}` : "", has.maximum === null ? "" : `, maximum ${shown(name, has.maximum)}`];
  const sentence = `${path} uses ${shown(name, has.used)} of ${shown(name, total)} ${name}, fair share ${shown(name, has.fair_share)}${limits.join("")}, pending ${shown(name, has.pending)}`;
  attribute(row.bar, "aria-label", sentence);
  attribute(row.bar, "title", sentence);

  const cells = row.figures;
  amount(cells[0], shown(name, has.used), unit);
  amount(cells[1], shown(name, has.fair_share), unit);
  amount(cells[2], has.pending ? shown(name, has.pending) : "–", has.pending ? unit : "");
  amount(cells[3], queue.applications.running, ` / ${queue.applications.pending}`);
  amount(cells[4], queue.running_pods, ` / ${queue.waiting_pods}`);
}

function amount(cell, value, extra) {
  if (!cell.value) {
    cell.value = make("span", "", cell);
    cell.extra = make("small", "", cell);
  }
  say(cell.value, value);
  say(cell.extra, extra);
}

// ---- the last minutes

function remember(tree) {
  const used = {};
  for (const [path, queue] of Object.entries(tree.queues)) {
    if (queue.leaf) used[path] = queue.resources;
  }
  view.samples.push({ at: tree.at || Date.now() / 1000, binds: tree.binds ? tree.binds.bound : 0, used, totals: tree.cluster.resources });
  const newest = view.samples[view.samples.length - 1].at;
  if (view.samples.length > 1 && view.samples[view.samples.length - 2].at > newest) view.samples = view.samples.slice(-1); // begun anew
  while (view.samples.length && newest - view.samples[0].at > HISTORY) view.samples.shift();
}

// Stacked areas of the leaf queues; of the chosen resource, or of that which the cluster is fullest of.
function drawHistory(tree) {
  const name = view.resource || (tree.queues.root ? resourceOf(tree.queues.root, tree.cluster.resources) : "cpu");
  const leaves = Object.keys(tree.queues).filter((path) => tree.queues[path].leaf).sort(byPath);
  const newest = view.samples[view.samples.length - 1].at;
  const span = Math.min(HISTORY, Math.max(30, newest - view.samples[0].at)); // the chart is filled from the start
  const floor = new Map();
  const areas = leaves.map((path) => {
    const upper = [];
    const lower = [];
    view.samples.forEach((sample, index) => {
      const x = (900 * (1 - (newest - sample.at) / span)).toFixed(1);
      const total = sample.totals[name] || 0;
      const has = sample.used[path] && sample.used[path][name] ? sample.used[path][name].used : 0;
      const bottom = floor.get(index) || 0;
      const top = bottom + percent(has, total) * 1.5;
      floor.set(index, top);
      upper.push(`${x},${(150 - top).toFixed(1)}`);
      lower.unshift(`${x},${(150 - bottom).toFixed(1)}`);
    });
    return `M${upper.concat(lower).join("L")}Z`;
  });
  const chart = byId("history");
  reconcile(chart, leaves, () => document.createElementNS("http://www.w3.org/2000/svg", "path")).forEach((path, index) => {
    attribute(path, "d", areas[index]);
    path.style.fill = `var(--q${index % COLOURS})`;
  });
  say(byId("history-title"), `${name} used over time`);
  say(byId("history-start"), `${Math.round(span)} s ago`);
  attribute(chart, "aria-label", `${name} used by queue over the last ${Math.round(span)} seconds, stacked`);
  reconcile(byId("history-legend"), leaves, (path) => {
    const item = make("li");
    item.key = make("i", "key", item);
    make("span", "", item).textContent = path;
    return item;
  }).forEach((item, index) => {
    item.key.style.background = `var(--q${index % COLOURS})`;
  });
}

// ---- what waits

function waitingRow() {
  const row = make("tr");
  row.figures = ["reason", "message", "number", "application", "queue", "number"].map((name) => make("td", name, row));
  return row;
}

function drawWaiting(tree) {
  const asks = [...tree.waiting].sort((a, b) => byPath(a.queue, b.queue) || b.pods - a.pods || (a.pod < b.pod ? -1 : 1));
  const counts = new Map();
  const keys = asks.map((ask) => {
    const key = `${ask.queue}|${ask.reason}`;
    counts.set(key, (counts.get(key) || 0) + 1);
    return `${key}|${counts.get(key)}`;
  });
  const rows = reconcile(byId("waiting").tBodies[0], keys, waitingRow);
  const reasons = new Map();
  let pods = 0;
  asks.forEach((ask, index) => {
    const row = rows[index];
    const [namespace, ...rest] = ask.application.split("/");
    const first = (namespace === "default" ? rest.join("/") : ask.application) || ask.pod;
    const application = ask.applications > 1 ? `${first} and ${ask.applications - 1} more` : first;
    [ask.reason, ask.message, ask.pods, application, ask.queue || "none", ask.ahead].forEach((value, place) => say(row.figures[place], value));
    attribute(row, "data-reason", ask.reason);
    attribute(row.figures[3], "title", `${ask.application}, pod ${ask.pod}`);
    attribute(row.figures[4], "title", ask.queue);
    reasons.set(ask.reason, (reasons.get(ask.reason) || 0) + ask.pods);
    pods += ask.pods;
  });
  const names = [...reasons.keys()].sort();
  reconcile(byId("reasons"), names, (name) => {
    const item = make("span");
    item.count = make("b", "", item);
    make("span", "", item).textContent = ` ${name}`;
    return item;
  }).forEach((item, index) => say(item.count, reasons.get(names[index])));
  const left = tree.pods.waiting - pods;
  say(byId("waiting-note"), asks.length ? (left > 0 ? `and ${left} more pods` : "") : "No pod waits.");
}

// ---- the connection

function draw() {
  const tree = view.tree;
  if (!tree) return;
  if (tree.title) say(byId("subtitle"), tree.title);
  drawFacts(tree);
  drawChoice(tree);
  drawQueues(tree);
  drawHistory(tree);
  drawWaiting(tree);
}

function state(kind, words) {
  attribute(byId("status"), "data-state", kind);
  say(byId("status"), words);
}

function take(tree) {
  view.tree = tree;
  view.heard = Date.now();
  remember(tree);
  draw();
  state("live", "live");
}

function connect() {
  const source = new EventSource("/api/stream");
  source.addEventListener("tree", (event) => take(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    state("lost", "connection lost, trying again");
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000); // refused outright: the browser does not retry
  });
}

setInterval(() => {
  if (view.heard && Date.now() - view.heard > STALE) state("lost", `no news for ${Math.round((Date.now() - view.heard) / 1000)} s`);
}, 1000);

connect();
