// A grid of which only the rows in sight are elements. One row is the current one: keys move it, and it is told by aria-activedescendant,
// since the element of a row goes when it is scrolled out of sight.

import { attribute, make, say } from "./dom.js";

const SPARE = 6; // rows above and below those in sight

export class Grid {
  // `columns` are {key, title, className, sort}; `fill(cells, row, item)` writes an item; `chosen(item)` opens it; `folded(item, open)` folds one.
  constructor(parent, { id, label, role = "grid", columns, fill, chosen, folded, sorted }) {
    Object.assign(this, { id, columns, fill, chosen, folded, sorted });
    this.items = [];
    this.current = -1;
    this.rows = [];
    this.scroller = make("div", `grid ${id}`, parent);
    attribute(this.scroller, "role", role);
    attribute(this.scroller, "aria-label", label);
    attribute(this.scroller, "tabindex", 0);
    this.head();
    this.body = make("div", "grid-body", this.scroller);
    attribute(this.body, "role", "rowgroup");
    this.scroller.addEventListener("scroll", () => this.soon(), { passive: true });
    this.scroller.addEventListener("keydown", (event) => this.key(event));
    this.scroller.addEventListener("focus", () => this.current < 0 && this.move(0));
    this.watcher = new ResizeObserver(() => this.soon());
    this.watcher.observe(this.scroller);
  }

  head() {
    const group = make("div", "grid-head", this.scroller);
    attribute(group, "role", "rowgroup");
    const row = make("div", "grid-row", group);
    attribute(row, "role", "row");
    attribute(row, "aria-rowindex", 1);
    this.titles = this.columns.map(({ key, title, className, sort }) => {
      const cell = make("div", `cell ${className}`, row);
      attribute(cell, "role", "columnheader");
      if (!sort) {
        cell.textContent = title;
        return cell;
      }
      const button = make("button", "sort", cell, title);
      button.type = "button";
      button.addEventListener("click", () => this.sorted(key));
      return cell;
    });
    this.headRow = group;
  }

  sortedBy(key, down) {
    this.columns.forEach((column, index) => {
      if (column.sort) attribute(this.titles[index], "aria-sort", column.key === key ? (down ? "descending" : "ascending") : "none");
    });
  }

  // Items are {key, ...}; the current row stays at its key.
  show(items) {
    const key = this.current >= 0 && this.items[this.current] ? this.items[this.current].key : "";
    this.items = items;
    if (key) this.current = this.items.findIndex((item) => item.key === key);
    attribute(this.scroller, "aria-rowcount", items.length + 1);
    this.draw();
  }

  soon() {
    if (this.due) return;
    this.due = requestAnimationFrame(() => {
      this.due = 0;
      this.draw();
    });
  }

  get height() {
    return parseFloat(getComputedStyle(this.scroller).getPropertyValue("--row")) || 40;
  }

  draw() {
    const height = this.height;
    this.body.style.height = `${height * this.items.length}px`;
    const { scrollTop, clientHeight } = this.scroller; // of the height that it has now: fewer items are not scrolled as far
    const first = Math.max(0, Math.min(this.items.length, Math.floor(scrollTop / height)) - SPARE);
    const last = Math.min(this.items.length, Math.ceil((scrollTop + clientHeight) / height) + SPARE);
    while (this.rows.length < last - first) this.rows.push(this.row());
    while (this.rows.length > last - first) this.rows.pop().remove();
    // The element of an item is the same while it is in sight.
    for (let index = first; index < last; index += 1) {
      const row = this.rows[index % this.rows.length];
      const item = this.items[index];
      row.index = index;
      row.style.transform = `translateY(${height * index}px)`;
      attribute(row, "id", `${this.id}-${index}`);
      attribute(row, "aria-rowindex", index + 2);
      row.classList.toggle("current", index === this.current);
      this.fill(row.cells, row, item);
    }
    const here = this.current >= first && this.current < last;
    attribute(this.scroller, "aria-activedescendant", here ? `${this.id}-${this.current}` : null);
  }

  row() {
    const row = make("div", "grid-row", this.body);
    attribute(row, "role", "row");
    row.cells = this.columns.map(({ className }, index) => {
      const cell = make("div", `cell ${className}`, row);
      attribute(cell, "role", index ? "gridcell" : "rowheader");
      return cell;
    });
    row.addEventListener("click", (event) => {
      this.current = row.index;
      if (!event.target.closest("a, button")) this.chosen(this.items[row.index]);
      else this.draw();
    });
    return row;
  }

  move(to) {
    if (!this.items.length) return;
    this.current = Math.max(0, Math.min(this.items.length - 1, to));
    const height = this.height;
    const top = this.current * height;
    const room = this.scroller.clientHeight - this.headRow.offsetHeight;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + height > this.scroller.scrollTop + room) this.scroller.scrollTop = top + height - room;
    this.draw();
  }

  key(event) {
    if (event.target !== this.scroller || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / this.height) - 2);
    const item = this.items[this.current];
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.move(this.current + steps[event.key]);
    else if (event.key === "Enter" && item) this.chosen(item);
    else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && item && this.folded) this.folded(item, event.key === "ArrowRight");
    else return;
    event.preventDefault();
  }

  goTo(key) {
    const at = this.items.findIndex((item) => item.key === key);
    if (at >= 0) this.move(at);
  }
}

// A cell of words, of a link, and of words after it.
export function write(cell, text, address = "", after = "") {
  if (!cell.words) {
    cell.words = make("a", "", cell);
    cell.words.tabIndex = -1;
    cell.after = make("small", "", cell);
  }
  attribute(cell.words, "href", address || null);
  say(cell.words, text);
  say(cell.after, after);
}
