// Server-sent events read by fetch, since an EventSource cannot send a token. `heard(name, data)` gets each event, `ended(problem)` is called once.

export function open(topics, queue, token, heard, ended) {
  const stop = new AbortController();
  read(topics, queue, token, heard, stop.signal).then(
    (problem) => stop.signal.aborted || ended(problem),
    (error) => stop.signal.aborted || ended({ status: 0, message: `the connection is lost (${error.message})` }),
  );
  return () => stop.abort();
}

async function read(topics, queue, token, heard, signal) {
  const query = new URLSearchParams({ topics: topics.join(",") });
  if (queue) query.set("queue", queue);
  const headers = { Accept: "application/json, text/event-stream" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(`api/v1/stream?${query}`, { headers, signal, cache: "no-store", credentials: "same-origin" });
  if (!answer.ok) return refusal(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { status: 0, message: "the connection has ended" };
    const from = Math.max(0, text.length - 1); // an empty line may come in two pieces
    text += value;
    for (let end = text.indexOf("\n\n", from); end >= 0; end = text.indexOf("\n\n")) {
      take(text.slice(0, end), heard);
      text = text.slice(end + 2);
    }
  }
}

function take(text, heard) {
  let name = "message";
  let data = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    if (line.startsWith("data: ")) data = line.slice(6);
  }
  if (data) heard(name, JSON.parse(data));
}

async function refusal(answer) {
  let message = `${answer.status} ${answer.statusText}`;
  try {
    message = (await answer.json()).detail || message;
  } catch {
    // a proxy's answer, which is no JSON
  }
  return { status: answer.status, message, wait: Number(answer.headers.get("Retry-After")) || 0 };
}
