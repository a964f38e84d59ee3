// The runs of an application that the history has: when each waited and ran, and how it ended.

import { attribute, make, reconcile, say } from "./dom.js";
import { Watch } from "./asking.js";
import { fillTable, table } from "./tables.js";
import { lasted, svg } from "./times.js";

const EVERY = 60000;
const DAYS = 90;
const MOST = 20;
const HEIGHT = 12;

export class Runs {
  constructor(parent) {
    this.box = make("section", "card", parent);
    make("h3", "", this.box, "Runs, from the history");
    this.svg = svg("svg", this.box, { class: "times", preserveAspectRatio: "none", role: "img" });
    this.ends = make("p", "ends note", this.box);
    this.from = make("span", "", this.ends);
    make("span", "", this.ends, "now");
    this.table = table(this.box, "Runs of the application", ["Began", "Waited", "Ran", "Pods", "Succeeded", "Failed", "Deleted", "Outcome"]);
    this.box.hidden = true;
    this.watch = new Watch(EVERY, ({ ok, said }) => this.heard(ok ? said.runs : []));
  }

  show(name, token) {
    this.watch.look("history/runs", { application: name, days: DAYS, limit: MOST }, token);
  }

  heard(runs) {
    const now = Date.now() / 1000;
    this.box.hidden = !runs.length;
    const first = Math.min(now - 1, ...runs.map((run) => run.submitted));
    const x = (at) => (1000 * (at - first)) / (now - first);
    attribute(this.svg, "viewBox", `0 0 1000 ${HEIGHT * Math.max(1, runs.length)}`);
    this.svg.style.height = `${HEIGHT * Math.max(1, runs.length)}px`;
    reconcile(this.svg, runs.map((run) => String(run.started)), () => {
      const group = svg("g");
      for (const kind of ["pending", "used"]) group[kind] = svg("rect", group, { class: kind, height: HEIGHT - 3 });
      group.title = svg("title", group);
      return group;
    }).forEach((group, index) => {
      const run = runs[index];
      const spans = { pending: [run.submitted, run.started], used: [run.started, run.ended || now] };
      attribute(group, "transform", `translate(0 ${HEIGHT * index + 1})`);
      for (const [kind, [from, until]] of Object.entries(spans)) {
        attribute(group[kind], "x", x(from).toFixed(1));
        attribute(group[kind], "width", Math.max(kind === "used" ? 1.5 : 0, x(until) - x(from)).toFixed(1));
      }
      say(group.title, words(run, now));
    });
    attribute(this.svg, "aria-label", `${runs.length} runs from ${lasted(now - first)} ago until now, the newest first. The table has the same.`);
    say(this.from, `${lasted(now - first)} ago`);
    fillTable(this.table, runs.map((run) => ({
      key: String(run.started),
      cells: [`${lasted(now - run.started)} ago`, lasted(run.started - run.submitted), lasted((run.ended || now) - run.started), run.pods, run.succeeded, run.failed, run.deleted, run.outcome || "goes on"],
    })));
  }
}

function words(run, now) {
  return `waited ${lasted(run.started - run.submitted)}, ran ${lasted((run.ended || now) - run.started)}, ${run.outcome || "goes on"}`;
}
