// The chat: its list of conversations, its messages, the composer, and the requests behind them.
import {events} from './api.js';
import * as talks from './conversations.js';
import {announce, ask, chooseFile, el, find, icon, note, save} from './dom.js';
import {MessageView} from './message.js';
import {absence, chosenModel, modelsOf} from './models.js';
import {problemOf, row, textParameters} from './parameters.js';
import {keepSetting, setting} from './store.js';

let all = [];            // conversations, the newest first
let current = null;      // the one that is shown
let views = new Map();   // message id → MessageView, of the current one
const runs = new Map();  // conversation id → {message, abort}
let leaving = false;     // the browser ends connections a moment before the page

const log = find('log'), message = find('message'), send = find('send');

const failed = (error) => note(error.message);
// Not one that was deleted while its answer came.
const keep = (conversation) => { if (all.includes(conversation)) talks.keep(conversation).catch(failed); };

function nearEnd() {
  return log.scrollHeight - log.scrollTop - log.clientHeight < 80;
}
function toEnd() {
  log.scrollTop = log.scrollHeight;
}

// ——— What is shown

function showList() {
  find('conversations').replaceChildren(...all.map((c) => el(`li${c === current ? '.current' : ''}`, {},
    el('button.title', {type: 'button', 'aria-current': c === current ? 'true' : undefined, title: c.title, onclick: () => open(c)},
      runs.has(c.id) ? '… ' : '', c.title),
    el('button.icon', {type: 'button', 'aria-label': `Rename ${c.title}`, onclick: () => rename(c)}, icon('pencil')),
    el('button.icon', {type: 'button', 'aria-label': `Delete ${c.title}`, onclick: () => drop(c)}, icon('cross')))));
}

function showMessage(m, last) {
  const run = runs.get(current.id);
  views.get(m.id)?.show({running: run?.message === m, last: last && !run, versions: talks.versions(current, m)});
}

function showMessages() {
  views = new Map();
  const thread = talks.thread(current);
  for (const m of thread) views.set(m.id, new MessageView(m, actions));
  if (thread.length) log.replaceChildren(...[...views.values()].map((v) => v.node));
  else log.replaceChildren(absence('language') ?? el('div.empty', {}, el('h1', {}, 'What is on your mind?'),
    el('p', {}, 'Conversations stay in this browser. Enter sends, Shift+Enter begins a line, Esc stops.')));
  thread.forEach((m, i) => showMessage(m, i + 1 === thread.length));
  showComposer();
  toEnd();
}

function showComposer() {
  const running = runs.has(current.id);
  send.textContent = running ? 'Stop' : 'Send';
  send.classList.toggle('stop', running);
  message.disabled = send.disabled = !modelsOf('language').length;
}

function fit() {
  message.style.height = 'auto';
  message.style.height = `${Math.min(message.scrollHeight + 2, innerHeight * 0.4)}px`;
}

export function showSettings() {
  const c = current;
  const system = el('textarea', {id: 'system', rows: 5, value: c.system, placeholder: 'What the model should know or how it should answer',
    oninput: () => { c.system = system.value; changed(); }});
  const changed = () => {
    keepSetting('latest', {system: c.system, parameters: c.parameters});
    keep(c);
  };
  const rows = (more) => textParameters.filter((p) => Boolean(p.more) === more).map((p) => row('chat', p, c.parameters, changed));
  const more = textParameters.some((p) => p.more && c.parameters[p.name] !== undefined);
  find('settings').replaceChildren(
    el('div.field', {}, el('label', {htmlFor: 'system'}, 'System prompt'), system),
    el('div.grid', {}, rows(false)),
    el('details', {open: more}, el('summary', {}, 'More'), el('div.grid', {}, rows(true))),
    el('div.row', {}, el('button', {type: 'button', onclick: () => { c.parameters = {}; changed(); showSettings(); }}, 'Reset')));
}

// On narrow screens the list lies over the messages.
function closeDrawers() {
  document.body.classList.remove('list-open');
  find('open-list').setAttribute('aria-expanded', false);
}

// ——— Conversations

function open(conversation) {
  current = conversation;
  keepSetting('current', conversation.id);
  showList();
  showMessages();
  showSettings();
  closeDrawers();
  if (matchMedia('(hover: hover)').matches) message.focus();
}

export function newChat() {
  const unused = all.find((c) => c.messages.length === 0);
  const conversation = unused ?? talks.newConversation(setting('latest', undefined));
  if (!unused) {
    all.unshift(conversation);
    keep(conversation);
  }
  open(conversation);
}

async function rename(conversation) {
  const answer = await ask('Rename the conversation', [el('label', {}, 'Title',
    el('input', {name: 'title', value: conversation.title, required: true}))], 'Rename');
  if (!answer) return;
  conversation.title = answer.get('title').trim() || conversation.title;
  conversation.named = true;
  keep(conversation);
  showList();
}

async function drop(conversation) {
  if (!await ask('Delete the conversation?', [el('p', {}, `“${conversation.title}” is removed from this browser.`)], 'Delete')) return;
  stop(conversation);
  all = all.filter((c) => c !== conversation);
  talks.drop(conversation).catch(failed);
  if (conversation !== current) showList();
  else if (all.length) open(all[0]);
  else newChat();
}

function exportAll() {
  const day = new Date().toISOString().slice(0, 10);
  save(new Blob([talks.exported(all.filter((c) => c.messages.length))], {type: 'application/json'}), `hearth-conversations-${day}.json`);
}

async function importFile() {
  const file = await chooseFile('.json,application/json');
  if (!file) return;
  try {
    const read = talks.imported(await file.text());
    for (const conversation of read) await talks.keep(conversation);
    all = [...read, ...all];
    if (read.length) open(read[0]);
    announce(`${read.length} conversations imported`);
  } catch (error) {
    note(`${file.name}: ${error.message}`);
  }
}

// ——— Answers

// Takes one event of the stream into the message.
function take(m, event) {
  if (event.model) m.model = event.model;
  if (event.usage) m.usage = event.usage;
  const choice = event.choices?.[0];
  if (!choice) return;
  const delta = choice.delta ?? {};
  if (delta.content) m.content += delta.content;
  if (delta.reasoning_content) m.reasoning = (m.reasoning ?? '') + delta.reasoning_content;
  for (const part of delta.tool_calls ?? []) {
    m.tool_calls ??= [];
    const call = (m.tool_calls[part.index] ??= {id: '', type: 'function', function: {name: '', arguments: ''}});
    if (part.id) call.id = part.id;
    call.function.name += part.function?.name ?? '';
    call.function.arguments += part.function?.arguments ?? '';
  }
  if (choice.finish_reason) m.finish = choice.finish_reason;
}

function bodyOf(conversation, last, more) {
  const {extra, ...parameters} = conversation.parameters;
  if (problemOf(extra ?? '')) throw new Error(`Other fields (JSON): ${problemOf(extra)}`);
  const model = chosenModel('language');
  return {...(model ? {model} : {}), messages: talks.requestMessages(conversation, last), stream: true,
    stream_options: {include_usage: true}, ...parameters,
    ...JSON.parse(extra || '{}'), ...more};
}

// Fills `m` with an answer to what is before it; `more`: further fields of the request.
async function generate(conversation, m, last, more = {}) {
  const abort = new AbortController();
  const run = {message: m, abort};
  runs.set(conversation.id, run);
  for (const old of ['error', 'stopped', 'finish']) delete m[old];
  m.open = true;
  keep(conversation);
  const visible = () => conversation === current;
  if (visible()) showMessages();
  showList();
  announce('Answer begins');
  const began = performance.now();
  let first = 0, latest = 0, kept = began, asked = false;
  // The page follows the stream at the pace of the screen.
  const draw = () => {
    asked = false;
    if (!visible() || runs.get(conversation.id) !== run) return;
    const follow = nearEnd();
    showMessage(m, true);
    if (follow) toEnd();
  };
  try {
    for await (const event of events('v1/chat/completions', bodyOf(conversation, last, more), abort.signal)) {
      take(m, event);
      if (event.choices?.length) latest = performance.now();
      if (!first && (m.content || m.reasoning || m.tool_calls)) first = latest;
      if (performance.now() - kept > 2000) {
        kept = performance.now();
        keep(conversation);
      }
      if (!asked) {
        asked = true;
        // A hidden page gets no frames.
        if (document.hidden) setTimeout(draw, 200);
        else requestAnimationFrame(draw);
      }
    }
  } catch (error) {
    if (error.name === 'AbortError' || leaving) m.stopped = true;
    else m.error = error.message;
  }
  if (m.tool_calls) m.tool_calls = m.tool_calls.filter(Boolean);
  if (first) {
    m.first = (first - began) / 1000;
    const tokens = m.usage?.completion_tokens ?? 0;
    if (tokens > 1 && latest > first && !m.stopped) m.rate = (tokens - 1) / ((latest - first) / 1000);
  }
  runs.delete(conversation.id);
  delete m.open;
  keep(conversation);
  if (visible()) {
    const follow = nearEnd();
    const thread = talks.thread(conversation);
    thread.forEach((t, i) => showMessage(t, i + 1 === thread.length));
    showComposer();
    if (follow) toEnd();
  }
  showList();
  announce(m.error ? `Error: ${m.error}` : m.stopped ? 'Stopped' : 'Answer complete');
}

function stop(conversation) {
  runs.get(conversation.id)?.abort.abort();
}

// Answers the message `m` of the user, or of a tool.
function answer(m) {
  const conversation = current;
  if (runs.has(conversation.id)) return;
  const made = talks.add(conversation, m.id, {role: 'assistant'});
  all = [conversation, ...all.filter((c) => c !== conversation)];
  generate(conversation, made, m.id);
}

const actions = {
  answer,
  regenerate(m) {
    if (!runs.has(current.id)) answer({id: m.parent});
  },
  edit(m, content) {
    if (runs.has(current.id)) return;
    const {role, model, reasoning, tool_calls} = m;
    const made = talks.add(current, m.parent, role === 'user' ? {role, content} : {role, content, model, reasoning, tool_calls});
    keep(current);
    if (role === 'user') answer(made);
    else showMessages();
  },
  resume(m) {
    if (runs.has(current.id)) return;
    for (const old of ['usage', 'rate', 'first']) delete m[old];
    generate(current, m, m.id, {continue_final_message: true});
  },
  choose(m) {
    if (runs.has(current.id)) return;
    talks.choose(current, m);
    keep(current);
    showMessages();
  },
  answerTools(m, results) {
    let parent = m;
    results.forEach((content, i) => {
      const call = m.tool_calls[i];
      parent = talks.add(current, parent.id, {role: 'tool', content, tool_call_id: call.id, name: call.function.name});
    });
    answer(parent);
  },
};

function submit() {
  if (runs.has(current.id)) return stop(current);
  const content = message.value;
  if (!content.trim()) return;
  message.value = '';
  fit();
  const made = talks.add(current, current.leaf, {role: 'user', content});
  answer(made);
}

export async function startChat() {
  try {
    all = await talks.loadAll();
  } catch (error) {
    failed(error);
  }
  find('new-chat').onclick = newChat;
  find('export').onclick = exportAll;
  find('import').onclick = importFile;
  find('composer').onsubmit = (event) => {
    event.preventDefault();
    submit();
  };
  document.querySelector('.talk').onclick = closeDrawers;
  message.oninput = fit;
  message.onkeydown = (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!runs.has(current.id)) submit();
  };
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && !document.querySelector('dialog[open]') && !find('chat').hidden) stop(current);
  });
  // A phone may end a page that is hidden, without telling it.
  const keepRuns = () => { for (const c of all) if (runs.has(c.id)) keep(c); };
  document.addEventListener('visibilitychange', () => { if (document.hidden) keepRuns(); });
  addEventListener('beforeunload', () => {
    leaving = true;
    setTimeout(() => { leaving = false; }, 3000);  // the user may stay
  });
  addEventListener('pagehide', () => {
    keepRuns();
    for (const run of runs.values()) run.abort.abort();
  });
  const latest = all.find((c) => c.id === setting('current', ''));
  if (latest) open(latest);
  else newChat();
}
