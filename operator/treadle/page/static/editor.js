// The form for a queue: what an edit would change is looked at before anybody makes it, and nothing is made without a word that names it.

import { attribute, make, reconcile, say } from "./dom.js";
import { ask } from "./asking.js";
import { edited, fieldsOf, textOf } from "./fields.js";
import { Preview } from "./preview.js";
import { yaml } from "./yaml.js";

const AHEAD = 300; // seconds that are looked ahead

export class Editor {
  constructor(parent, store, token) {
    this.store = store;
    this.token = token;
    this.path = "";
    this.box = make("section", "card editor", parent);
    make("h3", "", this.box, "Change it");
    this.begin = this.button(this.box, "Edit", () => this.open());
    this.problem = make("p", "problem", this.box);
    attribute(this.problem, "role", "alert");
    this.form = make("form", "fields", this.box);
    this.form.noValidate = true;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.look();
    });
    this.inputs = make("div", "inputs", this.form);
    const buttons = make("p", "buttons", this.form);
    this.previews = make("button", "", buttons, "Preview");
    this.applies = this.button(buttons, "Apply…", () => this.confirm());
    this.button(buttons, "Close", () => this.close());
    this.done = make("p", "note", this.box);
    attribute(this.done, "role", "status");
    this.preview = new Preview(this.box);
    this.written = make("details", "", this.box);
    make("summary", "", this.written, "The manifest, for kubectl apply");
    this.copies = this.button(this.written, "Copy", () => this.copy());
    this.text = make("pre", "", this.written);
    attribute(this.text, "tabindex", 0);
    attribute(this.text, "role", "region");
    attribute(this.text, "aria-label", "The manifest");
    this.dialog = make("dialog", "card", this.box);
    attribute(this.dialog, "aria-labelledby", "confirm-title");
    make("h2", "", this.dialog).id = "confirm-title";
    this.changes = make("ul", "", this.dialog);
    const answer = make("p", "buttons", this.dialog);
    this.yes = this.button(answer, "Apply", () => this.apply());
    this.button(answer, "Cancel", () => this.dialog.close());
    this.close();
  }

  button(parent, text, pressed) {
    const made = make("button", "", parent, text);
    made.type = "button";
    made.addEventListener("click", pressed);
    return made;
  }

  show(path) {
    const queue = this.store.queues.get(path);
    this.box.hidden = !queue || queue.dynamic === true || !this.store.offers.has("whatif");
    if (path !== this.path) {
      this.path = path;
      this.close();
    }
    this.applies.hidden = !this.store.offers.has("changes");
  }

  close() {
    this.manifest = null;
    this.tag = "";
    this.preview.clear();
    say(this.problem, "");
    say(this.done, "");
    this.shape();
  }

  shape() {
    const open = this.manifest !== null;
    this.begin.hidden = open;
    this.form.hidden = this.written.hidden = !open;
  }

  async open() {
    const { path } = this;
    this.close();
    say(this.done, "Reading what is written…");
    // The version of all queues is read first, so that what somebody writes between the two is noticed.
    const all = this.store.offers.has("changes") ? await ask("queue-changes", {}, this.token()) : null;
    const { ok, said, problem } = await ask("queue-manifest", { queue: path }, this.token());
    if (path !== this.path) return;
    say(this.done, "");
    if (!ok) {
      say(this.problem, problem);
      return;
    }
    this.manifest = said;
    this.tag = all && all.ok ? all.tag : "";
    this.applies.disabled = !this.tag;
    attribute(this.applies, "title", this.tag || !all ? null : all.problem);
    this.fields = fieldsOf(this.store.cluster.discipline || (said.spec.capacity ? "Capacity" : "Fair"));
    this.fill();
    this.shape();
    this.inputs.querySelector("input").focus();
  }

  fill() {
    this.inputs.replaceChildren();
    this.inputs.kept = undefined;
    this.rows = reconcile(this.inputs, this.fields.map(({ path }) => path), (key) => {
      const field = this.fields.find(({ path }) => path === key);
      const row = make("div", "field");
      const label = make("label", "", row, field.label);
      const input = make("input", "", row);
      const [id, hint] = [`edit-${key.replaceAll(".", "-")}`, make("p", "note", row, field.hint)];
      label.htmlFor = input.id = id;
      hint.id = `${id}-hint`;
      row.problem = make("p", "problem", row);
      row.problem.id = `${id}-problem`;
      attribute(input, "aria-describedby", `${id}-hint ${id}-problem`);
      Object.assign(input, { type: "text", autocomplete: "off", spellcheck: false, value: textOf(this.manifest, field) });
      input.addEventListener("input", () => this.typed());
      return Object.assign(row, { field, input });
    });
    this.typed();
  }

  // The fields that somebody has changed, with what they said and what they say.
  changed() {
    return this.rows.map(({ field, input }) => [field, input.value.trim(), textOf(this.manifest, field)]).filter(([, now, before]) => now !== before);
  }

  made() {
    return edited(this.manifest, this.changed());
  }

  typed() {
    this.preview.clear();
    this.complain("");
    say(this.done, "");
    try {
      say(this.text, yaml(this.made()));
    } catch (error) {
      this.complain(error.message);
    }
  }

  // Put a problem at the field that it names, else above the form.
  complain(problem) {
    const at = this.rows.find(({ field }) => names(problem, field.path));
    for (const row of this.rows) {
      say(row.problem, row === at ? problem : "");
      attribute(row.input, "aria-invalid", row === at ? "true" : null);
    }
    say(this.problem, at ? "" : problem);
    if (at && document.activeElement !== at.input) at.input.focus();
  }

  async look() {
    const [body, { path }] = [this.body(), this];
    if (!body) return;
    this.previews.disabled = true;
    say(this.done, "Looking ahead…");
    const { ok, said, problem } = await ask("whatif", {}, this.token(), { body: { ...body, seconds: AHEAD } });
    this.previews.disabled = false;
    if (path !== this.path || !this.manifest) return;
    say(this.done, "");
    this.complain(ok ? "" : problem);
    if (ok) this.preview.show(said, AHEAD);
  }

  body() {
    if (!this.changed().length) {
      say(this.done, "Nothing is changed.");
      return null;
    }
    try {
      return { apply: [this.made()] };
    } catch (error) {
      this.complain(error.message);
      return null;
    }
  }

  async copy() {
    const copied = await navigator.clipboard.writeText(this.text.textContent).then(() => true, () => false);
    if (!copied) getSelection().selectAllChildren(this.text);
    say(this.done, copied ? "Copied." : "The browser does not let it be copied; it is selected.");
  }

  confirm() {
    if (!this.body()) return;
    say(this.dialog.firstElementChild, `Change ${this.path}?`);
    this.changes.replaceChildren();
    for (const [field, now, before] of this.changed()) make("li", "", this.changes, `${field.path}: ${before || "nothing"} becomes ${now || "nothing"}`);
    this.dialog.showModal();
  }

  async apply() {
    this.dialog.close();
    const [body, { path }] = [this.body(), this];
    if (!body) return;
    this.applies.disabled = true;
    const message = `by the page: ${this.changed().map(([field]) => field.path).join(", ")}`;
    const { ok, status, said, problem } = await ask("queue-changes", {}, this.token(), { body: { ...body, message }, headers: { "If-Match": this.tag } });
    if (path !== this.path) return;
    this.applies.disabled = false;
    if (ok) {
      this.close();
      say(this.done, `Change ${said.version} is made.`);
    } else this.complain(status === 412 ? "Somebody has changed queues or the Scheduler since you began. Close, and begin again." : problem);
  }
}

// Whether a problem names a field: by its whole path, or as the scheduler does, without "spec.", where that is more than one word.
function names(problem, path) {
  const short = path.replace("spec.", "");
  return problem.includes(path) || (short.includes(".") && problem.includes(short));
}
