// The pictures that this browser keeps, the newest first.
import {announce, copyButton, el, find, note, save} from './dom.js';
import * as store from './store.js';

let pictures = null;  // {id, created, blob, seed, text, model, settings}
let use = {};         // useImage(blob), useSettings(settings)
const urls = new Map();

function urlOf(picture) {
  if (!urls.has(picture.id)) urls.set(picture.id, URL.createObjectURL(picture.blob));
  return urls.get(picture.id);
}

const typeOf = (bytes) => (bytes[0] === 0x89 ? 'png' : bytes[0] === 0xff ? 'jpeg' : 'webp');

// Keeps images that the server sent in base64.
export async function addPictures(images, infos, settings) {
  pictures ??= [];
  let at = Date.now();
  for (const [i, image] of images.entries()) {
    const bytes = Uint8Array.from(atob(image), (c) => c.charCodeAt(0));
    const picture = {id: store.newId(), created: at++, blob: new Blob([bytes], {type: `image/${typeOf(bytes)}`}), ...infos[i], settings};
    pictures.unshift(picture);
    try {
      await store.put('pictures', picture);
    } catch (error) {
      note(error.message);
    }
  }
  draw();
}

async function drop(picture) {
  pictures = pictures.filter((p) => p !== picture);
  URL.revokeObjectURL(urlOf(picture));
  urls.delete(picture.id);
  draw();
  announce('Image deleted');
  await store.remove('pictures', picture.id).catch((error) => note(error.message));
}

// "A1111 text": prompt, "Negative prompt: …", "Steps: 20, Sampler: …" → rows of names and values.
function rowsOf(picture) {
  const {settings} = picture;
  const rows = [['Prompt', settings.prompt], ['Negative prompt', settings.negative_prompt], ['Seed', String(picture.seed)],
    ['Model', picture.model]];
  const line = picture.text.split('\n').findLast((l) => l.startsWith('Steps: ')) ?? '';
  for (const part of line.matchAll(/\s*([\w ()/-]+): ("(?:\\.|[^"\\])*"|[^,]*)(?:,|$)/g))
    if (!['Seed', 'Model'].includes(part[1])) rows.push([part[1], part[2]]);
  return rows.filter(([, value]) => value);
}

function view(picture) {
  const at = () => pictures.indexOf(picture);
  const close = () => dialog.close();
  const then = (label, act, more = '') => el(`button${more}`, {type: 'button', onclick: () => { close(); act(); }}, label);
  const step = (by) => {
    const next = pictures[at() + by];
    if (!next) return;
    close();
    view(next);
  };
  const dialog = el('dialog.picture', {'aria-label': 'Image'},
    el('img', {src: urlOf(picture), alt: picture.settings.prompt || 'Image'}),
    el('div.side', {},
      el('dl', {}, rowsOf(picture).map(([name, value]) => [el('dt', {}, name), el('dd', {}, value)])),
      el('div.row', {},
        then('Use these settings again', () => use.useSettings({...picture.settings, seed: picture.seed}, picture.model), '.primary'),
        then('Start from this image', () => use.useImage(picture.blob)),
        el('button', {type: 'button', onclick: () => save(picture.blob, `hearth-${picture.seed}.${picture.blob.type.slice(6)}`)}, 'Save'),
        copyButton(() => picture.text, 'Copy the settings'), then('Delete', () => drop(picture), '.quiet'),
          el('button', {type: 'button', onclick: close}, 'Close'))));
  dialog.onclick = (event) => { if (event.target === dialog) close(); };
  dialog.onkeydown = (event) => {
    if (event.key === 'ArrowRight') step(1);
    if (event.key === 'ArrowLeft') step(-1);
  };
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
}

function draw() {
  const gallery = find('gallery');
  if (!pictures.length) return gallery.replaceChildren(el('p.empty', {}, 'Images stay in this browser.'));
  gallery.replaceChildren(...pictures.map((p) => el('button.thumb',
    {type: 'button', title: p.settings.prompt, 'aria-label': `Image: ${p.settings.prompt}`, onclick: () => view(p)},
    el('img', {src: urlOf(p), alt: '', loading: 'lazy'}))));
}

export async function showGallery() {
  if (pictures) return;
  pictures = [];
  try {
    pictures = (await store.all('pictures')).sort((a, b) => b.created - a.created);
  } catch (error) {
    note(error.message);
  }
  draw();
}

export function startGallery(actions) {
  use = actions;
}
