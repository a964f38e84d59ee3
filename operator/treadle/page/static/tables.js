// Small tables and lists of facts.

import { attribute, make, reconcile, say } from "./dom.js";

// Facts are [term, value, after, address].
export function facts(parent, found) {
  reconcile(parent, found.map(([term]) => term), (term) => {
    const box = make("div", "fact");
    make("dt", "", box, term);
    const value = make("dd", "", box);
    box.value = make("a", "", value);
    box.after = make("small", "", value);
    return box;
  }).forEach((box, index) => {
    const [, value, after = "", address = ""] = found[index];
    say(box.value, value);
    say(box.after, after);
    attribute(box.value, "href", address || null);
  });
}

// `words` are the places of columns that have words, not numbers.
export function table(parent, label, titles, words = []) {
  const scroll = make("div", "scroll", parent);
  attribute(scroll, "tabindex", 0);
  attribute(scroll, "role", "region");
  attribute(scroll, "aria-label", label);
  const made = make("table", "", scroll);
  make("caption", "hidden", made, label);
  const head = make("tr", "", make("thead", "", made));
  titles.forEach((title, index) => {
    const cell = make("th", index && !words.includes(index) ? "number" : "", head, title);
    cell.scope = "col";
  });
  made.rows_ = make("tbody", "", made);
  made.titles = titles.length;
  made.words = new Set(words);
  return made;
}

// Rows are {key, cells}; a cell is a text or {text, address}.
export function fillTable(made, rows) {
  reconcile(made.rows_, rows.map(({ key }) => key), () => {
    const row = make("tr");
    row.cells_ = Array.from({ length: made.titles }, (_, index) => {
      const cell = make(index ? "td" : "th", kind(made, index), row);
      if (!index) cell.scope = "row";
      cell.link = make("a", "", cell);
      return cell;
    });
    return row;
  }).forEach((row, position) => {
    rows[position].cells.forEach((cell, index) => {
      const { text, address } = typeof cell === "object" ? cell : { text: cell, address: "" };
      say(row.cells_[index].link, text);
      attribute(row.cells_[index].link, "href", address || null);
    });
  });
}

// The last column of words may take more than one line.
function kind(made, index) {
  if (!made.words.size) return index ? "number" : "";
  if (!made.words.has(index)) return index ? "number" : "short";
  return index === made.titles - 1 ? "" : "short";
}
