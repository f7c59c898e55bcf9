// How the page talks to its server: one read of everything, a feed of changes, and three deeds.

const proof = document.querySelector('meta[name="page-proof"]').content;

export async function readState() {
  const response = await fetch("/api/state");
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

async function post(path, fields) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Demo-Page": proof },
    body: JSON.stringify(fields),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

export const say = (fields) => post("/api/say", fields);
export const recall = (id) => post("/api/recall", { id });
export const redeliver = (id) => post("/api/redeliver", { id });

export function follow(state, { onMessage, onConnection, onServer }) {
  const feed = new EventSource(`/api/feed?after=${state.run}-${state.cursor}`);
  const read = (handle) => (event) => handle(JSON.parse(event.data));
  feed.addEventListener("open", () => onServer(true));
  feed.addEventListener("error", () => onServer(false));
  feed.addEventListener("message", read(onMessage));
  feed.addEventListener("changed", read(onMessage));
  feed.addEventListener("connections", read(onConnection));
  // The server was started anew: its page has another proof, so take the new page.
  feed.addEventListener("reload", () => { feed.close(); location.reload(); });
}
