// Builds elements. Text always becomes text nodes, so nothing that a model or a file says is ever read as HTML.

// el('button.primary', {type: 'button', onclick: f}, 'Send', …): "tag.class.class"; properties, "aria-*" and "data-*" attributes;
// children, of which null and false are left out.
export function el(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split('.');
  const made = document.createElement(tag || 'div');
  if (classes.length) made.className = classes.join(' ');
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key in made && !key.includes('-')) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return made;
}

export const find = (id) => document.getElementById(id);

const paths = {
  menu: 'M4 6h16M4 12h16M4 18h16',
  sliders: 'M4 7h9M17 7h3M4 17h3M11 17h9M13 4.5v5M7 14.5v5',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z',
  auto: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 3v18M12 8h8M12 12h9M12 16h8',
  pencil: 'M4 20l1-4L16 5l3 3L8 19l-4 1zM14 7l3 3',
  cross: 'M6 6l12 12M18 6L6 18',
};

export function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(svg.namespaceURI, 'path');
  path.setAttribute('d', paths[name]);
  svg.append(path);
  return svg;
}

// Says it to a screen reader.
export function announce(text) {
  find('status').textContent = text;
}

// Shows one line for some seconds.
export function note(text) {
  const line = el('p.notice', {}, text, el('button.icon', {type: 'button', 'aria-label': 'Close', onclick: () => line.remove()},
    icon('cross')));
  find('notes').append(line);
  setTimeout(() => line.remove(), 12000);
}

// navigator.clipboard exists only on https and on this computer; the page also runs on http in a local network.
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = el('textarea.unseen', {value: text, readOnly: true});
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (!done) throw new Error('the browser does not let this page copy');
}

// A button that copies what text() returns and says so.
export function copyButton(text, label = 'Copy') {
  const button = el('button.quiet.copy', {type: 'button'}, label);
  button.onclick = async () => {
    try {
      await copy(text());
      button.textContent = 'Copied';
    } catch (error) {
      button.textContent = 'Not copied';
      note(error.message);
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  };
  return button;
}

// A dialog with a form; resolves to its FormData, or to null if it was dismissed.
export function ask(title, contents, accept = 'OK') {
  const form = el('form', {method: 'dialog'}, el('h2', {}, title), ...contents,
    el('div.row', {}, el('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel'),
      el('button.primary', {type: 'submit'}, accept)));
  const dialog = el('dialog', {'aria-label': title}, form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    let answer = null;
    form.onsubmit = () => { answer = new FormData(form); };
    dialog.onclose = () => {
      dialog.remove();
      resolve(answer);
    };
    dialog.showModal();
  });
}

export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = el('a', {href: url, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

// The user's choice of a file, or null.
export function chooseFile(accept) {
  return new Promise((resolve) => {
    const input = el('input', {type: 'file', accept, onchange: () => resolve(input.files[0] ?? null), oncancel: () => resolve(null)});
    input.click();
  });
}
