// Requests to the server that this page came from. Addresses are relative to the page, so a proxy may serve it under a folder.

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

const keyName = 'hearth.key';
export const key = () => sessionStorage.getItem(keyName) ?? localStorage.getItem(keyName) ?? '';
export function keepKey(value, onThisComputer) {
  sessionStorage.removeItem(keyName);
  localStorage.removeItem(keyName);
  if (value) (onThisComputer ? localStorage : sessionStorage).setItem(keyName, value);
}

let askForKey = async () => false;
// `ask` returns whether the user has given another key; concurrent requests wait for one question.
export function onKeyNeeded(ask) {
  let running = null;
  askForKey = (message) => {
    running ??= ask(message).finally(() => { running = null; });
    return running;
  };
}

// What the server says about an error, in the form of any of its APIs.
async function errorOf(response) {
  const text = await response.text();
  let message = text.trim().slice(0, 500);
  try {
    const body = JSON.parse(text);
    message = body.error?.message ?? (typeof body.detail === 'string' ? body.detail : undefined) ?? message;
  } catch { /* a proxy's page, shown as it is */ }
  return new ApiError(message || `the server answered with status ${response.status}`, response.status);
}

async function request(path, {body, signal} = {}) {
  for (;;) {
    const headers = {};
    const sent = key();
    if (sent) headers.Authorization = `Bearer ${sent}`;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    let response;
    try {
      response = await fetch(path, {
        method: body === undefined ? 'GET' : 'POST', headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
        credentials: 'same-origin', cache: 'no-store',
      });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new ApiError('the server cannot be reached', 0);
    }
    if (response.ok) return response;
    const error = await errorOf(response);
    if (response.status !== 401) throw error;
    if (key() !== sent) continue;  // another request has asked meanwhile
    if (!await askForKey(error.message)) throw error;
  }
}

export async function get(path) {
  return (await request(path)).json();
}

export async function post(path, body, signal) {
  return (await request(path, {body, signal})).json();
}

// The data of server-sent events, parsed, up to [DONE]. ApiError for an event that reports an error, and for a stream that breaks off.
export async function* events(path, body, signal) {
  const response = await request(path, {body, signal});
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      let part;
      try {
        part = await reader.read();
      } catch (error) {
        if (error.name === 'AbortError') throw error;
        throw new ApiError('the connection broke off', 0);
      }
      if (part.done) throw new ApiError('the answer broke off', 0);
      const blocks = (rest + part.value).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const data = block.split('\n').filter((l) => l.startsWith('data:')).map((l) => l.slice(5).trimStart()).join('\n');
        if (!data) continue;
        if (data === '[DONE]') return;
        const event = JSON.parse(data);
        if (event.error) throw new ApiError(event.error.message, 200);
        yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
