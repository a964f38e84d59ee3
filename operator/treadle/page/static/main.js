// Ties together where one is, what is told, and what is shown. The token is kept for this tab only, and leaves it to where the page came from alone.

import { percent, resourceNames, short, shown } from "./amounts.js";
import { ApplicationPage } from "./application.js";
import { Applications, reasons } from "./applications.js";
import { attribute, byId, make, reconcile, say } from "./dom.js";
import { Nodes } from "./nodes.js";
import { change, link, read } from "./place.js";
import { Preemptions } from "./preemptions.js";
import { QueuePage } from "./queue.js";
import { FILTERS, Queues } from "./queues.js";
import { Store } from "./store.js";
import { open } from "./stream.js";
import { facts } from "./tables.js";

const KEY = "treadle-token";
const STALE = 15000; // milliseconds without an event after which the page says so
const LONGEST_WAIT = 30; // seconds between two tries
const TOPICS = { queues: ["queues"], queue: ["queues", "applications"], applications: ["queues", "applications"], application: ["queues", "applications"], nodes: ["nodes"], preemptions: ["queues"] };

const store = new Store();
const token = () => sessionStorage.getItem(KEY) || "";
// A view is made when one first comes to it: what nobody looks at needs no elements.
const makers = {
  queues: () => new Queues(byId("tree"), store),
  queue: () => new QueuePage(byId("view-queue"), store, token),
  applications: () => new Applications(byId("list"), store, { sorted: sortApplications }),
  application: () => new ApplicationPage(byId("view-application"), store, token),
  nodes: () => new Nodes(byId("map"), store),
  preemptions: () => new Preemptions(byId("view-preemptions"), store, token),
};
const made = new Map();

function page(name) {
  if (!made.has(name)) made.set(name, makers[name]());
  return made.get(name);
}

let stop = () => {};
let asked = "";
let heard = 0;
let tries = 0;
let retry = 0;
let drawing = 0;

// ---- what is shown

function current() {
  const place = read();
  if (!(place.view in makers)) place.view = "queues";
  return place;
}

function draw() {
  drawing = 0;
  const { view, name, words } = current();
  for (const each of Object.keys(makers)) byId(`view-${each}`).hidden = each !== view;
  for (const tab of document.querySelectorAll("#tabs a")) {
    const mine = tab.dataset.view === view || (tab.dataset.view === "queues" && view === "queue") || (tab.dataset.view === "applications" && view === "application");
    attribute(tab, "aria-current", mine ? "page" : null);
  }
  document.title = name ? `${name} – Treadle` : "Treadle";
  const search = byId("search");
  byId("tools").hidden = view === "application";
  if (document.activeElement !== search) search.value = words.get("q") || "";
  drawChoice(words);
  drawCluster();
  if (!heard) return;
  if (view === "queue") page("queue").show(name, words);
  if (view === "application") page("application").show(name);
  if (view === "queues") drawQueues(words);
  if (view === "applications") drawApplications(words);
  if (view === "nodes") {
    drawPartitions(words);
    say(byId("found"), `${page("nodes").show(words)} nodes`);
  }
  if (view === "preemptions") say(byId("found"), `${page("preemptions").show({}, words.get("q") || "")} pods`);
  if (view === "queue") say(byId("found"), "");
  if (!performance.getEntriesByName("shown").length) performance.mark("shown"); // for who measures how long it takes
}

function soon() {
  if (!drawing) drawing = requestAnimationFrame(draw);
}

function drawQueues(words) {
  chips(byId("filters"), Object.entries(FILTERS).map(([key, [label]]) => [key, label]), (words.get("only") || "").split(",").filter(Boolean), (chosen) => change({ only: chosen.join(",") }));
  const found = page("queues").show(words);
  say(byId("found"), found === store.queues.size ? `${found} queues` : `${found} of ${store.queues.size} queues`);
}

function drawApplications(words) {
  const problem = store.problems.applications;
  const found = page("applications").show(words);
  const every = [...store.applications.values()];
  const why = reasons(every);
  chips(byId("reasons"), why.map(({ reason, pods }) => [reason, `${reason} ${pods}`]), [words.get("reason")].filter(Boolean), (chosen) => change({ reason: chosen.at(-1) || "" }));
  const user = words.get("user");
  say(byId("found"), problem ? `${problem.tooMany} applications are too many to be listed; open a queue` : `${found.length} of ${every.length} applications${user ? `, of user ${user}` : ""}`);
}

function drawPartitions(words) {
  const partitions = [...new Set([...store.nodes.values()].map((node) => node.partition || ""))].sort();
  const named = partitions.length > 1 ? partitions.map((partition) => [partition || "default", partition || "default"]) : [];
  const chosen = words.get("partition");
  chips(byId("partitions"), named, chosen === null ? [] : [chosen || "default"], (names) => {
    const next = names.at(-1);
    const now = new URLSearchParams(read().words);
    now.delete("partition");
    if (next !== undefined) now.set("partition", next === "default" ? "" : next);
    history.replaceState(null, "", `#/nodes${now.size ? `?${now}` : ""}`);
    soon();
  });
}

// Buttons that are pressed or not; `changed` gets the keys of those that are, the newest last.
function chips(parent, entries, chosen, changed) {
  reconcile(parent, entries.map(([key]) => key), (key) => {
    const button = make("button", "chip");
    button.type = "button";
    button.addEventListener("click", () => {
      const pressed = parent.chosen.includes(key);
      parent.changed(pressed ? parent.chosen.filter((each) => each !== key) : [...parent.chosen, key]);
    });
    return button;
  }).forEach((button, index) => {
    say(button, entries[index][1]);
    attribute(button, "aria-pressed", chosen.includes(entries[index][0]));
  });
  Object.assign(parent, { chosen, changed });
}

function sortApplications(key) {
  const { words } = read();
  const same = (words.get("sort") || "name") === key;
  change({ sort: key, down: same && !words.get("down") ? "1" : "" });
}

function drawChoice(words) {
  const names = ["", ...resourceNames(store.total)];
  const chosen = words.get("resource") || "";
  reconcile(byId("resources"), names, (name) => {
    const label = make("label");
    const input = make("input", "", label);
    input.type = "radio";
    input.name = "resource";
    input.addEventListener("change", () => change({ resource: name }));
    make("span", "", label, name ? short(name) : "dominant");
    label.input = input;
    return label;
  }).forEach((label, index) => {
    label.input.checked = names[index] === chosen;
  });
}

function drawCluster() {
  const { cluster } = store;
  say(byId("subtitle"), cluster.title || (cluster.discipline ? `discipline ${cluster.discipline}` : "queues, shares and explanations"));
  const root = store.queues.get("root");
  const found = [];
  if (cluster.nodes !== undefined) found.push(["Nodes", cluster.nodes, "", link("nodes")]);
  if (cluster.total && (cluster.used || root)) {
    for (const name of resourceNames(cluster.total)) {
      const used = (cluster.used || root.used || {})[name] || 0;
      found.push([`${short(name)} used`, `${Math.round(percent(used, cluster.total[name]))}%`, ` of ${shown(name, cluster.total[name])}`]);
    }
  }
  if (cluster.pods) {
    found.push(["Pods placed", cluster.pods.bound + cluster.pods.assumed]);
    found.push(["Pods waiting", cluster.pods.waiting, "", link("applications", "", { only: "waiting" })]);
  }
  if (cluster.demo) found.push(["Pods finished", cluster.demo.finished, cluster.demo.failed ? ` ${cluster.demo.failed} failed` : ""]);
  facts(byId("facts"), found);
}

// ---- the connection

function state(kind, words) {
  attribute(byId("status"), "data-state", kind);
  say(byId("status"), words);
}

function connect() {
  clearTimeout(retry);
  const { view, name } = current();
  const topics = TOPICS[view];
  const queue = view === "queue" ? name : "";
  asked = `${topics} ${queue}`;
  stop();
  stop = open(topics, queue, sessionStorage.getItem(KEY) || "", take, ended);
}

function take(event, data) {
  if (event === "bye") {
    stop();
    ended(data);
    return;
  }
  store.take(event, data);
  heard = Date.now();
  tries = 0;
  byId("sign-in").hidden = true;
  byId("shown").hidden = false;
  byId("sign-out").hidden = !sessionStorage.getItem(KEY);
  state("live", "live");
  soon();
}

function ended(problem) {
  if (problem.status === 401) {
    askForToken(sessionStorage.getItem(KEY) ? "This token counts for nobody, or not any more." : "");
    return;
  }
  tries += 1;
  const wait = Math.min(LONGEST_WAIT, Math.max(problem.wait || 0, 2 ** Math.min(tries - 1, 5)));
  state("lost", `${problem.message}; trying again`);
  retry = setTimeout(connect, 1000 * wait);
}

function askForToken(why) {
  sessionStorage.removeItem(KEY);
  store.clear();
  heard = 0;
  state("wait", "a token is needed");
  say(byId("token-problem"), why);
  byId("sign-in").hidden = false;
  byId("shown").hidden = true;
  byId("sign-out").hidden = true;
  byId("token").focus();
}

byId("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  const token = byId("token").value.trim();
  if (!token) return;
  sessionStorage.setItem(KEY, token);
  byId("token").value = "";
  state("wait", "connecting");
  connect();
});
byId("sign-out").addEventListener("click", () => {
  stop();
  askForToken("");
});
byId("search").addEventListener("input", (event) => change({ q: event.target.value }));
addEventListener("hashchange", () => {
  const { view, name } = current();
  if (asked !== `${TOPICS[view]} ${view === "queue" ? name : ""}` && byId("sign-in").hidden) {
    if (view !== "queues") store.applications = new Map();
    connect();
  }
  soon();
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    byId("search").focus();
    event.preventDefault();
  }
});
// A browser keeps a page that one has left for the way back, with its connections, of which it has few: a stream that nobody sees would take one from the next page.
addEventListener("pagehide", () => {
  clearTimeout(retry);
  stop();
});
addEventListener("pageshow", (event) => event.persisted && byId("sign-in").hidden && connect());
setInterval(() => {
  if (heard && Date.now() - heard > STALE && byId("status").dataset.state === "live") state("lost", `no news for ${Math.round((Date.now() - heard) / 1000)} s`);
}, 1000);

draw();
connect();
