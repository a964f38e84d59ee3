// Where one is, in the part of the address after #: it is shared with a link, kept by a reload, and never sent to a server.
// #/queues?q=etl, #/queue/root.etl, #/applications?reason=..., #/application/NAMESPACE/NAME, #/nodes?partition=...

export function read(hash = location.hash) {
  const [path, query] = split(hash.replace(/^#\/?/, ""));
  const [view, ...name] = path.split("/");
  return { view: view || "queues", name: name.map(plain).join("/"), words: new URLSearchParams(query) };
}

function split(text) {
  const at = text.indexOf("?");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function link(view, name = "", words = {}) {
  const query = new URLSearchParams(Object.entries(words).filter(([, value]) => value !== "" && value !== undefined));
  const path = name ? `${view}/${name.split("/").map(encodeURIComponent).join("/")}` : view;
  return `#/${path}${query.size ? `?${query}` : ""}`;
}

export function go(address) {
  location.hash = address;
}

// Change words of where one is without a step in the history: what one types is no page to go back to.
export function change(words) {
  const now = read();
  const all = { ...Object.fromEntries(now.words), ...words };
  history.replaceState(null, "", link(now.view, now.name, all));
  dispatchEvent(new Event("hashchange"));
}
