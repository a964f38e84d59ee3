// Times for people: how long ago, how long.

export function lasted(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole} s`;
  if (whole < 7200) return `${Math.round(whole / 60)} minutes`;
  return whole < 172800 ? `${Math.round(whole / 3600)} hours` : `${Math.round(whole / 86400)} days`;
}

// A moment as a day and a time, of the reader's clock.
export function moment(seconds) {
  return new Date(1000 * seconds).toLocaleString([], { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

export const secondsOf = (text) => (text ? Date.parse(text) / 1000 : 0);

export function svg(tag, parent, attributes = {}) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (parent) parent.append(element);
  return element;
}
