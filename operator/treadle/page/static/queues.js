// The tree of queues: folds, search, filters and an order, all of them in the address.

import { attribute, byId, make, say } from "./dom.js";
import { dominant, resourceOf, short, shown, trim } from "./amounts.js";
import { bar, drawBar } from "./bar.js";
import { Grid, write } from "./grid.js";
import { change, go, link } from "./place.js";
import { above, nameOf } from "./store.js";

const MANY = 300; // queues, above which those below the second level are folded at first
const COLUMNS = [
  { key: "name", title: "Queue", className: "name", sort: true },
  { key: "share", title: "Share of the cluster", className: "bars" },
  { key: "used", title: "Used", className: "number used", sort: true },
  { key: "fair", title: "Fair share", className: "number fair", sort: true },
  { key: "pending", title: "Pending", className: "number pending", sort: true },
  { key: "applications", title: "Applications", className: "number apps", sort: true },
  { key: "waiting", title: "Pods waiting", className: "number waits", sort: true },
];
export const FILTERS = {
  waiting: ["pods wait", (queue) => queue.waiting > 0],
  over: ["over its share", (queue, total) => isOver(queue, total)],
  held: ["room is kept", (queue) => queue.held !== undefined],
  closed: ["takes nothing new", (queue) => queue.state !== "Running"],
  problem: ["not as written", (queue) => queue.problem !== undefined],
};

export function isOver(queue, total) {
  const share = queue.fair || queue.guaranteed || {};
  const [name, part] = dominant(queue.used, total);
  return queue.name !== "root" && part > 0 && (queue.used[name] || 0) > (share[name] || 0);
}

export class Queues {
  constructor(parent, store) {
    this.store = store;
    this.grid = new Grid(parent, {
      id: "queues",
      label: "The tree of queues: how much of the cluster each uses, should have and waits for",
      role: "treegrid",
      columns: COLUMNS,
      fill: (cells, row, item) => this.fill(cells, row, item),
      chosen: (item) => go(link("queue", item.key)),
      folded: (item, open) => this.fold(item, open),
      sorted: (key) => this.sort(key),
    });
  }

  sort(key) {
    const same = (this.words.get("sort") || "name") === key;
    change({ sort: key === "name" ? "" : key, down: same && !this.words.get("down") ? "1" : !same && key !== "name" ? "1" : "" });
  }

  // What is folded is told by what differs from how it is at first.
  isFolded(path) {
    const depth = this.store.queues.size > MANY ? 1 : Infinity;
    const first = path.split(".").length > depth;
    return this.turned.has(path) ? !first : first;
  }

  fold(item, open) {
    if (!item.children) {
      if (!open && item.key.includes(".")) this.grid.goTo(item.key.slice(0, item.key.lastIndexOf(".")));
      return;
    }
    if (open === !this.isFolded(item.key)) {
      if (!open && item.key.includes(".")) this.grid.goTo(item.key.slice(0, item.key.lastIndexOf(".")));
      else if (open) this.grid.move(this.grid.current + 1);
      return;
    }
    this.turn(item.key);
  }

  turn(path) {
    const turned = new Set(this.turned);
    if (!turned.delete(path)) turned.add(path);
    change({ turned: [...turned].join(",") });
  }

  show(words) {
    this.words = words;
    this.turned = new Set((words.get("turned") || "").split(",").filter(Boolean));
    this.resource = words.get("resource") || "";
    const sort = words.get("sort") || "name";
    const down = words.get("down") === "1";
    this.grid.sortedBy(sort, down);
    const { items, found } = this.items(sort, down);
    this.grid.show(items);
    return found;
  }

  // Queues that are looked for are shown with those above them, and nothing is folded then.
  items(sort, down) {
    const search = (this.words.get("q") || "").toLowerCase();
    const filters = (this.words.get("only") || "").split(",").filter((name) => FILTERS[name]);
    const total = this.store.total || {};
    let matching = null;
    let found = this.store.queues.size;
    if (search || filters.length) {
      matching = new Set();
      found = 0;
      for (const [path, queue] of this.store.queues) {
        if (search && !path.toLowerCase().includes(search)) continue;
        if (!filters.every((name) => FILTERS[name][1](queue, total))) continue;
        found += 1;
        matching.add(path);
        for (const parent of above(path)) matching.add(parent);
      }
    }
    const items = [];
    const order = this.order(sort, down, total);
    const walk = (path, level) => {
      const below = this.store.children.get(path) || [];
      const folded = !matching && this.isFolded(path);
      items.push({ key: path, level, children: below.length, open: !folded, queue: this.store.queues.get(path) });
      if (folded) return;
      const seen = matching ? below.filter((child) => matching.has(child)) : below;
      for (const child of order ? [...seen].sort(order) : seen) walk(child, level + 1);
    };
    for (const root of this.store.children.get("") || []) if (!matching || matching.has(root)) walk(root, 1);
    return { items, found };
  }

  order(sort, down, total) {
    if (sort === "name") return down ? (one, other) => (one < other ? 1 : -1) : null;
    const value = (path) => {
      const queue = this.store.queues.get(path) || {};
      if (sort === "applications") return (queue.running || 0) + (queue.accepted || 0);
      if (sort === "waiting") return queue.waiting || 0;
      const amounts = sort === "fair" ? queue.fair || queue.guaranteed : queue[sort];
      return this.resource ? (amounts || {})[this.resource] || 0 : dominant(amounts, total)[1];
    };
    const sign = down ? -1 : 1;
    return (one, other) => sign * (value(one) - value(other)) || (one < other ? -1 : 1);
  }

  fill(cells, row, item) {
    const { queue, key, level } = item;
    const total = this.store.total || {};
    attribute(row, "aria-level", level);
    attribute(row, "aria-expanded", item.children ? item.open : null);
    row.dataset.path = key;
    this.name(cells[0], item);
    cells[1].firstElementChild || bar(cells[1]);
    const drawn = cells[1].firstElementChild;
    drawn.hidden = !queue;
    if (!queue) {
      for (const cell of cells.slice(2)) write(cell, "");
      return;
    }
    const name = resourceOf(queue, total, this.resource);
    const unit = name === "memory" ? "" : ` ${short(name)}`;
    const amount = (amounts) => (amounts && amounts[name] ? [shown(name, amounts[name]), "", unit] : ["–"]);
    drawBar(drawn, key, queue, name, total);
    write(cells[2], ...amount(queue.used));
    write(cells[3], ...amount(queue.fair || queue.guaranteed));
    write(cells[4], ...amount(queue.pending));
    write(cells[5], queue.running || 0, "", queue.accepted ? ` and ${queue.accepted} wait` : "");
    write(cells[6], queue.waiting || "–");
  }

  name(cell, item) {
    const { key, queue, level } = item;
    if (!cell.fold) {
      cell.fold = make("button", "fold", cell);
      cell.fold.type = "button";
      cell.fold.tabIndex = -1;
      cell.fold.addEventListener("click", () => this.turn(cell.key));
      cell.title_ = make("a", "title", cell);
      cell.title_.tabIndex = -1;
      cell.tag = make("span", "tag", cell);
      cell.about = make("span", "about", cell);
    }
    cell.key = key;
    cell.style.setProperty("--level", level - 1);
    cell.fold.classList.toggle("none", !item.children);
    attribute(cell.fold, "aria-expanded", item.open);
    attribute(cell.fold, "aria-label", `Queues below ${key}`);
    say(cell.title_, nameOf(key));
    attribute(cell.title_, "href", link("queue", key));
    attribute(cell.title_, "title", key);
    const state = queue ? queue.state : "";
    say(cell.tag, state === "Running" ? "" : state);
    cell.tag.hidden = !state || state === "Running";
    say(cell.about, queue ? about(key, queue) : "you may not see what it holds");
  }
}

export function about(path, queue) {
  const words = path === "root" ? [queue.policy] : [`weight ${trim(queue.weight || 0)}`, queue.policy];
  if (queue.dynamic) words.push("made by a rule");
  return words.join(" · ");
}
