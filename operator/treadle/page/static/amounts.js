// Amounts for people: cores, bytes in binary units, anything else as it is.

const BYTES = new Set(["memory", "ephemeral-storage", "storage"]);
const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

export function shown(resource, value) {
  if (resource === "cpu") return trim(value / 1000);
  if (!BYTES.has(resource) && !resource.startsWith("hugepages-")) return trim(value);
  let power = 0;
  let left = value;
  while (left >= 1024 && power < UNITS.length - 1) {
    left /= 1024;
    power += 1;
  }
  return trim(left) + UNITS[power];
}

export function trim(value) {
  return value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : String(Math.round(value * 10) / 10);
}

// nvidia.com/gpu is gpu to people.
export function short(resource) {
  return resource.slice(resource.lastIndexOf("/") + 1);
}

export function percent(part, whole) {
  return whole > 0 ? Math.max(0, Math.min(100, (100 * part) / whole)) : 0;
}

export function all(amounts) {
  const names = Object.keys(amounts || {}).sort();
  return names.length ? names.map((name) => `${short(name)} ${shown(name, amounts[name])}`).join(", ") : "nothing";
}

// Pods are counted, and are no resource that anybody has a share of.
export function resourceNames(total) {
  return Object.keys(total || {}).filter((name) => name !== "pods" && name !== "ephemeral-storage").sort();
}

// The part of the cluster that amounts are, of the resource of which they are most.
export function dominant(amounts, total) {
  let best = "";
  let most = 0;
  for (const name of Object.keys(amounts || {})) {
    if (name === "pods" || !total[name]) continue;
    const part = amounts[name] / total[name];
    if (part > most) [best, most] = [name, part];
  }
  return [best, most];
}

// The resource of a queue that is shown: the chosen one, or that which it has most of.
export function resourceOf(queue, total, chosen) {
  if (chosen && total[chosen]) return chosen;
  return dominant(queue.used, total)[0] || dominant(queue.pending, total)[0] || dominant(queue.fair, total)[0] || resourceNames(total)[0] || "cpu";
}

export function when(text) {
  const at = new Date(text);
  const today = at.toDateString() === new Date().toDateString();
  return today ? at.toLocaleTimeString() : at.toLocaleString();
}
