// The page of one application: its pods, when they waited and ran, why they wait, its place in line, what is forecast, what was preempted of it.

import { attribute, make, reconcile, say } from "./dom.js";
import { all, when } from "./amounts.js";
import { Watch } from "./asking.js";
import { link } from "./place.js";
import { Pods } from "./pods.js";
import { Preemptions } from "./preemptions.js";
import { Runs } from "./runs.js";
import { facts } from "./tables.js";

const EVERY = 3000; // milliseconds between two questions for pods
const ENDED_EVERY = 10000; // and for those that have ended

const RANGES = { firstPodStart: "First pod starts", lastPodStart: "Last pod starts", end: "Ends" };

export class ApplicationPage {
  constructor(parent, store, token) {
    this.store = store;
    this.token = token;
    this.name = "";
    this.title = make("h2", "", parent);
    this.note = make("p", "note", parent);
    this.facts = make("dl", "facts", parent);
    const why = make("section", "card", parent);
    make("h3", "", why, "Why it waits");
    this.reason = make("p", "", why);
    this.message = make("p", "note", why);
    this.line = make("p", "", why);
    this.ahead = make("ol", "ahead", why);
    const amounts = make("section", "card", parent);
    make("h3", "", amounts, "Amounts");
    this.amounts = make("dl", "lines", amounts);
    this.forecast = make("section", "card", parent);
    make("h3", "", this.forecast, "Forecast");
    this.ranges = make("dl", "lines", this.forecast);
    this.forecastNote = make("p", "note", this.forecast);
    this.pods = new Pods(parent);
    this.watch = new Watch(EVERY, ({ ok, said, problem }) => (ok ? this.pods.show(said.pods, said.continue !== "") : say(this.pods.note, problem)));
    this.ended = new Watch(ENDED_EVERY, ({ ok, said }) => ok && this.pods.add(said.endedPods));
    this.preempted = new Preemptions(parent, store, token, { title: "Preempted of it", without: ["Application", "Queue"], heading: "h3" });
    this.runs = new Runs(parent);
  }

  show(name) {
    const one = this.store.applications.get(name);
    const [namespace, ...rest] = name.split("/");
    if (name !== this.name) {
      this.name = name;
      this.pods.clear();
    }
    this.watch.look("pods", { application: name }, this.token());
    this.ended.look("ended-pods", { application: name, limit: 200 }, this.token());
    this.preempted.box.hidden = !this.preempted.show({ application: name });
    if (this.store.history) this.runs.show(name, this.token());
    say(this.title, rest.join("/"));
    const queues = this.store.queues.size;
    say(this.note, one ? `in namespace ${namespace}` : queues ? "There is no such application any more, or you may not see it." : "");
    facts(this.facts, one ? told(one) : []);
    say(this.reason, !one ? "" : one.reason || "Nothing of it waits.");
    say(this.message, one && one.message ? one.message : "");
    say(this.line, one && one.place ? `It is number ${one.place} of ${one.line} in the line of its queue${one.place > 1 ? ", behind:" : "."}` : "");
    reconcile(this.ahead, (one && one.ahead) || [], (other) => {
      const item = make("li");
      make("a", "", item, other).href = link("application", other);
      return item;
    });
    lines(this.amounts, one ? [["Used", all(one.used)], ["Pending", all(one.pending)], ...(one.headroom ? [["Headroom", all(one.headroom)]] : [])] : []);
    const eta = one && one.eta;
    this.forecast.hidden = !eta;
    if (!eta) return;
    const ranges = Object.entries(RANGES).filter(([field]) => eta[field]);
    lines(this.ranges, ranges.map(([field, term]) => [term, range(eta[field])]));
    const risk = eta.deadlineRisk === undefined ? "" : `It misses its deadline in ${eta.deadlineRisk}% of the futures. `;
    say(this.forecastNote, risk + (eta.note || ""));
  }
}

function told(one) {
  return [
    ["Phase", one.phase],
    ["Queue", one.queue || "none", "", one.queue ? link("queue", one.queue) : ""],
    ["User", one.user || "unknown", "", one.user ? link("applications", "", { user: one.user }) : ""],
    ["Pods running", one.running || 0],
    ["Pods waiting", one.waiting || 0],
    ...(one.place ? [["In line", one.place, ` of ${one.line}`]] : []),
  ];
}

function lines(parent, found) {
  reconcile(parent, found.map(([term]) => term), (term) => {
    const box = make("div");
    make("dt", "", box, term);
    box.value = make("dd", "", box);
    return box;
  }).forEach((box, index) => say(box.value, found[index][1]));
  attribute(parent, "data-count", found.length);
}

function range({ earliest, median, latest }) {
  const late = latest ? when(latest) : "later than was looked";
  return `${median ? when(median) : "unknown"}, from ${earliest ? when(earliest) : "unknown"} to ${late}`;
}
