// The fields of a queue that the form has, by discipline: where each is in the manifest, and how its text is read.

const AMOUNTS = "such as cpu=10, memory=40Gi, or memory=50%";
const CAPACITY = "such as 60%, 3w or [cpu=10,memory=40Gi]";
const COMMON = [
  { path: "spec.maxRunningApplications", label: "Applications that run at most", kind: "number", hint: "no limit if empty" },
  { path: "spec.state", label: "State", kind: "text", hint: "Running, or Stopped: it takes nothing new" },
];
const FAIR = [
  { path: "spec.fair.weight", label: "Weight", kind: "number", hint: "1 if empty" },
  { path: "spec.fair.minResources", label: "Guaranteed (minResources)", kind: "amounts", hint: AMOUNTS },
  { path: "spec.fair.maxResources", label: "Maximum (maxResources)", kind: "amounts", hint: AMOUNTS },
  { path: "spec.fair.schedulingPolicy", label: "How it shares", kind: "text", hint: "drf if empty; fair or fifo" },
];
const BY_CAPACITY = [
  { path: "spec.capacity.guaranteed", label: "Guaranteed", kind: "text", hint: CAPACITY },
  { path: "spec.capacity.maximum", label: "Maximum", kind: "text", hint: "such as 80% or [cpu=10,memory=40Gi]" },
  { path: "spec.capacity.userLimitFactor", label: "User limit factor", kind: "number", hint: "times the guarantee that one user may have" },
  { path: "spec.capacity.maximumApplications", label: "Applications at most (maximumApplications)", kind: "number", hint: "that run or wait for room" },
  { path: "spec.capacity.priority", label: "Priority among the siblings", kind: "number", hint: "0 if empty" },
];

export function fieldsOf(discipline) {
  return [...(discipline === "Capacity" ? BY_CAPACITY : FAIR), ...COMMON];
}

export function textOf(manifest, field) {
  const value = field.path.split(".").reduce((at, name) => (at === undefined || at === null ? undefined : at[name]), manifest);
  if (value === undefined || value === null) return "";
  return field.kind === "amounts" ? Object.entries(value).map(([name, amount]) => `${name}=${amount}`).join(", ") : String(value);
}

// A copy of a manifest in which the fields have these texts; those that are as they were stay as they are. Throws an Error that says what is wrong.
export function edited(manifest, changes) {
  const made = structuredClone(manifest);
  for (const [field, text] of changes) {
    const names = field.path.split(".");
    const last = names.pop();
    const holders = [made];
    for (const name of names) holders.push((holders.at(-1)[name] = holders.at(-1)[name] || {}));
    const holder = holders.at(-1);
    if (text === "") delete holder[last];
    else holder[last] = valueOf(field, text);
    for (let at = names.length; at > 1; at -= 1) if (!Object.keys(holders[at]).length) delete holders[at - 1][names[at - 1]];
  }
  return made;
}

// What a text says in a field. Throws an Error that says what is wrong.
export function valueOf(field, text) {
  if (field.kind === "number") return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  if (field.kind === "text") return text;
  const found = {};
  for (const part of text.split(",").map((each) => each.trim()).filter(Boolean)) {
    const at = part.indexOf("=");
    if (at < 1 || at === part.length - 1) throw new Error(`${field.path}: ${part} is no amount of a resource, ${AMOUNTS}`);
    found[part.slice(0, at).trim()] = part.slice(at + 1).trim();
  }
  return found;
}
