// The bar of a queue: what it uses, waits for, should have, is guaranteed and may have, as parts of the cluster.

import { attribute, make } from "./dom.js";
import { percent, short, shown } from "./amounts.js";

export function bar(parent) {
  const made = make("div", "bar", parent);
  attribute(made, "role", "img");
  const track = make("div", "track", made);
  for (const part of ["beyond", "pending", "used", "over"]) made[part] = make("i", part, track);
  made.guaranteed = make("span", "mark guaranteed", made);
  made.fair = make("span", "mark fair", made);
  return made;
}

function place(element, from, to) {
  element.style.left = `${from.toFixed(2)}%`;
  element.style.width = `${Math.max(0, to - from).toFixed(2)}%`;
}

export function drawBar(made, path, queue, name, total) {
  const of = (amounts) => (amounts && amounts[name]) || 0;
  const whole = total[name] || 0;
  const root = path === "root";
  const fairShare = of(queue.fair) || of(queue.guaranteed);
  const maximum = queue.maximum && name in queue.maximum ? queue.maximum[name] : null;
  const used = percent(of(queue.used), whole);
  const fair = root ? 100 : percent(fairShare, whole);
  const most = maximum === null ? 100 : percent(maximum, whole);
  place(made.used, 0, Math.min(used, fair));
  place(made.over, Math.min(used, fair), used);
  place(made.pending, used, Math.min(Math.max(used, most), used + percent(of(queue.pending), whole)));
  place(made.beyond, most, 100);
  made.beyond.hidden = most >= 100;
  made.fair.hidden = root || !queue.fair;
  made.fair.style.left = `${percent(of(queue.fair), whole).toFixed(2)}%`;
  made.guaranteed.hidden = root || !of(queue.guaranteed);
  made.guaranteed.style.left = `${percent(of(queue.guaranteed), whole).toFixed(2)}%`;
  attribute(made, "aria-label", sentence(path, queue, name, total));
  attribute(made, "title", sentence(path, queue, name, total));
}

export function sentence(path, queue, name, total) {
  const of = (amounts) => (amounts && amounts[name]) || 0;
  const words = [`${path} uses ${shown(name, of(queue.used))} of ${shown(name, total[name] || 0)} ${short(name)}`];
  if (queue.fair) words.push(`fair share ${shown(name, of(queue.fair))}`);
  if (of(queue.guaranteed)) words.push(`guaranteed ${shown(name, of(queue.guaranteed))}`);
  if (queue.maximum && name in queue.maximum) words.push(`maximum ${shown(name, queue.maximum[name])}`);
  words.push(`pending ${shown(name, of(queue.pending))}`);
  return words.join(", ");
}
