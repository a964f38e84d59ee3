// The page of one queue: what it has and may have, its partitions, who uses it, why its applications wait.

import { attribute, make, reconcile, say } from "./dom.js";
import { dominant, resourceNames, resourceOf, short, shown, trim } from "./amounts.js";
import { Applications, reasons } from "./applications.js";
import { bar, drawBar, sentence } from "./bar.js";
import { Editor } from "./editor.js";
import { History } from "./history.js";
import { change, link } from "./place.js";
import { Plan } from "./plan.js";
import { about } from "./queues.js";
import { Reserve } from "./reserve.js";
import { above, nameOf } from "./store.js";
import { facts, fillTable, table } from "./tables.js";

export class QueuePage {
  constructor(parent, store, token) {
    this.store = store;
    this.token = token;
    this.way = make("nav", "way", parent);
    attribute(this.way, "aria-label", "Queues above");
    this.title = make("h2", "", parent);
    this.about = make("p", "note", parent);
    this.problem = make("p", "problem", parent);
    this.bar = bar(make("div", "wide", parent));
    this.bar.hidden = true;
    this.sentence = make("p", "note", parent);
    this.facts = make("dl", "facts", parent);
    this.section(parent, "What it has and may have", (box) => {
      this.limits = table(box, "Amounts by partition and resource", ["Resource", "Partition", "Used", "Pending", "Fair share", "Guaranteed", "Maximum"]);
    });
    this.editor = new Editor(parent, store, token);
    this.plan = new Plan(parent, token);
    this.reserve = new Reserve(parent, store, token);
    this.history = new History(this.section(parent, "Used over time"));
    const why = this.section(parent, "Why it waits");
    this.why = make("ul", "why", why);
    this.noWhy = make("p", "note", why);
    this.section(parent, "Users", (box) => {
      this.users = table(box, "Users of the queue", ["User", "Applications", "Pods run", "Pods wait", "Used"]);
    });
    this.below = this.section(parent, "Queues below");
    this.children = table(this.below, "Queues below", ["Queue", "Used", "Fair share", "Pending", "Pods wait"]);
    const applications = this.section(parent, "Applications");
    this.count = make("p", "note", applications);
    this.applications = new Applications(applications, store, { id: "of-queue", label: "Applications of the queue", sorted: (key) => this.sort(key), without: [] });
  }

  section(parent, title, fill = () => {}) {
    const box = make("section", "card", parent);
    make("h3", "", box, title);
    fill(box);
    return box;
  }

  sort(key) {
    const same = (this.words.get("sort") || "name") === key;
    change({ sort: key, down: same && !this.words.get("down") ? "1" : "" });
  }

  show(path, words) {
    this.words = words;
    const { store } = this;
    const queue = store.queues.get(path);
    const total = store.total || {};
    this.trail(path);
    this.editor.show(path);
    const takes = queue !== undefined && queue.plan === true;
    this.plan.show(path, takes, words);
    this.reserve.show(path, takes);
    say(this.title, nameOf(path));
    const missing = store.children.has(path) ? "You may not see what it holds." : "There is no such queue, or you may not see it.";
    say(this.about, queue ? about(path, queue) : missing);
    say(this.problem, queue ? queue.problem || queue.remark || "" : "");
    this.problem.hidden = !this.problem.textContent;
    const name = queue ? resourceOf(queue, total, words.get("resource")) : "";
    this.bar.hidden = !queue;
    if (queue) drawBar(this.bar, path, queue, name, total);
    say(this.sentence, queue ? `${sentence(path, queue, name, total)}.` : "");
    facts(this.facts, queue ? this.told(queue, total) : []);
    fillTable(this.limits, queue ? limits(queue) : []);
    if (queue && store.history) this.history.ask(path, this.token());
    if (queue) this.history.add(path, name, (queue.used || {})[name] || 0, (queue.fair || queue.guaranteed || {})[name] || 0);
    const mine = [...store.applications.values()];
    this.reasons(mine);
    fillTable(this.users, users(mine, total));
    const children = store.children.get(path) || [];
    this.below.hidden = !children.length;
    fillTable(this.children, children.map((child) => this.child(child, total)));
    const shown_ = this.applications.show(words);
    const problem = store.problems.applications;
    say(this.count, problem ? `${problem.tooMany} applications are too many to be listed; open a queue below.` : shown_.length ? "" : "None.");
    this.applications.grid.scroller.hidden = !shown_.length;
  }

  trail(path) {
    reconcile(this.way, above(path), (parent) => {
      const item = make("a", "", null, nameOf(parent));
      item.href = link("queue", parent);
      return item;
    });
  }

  told(queue, total) {
    const [name, part] = dominant(queue.used, total);
    return [
      ["State", queue.state],
      ["Of the cluster", `${trim(100 * part)}%`, name ? ` ${short(name)}` : ""],
      ["Applications", queue.running || 0, queue.accepted ? ` and ${queue.accepted} wait` : " run"],
      ["Pods waiting", queue.waiting || 0],
      ...(queue.usedCapacity ? [["Of its guarantee", `${trim(100 * queue.usedCapacity)}%`]] : []),
      ...(queue.held ? [["Room kept", shown(...first(queue.held)), ` ${short(first(queue.held)[0])}`]] : []),
      ...(queue.opportunistic ? [["Opportunistic", shown(...first(queue.opportunistic)), ` ${short(first(queue.opportunistic)[0])}`]] : []),
    ];
  }

  reasons(applications) {
    const found = reasons(applications);
    reconcile(this.why, found.map(({ reason }) => reason), (reason) => {
      const item = make("li");
      item.link = make("a", "", item, reason);
      item.count = make("span", "", item);
      item.words = make("p", "note", item);
      return item;
    }).forEach((item, index) => {
      const { pods, applications: count, messages, reason } = found[index];
      const [message] = [...messages].sort((one, other) => other[1] - one[1])[0];
      attribute(item.link, "href", link("queue", this.path(), { reason: this.words.get("reason") === reason ? "" : reason }));
      attribute(item.link, "aria-current", this.words.get("reason") === reason ? "true" : null);
      say(item.count, ` ${pods} ${pods === 1 ? "pod" : "pods"} of ${count} ${count === 1 ? "application" : "applications"}`);
      say(item.words, messages.size > 1 ? `${message} (and ${messages.size - 1} other messages)` : message);
    });
    say(this.noWhy, found.length ? "" : "Nothing waits.");
  }

  path() {
    return decodeURIComponent(location.hash.split("?")[0].split("/").slice(2).join("/"));
  }

  child(path, total) {
    const queue = this.store.queues.get(path);
    if (!queue) return { key: path, cells: [{ text: nameOf(path), address: link("queue", path) }, "–", "–", "–", "–"] };
    const name = resourceOf(queue, total, "");
    const amount = (amounts) => (amounts && amounts[name] ? `${shown(name, amounts[name])} ${short(name)}` : "–");
    return {
      key: path,
      cells: [
        { text: nameOf(path), address: link("queue", path) },
        amount(queue.used),
        amount(queue.fair || queue.guaranteed),
        amount(queue.pending),
        queue.waiting || "–",
      ],
    };
  }
}

function first(amounts) {
  return Object.entries(amounts)[0];
}

function limits(queue) {
  const rows = [];
  const add = (partition, part) => {
    const names = new Set(["used", "pending", "fair", "guaranteed", "maximum"].flatMap((field) => Object.keys(part[field] || {})));
    for (const name of [...resourceNames(Object.fromEntries([...names].map((each) => [each, 1]))), ...(names.has("pods") ? ["pods"] : [])]) {
      const of = (field) => (part[field] && name in part[field] ? shown(name, part[field][name]) : "–");
      const cells = [short(name), partition || "default", of("used"), of("pending"), of("fair"), of("guaranteed"), of("maximum")];
      rows.push({ key: `${partition}/${name}`, cells });
    }
  };
  add("", queue);
  for (const [partition, part] of Object.entries(queue.partitions || {})) add(partition, part);
  return rows;
}

function users(applications, total) {
  const found = new Map();
  for (const one of applications) {
    const name = one.user || "";
    const entry = found.get(name) || { applications: 0, running: 0, waiting: 0, used: {} };
    entry.applications += 1;
    entry.running += one.running || 0;
    entry.waiting += one.waiting || 0;
    for (const [resource, value] of Object.entries(one.used || {})) entry.used[resource] = (entry.used[resource] || 0) + value;
    found.set(name, entry);
  }
  const most = [...found].sort((one, other) => dominant(other[1].used, total)[1] - dominant(one[1].used, total)[1] || (one[0] < other[0] ? -1 : 1));
  return most.slice(0, 50).map(([name, entry]) => {
    const [resource] = dominant(entry.used, total);
    const used = resource ? `${shown(resource, entry.used[resource])} ${short(resource)}` : "–";
    return { key: name, cells: [{ text: name || "unknown", address: link("applications", "", { user: name }) }, entry.applications, entry.running, entry.waiting || "–", used] };
  });
}
