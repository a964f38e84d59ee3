// Pods that were asked to go lately: which, for whom and why. They are asked for every few seconds while somebody looks.

import { make, say } from "./dom.js";
import { Watch } from "./asking.js";
import { link } from "./place.js";
import { fillTable, table } from "./tables.js";
import { lasted, secondsOf } from "./times.js";

const EVERY = 5000;

export class Preemptions {
  // `without` are columns that say nothing where it is used.
  constructor(parent, token, { title = "Pods that were asked to go, the newest first", without = [], heading = "h2" } = {}) {
    this.token = token;
    this.box = make("section", "card", parent);
    make(heading, "", this.box, title);
    this.note = make("p", "note", this.box);
    this.columns = ["Pod", "When", "Application", "Queue", "Node", "For", "Why"].filter((column) => !without.includes(column));
    this.table = table(this.box, title, this.columns, [...this.columns.keys()]);
    this.table.parentElement.classList.add("tall");
    this.found = [];
    this.watch = new Watch(EVERY, (answer) => this.heard(answer));
    this.search = "";
  }

  show(query, search = "") {
    this.search = search.toLowerCase();
    this.watch.look("preemptions", query, this.token());
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
    const rows = this.found.filter((one) => named(one).includes(this.search));
    say(this.note, this.problem || (rows.length ? "" : "None that you may see, since this copy of the scheduler leads."));
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
