// The fields of requests that the page offers, and the form rows that edit them. An empty field is not sent: the model's own default
// applies.
import {el} from './dom.js';

const number = (name, label, min, max, step, help, more = {}) => ({name, label, type: 'number', min, max, step, help, ...more});
const integer = (name, label, min, max, help, more = {}) => number(name, label, min, max, 1, help, {whole: true, ...more});
const choice = (name, label, choices, help, more = {}) => ({name, label, type: 'choice', choices, help, ...more});
const flag = (name, label, help, more = {}) => ({name, label, type: 'flag', help, ...more});

// Of /v1/chat/completions; completed by the server's schema.
export const textParameters = [
  number('temperature', 'Temperature', 0, 100, 0.1, 'Higher: more varied. 0: always the most likely token'),
  number('top_p', 'Top p', 0, 1, 0.05, 'Only the most likely tokens whose probabilities add up to this'),
  integer('top_k', 'Top k', -1, 2147483647, 'Only so many of the most likely tokens; 0: all'),
  number('min_p', 'Min p', 0, 1, 0.01, 'Only tokens at least this likely, relative to the most likely one'),
  integer('max_tokens', 'Max tokens', 0, 2147483647, 'Length of an answer'),
  integer('seed', 'Seed', -1, Number.MAX_SAFE_INTEGER, 'The same seed and settings give the same answer; empty: another each time'),
  {name: 'stop', label: 'Stop at', type: 'lines', help: 'An answer ends before such a text; one in a line, \\n for a line break'},
  choice('reasoning_effort', 'Reasoning', ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'], 'For models whose template knows it'),
  number('repetition_penalty', 'Repetition penalty', 0.01, undefined, 0.05, 'Above 1: tokens that have occurred become less likely',
    {more: true}),
  number('presence_penalty', 'Presence penalty', -2, 2, 0.1, 'Subtracted from tokens that have occurred', {more: true}),
  number('frequency_penalty', 'Frequency penalty', -2, 2, 0.1, 'The same for each time', {more: true}),
  integer('repeat_last_n', 'Repeat window', -1, 2147483647, 'How far back penalties look; -1: to the beginning', {more: true}),
  number('typical_p', 'Typical p', 0.01, 1, 0.05, 'Only tokens about as surprising as expected', {more: true}),
  number('top_n_sigma', 'Top n sigma', 0, undefined, 0.1, 'Only logits this many deviations below the best', {more: true}),
  number('xtc_probability', 'XTC probability', 0, 1, 0.05, 'How often the most likely tokens are excluded', {more: true}),
  number('xtc_threshold', 'XTC threshold', 0, 1, 0.05, 'Those at least this likely, except the last of them', {more: true}),
  number('dry_multiplier', 'DRY multiplier', 0, undefined, 0.1, 'Against repeated passages; 0: off', {more: true}),
  number('dry_base', 'DRY base', 1, undefined, 0.05, 'How fast that grows with their length', {more: true}),
  integer('dry_allowed_length', 'DRY allowed length', 1, 2147483647, 'Passages up to this length may repeat', {more: true}),
  choice('mirostat', 'Mirostat', [[0, 'off'], [2, 'on, version 2']], 'Keeps the surprise steady', {more: true}),
  number('mirostat_tau', 'Mirostat tau', 0, undefined, 0.5, 'That surprise, in bits', {more: true}),
  number('mirostat_eta', 'Mirostat eta', 0, undefined, 0.05, 'How fast it adapts', {more: true}),
  number('epsilon_cutoff', 'Epsilon cutoff', 0, 0.99, 0.0001, 'Only tokens at least this likely', {more: true}),
  number('eta_cutoff', 'Eta cutoff', 0, 0.99, 0.0001, 'The same, less where the model is unsure', {more: true}),
  integer('min_tokens', 'Min tokens', 0, 2147483647, 'No end before so many', {more: true}),
  {name: 'extra', label: 'Other fields (JSON)', type: 'json', help: 'Joined to each request, for example tools or response_format',
    more: true},
];

const toImages = (f) => f.initImage;
const inMask = (f) => f.mask;
const withHires = (f) => f.enable_hr && !f.initImage;

// Of /sdapi/v1/txt2img and img2img; `option`: sent in override_settings; `when`: shown and sent only then; `start`: taken if the field is
// empty; `fromModel`: where `start` comes from instead, in an entry of /v1/models.
export const imageParameters = [
  integer('width', 'Width', 8, 16384, 'Pixels', {start: 512, fromModel: 'width', isSide: true}),
  integer('height', 'Height', 8, 16384, 'Pixels', {start: 512, fromModel: 'height', isSide: true}),
  integer('steps', 'Steps', 1, 1000, 'More take longer and add detail', {start: 50, fromModel: 'steps'}),
  number('cfg_scale', 'Guidance', 0, undefined, 0.5, 'How closely the image follows the prompt', {start: 7.5, fromModel: 'guidance'}),
  choice('sampler_name', 'Sampler', [], 'How noise becomes an image', {from: 'samplers', start: 'Euler', fromModel: 'sampler'}),
  choice('scheduler', 'Scheduler', [], 'How the steps are spaced', {from: 'schedulers', start: 'automatic'}),
  integer('seed', 'Seed', -1, Number.MAX_SAFE_INTEGER, 'The same seed and settings give the same image; -1: another each time',
    {start: -1}),
  integer('batch_size', 'Images at once', 1, 64, 'Computed together; needs more memory', {start: 1}),
  integer('n_iter', 'Batches', 1, 64, 'One after the other', {start: 1}),
  number('denoising_strength', 'Change', 0, 1, 0.05, '0: keep the image, 1: replace it', {start: 0.6, when: toImages}),
  choice('resize_mode', 'Fit', [[0, 'stretch'], [1, 'crop'], [2, 'fill']], 'If the image has another shape', {start: 0, when: toImages}),
  integer('mask_blur', 'Mask blur', 0, 4096, 'Pixels over which the edge of the mask fades', {start: 4, when: inMask}),
  choice('inpainting_fill', 'Start from', [[1, 'the image'], [0, 'its surroundings'], [2, 'noise'], [3, 'nothing']], 'Under the mask',
    {start: 1, when: inMask}),
  flag('inpainting_mask_invert', 'Keep what is painted', 'Change everything else', {asNumber: true, start: false, when: inMask}),
  flag('inpaint_full_res', 'At full size', 'Compute only the area around the mask, at the whole size', {start: false, when: inMask}),
  integer('inpaint_full_res_padding', 'Margin', 0, 65536, 'Pixels around the mask that are computed too',
    {start: 32, when: (f) => inMask(f) && f.inpaint_full_res}),
  flag('enable_hr', 'Second pass at a larger size', 'Also called hires fix', {start: false, when: (f) => !f.initImage, more: true}),
  number('hr_scale', 'Enlarge by', 1, 64, 0.25, 'Factor of both sides', {start: 2, when: withHires, more: true}),
  choice('hr_upscaler', 'Upscaler', [], 'How it is enlarged', {from: 'upscalers', start: 'Latent', when: withHires, more: true}),
  integer('hr_second_pass_steps', 'Second steps', 0, 1000, '0: as many as the first pass', {start: 0, when: withHires, more: true}),
  number('hr_strength', 'Second change', 0, 1, 0.05, '0: only enlarge, 1: draw anew',
    {start: 0.7, sentAs: 'denoising_strength', when: withHires, more: true}),
  integer('subseed', 'Variation seed', -1, Number.MAX_SAFE_INTEGER, '-1: another each time', {more: true}),
  number('subseed_strength', 'Variation strength', 0, 1, 0.05, '0: the seed alone, 1: the variation seed alone', {more: true}),
  number('eta', 'Eta', 0, undefined, 0.1, 'Noise that samplers with it add in each step', {more: true}),
  number('s_churn', 'Churn', 0, undefined, 1, 'For samplers that have it', {more: true}),
  number('s_noise', 'Churn noise', 0, undefined, 0.01, 'For samplers that have it', {more: true}),
  number('s_tmin', 'Churn from', 0, undefined, 0.1, 'Smallest sigma', {more: true}),
  number('s_tmax', 'Churn to', 0, undefined, 0.1, 'Largest sigma', {more: true}),
  number('image_cfg_scale', 'Image guidance', 0, undefined, 0.1, 'For models that edit by instruction', {when: toImages, more: true}),
  number('distilled_cfg_scale', 'Distilled guidance', 0, undefined, 0.5, 'For models that take it as an input', {more: true}),
  integer('CLIP_stop_at_last_layers', 'CLIP skip', 1, 12, 'Layers from the end of the text encoder', {option: true, more: true}),
  choice('randn_source', 'Noise', ['NV', 'CPU'], 'Whose random numbers', {option: true, more: true}),
  choice('emphasis', 'Emphasis', ['Original', 'No norm', 'Ignore', 'None'], 'What (word:1.2) means', {option: true, more: true}),
  integer('eta_noise_seed_delta', 'ENSD', -2147483648, 2147483647, 'Added to the seed of noise in each step', {option: true, more: true}),
  flag('always_discard_next_to_last_sigma', 'Skip the last but one sigma', '', {option: true, more: true}),
];

const standards = new Map(imageParameters.map((p) => [p, p.start]));

// Takes over what an image model does by default, and the unit of its sides. `samplers`: /sdapi/v1/samplers, which may lack the model's own.
export function adoptModel(entry, samplers) {
  for (const p of imageParameters) {
    let start = p.fromModel && entry?.defaults?.[p.fromModel];
    if (p.fromModel === 'sampler') start = samplers.find((s) => s.aliases.includes(start) || s.name === start)?.name;
    p.start = start ?? standards.get(p);
    if (p.isSide) p.min = p.step = entry?.side_unit ?? 8;
  }
}

// Fields of the request that the page sets itself, that it cannot show, or that have another name here.
const elsewhere = new Set(['model', 'stream', 'n', 'logprobs', 'top_logprobs', 'continue_final_message', 'max_completion_tokens',
  'repeat_penalty']);

function narrow(parameter, schema) {
  if (parameter.type !== 'number') return;
  parameter.min = finite(Math.max(parameter.min ?? -Infinity, schema.minimum ?? -Infinity));
  parameter.max = finite(Math.min(parameter.max ?? Infinity, schema.maximum ?? Infinity));
}

// Takes over the ranges of /openapi.json, and its fields for text that the table lacks.
export function adoptSchema(document) {
  const fieldsOf = (path) => document.paths?.[path]?.post?.requestBody?.content?.['application/json']?.schema?.properties ?? {};
  const ofImages = {...fieldsOf('/sdapi/v1/img2img'), ...fieldsOf('/sdapi/v1/txt2img')};
  for (const p of imageParameters) narrow(p, ofImages[p.sentAs ?? p.name] ?? {});
  for (const [name, schema] of Object.entries(fieldsOf('/v1/chat/completions'))) {
    const known = textParameters.find((p) => p.name === name);
    if (known) narrow(known, schema);
    if (known || elsewhere.has(name)) continue;
    const label = name.replaceAll('_', ' ').replace(/^./, (c) => c.toUpperCase()), help = schema.description ?? '';
    const made = schema.type === 'integer' ? integer(name, label, schema.minimum, schema.maximum, help)
      : schema.type === 'number' ? number(name, label, schema.minimum, schema.maximum, 0.1, help)
        : schema.type === 'boolean' ? flag(name, label, help) : schema.type === 'string' ? {name, label, type: 'text', help} : null;
    if (made) textParameters.splice(-1, 0, {...made, more: true});
  }
}

const finite = (v) => (Number.isFinite(v) ? v : undefined);

// A row for a parameter. values[name] is its value, absent when empty; change(name) is called after an edit. `form` begins the ids: both
// tabs have a seed.
export function row(form, parameter, values, change) {
  const {name, type} = parameter;
  const set = (value) => {
    if (value === undefined || value === '') delete values[name];
    else values[name] = value;
    change(name);
  };
  const value = values[name], id = `${form}-${name}`;
  let input;
  if (type === 'choice') {
    const options = parameter.choices.map((c) => (Array.isArray(c) ? c : [c, c]));
    const empty = parameter.start === undefined ? [['', 'default']] : [];
    input = el('select', {id}, [...empty, ...options].map(([v, text]) => el('option', {value: v}, text)));
    if (value !== undefined && !options.some(([v]) => v === value)) input.append(el('option', {value}, String(value)));
    input.value = value ?? '';
    input.onchange = () => set(options.find(([v]) => String(v) === input.value)?.[0]);
  } else if (type === 'flag') {
    input = el('input', {id, type: 'checkbox', checked: value === true, onchange: () => set(input.checked || undefined)});
  } else if (type === 'text') {
    input = el('input', {id, type: 'text', value: value ?? '', spellcheck: false, oninput: () => set(input.value)});
  } else if (type === 'lines' || type === 'json') {
    const text = type === 'lines' ? (value ?? []).map((s) => s.replaceAll('\n', '\\n')).join('\n') : value;
    input = el('textarea', {id, rows: 2, value: text ?? '', spellcheck: false});
    input.oninput = () => {
      if (type === 'json') {
        input.setCustomValidity(problemOf(input.value));
        return set(input.value.trim());
      }
      const lines = input.value.split('\n').filter((l) => l !== '').map((l) => l.replaceAll('\\n', '\n'));
      return set(lines.length ? lines : undefined);
    };
    input.onchange = () => input.reportValidity();
  } else {
    input = el('input', {id, type: 'number', min: finite(parameter.min), max: finite(parameter.max), step: parameter.whole ? parameter.step : 'any',
      inputMode: 'decimal', placeholder: parameter.start ?? 'default', value: value ?? ''});
    input.oninput = () => { if (input.checkValidity()) set(input.value === '' ? undefined : Number(input.value)); };
    input.onchange = () => input.reportValidity();
    // The arrow keys move by the useful step, any value may be typed.
    input.onkeydown = (event) => {
      if (parameter.whole || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
      event.preventDefault();
      const next = Number(input.value || 0) + (event.key === 'ArrowUp' ? parameter.step : -parameter.step);
      const kept = Math.min(Math.max(next, parameter.min ?? -Infinity), parameter.max ?? Infinity);
      input.value = Number(kept.toFixed(6));
      input.oninput();
    };
  }
  return el(`div.field.${type}`, {}, el('label', {htmlFor: id}, parameter.label), input,
    parameter.help ? el('small', {}, parameter.help) : null);
}

// What is wrong with a JSON object's text; empty: nothing.
export function problemOf(text) {
  if (!text.trim()) return '';
  try {
    const value = JSON.parse(text);
    return value && typeof value === 'object' && !Array.isArray(value) ? '' : 'Expected an object: {…}';
  } catch (error) {
    return error.message;
  }
}
