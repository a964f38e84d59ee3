// Elements are made once and changed in place, so that nothing flickers and a screen reader keeps its place.
// Whatever comes from the cluster is put in as text, never as markup.

export const byId = (id) => document.getElementById(id);

export function make(tag, className, parent, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

export function say(element, text) {
  const words = String(text);
  if (element.textContent !== words) element.textContent = words;
}

export function attribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

// Keep one child for each key, in the order of the keys. `build` makes a child.
export function reconcile(parent, keys, build) {
  const kept = parent.kept || (parent.kept = new Map());
  const wanted = new Set(keys);
  for (const [key, child] of kept) {
    if (!wanted.has(key)) {
      child.remove();
      kept.delete(key);
    }
  }
  let place = parent.firstElementChild;
  return keys.map((key) => {
    let child = kept.get(key);
    if (!child) kept.set(key, (child = build(key)));
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
    return child;
  });
}
