// Nodes as a map, one square each by its use, and as a list. Partitions are apart; what opportunistic pods were given is drawn on top.

import { attribute, make, say } from "./dom.js";
import { dominant, percent, resourceNames, short, shown, trim } from "./amounts.js";
import { Grid, write } from "./grid.js";
import { change } from "./place.js";

const STEPS = 10;
const STATES = { Cordoned: "takes no pods", NotReady: "its kubelet is not ready", HeldOff: "its kubelet refused pods lately" };
const COLUMNS = [
  { key: "name", title: "Node", className: "name", sort: true },
  { key: "partition", title: "Partition", className: "queue", sort: true },
  { key: "part", title: "Used", className: "number used", sort: true },
  { key: "amount", title: "Of", className: "number fair" },
  { key: "opportunistic", title: "Opportunistic", className: "number pending", sort: true },
  { key: "problem", title: "Remarks", className: "reason" },
];

export class Nodes {
  constructor(parent, store) {
    this.store = store;
    this.problem = make("p", "note", parent);
    const card = make("section", "card", parent);
    this.note = make("p", "note", card);
    this.canvas = make("canvas", "map", card);
    attribute(this.canvas, "role", "img");
    this.tip = make("p", "note tip", card);
    this.legend(card);
    const list = make("section", "card", parent);
    this.grid = new Grid(list, {
      id: "nodes",
      label: "Nodes",
      columns: COLUMNS,
      fill: (cells, row, item) => this.fill(cells, row, item.node),
      chosen: (item) => say(this.tip, this.words(item.node)),
      sorted: (key) => this.sort(key),
    });
    this.cells = [];
    this.canvas.addEventListener("pointermove", (event) => {
      const node = this.at(event);
      if (node) say(this.tip, this.words(node));
    });
    this.canvas.addEventListener("click", (event) => {
      const node = this.at(event);
      if (node) this.grid.goTo(node.name);
    });
    new ResizeObserver(() => this.canvas.clientWidth !== this.width && this.soon()).observe(this.canvas); // its height is what is drawn
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.soon());
  }

  legend(parent) {
    const list = make("ul", "legend", parent);
    attribute(list, "aria-label", "Legend");
    for (const [name, words] of [["empty", "empty"], ["used", "all used"], ["opportunistic", "given to opportunistic pods"], ["cordoned", "takes no pods"]]) {
      const item = make("li", "", list);
      make("i", `key ${name}`, item);
      make("span", "", item, words);
    }
  }

  sort(key) {
    const same = (this.wanted.get("sort") || "name") === key;
    change({ sort: key, down: same && !this.wanted.get("down") ? "1" : "" });
  }

  // Draws what is wanted, unless that is what is shown; returns how many nodes there are.
  show(words) {
    const drawn = `${this.store.versions.nodes} ${words}`;
    if (drawn === this.drawn) return this.shown.length;
    this.drawn = drawn;
    this.wanted = words;
    this.resource = words.get("resource") || "";
    const refused = this.store.problems.nodes;
    say(this.problem, refused ? "Nodes are shown to whoever may list them, or may view all queues." : "");
    const search = (words.get("q") || "").toLowerCase();
    const partition = words.get("partition");
    const found = [...this.store.nodes.values()].filter(
      (node) => (!search || node.name.toLowerCase().includes(search)) && (partition === null || (node.partition || "") === partition),
    );
    this.shown = found;
    const sort = words.get("sort") || "name";
    const down = words.get("down") === "1";
    const value = (node) => ({ name: node.name, partition: node.partition || "", part: this.part(node), opportunistic: this.extra(node) })[sort];
    const keyed = found.map((node) => ({ key: node.name, node, by: value(node) }));
    keyed.sort((one, other) => (down ? -1 : 1) * (one.by < other.by ? -1 : one.by > other.by ? 1 : one.key < other.key ? -1 : 1));
    this.grid.sortedBy(sort, down);
    this.grid.show(keyed);
    const full = found.filter((node) => this.part(node) >= 0.95).length;
    const cordoned = found.filter((node) => node.state).length;
    const summary = `${found.length} nodes, ${full} of them at least 95% used, ${cordoned} take no pods now`;
    say(this.note, summary);
    attribute(this.canvas, "aria-label", `A map of nodes by use: ${summary}. The list below has each of them.`);
    this.soon();
    return found.length;
  }

  part(node) {
    if (node.of !== this.resource) [node.of, node.part] = [this.resource, this.computed(node)];
    return node.part;
  }

  computed(node) {
    return this.resource ? ((node.used || {})[this.resource] || 0) / ((node.has || {})[this.resource] || 1) : dominant(node.used, node.has || {})[1];
  }

  extra(node) {
    return node.opportunistic ? dominant(node.opportunistic, node.has || {})[1] : 0;
  }

  words(node) {
    const parts = resourceNames(node.has).map((name) => {
      const used = (node.used || {})[name] || 0;
      return `${short(name)} ${shown(name, used)} of ${shown(name, node.has[name])} (${Math.round(percent(used, node.has[name]))}%)`;
    });
    const more = [node.partition && `partition ${node.partition}`, node.state && STATES[node.state], node.opportunistic && "has opportunistic pods", node.problem];
    return `${node.name}: ${[...parts, ...more.filter(Boolean)].join(", ")}`;
  }

  fill(cells, row, node) {
    row.dataset.name = node.name;
    const name = this.resource || dominant(node.used, node.has || {})[0] || "cpu";
    const has = (node.has || {})[name] || 0;
    write(cells[0], node.name);
    write(cells[1], node.partition || "default");
    write(cells[2], `${trim(100 * this.part(node))}%`);
    write(cells[3], shown(name, has), "", name === "memory" ? "" : ` ${short(name)}`);
    const extra = this.extra(node);
    write(cells[4], extra ? `${trim(100 * extra)}%` : "–");
    write(cells[5], [node.state ? STATES[node.state] : "", node.problem || ""].filter(Boolean).join("; "));
  }

  soon() {
    if (this.due) return;
    this.due = requestAnimationFrame(() => {
      this.due = 0;
      this.draw();
    });
  }

  draw() {
    const width = this.canvas.clientWidth;
    if (!width || !this.shown) return;
    this.width = width;
    const groups = new Map();
    for (const node of this.shown) {
      const partition = node.partition || "";
      if (!groups.has(partition)) groups.set(partition, []);
      groups.get(partition).push(node);
    }
    const size = Math.max(7, Math.min(26, Math.floor(Math.sqrt((width * 330) / Math.max(1, this.shown.length)))));
    const across = Math.max(1, Math.floor(width / size));
    const titled = groups.size > 1 ? 20 : 0;
    let top = 0;
    this.cells = [];
    const places = [...groups].sort(([one], [other]) => (one < other ? -1 : 1)).map(([partition, nodes]) => {
      const place = { partition, nodes: nodes.sort((one, other) => (one.name < other.name ? -1 : 1)), top: top + titled };
      top += titled + Math.ceil(nodes.length / across) * size + (titled ? 6 : 0);
      return place;
    });
    const ratio = devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = Math.max(size, top) * ratio;
    this.canvas.style.height = `${Math.max(size, top)}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(this.canvas);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const [used, track, soft, over, line] = ["used", "track", "soft", "over", "soft"].map(colour);
    for (const { partition, nodes, top: from } of places) {
      if (titled) {
        pen.fillStyle = soft;
        pen.font = "13px system-ui, sans-serif";
        pen.fillText(`${partition || "default"} (${nodes.length})`, 0, from - 6);
      }
      nodes.forEach((node, index) => {
        const [x, y] = [(index % across) * size, from + Math.floor(index / across) * size];
        const [inner, gap] = [size - 1, 0.5];
        pen.fillStyle = track;
        pen.fillRect(x + gap, y + gap, inner, inner);
        pen.globalAlpha = Math.round(Math.min(1, this.part(node)) * STEPS) / STEPS;
        pen.fillStyle = used;
        pen.fillRect(x + gap, y + gap, inner, inner);
        pen.globalAlpha = 1;
        const extra = Math.min(1, this.extra(node));
        if (extra) {
          const height = Math.max(2, inner * extra);
          pen.fillStyle = over;
          pen.fillRect(x + gap, y + gap + inner - height, Math.max(2, inner / 3), height);
        }
        if (node.state) {
          pen.strokeStyle = line;
          pen.beginPath();
          pen.moveTo(x + 1, y + inner);
          pen.lineTo(x + inner, y + 1);
          pen.stroke();
        }
      });
      this.cells.push({ from, across, size, nodes });
    }
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    for (const { from, across, size, nodes } of this.cells) {
      const row = Math.floor((y - from) / size);
      const column = Math.floor(x / size);
      if (y >= from && column < across && nodes[row * across + column]) return nodes[row * across + column];
    }
    return null;
  }
}
