// The form for a reservation: while one types it is told whether it would be accepted, what it would have, and what would do instead. Nothing is made; the manifest is for kubectl apply.

import { attribute, make, reconcile, say } from "./dom.js";
import { ask } from "./asking.js";
import { valueOf } from "./fields.js";
import { link } from "./place.js";
import { moment, secondsOf } from "./times.js";
import { yaml } from "./yaml.js";

const PAUSE = 600; // milliseconds after the last letter
const AGAIN = 3000; // and after another question was being answered
const HOUR = 3600000;
const FIELDS = [
  { name: "name", label: "Name", value: "nightly" },
  { name: "namespace", label: "Namespace", value: "default" },
  { name: "demand", label: "What a pod asks for", value: "cpu=1, memory=1Gi", kind: "amounts", hint: "such as cpu=10, memory=40Gi" },
  { name: "count", label: "Pods", value: "1", kind: "number" },
  { name: "concurrency", label: "Of them at once", value: "1", kind: "number" },
  { name: "duration", label: "For how long each", value: "1h", hint: "such as 90m" },
  { name: "arrival", label: "Not before", kind: "time" },
  { name: "deadline", label: "Done by", kind: "time" },
  { name: "recurrence", label: "Again after", value: "", hint: "once if empty; such as 24h, or 0 2 * * *" },
];

export class Reserve {
  constructor(parent, store, token) {
    this.store = store;
    this.token = token;
    this.path = "";
    this.asked = 0;
    this.box = make("section", "card reserve", parent);
    make("h3", "", this.box, "Reserve");
    this.begin = this.button(this.box, "Reserve…", () => this.open());
    this.form = make("form", "fields", this.box);
    this.form.noValidate = true;
    this.form.addEventListener("submit", (event) => event.preventDefault());
    const inputs = make("div", "inputs", this.form);
    this.rows = FIELDS.map((field) => this.field(inputs, field));
    this.verdict = make("p", "verdict", this.form);
    attribute(this.verdict, "role", "status");
    this.instead = make("ul", "instead", this.form);
    this.button(make("p", "buttons", this.form), "Close", () => this.close());
    const written = make("details", "", this.form);
    make("summary", "", written, "The manifest, for kubectl apply");
    this.text = make("pre", "", written);
    for (const [name, value] of Object.entries({ tabindex: 0, role: "region", "aria-label": "The manifest of the reservation" })) attribute(this.text, name, value);
    this.close();
  }

  button(parent, text, pressed) {
    const made = make("button", "", parent, text);
    made.type = "button";
    made.addEventListener("click", pressed);
    return made;
  }

  field(parent, field) {
    const row = make("div", "field", parent);
    const label = make("label", "", row, field.label);
    const input = make("input", "", row);
    label.htmlFor = input.id = `reserve-${field.name}`;
    if (field.hint) {
      make("p", "note", row, field.hint).id = `${input.id}-hint`;
      attribute(input, "aria-describedby", `${input.id}-hint`);
    }
    Object.assign(input, { type: field.kind === "time" ? "datetime-local" : "text", autocomplete: "off", spellcheck: false, value: field.value || "" });
    input.addEventListener("input", () => this.typed());
    return { field, input };
  }

  show(path, takes) {
    this.box.hidden = !takes || !this.store.offers.has("whatif");
    if (path !== this.path) {
      this.path = path;
      this.close();
    }
  }

  close() {
    this.forget();
    this.form.hidden = true;
    this.begin.hidden = false;
  }

  forget() {
    this.asked += 1;
    clearTimeout(this.timer);
  }

  open() {
    const begin = Math.ceil(Date.now() / HOUR) * HOUR;
    for (const { field, input } of this.rows) if (field.kind === "time" && !input.value) input.value = local(begin + (field.name === "deadline" ? 6 * HOUR : 0));
    this.form.hidden = false;
    this.begin.hidden = true;
    this.rows[0].input.focus();
    this.typed();
  }

  // The manifest that the fields say. Throws an Error that says what is wrong.
  made() {
    const said = Object.fromEntries(this.rows.map(({ field, input }) => [field.name, read(field, input.value.trim())]));
    const { name, namespace, arrival, deadline, recurrence, ...request } = said;
    return {
      apiVersion: "treadle.dev/v1alpha1",
      kind: "Reservation",
      metadata: { name, namespace },
      spec: { queue: this.path, arrival, deadline, ...(recurrence ? { recurrence } : {}), expression: { requests: [request] } },
    };
  }

  typed() {
    this.forget();
    this.tell("…", []);
    this.mark("");
    try {
      const made = this.made();
      say(this.text, yaml(made));
      this.timer = setTimeout(() => this.look(made), PAUSE);
    } catch (error) {
      this.refuse(error.message);
    }
  }

  async look(reservation) {
    const mine = this.asked;
    const { ok, status, said, problem } = await ask("whatif", {}, this.token(), { body: { reservation, seconds: 0 } });
    if (mine !== this.asked) return;
    if (status === 503) {
      this.tell(`${problem}; it is asked again.`, []);
      this.timer = setTimeout(() => this.look(reservation), AGAIN);
    } else if (!ok) this.refuse(problem);
    else if (!said.decided) this.tell(`Nothing was decided: it was stopped by its bound of ${said.stopped}.`, []);
    else if (said.decided.accepted) this.tell(`It would be accepted: ${said.decided.allocations.slice(0, 8).map(interval).join("; ")}${said.decided.allocations.length > 8 ? "; and so on" : ""}.`, []);
    else this.tell(`It would be refused: ${said.decided.reason}: ${said.decided.message}`, said.decided.alternatives);
  }

  refuse(problem) {
    this.tell(problem, []);
    this.mark(problem);
  }

  mark(problem) {
    for (const { field, input } of this.rows) attribute(input, "aria-invalid", problem.includes(`${field.name}:`) || problem.includes(`.${field.name}`) ? "true" : null);
  }

  tell(words, alternatives) {
    say(this.verdict, words);
    this.instead.hidden = !alternatives.length;
    reconcile(this.instead, alternatives.map((one) => JSON.stringify(one)), (key) => {
      const { deadline, concurrency, queue } = JSON.parse(key);
      const item = make("li");
      if (queue) {
        make("span", "", item, "In another queue it would be accepted: ");
        make("a", "", item, queue).href = link("queue", queue);
      } else if (deadline) this.button(item, `Done by ${moment(secondsOf(deadline))} it would be accepted`, () => this.set("deadline", local(Date.parse(deadline))));
      else this.button(item, `With ${concurrency} at once it would be accepted`, () => this.set("concurrency", String(concurrency)));
      return item;
    });
  }

  set(name, value) {
    const { input } = this.rows.find(({ field }) => field.name === name);
    input.value = value;
    input.focus();
    this.typed();
  }
}

function read(field, text) {
  if (field.kind !== "time") return text ? valueOf({ path: field.name, kind: field.kind || "text" }, text) : text;
  if (!text) throw new Error(`${field.name}: name a time`);
  return new Date(text).toISOString().replace(".000Z", "Z");
}

// A time as an input for local times has it.
function local(milliseconds) {
  const at = new Date(milliseconds);
  return new Date(milliseconds - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

function interval({ start, end, partition, demand }) {
  const amounts = Object.entries(demand).map(([name, amount]) => `${name} ${amount}`).join(", ");
  return `${moment(secondsOf(start))} until ${moment(secondsOf(end))}: ${partition ? `${partition}: ` : ""}${amounts}`;
}
