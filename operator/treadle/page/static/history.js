// A line of what was used, and one of the share: from the history, where one is kept, and since the page was opened.

import { attribute, make, say } from "./dom.js";
import { short, shown } from "./amounts.js";
import { ask } from "./asking.js";
import { lasted } from "./times.js";

const KEPT = 900; // samples

export class History {
  constructor(parent) {
    this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    attribute(this.svg, "class", "history");
    attribute(this.svg, "viewBox", "0 0 900 150");
    attribute(this.svg, "preserveAspectRatio", "none");
    attribute(this.svg, "role", "img");
    parent.append(this.svg);
    this.lines = ["share", "used"].map((name) => {
      const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
      attribute(line, "class", name);
      this.svg.append(line);
      return line;
    });
    this.words = make("p", "note", parent);
    this.samples = new Map();
    this.past = new Map();
  }

  // Ask once for what was before; without a history the line begins now.
  async ask(path, token) {
    if (this.past.has(path)) return;
    this.past.set(path, []);
    const { ok, said } = await ask("queue-history", { queue: path }, token);
    if (ok) this.past.set(path, said.samples);
  }

  add(path, resource, used, share) {
    const key = `${path} ${resource}`;
    if (!this.samples.has(key)) this.samples.set(key, []);
    const samples = this.samples.get(key);
    const at = Date.now() / 1000;
    if (!samples.length || at - samples[samples.length - 1].at >= 0.5) samples.push({ at, used, share });
    if (samples.length > KEPT) samples.shift();
    const before = (this.past.get(path) || []).filter((one) => one.at < samples[0].at);
    const past = before.map((one) => ({ at: one.at, used: one.used[resource] || 0, share: one.guaranteed[resource] || share }));
    this.draw([...past, ...samples], resource);
  }

  draw(samples, resource) {
    const from = samples[0].at;
    const span = Math.max(30, samples[samples.length - 1].at - from);
    const most = Math.max(1, ...samples.map((one) => Math.max(one.used, one.share)));
    ["share", "used"].forEach((name, index) => {
      const points = samples.map((one) => `${((900 * (one.at - from)) / span).toFixed(1)},${(148 - (144 * one[name]) / most).toFixed(1)}`);
      attribute(this.lines[index], "points", points.join(" "));
    });
    const last = samples[samples.length - 1];
    const words = `${short(resource)}: ${shown(resource, last.used)} used, share ${shown(resource, last.share)}, at most ${shown(resource, most)} in ${lasted(last.at - from)}`;
    attribute(this.svg, "aria-label", words);
    say(this.words, words);
  }
}
