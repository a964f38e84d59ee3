// Applications: search, filters, an order; whose they are and why they wait.

import { attribute } from "./dom.js";
import { dominant, resourceOf, short, shown } from "./amounts.js";
import { Grid, write } from "./grid.js";
import { go, link } from "./place.js";

const COLUMNS = [
  { key: "name", title: "Application", className: "name", sort: true },
  { key: "queue", title: "Queue", className: "queue", sort: true },
  { key: "user", title: "User", className: "user", sort: true },
  { key: "running", title: "Pods run", className: "number runs", sort: true },
  { key: "waiting", title: "Pods wait", className: "number waits", sort: true },
  { key: "used", title: "Used", className: "number used", sort: true },
  { key: "reason", title: "Why it waits", className: "reason", sort: true },
  { key: "place", title: "In line", className: "number place", sort: true },
];

export class Applications {
  constructor(parent, store, { id = "applications", label = "Applications", sorted, without = [] }) {
    this.store = store;
    this.columns = COLUMNS.filter((column) => !without.includes(column.key));
    this.grid = new Grid(parent, {
      id,
      label,
      columns: this.columns,
      fill: (cells, row, item) => this.fill(cells, row, item),
      chosen: (item) => go(link("application", item.key)),
      sorted,
    });
    this.grid.scroller.classList.add("applications");
  }

  show(words) {
    const sort = words.get("sort") || "name";
    const down = words.get("down") === "1";
    const found = select(this.store, words);
    found.sort(order(sort, down, this.store.total || {}));
    this.grid.sortedBy(sort, down);
    this.grid.show(found.map((application) => ({ key: application.name, application })));
    return found;
  }

  fill(cells, row, { key, application: one }) {
    row.dataset.name = key;
    attribute(row, "data-reason", one.reason || "");
    const name = resourceOf(one, this.store.total || {}, "");
    const used = one.used && one.used[name];
    const line = one.place ? String(one.place) : "–";
    const values = {
      name: [key.slice(key.indexOf("/") + 1), link("application", key), ` ${key.slice(0, key.indexOf("/"))}`],
      queue: [one.queue || "none", one.queue ? link("queue", one.queue) : ""],
      user: [one.user || "–"],
      running: [one.running || 0],
      waiting: [one.waiting || "–"],
      used: used ? [shown(name, used), "", name === "memory" ? "" : ` ${short(name)}`] : ["–"],
      reason: one.reason ? [one.reason, "", ` ${one.message || ""}`] : [one.phase],
      place: [line, "", one.place ? ` of ${one.line}` : ""],
    };
    this.columns.forEach((column, index) => {
      write(cells[index], ...values[column.key]);
      attribute(cells[index], "title", column.key === "reason" && one.message ? one.message : null);
    });
  }
}

export function select(store, words) {
  const search = (words.get("q") || "").toLowerCase();
  const [reason, user] = [words.get("reason") || "", words.get("user") || ""];
  const waiting = words.get("only") === "waiting";
  const found = [];
  for (const one of store.applications.values()) {
    if (reason && one.reason !== reason) continue;
    if (user && one.user !== user) continue;
    if (waiting && !one.waiting) continue;
    if (search && ![one.name, one.queue || "", one.user || ""].some((text) => text.toLowerCase().includes(search))) continue;
    found.push(one);
  }
  return found;
}

function order(sort, down, total) {
  const value = (one) => (sort === "used" ? dominant(one.used, total)[1] : one[sort]);
  const words = ["name", "queue", "user", "reason"].includes(sort);
  const sign = down ? -1 : 1;
  return (one, other) => {
    const [a, b] = [value(one), value(other)];
    // What has no value is last in either order.
    if ((a === undefined) !== (b === undefined) && (words || sort === "place")) return a === undefined ? 1 : -1;
    const by = words ? (a === b ? 0 : a < b ? -1 : 1) : (a || 0) - (b || 0);
    return sign * by || (one.name < other.name ? -1 : 1);
  };
}

// Pods and applications that wait, by reason, and the words of those of which most wait.
export function reasons(applications) {
  const found = new Map();
  for (const one of applications) {
    if (!one.reason) continue;
    const entry = found.get(one.reason) || { reason: one.reason, pods: 0, applications: 0, messages: new Map() };
    entry.pods += one.waiting || 0;
    entry.applications += 1;
    entry.messages.set(one.message || "", (entry.messages.get(one.message || "") || 0) + (one.waiting || 0));
    found.set(one.reason, entry);
  }
  return [...found.values()].sort((one, other) => other.pods - one.pods || (one.reason < other.reason ? -1 : 1));
}
