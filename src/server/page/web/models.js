// Which models the server offers, and which of them are chosen.
import {get} from './api.js';
import {el, find} from './dom.js';
import {keepSetting, setting} from './store.js';

let offered = [];

export const modelsOf = (kind) => offered.filter((m) => (m.kind ?? 'language') === kind);

// The id that requests name; undefined if the server offers none of that kind.
export function chosenModel(kind) {
  const kept = setting(`model.${kind}`, ''), list = modelsOf(kind);
  return (list.find((m) => m.id === kept) ?? list[0])?.id;
}

export async function loadModels() {
  offered = (await get('v1/models')).data;
}

// The picker shows the models of one kind.
export function showModels(kind) {
  const list = modelsOf(kind), select = find('model');
  select.replaceChildren(...list.map((m) => el('option', {value: m.id}, m.id)));
  select.disabled = list.length < 2;
  select.value = chosenModel(kind) ?? '';
  select.hidden = list.length === 0;
  select.onchange = () => keepSetting(`model.${kind}`, select.value);
}
