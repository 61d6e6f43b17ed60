// What the browser keeps: conversations and pictures in IndexedDB, small settings in localStorage. Nothing is kept on the server.

let opened = null;
function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('hearth', 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore('conversations', {keyPath: 'id'});
      request.result.createObjectStore('pictures', {keyPath: 'id'});
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(new Error(`the browser cannot keep data for this page: ${request.error.message}`));
  });
  return opened;
}

function ended(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(new Error(`the browser did not keep it: ${transaction.error?.message ?? 'no room'}`));
  });
}

async function run(store, mode, work) {
  const transaction = (await database()).transaction(store, mode);
  const request = work(transaction.objectStore(store));
  transaction.commit();  // not only once the request has been answered
  await ended(transaction);
  return request.result;
}

export const all = (store) => run(store, 'readonly', (s) => s.getAll());
export const put = (store, item) => run(store, 'readwrite', (s) => s.put(item));
export const remove = (store, id) => run(store, 'readwrite', (s) => s.delete(id));

// A page that ends aborts its transactions, and opening the database takes a while. So a conversation is first written here, at once, and
// stays until the database has it.
const unsavedName = (id) => `hearth.unsaved.${id}`;

export async function putAtOnce(store, item) {
  const name = unsavedName(item.id), text = JSON.stringify(item);
  try {
    localStorage.setItem(name, text);
  } catch {
    localStorage.removeItem(name);  // it has no room for a long one, or for an older state of it: only the database has
  }
  await put(store, item);
  if (localStorage.getItem(name) === text) localStorage.removeItem(name);  // else a newer state waits
}

// Forgets what waits for the database.
export const forgetUnsaved = (id) => localStorage.removeItem(unsavedName(id));

// Moves to the database what pages have left behind, unless it has a later state: one whose `kept` is larger.
export async function saveLeftBehind(store) {
  const left = Object.keys(localStorage).filter((name) => name.startsWith(unsavedName(''))).map((name) => [name, localStorage.getItem(name)]);
  if (!left.length) return;
  const transaction = (await database()).transaction(store, 'readwrite'), items = transaction.objectStore(store);
  for (const [, text] of left) {
    const item = JSON.parse(text), known = items.get(item.id);
    known.onsuccess = () => { if (!(known.result?.kept > item.kept)) items.put(item); };
  }
  await ended(transaction);
  for (const [name, text] of left) if (localStorage.getItem(name) === text) localStorage.removeItem(name);
}

export function setting(name, otherwise) {
  const text = localStorage.getItem(`hearth.${name}`);
  if (text === null) return otherwise;
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}
export function keepSetting(name, value) {
  localStorage.setItem(`hearth.${name}`, JSON.stringify(value));
}

// 96 random bits. crypto.randomUUID exists only on https and on this computer.
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, '0')).join('');
}
