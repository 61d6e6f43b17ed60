// Which models the server offers, and which of them are chosen.
import {get} from './api.js';
import {el, find} from './dom.js';
import {keepSetting, setting} from './store.js';

let offered = [], failure = '';

export const modelsOf = (kind) => offered.filter((m) => (m.kind ?? 'language') === kind);

// As the server lists it; undefined if it offers none of that kind.
export function chosenEntry(kind) {
  const kept = setting(`model.${kind}`, ''), list = modelsOf(kind);
  return list.find((m) => m.id === kept) ?? list[0];
}

// The id that requests name.
export const chosenModel = (kind) => chosenEntry(kind)?.id;

let changed = () => {};
// `f` is called with the kind whose model has changed.
export function onModelChange(f) {
  changed = f;
}

// Chooses a model if the server offers it.
export function chooseModel(kind, id) {
  if (id === chosenModel(kind) || !modelsOf(kind).some((m) => m.id === id)) return;
  keepSetting(`model.${kind}`, id);
  find('model').value = id;
  changed(kind);
}

export async function loadModels() {
  try {
    offered = (await get('v1/models')).data;
  } catch (error) {
    failure = error.message;
    throw error;
  }
}

// Stands where something would be that needs a model of this kind; null if there is one.
export function absence(kind) {
  if (modelsOf(kind).length) return null;
  if (failure) return el('div.empty', {}, el('h1', {}, 'The models are not known'), el('p', {}, failure),
    el('p', {}, el('button', {type: 'button', onclick: () => location.reload()}, 'Try again')));
  const [name, act] = kind === 'image' ? ['image', 'draws'] : ['language', 'writes'];
  return el('div.empty', {}, el('h1', {}, `No ${name} model`),
    el('p', {}, `This server offers no model that ${act}. Start it with one: hearth serve -m MODEL`));
}

// The picker shows the models of one kind.
export function showModels(kind) {
  const list = modelsOf(kind), select = find('model');
  select.replaceChildren(...list.map((m) => el('option', {value: m.id}, m.id)));
  select.title = list.length > 1 ? '' : chosenModel(kind) ?? '';
  select.disabled = list.length < 2;
  select.value = chosenModel(kind) ?? '';
  select.hidden = list.length === 0;
  select.onchange = () => chooseModel(kind, select.value);
}
