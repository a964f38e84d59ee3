// The runs of an application before this one, from the history, and how many pods the newest had over time.

import { attribute, make, say } from "./dom.js";
import { Watch } from "./asking.js";
import { fillTable, table } from "./tables.js";
import { lasted, svg } from "./times.js";

const EVERY = 60000;

export class Runs {
  constructor(parent) {
    this.box = make("section", "card", parent);
    make("h3", "", this.box, "Runs, from the history");
    this.svg = svg("svg", this.box, { class: "history", viewBox: "0 0 900 150", preserveAspectRatio: "none", role: "img" });
    this.line = svg("polyline", this.svg, { class: "used" });
    this.words = make("p", "note", this.box);
    this.table = table(this.box, "Runs of the application", ["Began", "Waited", "Ran", "Pods", "Succeeded", "Failed", "Deleted", "Outcome"]);
    this.box.hidden = true;
    this.watch = new Watch(EVERY, ({ ok, said }) => this.heard(ok ? said.runs : []));
  }

  show(name, token) {
    this.watch.look("application-history", { application: name }, token);
  }

  heard(runs) {
    const now = Date.now() / 1000;
    this.box.hidden = !runs.length;
    const when = (at) => `${lasted(now - at)} ago`;
    fillTable(
      this.table,
      runs.map((run) => ({
        key: String(run.started),
        cells: [when(run.started), lasted(run.started - run.submitted), lasted((run.ended || now) - run.started), run.pods, run.succeeded, run.failed, run.deleted, run.outcome || "goes on"],
      })),
    );
    const [newest] = runs;
    const steps = newest ? newest.steps : [];
    this.svg.style.display = steps.length ? "" : "none";
    if (!steps.length) return;
    const end = newest.ended || now;
    const span = Math.max(1, end - newest.started);
    const most = Math.max(1, ...steps.map(([, pods]) => pods));
    const points = steps.flatMap(([at, pods], index) => {
      const until = index + 1 < steps.length ? steps[index + 1][0] : end;
      return [at, until].map((time) => `${((900 * (time - newest.started)) / span).toFixed(1)},${(148 - (144 * pods) / most).toFixed(1)}`);
    });
    attribute(this.line, "points", points.join(" "));
    const words = `Pods with a node in the newest run: ${most} at the most, over ${lasted(span)}`;
    attribute(this.svg, "aria-label", words);
    say(this.words, words);
  }
}
