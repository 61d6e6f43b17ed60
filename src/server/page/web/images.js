// The images tab: its form, the job that runs, the gallery.
import {adapterRows, loadAdapters} from './adapters.js';
import {ApiError, get, post} from './api.js';
import {announce, el, find, note} from './dom.js';
import {addPictures, showGallery, startGallery} from './gallery.js';
import {infoOf, requestOf} from './image_request.js';
import {absence, chooseModel, chosenEntry, chosenModel} from './models.js';
import {paint} from './paint.js';
import {adoptModel, imageParameters, row} from './parameters.js';
import {keepSetting, newId, setting} from './store.js';

// What the form says: values of parameters by name; prompt, negative_prompt; initImage and mask, data URLs; units, of adapters.
let values = {prompt: '', negative_prompt: ''};
let samplers = [];   // as the server lists them
let running = null;  // {id, abort, stopping}
let shown = false;

// Values that differ from where the form starts.
function ownValues() {
  const own = {...values};
  for (const p of imageParameters) if (own[p.name] === p.start) delete own[p.name];
  return own;
}

function withStarts(own) {
  const all = {prompt: '', negative_prompt: ''};
  for (const p of imageParameters) if (p.start !== undefined) all[p.name] = p.start;
  return {...all, ...own};
}

const keepForm = () => {
  const {initImage, mask, units, ...small} = ownValues();
  keepSetting('images', small);
};

// What was left as it began begins as the model has it.
export function imageModelChanged() {
  if (!shown) return;
  const own = ownValues();
  adoptModel(chosenEntry('image'), samplers);
  values = withStarts(own);
  showForm();
}

// ——— The form

// The names that the server knows.
async function loadChoices() {
  let schedulers, latent, upscalers;
  await loadAdapters();
  [samplers, schedulers, latent, upscalers] = await Promise.all(
    ['samplers', 'schedulers', 'latent-upscale-modes', 'upscalers'].map((path) => get(`sdapi/v1/${path}`)));
  const lists = {
    samplers: samplers.map((s) => s.name),
    schedulers: schedulers.map((s) => [s.name, s.label]),
    upscalers: [...latent, ...upscalers].map((u) => u.name),
  };
  for (const p of imageParameters) if (p.from) p.choices = lists[p.from];
}

function sizes() {
  const swap = el('button.quiet', {type: 'button', onclick: () => {
    [values.width, values.height] = [values.height, values.width];
    changed('size');
  }}, 'Swap sides');
  const random = el('button.quiet', {type: 'button', onclick: () => {
    values.seed = -1;
    changed('size');
  }}, 'Random seed');
  const reset = el('button.quiet', {type: 'button', onclick: () => {
    const {prompt, negative_prompt, initImage, mask, units} = values;
    values = withStarts({prompt, negative_prompt, ...(initImage ? {initImage} : {}), ...(mask ? {mask} : {}), ...(units ? {units} : {})});
    changed('size');
  }}, 'Defaults');
  return el('div.row.small', {}, swap, random, reset);
}

function inputImage() {
  const choose = el('input.unseen', {id: 'init-file', type: 'file', accept: 'image/*', onchange: () => useFile(choose.files[0])});
  const label = el('label.button', {htmlFor: 'init-file'}, values.initImage ? 'Another image' : 'Start from an image');
  if (!values.initImage) return el('div.input-image', {}, choose, label,
    el('small', {}, 'Or drop or paste one, or take one from the gallery'));
  const layers = [el('img', {src: values.initImage, alt: 'The image to start from'})];
  if (values.mask) layers.push(el('img.mask', {src: values.mask, alt: 'Its mask'}));
  return el('div.input-image', {}, el('div.layers', {}, layers), choose, el('div.row', {}, label,
    el('button', {type: 'button', id: 'paint', onclick: paintMask}, values.mask ? 'Change the mask' : 'Paint a mask'),
    values.mask ? el('button', {type: 'button', onclick: () => { delete values.mask; changed('mask'); }}, 'No mask') : null,
    el('button', {type: 'button', onclick: () => { delete values.initImage; delete values.mask; changed('initImage'); }}, 'Remove')));
}

async function paintMask() {
  const mask = await paint(values.initImage, values.mask);
  if (mask === undefined) return;
  if (mask) values.mask = mask;
  else delete values.mask;
  changed('mask');
}

function text(name, label, rows, placeholder) {
  const area = el('textarea', {id: `image-${name}`, rows, placeholder, value: values[name]});
  area.oninput = () => {
    values[name] = area.value;
    keepForm();
  };
  area.onkeydown = (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    start();
  };
  return el('div.field', {}, el('label', {htmlFor: area.id}, label), area);
}

// An edit that shows or hides other rows draws the form again.
const redrawing = new Set(['initImage', 'mask', 'units', 'enable_hr', 'inpaint_full_res', 'size']);
function changed(name) {
  keepForm();
  if (redrawing.has(name)) showForm();
}

function showForm() {
  const visible = imageParameters.filter((p) => !p.when || p.when(values));
  const rows = (more) => visible.filter((p) => Boolean(p.more) === more).map((p) => row('image', p, values, changed));
  // On narrow screens images lie below the form, so it begins short.
  const open = find('image-settings')?.open ?? matchMedia('(min-width: 60.01rem)').matches;
  const openMore = find('image-more')?.open ?? false, focused = document.activeElement?.id;
  find('draw').replaceChildren(
    text('prompt', 'Prompt', 4, 'What the image shows'), text('negative_prompt', 'Negative prompt', 2, 'What it must not show'),
    el('div.row.go', {}, el('button.primary.wide', {type: 'submit', id: 'draw-button'}, running ? 'Stop' : 'Draw')),
    inputImage(),
    adapterRows(values, changed, (added) => {
      values.prompt = `${values.prompt.trimEnd()} ${added}`.trimStart();
      changed('size');
    }) ?? '',
    el('details', {id: 'image-settings', open}, el('summary', {}, 'Settings'), el('div.grid', {}, rows(false)), sizes(),
      el('details', {id: 'image-more', open: openMore}, el('summary', {}, 'More'), el('div.grid', {}, rows(true)))));
  if (focused) find(focused)?.focus();
}

// Takes the pixels of any image the browser reads, as a PNG, so that the server gets what is seen.
export async function useImage(blob) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(blob);
  } catch {
    return note('the browser cannot read this file as an image');
  }
  const canvas = el('canvas', {width: bitmap.width, height: bitmap.height});
  canvas.getContext('2d').drawImage(bitmap, 0, 0);
  values.initImage = canvas.toDataURL('image/png');
  delete values.mask;
  changed('initImage');
  find('draw').querySelector('.input-image').scrollIntoView({block: 'nearest'});
}

function useFile(file) {
  if (file) useImage(file);
}

// The settings of a picture, for another run.
export function useSettings(settings, model) {
  chooseModel('image', model);
  const {initImage, mask, units} = values;
  values = withStarts(structuredClone(settings));
  if (units) values.units = units;
  if (initImage) values.initImage = initImage;
  if (mask) values.mask = mask;
  keepForm();
  showForm();
  find('draw').scrollTop = 0;
  find('image-prompt').focus();
  announce('Settings taken over');
}

// ——— The job

const wait = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// On narrow screens it lies below the form.
const toJob = () => find('job').scrollIntoView({block: 'nearest'});

function showJob({share = 0, text: line = 'Waiting', preview} = {}) {
  const job = find('job');
  if (!job.querySelector('progress')) {
    job.replaceChildren(el('img.preview', {alt: 'Preview', hidden: true}),
      el('div.words', {}, el('progress', {max: 1, value: 0, 'aria-label': 'Progress'}),
        el('div.row', {}, el('span.line.wide'), el('button.quiet', {type: 'button', onclick: stop}, 'Stop'))));
    job.hidden = false;
    toJob();
  }
  const image = job.querySelector('img');
  if (preview) {
    if (image.hidden) image.addEventListener('load', toJob, {once: true});
    image.src = `data:image/png;base64,${preview}`;
    image.hidden = false;
  }
  job.querySelector('progress').value = share;
  job.querySelector('.line').textContent = line;
}

function hideJob() {
  find('job').replaceChildren();
  find('job').hidden = true;
}

// Where the image would be, until the next run.
function showProblem(message) {
  find('job').replaceChildren(el('p.error', {role: 'alert'}, message),
    el('button.quiet', {type: 'button', onclick: hideJob}, 'Close'));
  toJob();
}

// Asks for progress until the run ends. What runs may be someone else's: then this one waits.
async function follow(run) {
  while (running === run) {
    await wait(run.polled ? 400 : 100);
    run.polled = true;
    try {
      const p = await get('sdapi/v1/progress');
      if (running !== run) return;
      if (p.current_task !== run.id) {
        if (!run.seen) showJob({text: 'Waiting'});
        continue;
      }
      run.seen = true;
      const {sampling_step: step, sampling_steps: steps, job} = p.state;
      const words = [];
      if (run.stopping) words.push('Stopping');
      if (job) words.push(job);
      if (steps) words.push(`step ${step} of ${steps}`);
      if (p.eta_relative > 1) words.push(`${Math.round(p.eta_relative)} s left`);
      showJob({share: p.progress, text: words.join(' · ') || 'Begins', preview: p.current_image});
    } catch (error) {
      if (error.status !== 0) return;  // no progress: the run itself reports what is wrong
    }
  }
}

async function start() {
  if (running) return stop();
  const invalid = [...find('draw').elements].find((e) => e.validity && !e.validity.valid);
  if (invalid) {
    for (let e = invalid.closest('details'); e; e = e.parentElement.closest('details')) e.open = true;
    invalid.reportValidity();
    return;
  }
  const run = running = {id: newId(), abort: new AbortController(), stopping: false};
  find('draw-button').textContent = 'Stop';
  const {path, body} = requestOf(values, chosenModel('image'));
  const {initImage, mask, units, ...settings} = structuredClone(values);
  showJob();
  announce('Drawing begins');
  follow(run);
  let problem = null;
  try {
    const answer = await post(path, {...body, force_task_id: run.id}, run.abort.signal);
    await addPictures(answer.images, infoOf(answer), settings);
    announce(answer.images.length === 1 ? 'The image is ready' : `${answer.images.length} images are ready`);
  } catch (error) {
    if (error.name !== 'AbortError') problem = error;
  }
  running = null;
  find('draw-button').textContent = 'Draw';
  if (!problem) return hideJob();
  showProblem(problem.message);
  if (!(problem instanceof ApiError)) throw problem;
}

// First the server is asked to end after the step that runs and to send what there is; a second time, or while it waits for others, the
// request is dropped.
async function stop() {
  const run = running;
  if (!run) return;
  if (run.stopping) return run.abort.abort();
  run.stopping = true;
  try {
    const p = await get('sdapi/v1/progress?skip_current_image=true');
    if (p.current_task === run.id) await post('sdapi/v1/interrupt', {});
    else run.abort.abort();
  } catch (error) {
    note(error.message);
  }
}

// ——— The tab

export async function showImages() {
  showGallery();
  if (shown) return;
  const missing = absence('image');
  if (missing) return find('draw').replaceChildren(missing);
  shown = true;
  try {
    await loadChoices();
  } catch (error) {
    shown = false;
    find('draw').replaceChildren(el('p.error', {}, error.message), el('div.row', {}, el('button', {type: 'button', onclick: showImages},
      'Try again')));
    return;
  }
  adoptModel(chosenEntry('image'), samplers);
  values = withStarts({...setting('images', {}), ...values.initImage ? {initImage: values.initImage} : {}});
  showForm();
}

export function startImages() {
  find('draw').onsubmit = (event) => {
    event.preventDefault();
    start();
  };
  find('draw').noValidate = true;
  const tab = find('images');
  tab.ondragover = (event) => event.preventDefault();
  tab.ondrop = (event) => {
    event.preventDefault();
    useFile([...event.dataTransfer.files].find((f) => f.type.startsWith('image/')));
  };
  document.addEventListener('paste', (event) => {
    const file = [...event.clipboardData.files].find((f) => f.type.startsWith('image/'));
    if (!tab.hidden && file) useFile(file);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && !tab.hidden && running && !document.querySelector('dialog[open]')) stop();
  });
  startGallery({useImage, useSettings});
}
