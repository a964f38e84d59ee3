// What is promised of a queue over time: a row for each reservation with a bar for each time that it has something, below what all have together and what the queue has.

import { attribute, make, reconcile, say } from "./dom.js";
import { all, short, shown } from "./amounts.js";
import { Watch } from "./asking.js";
import { change } from "./place.js";
import { fillTable, table } from "./tables.js";
import { lasted, moment, svg } from "./times.js";

const EVERY = 30000;
const AHEAD = { 24: "a day", 72: "three days", 168: "a week", 720: "30 days" };
const WIDTH = 1000;
const TALL = 100;

export class Plan {
  constructor(parent, token) {
    this.token = token;
    this.box = make("section", "card", parent);
    make("h3", "", this.box, "What is promised");
    this.problem = make("p", "note", this.box);
    const choices = make("div", "choices", this.box);
    this.ahead = select(choices, "Ahead", (chosen) => change({ ahead: chosen }));
    this.of = select(choices, "Of", (chosen) => change({ of: chosen }));
    options(this.ahead, Object.entries(AHEAD));
    this.total = row(this.box);
    attribute(this.total.svg, "class", "total");
    attribute(this.total.svg, "viewBox", `0 0 ${WIDTH} ${TALL}`);
    this.promised = svg("path", this.total.svg, { class: "used" });
    this.has = svg("line", this.total.svg, { class: "has", x1: 0, x2: WIDTH });
    this.rows = make("div", "gantt", this.box);
    this.ends = make("p", "ends gantt-ends note", this.box);
    this.from = make("span", "", this.ends);
    this.to = make("span", "", this.ends);
    this.words = make("p", "note", this.box);
    this.table = table(this.box, "Reservations of the queue", ["Reservation", "Phase", "User", "From", "Until", "Times", "Has then"], [1, 2, 3, 4, 5, 6]);
    this.table.parentElement.classList.add("tall");
    this.watch = new Watch(EVERY, (answer) => this.heard(answer));
    this.box.hidden = true;
  }

  show(path, takes, words) {
    this.box.hidden = !takes;
    if (!takes) return;
    this.hours = words.get("ahead") in AHEAD ? words.get("ahead") : "24";
    this.chosen = words.get("of") || "";
    if (path !== this.path) {
      this.path = path;
      this.said = null;
    }
    this.watch.look("plan", { queue: path, hours: this.hours }, this.token());
    if (this.said) this.draw();
  }

  heard({ ok, said, problem }) {
    this.said = ok ? said : null;
    say(this.problem, problem);
    for (const part of [this.total, this.rows, this.ends, this.table.parentElement]) part.hidden = !ok;
    if (ok) this.draw();
  }

  draw() {
    const { has, reservations, more, start, end, queue } = this.said;
    const kinds = kindsOf(has, reservations);
    const [partition, resource] = kinds.find((kind) => kind.join("/") === this.chosen) || kinds[0] || ["", "cpu"];
    options(this.of, kinds.map((kind) => [kind.join("/"), short(kind[1]) + (kind[0] ? ` in ${kind[0]}` : "")]));
    this.of.value = [partition, resource].join("/");
    this.ahead.value = this.hours;
    const amount = (amounts) => (amounts[partition] || {})[resource] || 0;
    const x = (at) => (WIDTH * (at - start)) / (end - start);
    const steps = stepsOf(reservations, amount, start, end);
    const most = Math.max(1, amount(has), ...steps.map(({ value }) => value));
    const y = (value) => TALL - (0.94 * TALL * value) / most;
    attribute(this.promised, "d", steps.map(({ from, until, value }) => `M${x(from).toFixed(1)} ${y(value).toFixed(1)}H${x(until).toFixed(1)}V${TALL}H${x(from).toFixed(1)}z`).join(""));
    for (const side of ["y1", "y2"]) attribute(this.has, side, y(amount(has)).toFixed(1));
    const peak = Math.max(0, ...steps.map(({ value }) => value));
    const words = `${queue} has ${shown(resource, amount(has))} ${short(resource)}, of which ${shown(resource, peak)} are promised at the most from ${moment(start)} until ${moment(end)}`;
    say(this.total.name, `${short(resource)} promised`);
    attribute(this.total.svg, "aria-label", `${words}. The table has each reservation.`);
    this.gantt(reservations, amount, resource, x);
    say(this.from, moment(start));
    say(this.to, moment(end));
    say(this.words, reservations.length ? `${words}; the dashed line is what the queue has.${more ? ` ${more} further reservations are not shown.` : ""}` : "Nothing is promised in this time.");
    this.list(reservations);
  }

  gantt(reservations, amount, resource, x) {
    reconcile(this.rows, reservations.map(named), () => row(null)).forEach((made, index) => {
      const one = reservations[index];
      attribute(made.svg, "viewBox", `0 0 ${WIDTH} 10`);
      say(made.name, named(one));
      attribute(made.name, "title", named(one));
      attribute(made.svg, "aria-label", `${named(one)}: ${one.occurrences.length} times, first from ${moment(one.occurrences[0].start)} until ${moment(one.occurrences[0].end)}`);
      reconcile(made.svg, one.occurrences.map((_, number) => number), () => {
        const bar = svg("rect", null, { class: "used", y: 1.5, height: 7 });
        bar.title = svg("title", bar);
        return bar;
      }).forEach((bar, number) => {
        const { start, end, amounts } = one.occurrences[number];
        attribute(bar, "x", x(start).toFixed(1));
        attribute(bar, "width", Math.max(1.5, x(end) - x(start)).toFixed(1));
        bar.style.opacity = amount(amounts) ? "1" : "0.35";
        say(bar.title, `${named(one)}: ${shown(resource, amount(amounts))} ${short(resource)} from ${moment(start)} until ${moment(end)}`);
      });
    });
  }

  list(reservations) {
    this.table.parentElement.hidden = !reservations.length;
    fillTable(this.table, reservations.map((one) => {
      const [first] = one.occurrences;
      const again = one.period ? `every ${lasted(one.period)}` : "once";
      const times = `${one.occurrences.length}${one.cut ? " or more" : ""}, ${again}`;
      const has = Object.entries(first.amounts).map(([partition, amounts]) => (partition ? `${partition}: ` : "") + all(amounts));
      return { key: named(one), cells: [named(one), one.phase, one.user || "–", moment(first.start), moment(first.end), times, has.join("; ")] };
    }));
  }
}

const named = (one) => `${one.namespace}/${one.name}`;

function row(parent) {
  const made = make("div", "gantt-row", parent);
  made.name = make("span", "gantt-name", made);
  made.svg = svg("svg", made, { role: "img", preserveAspectRatio: "none" });
  return made;
}

function select(parent, text, chosen) {
  const label = make("label", "", parent, text);
  const made = make("select", "", label);
  made.addEventListener("change", () => chosen(made.value));
  return made;
}

function options(made, entries) {
  reconcile(made, entries.map(([key]) => key), () => make("option")).forEach((option, index) => {
    [option.value] = entries[index];
    say(option, entries[index][1]);
  });
}

// The partitions and resources of which there is something, those first of which the largest part is promised at once.
function kindsOf(has, reservations) {
  const found = new Map();
  const add = (amounts, promised) => {
    for (const [partition, of] of Object.entries(amounts)) {
      for (const [resource, value] of Object.entries(of)) {
        const part = promised ? value / ((has[partition] || {})[resource] || 1) : 0;
        const key = `${partition}/${resource}`;
        found.set(key, { kind: [partition, resource], part: Math.max(part, found.has(key) ? found.get(key).part : 0) });
      }
    }
  };
  add(has, false);
  for (const one of reservations) for (const { amounts } of one.occurrences) add(amounts, true);
  return [...found.values()].sort((one, other) => other.part - one.part || (one.kind.join("/") < other.kind.join("/") ? -1 : 1)).map(({ kind }) => kind);
}

// From when until when how much is promised to all together.
function stepsOf(reservations, amount, start, end) {
  const changes = new Map([[start, 0], [end, 0]]);
  for (const one of reservations) {
    for (const { start: from, end: until, amounts } of one.occurrences) {
      changes.set(from, (changes.get(from) || 0) + amount(amounts));
      changes.set(until, (changes.get(until) || 0) - amount(amounts));
    }
  }
  const times = [...changes.keys()].sort((one, other) => one - other);
  let value = 0;
  return times.slice(0, -1).map((from, index) => {
    value += changes.get(from);
    return { from, until: times[index + 1], value };
  }).filter((step) => step.value > 0);
}
