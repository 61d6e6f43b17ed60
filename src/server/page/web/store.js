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

async function run(store, mode, work) {
  const transaction = (await database()).transaction(store, mode);
  const request = work(transaction.objectStore(store));
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(request.result);
    transaction.onabort = () => reject(new Error(`the browser did not keep it: ${transaction.error?.message ?? 'no room'}`));
  });
}

export const all = (store) => run(store, 'readonly', (s) => s.getAll());
export const put = (store, item) => run(store, 'readwrite', (s) => s.put(item));
export const remove = (store, id) => run(store, 'readwrite', (s) => s.delete(id));

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
