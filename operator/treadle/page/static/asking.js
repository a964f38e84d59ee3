// Asks for what the stream does not tell. A refusal is told as problem details (RFC 9457); what a proxy answers is no JSON, and is told by its status.

export async function ask(path, query, token, { body, headers = {} } = {}) {
  const sent = { Accept: "application/json", ...headers };
  if (token) sent.Authorization = `Bearer ${token}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  const words = new URLSearchParams(query);
  const options = { method: body === undefined ? "GET" : "POST", headers: sent, credentials: "same-origin", body: body === undefined ? undefined : JSON.stringify(body) };
  try {
    const answer = await fetch(`api/v1/${path}${words.size ? `?${words}` : ""}`, options);
    const said = await answer.json().catch(() => ({}));
    const problem = answer.ok ? "" : said.detail || `${answer.status} ${answer.statusText}`;
    return { ok: answer.ok, status: answer.status, said, problem, tag: answer.headers.get("ETag") || "" };
  } catch (error) {
    return { ok: false, status: 0, said: {}, problem: `nothing is answered (${error.message})`, tag: "" };
  }
}

// Asks again and again for one thing, `every` so many milliseconds at the most, while somebody looks at it. What was asked for before counts no more.
export class Watch {
  constructor(every, heard) {
    this.every = every;
    this.heard = heard;
    this.key = "";
    this.at = 0;
    this.busy = false;
  }

  look(path, query, token) {
    const key = JSON.stringify([path, query]);
    if (key === this.key && (this.busy || performance.now() - this.at < this.every)) return;
    this.key = key;
    this.at = performance.now();
    this.busy = true;
    ask(path, query, token).then((answer) => {
      if (key !== this.key) return;
      this.busy = false;
      this.heard(answer);
    });
  }
}
