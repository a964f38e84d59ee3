// JSON as YAML that kubectl reads. Texts that YAML could take for something else are quoted, as JSON quotes them, which is YAML too.

const PLAIN = /^[A-Za-z/][A-Za-z0-9_./-]*$/;
const WORDS = /^(true|false|yes|no|on|off|null|y|n|\.inf|\.nan)$/i;

export function yaml(value, indent = "") {
  if (Array.isArray(value)) return value.length ? value.map((one) => `${indent}- ${nested(one, indent)}`).join("") : `${indent}[]\n`;
  return Object.entries(value).map(([key, one]) => `${indent}${scalar(key)}:${below(one, indent)}`).join("");
}

function nested(value, indent) {
  if (!holds(value)) return `${scalar(value)}\n`;
  return yaml(value, `${indent}  `).slice(indent.length + 2);
}

function below(value, indent) {
  return holds(value) ? `\n${yaml(value, `${indent}  `)}` : ` ${scalar(value)}\n`;
}

function holds(value) {
  return value !== null && typeof value === "object" && Object.keys(value).length > 0;
}

function scalar(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);
}
