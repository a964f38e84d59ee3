// Pods that were asked to go lately: which, for whom and why, from what the leader remembers, and before that from the history. They are asked for every few seconds while somebody looks.

import { make, say } from "./dom.js";
import { Watch } from "./asking.js";
import { link } from "./place.js";
import { fillTable, table } from "./tables.js";
import { lasted, secondsOf } from "./times.js";

const EVERY = 5000;
const HISTORY_EVERY = 60000;
const NEAR = 60; // seconds by which what is remembered and what was written down of one eviction may differ

export class Preemptions {
  // `without` are columns that say nothing where it is used.
  constructor(parent, store, token, { title = "Pods that were asked to go, the newest first", without = [], heading = "h2" } = {}) {
    this.store = store;
    this.token = token;
    this.box = make("section", "card", parent);
    make(heading, "", this.box, title);
    this.note = make("p", "note", this.box);
    this.columns = ["Pod", "When", "Application", "Queue", "Node", "For", "Why"].filter((column) => !without.includes(column));
    this.table = table(this.box, title, this.columns, [...this.columns.keys()]);
    this.table.parentElement.classList.add("tall");
    this.found = [];
    this.watch = new Watch(EVERY, (answer) => this.heard(answer));
    this.past = [];
    this.history = new Watch(HISTORY_EVERY, ({ ok, said }) => {
      this.past = ok ? said.events.map(remembered) : [];
      this.fill();
    });
    this.search = "";
  }

  show(query, search = "") {
    this.search = search.toLowerCase();
    const key = JSON.stringify(query);
    if (key !== this.key) [this.key, this.found, this.past] = [key, [], []];
    this.watch.look("preemptions", query, this.token());
    if (this.store.history) this.history.look("history/events", { reason: "Preempted", ...query }, this.token());
    return this.fill();
  }

  heard({ ok, said, problem }) {
    this.problem = ok ? "" : problem;
    this.found = ok ? said.preemptions : [];
    this.fill();
  }

  fill() {
    const now = Date.now() / 1000;
    const named = (one) => [one.name, one.application, one.queue, one.byApplication, one.byQueue, one.node, one.message].filter(Boolean).join(" ").toLowerCase();
    const rows = [...this.found, ...this.past.filter((one) => !this.found.some((other) => same(one, other)))].filter((one) => named(one).includes(this.search));
    say(this.note, this.problem || (rows.length ? "" : this.store.history ? "None that you may see." : "None that you may see, since this copy of the scheduler leads."));
    this.table.parentElement.hidden = !rows.length;
    fillTable(this.table, rows.map((one, index) => ({ key: `${one.at} ${one.namespace}/${one.name} ${index}`, cells: this.cells(one, now) })));
    return rows.length;
  }

  cells(one, now) {
    const cells = {
      Pod: one.name,
      When: `${lasted(now - secondsOf(one.at))} ago`,
      Application: one.application ? { text: one.application, address: link("application", one.application) } : "–",
      Queue: one.queue ? { text: one.queue, address: link("queue", one.queue) } : "–",
      Node: one.node ? { text: one.node, address: link("nodes", "", { q: one.node }) } : "–",
      For: one.byApplication ? { text: one.byApplication, address: link("application", one.byApplication) } : "–",
      Why: one.message,
    };
    return this.columns.map((column) => cells[column]);
  }
}

// An event of the history as what the leader remembers; it does not say the node, nor for whom but in its words.
function remembered({ at, namespace, name, application, queue, note }) {
  return { at: new Date(1000 * at).toISOString(), namespace, name, application, queue, message: note.replace(/^Preempted: /, "") };
}

function same(one, other) {
  return one.name === other.name && one.namespace === other.namespace && Math.abs(secondsOf(one.at) - secondsOf(other.at)) < NEAR;
}
