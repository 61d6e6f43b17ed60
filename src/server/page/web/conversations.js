// Conversations as data. Messages form a tree: editing or regenerating adds a branch, and nothing is lost.
import * as store from './store.js';

// {id, title, named, created, changed, kept, system, parameters, model, messages: [{id, parent, role, content, …}], leaf}
// changed: when a message was added last; kept: when this state was saved. A message is `open` while its answer comes.
export function newConversation(from) {
  const now = Date.now();
  return {id: store.newId(), title: 'New chat', created: now, changed: now, system: from?.system ?? '',
    parameters: structuredClone(from?.parameters ?? {}),
    messages: [], leaf: null};
}

// An answer that came when its page was left has ended there.
function close(conversation) {
  for (const m of conversation.messages) {
    if (!m.open) continue;
    delete m.open;
    m.stopped = true;
  }
  return conversation;
}

export async function loadAll() {
  await store.saveLeftBehind('conversations');
  return (await store.all('conversations')).map(close).sort((a, b) => b.changed - a.changed);
}

// Saves it before this returns, whatever becomes of the page.
export function keep(conversation) {
  conversation.kept = Date.now();
  return store.putAtOnce('conversations', conversation);
}

export function drop(conversation) {
  store.forgetUnsaved(conversation.id);
  return store.remove('conversations', conversation.id);
}

const byId = (conversation, id) => conversation.messages.find((m) => m.id === id);

// The messages from the first to the leaf.
export function thread(conversation) {
  const found = [];
  for (let m = byId(conversation, conversation.leaf); m; m = byId(conversation, m.parent)) found.unshift(m);
  return found;
}

// Adds a message behind `parent` (an id, or null) and makes it the leaf.
export function add(conversation, parent, message) {
  const made = {id: store.newId(), parent, created: Date.now(), content: '', ...message};
  conversation.messages.push(made);
  conversation.leaf = made.id;
  conversation.changed = made.created;
  if (made.role === 'user' && !conversation.named && conversation.title === 'New chat') {
    const words = made.content.trim().replace(/\s+/g, ' ');
    conversation.title = words.length > 48 ? `${words.slice(0, 47)}…` : words || 'New chat';
  }
  return made;
}

// The versions of a message: those with the same parent.
export const versions = (conversation, message) => conversation.messages.filter((m) => m.parent === message.parent);

// Shows another version, and the newest that follows it.
export function choose(conversation, message) {
  let leaf = message;
  for (;;) {
    const next = conversation.messages.filter((m) => m.parent === leaf.id).at(-1);
    if (!next) break;
    leaf = next;
  }
  conversation.leaf = leaf.id;
}

// The messages of a request, up to and with `last`.
export function requestMessages(conversation, last) {
  const list = conversation.system.trim() ? [{role: 'system', content: conversation.system}] : [];
  for (const m of thread(conversation)) {
    if (m.role === 'tool') list.push({role: 'tool', tool_call_id: m.tool_call_id, content: m.content});
    else if (m.role === 'user' || m.content || m.tool_calls) {
      list.push(m.tool_calls ? {role: m.role, content: m.content || null, tool_calls: m.tool_calls} : {role: m.role, content: m.content});
    }
    if (m.id === last) break;
  }
  return list;
}

const format = 'hearth conversations';

export function exported(conversations) {
  return JSON.stringify({format, version: 1, conversations}, null, 1);
}

const isText = (v) => typeof v === 'string';
const orText = (v) => v === undefined || isText(v);

// The conversations of an exported file, with new ids; an Error that names what is wrong.
export function imported(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new Error(`the file is not JSON: ${error.message}`);
  }
  if (file?.format !== format || file.version !== 1 || !Array.isArray(file.conversations))
    throw new Error(`the file has no "format": "${format}", "version": 1`);
  return file.conversations.map((c, i) => {
    const at = `conversations[${i}]`;
    if (!isText(c?.title) || !isText(c.system) || !Array.isArray(c.messages)) throw new Error(`${at}: expected title, system and messages`);
    if (!c.parameters || typeof c.parameters !== 'object') throw new Error(`${at}: expected parameters`);
    const seen = new Set();
    c.messages.forEach((m, k) => {
      const valid = isText(m?.id) && !seen.has(m.id) && (m.parent === null || seen.has(m.parent)) && isText(m.content) &&
        ['user', 'assistant', 'tool'].includes(m.role) && orText(m.reasoning) && orText(m.error) &&
        (m.tool_calls === undefined || (Array.isArray(m.tool_calls) &&
          m.tool_calls.every((t) => isText(t?.function?.name) && isText(t.function.arguments))));
      if (!valid) throw new Error(`${at}.messages[${k}]: expected id, a parent before it, role and content`);
      seen.add(m.id);
    });
    if (c.leaf !== null && !seen.has(c.leaf)) throw new Error(`${at}.leaf: no such message`);
    return close({...newConversation(), title: c.title, named: true, system: c.system, parameters: c.parameters, messages: c.messages,
      leaf: c.leaf});
  });
}
