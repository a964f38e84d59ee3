// What an edit would change, as /api/v1/whatif says: shares before and after, and the pods for which it makes a difference.

import { make, say } from "./dom.js";
import { short } from "./amounts.js";
import { link } from "./place.js";
import { fillTable, table } from "./tables.js";

const KINDS = { placed: "Would be placed", waiting: "Would wait", preempted: "Would be asked to go" };

export class Preview {
  constructor(parent) {
    this.box = make("div", "preview", parent);
    make("h4", "", this.box, "What would be");
    this.words = make("p", "", this.box);
    this.notes = make("p", "problem", this.box);
    this.shares = table(this.box, "Shares before and after", ["Queue", "Resource", "Share before", "Share after", "Used before", "Used after"]);
    this.pods = table(this.box, "Pods for which it makes a difference", ["Pod", "What", "Application", "Queue", "Node", "After", "Why"], [0, 1, 2, 3, 4, 5, 6]);
    this.pods.parentElement.classList.add("tall");
    this.clear();
  }

  clear() {
    this.box.hidden = true;
  }

  show(said, seconds) {
    this.box.hidden = false;
    const count = (kind) => said[kind].length + said.others[kind];
    const [placed, waiting, preempted] = Object.keys(KINDS).map(count);
    const others = said.others.placed + said.others.waiting + said.others.preempted;
    const unnamed = others ? `; ${others} of them are not named, since you may not see them or they are too many` : "";
    say(this.words, `In ${seconds} seconds in which nothing ends and nothing else comes, more than without it: ${placed} pod${placed === 1 ? "" : "s"} would be placed, ${waiting} would wait, and ${preempted} would be asked to go${unnamed}.`);
    const notes = said.notInForce.map(({ queue, message }) => `${queue} would not be in force: ${message}.`);
    if (said.stopped) notes.push(`Not all is known: it was stopped by its bound of ${said.stopped}.`);
    say(this.notes, notes.join(" "));
    const shares = said.queues.flatMap(changed);
    this.shares.parentElement.hidden = !shares.length;
    fillTable(this.shares, shares);
    const pods = Object.entries(KINDS).flatMap(([kind, words]) => said[kind].map((one, index) => pod(one, words, `${kind} ${index}`)));
    this.pods.parentElement.hidden = !pods.length;
    fillTable(this.pods, pods);
  }
}

function changed({ queue, before, after }) {
  const names = new Set([before, after].flatMap(({ share, used }) => [...Object.keys(share), ...Object.keys(used)]));
  const of = (amounts, name) => amounts[name] || "–";
  return [...names].filter((name) => name !== "pods" && (before.share[name] !== after.share[name] || before.used[name] !== after.used[name])).sort().map((name) => ({
    key: `${queue} ${name}`,
    cells: [{ text: queue, address: link("queue", queue) }, short(name), of(before.share, name), of(after.share, name), of(before.used, name), of(after.used, name)],
  }));
}

function pod(one, words, key) {
  const why = [one.reason, one.message].filter(Boolean).join(": ") || "–";
  const after = one.after === undefined ? "–" : `${Math.round(one.after)} s`;
  return { key, cells: [one.name, words, { text: one.application, address: link("application", one.application) }, one.queue || "–", one.node || "–", after, why] };
}
