// A dialog in which a mask is painted over an image: white where the image may change.
import {el} from './dom.js';

const paintColor = '#ffffff';

function loaded(url) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error('the browser cannot read the image'));
    image.src = url;
  });
}

// The mask on black, as the server wants it; null if nothing is painted.
function flattened(canvas) {
  const {width, height} = canvas;
  const flat = el('canvas', {width, height}), context = flat.getContext('2d', {alpha: false});  // a PNG without transparency
  const alpha = canvas.getContext('2d').getImageData(0, 0, width, height).data;
  let any = false;
  const pixels = context.createImageData(width, height);
  for (let i = 0; i < alpha.length; i += 4) {
    const value = alpha[i + 3] >= 128 ? 255 : 0;
    any ||= value > 0;
    pixels.data[i] = pixels.data[i + 1] = pixels.data[i + 2] = value;
    pixels.data[i + 3] = 255;
  }
  if (!any) return null;
  context.putImageData(pixels, 0, 0);
  return flat.toDataURL('image/png');
}

// Reads a mask on black back into transparency.
function unflatten(context, image) {
  const {width, height} = context.canvas;
  context.drawImage(image, 0, 0, width, height);
  const pixels = context.getImageData(0, 0, width, height);
  for (let i = 0; i < pixels.data.length; i += 4) {
    pixels.data[i + 3] = pixels.data[i];
    pixels.data[i] = pixels.data[i + 1] = pixels.data[i + 2] = 255;
  }
  context.putImageData(pixels, 0, 0);
}

// Resolves to the mask as a data URL, to null if it is empty, to undefined if the dialog was left.
export async function paint(imageUrl, maskUrl) {
  const image = await loaded(imageUrl);
  const canvas = el('canvas', {width: image.naturalWidth, height: image.naturalHeight, 'aria-label': 'Paint where the image may change'});
  const context = canvas.getContext('2d', {willReadFrequently: true});
  if (maskUrl) unflatten(context, await loaded(maskUrl));

  const side = Math.max(canvas.width, canvas.height);
  const size = el('input', {type: 'range', min: 1, max: 100, value: 15, id: 'brush'});
  const erase = el('input', {type: 'checkbox', id: 'erase'});
  const undo = [];
  const remember = () => {
    undo.push(context.getImageData(0, 0, canvas.width, canvas.height));
    if (undo.length > 20) undo.shift();
  };
  const radius = () => Math.max(0.5, (size.value / 100) * side * 0.25);

  let last = null;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return {x: (event.clientX - box.left) / box.width * canvas.width, y: (event.clientY - box.top) / box.height * canvas.height};
  };
  const stroke = (to) => {
    context.globalCompositeOperation = erase.checked ? 'destination-out' : 'source-over';
    context.strokeStyle = paintColor;
    context.lineWidth = radius() * 2;
    context.lineCap = context.lineJoin = 'round';
    context.beginPath();
    context.moveTo(last.x, last.y);
    context.lineTo(to.x, to.y);
    context.stroke();
    last = to;
  };
  canvas.onpointerdown = (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    remember();
    last = at(event);
    stroke(last);
  };
  canvas.onpointermove = (event) => {
    if (last) for (const e of event.getCoalescedEvents?.().length ? event.getCoalescedEvents() : [event]) stroke(at(e));
  };
  canvas.onpointerup = canvas.onpointercancel = () => { last = null; };

  const whole = (operation) => () => {
    remember();
    context.globalCompositeOperation = operation;
    context.fillStyle = paintColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
  };
  const tool = (label, onclick) => el('button', {type: 'button', onclick}, label);
  const stepBack = () => { if (undo.length) context.putImageData(undo.pop(), 0, 0); };
  let answer;
  const dialog = el('dialog.paint', {'aria-label': 'Paint a mask'},
    el('div.layers', {}, el('img', {src: imageUrl, alt: ''}), canvas),
    el('div.row', {}, el('label.check', {htmlFor: 'brush'}, 'Brush', size), el('label.check', {}, erase, 'Erase'),
      tool('Undo', stepBack), tool('Clear', whole('destination-out')), tool('Invert', whole('xor')),
      el('span.wide'), tool('Cancel', () => dialog.close()),
      el('button.primary', {type: 'button', onclick: () => { answer = flattened(canvas); dialog.close(); }}, 'Use the mask')));
  dialog.onkeydown = (event) => {
    if (event.key === '[') size.value = Number(size.value) - 3;
    else if (event.key === ']') size.value = Number(size.value) + 3;
    else if (event.key === 'e') erase.checked = !erase.checked;
    else if (event.key === 'z' && (event.ctrlKey || event.metaKey)) stepBack();
    else return;
    event.preventDefault();
  };
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.onclose = () => {
      dialog.remove();
      resolve(answer);
    };
    dialog.showModal();
  });
}
