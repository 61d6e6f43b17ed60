// The adapters that the server offers (control networks, images as prompts, LoRAs): form rows that edit them, and their part of a request.
import {get} from './api.js';
import {el, find} from './dom.js';
import {row} from './parameters.js';

let controls = [], prompts = [], loras = [], modules = [];

export async function loadAdapters() {
  const [models, kinds, files] = await Promise.all(['controlnet/model_list', 'controlnet/module_list', 'sdapi/v1/loras'].map(get));
  prompts = models.image_prompts;
  controls = models.model_list.filter((name) => !prompts.includes(name));
  modules = kinds.module_list.filter((name) => !name.startsWith('ip-adapter') && !name.includes('('));
  loras = files.map((f) => f.name);
}

const isPrompt = (unit) => prompts.includes(unit.model);

const parametersOf = (unit) => [
  {name: 'model', label: 'Adapter', type: 'choice', choices: [...controls, ...prompts], start: unit.model, help: ''},
  ...isPrompt(unit) ? [] : [{name: 'module', label: 'Prepare', type: 'choice', choices: modules, start: 'none', help: 'Makes the control image'}],
  {name: 'weight', label: 'Strength', type: 'number', step: 0.05, start: 1, help: '0: as without it'},
  ...isPrompt(unit) ? [] : [
    {name: 'guidance_start', label: 'From', type: 'number', min: 0, max: 1, step: 0.05, start: 0, help: 'Share of the steps'},
    {name: 'guidance_end', label: 'To', type: 'number', min: 0, max: 1, step: 0.05, start: 1, help: 'Share of the steps'}],
  ...isPrompt(unit) ? [{name: 'face', label: 'Vector of a face', type: 'text', help: 'For FaceID: numbers with commas'},
    {name: 'shortcut', label: 'Shortcut', type: 'flag', help: 'Of FaceID Plus v2'}] : [],
];

const numbersOf = (text) => text.split(',').map(Number);

// The unit as the server reads it. What it leaves out has its standard there.
function sent(unit) {
  const made = {};
  for (const p of parametersOf(unit)) if (unit[p.name] !== undefined) made[p.name] = unit[p.name];
  if (unit.face) made.face = numbersOf(unit.face);
  for (const [name, field] of [['image', 'image'], ['mask', isPrompt(unit) ? 'effective_region_mask' : 'mask']])
    if (unit[name]) made[field] = unit[name].slice(unit[name].indexOf(',') + 1);
  return made;
}

// alwayson_scripts for the units of the form; undefined if there are none.
export const scriptsOf = (units) => (units?.length ? {controlnet: {args: units.map(sent)}} : undefined);

function unitRows(units, index, changed) {
  const unit = units[index], id = `unit-${index}`;
  const chooser = (name) => {
    const input = el('input.unseen', {id: name === 'image' ? `${id}-file` : `${id}-${name}`, type: 'file', accept: 'image/*', onchange: () => {
      const reader = new FileReader();
      reader.onload = () => {
        unit[name] = reader.result;
        changed('units');
      };
      if (input.files[0]) reader.readAsDataURL(input.files[0]);
    }});
    return input;
  };
  const choose = chooser('image'), mask = chooser('mask');
  const remove = el('button.quiet', {type: 'button', onclick: () => {
    units.splice(index, 1);
    changed('units');
  }}, 'Remove');
  const edited = (name) => changed(name === 'model' ? 'units' : name);
  return el('fieldset.unit', {}, el('legend', {}, isPrompt(unit) ? 'Image as prompt' : 'Control'),
    unit.image ? el('img', {src: unit.image, alt: isPrompt(unit) ? 'The image that acts as a prompt' : 'The image that controls'}) : null,
    el('div.row', {}, choose, el('label.button', {htmlFor: choose.id}, unit.image ? 'Another image' : 'Choose its image'),
      mask, el('label.button', {htmlFor: mask.id}, unit.mask ? 'Another mask' : isPrompt(unit) ? 'Where it acts' : 'What it fills'), remove),
    unit.image ? null : el('small', {}, 'Without one, the image to start from'),
    el('div.grid', {}, parametersOf(unit).map((p) => row(id, p, unit, edited))));
}

// The part of the form for adapters; null if the server offers none. `insert(text)` adds to the prompt.
export function adapterRows(values, changed, insert) {
  const names = [...controls, ...prompts];
  if (!names.length && !loras.length) return null;
  const units = values.units ?? [];
  const add = el('button', {type: 'button', id: 'add-unit', onclick: () => {
    values.units = [...units, {model: names[0]}];
    changed('units');
  }}, 'Add a control or an image as prompt');
  const pick = el('select', {id: 'lora', onchange: () => {
    if (pick.value) insert(`<lora:${pick.value}:1>`);
    pick.value = '';
  }}, el('option', {value: ''}, 'Add a LoRA to the prompt'), ...loras.map((name) => el('option', {value: name}, name)));
  pick.setAttribute('aria-label', 'LoRA');
  return el('details', {id: 'adapters', open: Boolean(find('adapters')?.open || units.length)}, el('summary', {}, 'Adapters'),
    loras.length ? el('div.row', {}, pick) : null, units.map((_, i) => unitRows(units, i, changed)),
    names.length ? el('div.row', {}, add) : null);
}
