// Requests to the server. Paths are relative to the page, as a library serves many casts.

// The server refused a request.
export class Refused extends Error {
  constructor(status, body) {
    super(body.error ?? `the server answered ${status}`);
    this.status = status;
    this.kind = body.kind ?? "";
    this.body = body;
  }
}

// The server does not answer.
export class Gone extends Error {
  constructor() {
    super("The server is not running. Start castlist again.");
  }
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, { cache: "no-store", priority: "high", ...options });
  } catch {
    throw new Gone();
  }
  const text = await answer.text().catch(() => "");
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = { error: text || `the server answered ${answer.status}` };
  }
  if (!answer.ok) throw new Refused(answer.status, body);
  return body;
}

export function get(path) {
  return ask(path);
}

export function post(path, body = {}) {
  return ask(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}
