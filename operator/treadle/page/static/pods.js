// The pods of an application: a list with why each waits, and when each waited and ran. Pods that have gone stay in the time line: those that went while one looked, and those of which the scheduler tells that they ended.

import { attribute, make, reconcile, say } from "./dom.js";
import { short } from "./amounts.js";
import { link } from "./place.js";
import { fillTable, table } from "./tables.js";
import { lasted, secondsOf, svg } from "./times.js";

const MOST_BARS = 80;
const MOST_KEPT = 700;
const OLDEST = 86400; // seconds: what ended before that is in no time line
const HEIGHT = 12; // of a bar, with the gap below it

export class Pods {
  constructor(parent) {
    const line = make("section", "card", parent);
    make("h3", "", line, "Time line");
    this.svg = svg("svg", line, { class: "times", preserveAspectRatio: "none", role: "img" });
    this.ends = make("p", "ends note", line);
    this.from = make("span", "", this.ends);
    this.to = make("span", "", this.ends, "now");
    const legend = make("ul", "legend", line);
    attribute(legend, "aria-label", "Legend of the time line");
    for (const [name, words] of [["pending", "waits"], ["used", "has a node"], ["fair", "has gone"]]) {
      const item = make("li", "", legend);
      make("i", `key ${name}`, item);
      make("span", "", item, words);
    }
    this.words = make("p", "note", line);
    const list = make("section", "card", parent);
    make("h3", "", list, "Pods");
    this.note = make("p", "note", list);
    this.table = table(list, "Pods of the application", ["Pod", "State", "Since", "Node", "Requests", "Why it waits"], [1, 2, 3, 4, 5]);
    this.table.parentElement.classList.add("tall");
    this.seen = new Map();
  }

  clear() {
    this.seen.clear();
    this.say([], 0, "");
  }

  // `pods` are as /api/v1/pods has them; `more` says whether there are others.
  show(pods, more, now = Date.now() / 1000) {
    const there = new Set(pods.map((pod) => pod.uid));
    for (const [uid, one] of [...this.seen]) {
      if (there.has(uid) || one.gone) continue;
      if (more) this.seen.delete(uid); // it may be among those that are not told
      else one.gone = now;
    }
    for (const pod of pods) this.seen.set(pod.uid, { pod, ...spans(pod, now) });
    for (const uid of [...this.seen.keys()].slice(0, Math.max(0, this.seen.size - MOST_KEPT))) this.seen.delete(uid);
    this.say(pods, now, more ? `These are the first ${pods.length}.` : "");
  }

  // `ended` are as /api/v1/ended-pods has them: what went before one looked, or when it was said to.
  add(ended, now = Date.now() / 1000) {
    for (const pod of ended) {
      const gone = secondsOf(pod.ended);
      if (gone < now - OLDEST) continue;
      const placed = secondsOf(pod.placed);
      const begins = Math.min(secondsOf(pod.created) || gone, placed || gone);
      this.seen.set(pod.uid, { pod, begins, placed, gone });
    }
  }

  say(pods, now, note) {
    say(this.note, note || (pods.length ? "" : "None."));
    this.table.parentElement.hidden = !pods.length;
    fillTable(this.table, [...pods].sort(waitingFirst).map((pod) => row(pod, now)));
    const all = [...this.seen.values()];
    const there = all.filter(({ gone }) => !gone).sort(order);
    this.draw([...there, ...all.filter(({ gone }) => gone).sort((one, other) => other.gone - one.gone)], now);
  }

  draw(all, now) {
    const bars = all.slice(0, MOST_BARS).sort(order);
    const first = Math.min(now - 1, ...bars.map(({ begins }) => begins));
    const x = (at) => (1000 * (Math.min(now, at) - first)) / (now - first);
    this.svg.parentElement.hidden = !bars.length;
    attribute(this.svg, "viewBox", `0 0 1000 ${HEIGHT * Math.max(1, bars.length)}`);
    this.svg.style.height = `${HEIGHT * Math.max(1, bars.length)}px`;
    reconcile(this.svg, bars.map(({ pod }) => pod.uid), () => {
      const group = svg("g");
      group.waits = svg("rect", group, { class: "pending", height: HEIGHT - 3 });
      group.runs = svg("rect", group, { class: "used", height: HEIGHT - 3 });
      group.end = svg("rect", group, { class: "fair", height: HEIGHT - 3, width: 2 });
      group.title = svg("title", group);
      return group;
    }).forEach((group, index) => {
      const { pod, begins, placed, gone } = bars[index];
      const until = gone || now;
      attribute(group, "transform", `translate(0 ${HEIGHT * index + 1})`);
      span(group.waits, x(begins), x(placed || until));
      span(group.runs, x(placed || until), x(until));
      attribute(group.end, "x", Math.max(0, x(until) - 2).toFixed(1));
      group.end.style.display = gone ? "" : "none";
      say(group.title, `${pod.name}: waited ${lasted((placed || until) - begins)}${placed ? `, has had a node for ${lasted(until - placed)}` : ""}${gone ? ", has gone" : ""}`);
    });
    say(this.from, bars.length ? `${lasted(now - first)} ago` : "");
    const waits = bars.filter(({ placed, gone }) => !placed && !gone).length;
    const gone = bars.filter((one) => one.gone).length;
    const words = [`${bars.length} pods from ${lasted(now - first)} ago until now`, `${bars.length - waits - gone} have a node`, `${waits} wait`, `${gone} have gone`];
    attribute(this.svg, "aria-label", `${words.join(", ")}. The list of pods has the same.`);
    say(this.words, all.length > MOST_BARS ? `The first ${MOST_BARS} of ${all.length} pods.` : "");
  }
}

function order(one, other) {
  return one.begins - other.begins || (one.pod.name < other.pod.name ? -1 : 1);
}

function waitingFirst(one, other) {
  return (one.state === "Waiting" ? 0 : 1) - (other.state === "Waiting" ? 0 : 1);
}

function span(rect, from, to) {
  attribute(rect, "x", from.toFixed(1));
  attribute(rect, "width", Math.max(0, to - from).toFixed(1));
}

// When a pod began to wait and when it was given its node, in seconds since 1970; 0 for what has not been.
function spans(pod, now) {
  const since = secondsOf(pod.since) || now;
  const placed = pod.state === "Placed" ? since : 0;
  return { begins: Math.min(secondsOf(pod.created) || since, since), placed };
}

function row(pod, now) {
  const since = secondsOf(pod.since);
  const state = [pod.state, pod.leaving && "asked to go", pod.opportunistic && "opportunistic"].filter(Boolean).join(", ");
  const requests = Object.entries(pod.requests).filter(([name]) => name !== "pods").map(([name, value]) => `${short(name)} ${value}`);
  const node = pod.node ? { text: pod.node, address: link("nodes", "", { q: pod.node }) } : "–";
  const why = pod.state === "Waiting" ? [pod.reason, pod.message].filter(Boolean).join(": ") : "–";
  return { key: pod.uid, cells: [pod.name, state, since ? `for ${lasted(now - since)}` : "–", node, requests.join(", ") || "nothing", why] };
}
