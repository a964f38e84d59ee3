// What has been told: queues, applications and nodes by name, and the tree of the queues.

export class Store {
  constructor() {
    this.versions = { queues: 0, applications: 0, nodes: 0 }; // another number whenever anything of it is another
    this.clear();
  }

  clear() {
    this.queues = new Map();
    this.applications = new Map();
    this.nodes = new Map();
    this.cluster = {};
    this.problems = {};
    this.offers = new Set();
    this.children = new Map();
    this.grown = true;
    for (const topic of Object.keys(this.versions)) this.versions[topic] += 1;
  }

  get total() {
    return this.cluster.total || this.widest;
  }

  take(event, data) {
    if (event === "full") {
      this.clear();
      this.history = data.history === true;
      this.offers = new Set(data.offers || []);
    }
    for (const topic of ["queues", "applications", "nodes"]) {
      const told = data[topic];
      if (!told) continue;
      if (told.refused || told.tooMany) this.problems[topic] = told;
      const known = this[topic];
      this.versions[topic] += 1;
      for (const row of told.rows || []) {
        if (topic === "queues" && !known.has(row.name)) this.grown = true;
        known.set(row.name, row);
      }
      for (const name of told.gone || []) {
        known.delete(name);
        if (topic === "queues") this.grown = true;
      }
    }
    if (data.cluster) this.cluster = data.cluster;
    if (this.grown) this.grow();
    if (!this.cluster.total) this.measure();
  }

  // Of queues that one may not see the names are known by those below them.
  grow() {
    this.children = new Map();
    const known = new Set();
    const add = (path) => {
      if (known.has(path)) return;
      known.add(path);
      const at = path.lastIndexOf(".");
      const parent = at < 0 ? "" : path.slice(0, at);
      if (parent) add(parent);
      if (!this.children.has(parent)) this.children.set(parent, []);
      this.children.get(parent).push(path);
    };
    for (const path of this.queues.keys()) add(path);
    for (const paths of this.children.values()) paths.sort();
    this.grown = false;
  }

  // Who may not see the whole cluster sees bars of the most that any queue has or may have.
  measure() {
    this.widest = {};
    for (const queue of this.queues.values()) {
      for (const amounts of [queue.used, queue.fair, queue.guaranteed, queue.maximum]) {
        for (const [name, value] of Object.entries(amounts || {})) this.widest[name] = Math.max(this.widest[name] || 0, value);
      }
    }
  }
}

export function nameOf(path) {
  return path.slice(path.lastIndexOf(".") + 1);
}

export function above(path) {
  const parts = path.split(".");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("."));
}
