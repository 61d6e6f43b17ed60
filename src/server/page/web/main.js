// The page as a whole: tabs, theme, keys, models.
import {get, keepKey, onKeyNeeded} from './api.js';
import {newChat, startChat} from './chat.js';
import {ask, el, find, icon, note} from './dom.js';
import {imageModelChanged, showImages, startImages} from './images.js';
import {loadModels, modelsOf, onModelChange, showModels} from './models.js';
import {adoptSchema} from './parameters.js';
import {keepSetting, setting} from './store.js';

const themes = ['auto', 'light', 'dark'];
const themeIcons = {auto: 'auto', light: 'sun', dark: 'moon'};

function showTheme(theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  find('theme').replaceChildren(icon(themeIcons[theme]));
  find('theme').setAttribute('aria-label', `Colors: ${theme}`);
  find('theme').title = `Colors: ${theme}`;
}

function changeTheme() {
  const next = themes[(themes.indexOf(setting('theme', 'auto')) + 1) % themes.length];
  keepSetting('theme', next);
  showTheme(next);
}

function showTab(name) {
  const images = name === 'images';
  for (const [tab, chosen] of [['chat', !images], ['images', images]]) {
    find(tab).hidden = !chosen;
    find(`tab-${tab}`).setAttribute('aria-selected', chosen);
    find(`tab-${tab}`).tabIndex = chosen ? 0 : -1;
  }
  document.body.classList.toggle('at-images', images);
  showModels(images ? 'image' : 'language');
  keepSetting('tab', name);
  if (images) showImages();
}

async function askKey(message) {
  const answer = await ask('API key', [
    el('p', {}, message),
    el('label', {}, 'Key', el('input', {name: 'key', type: 'password', required: true, autocomplete: 'off'})),
    el('label.check', {}, el('input', {name: 'keep', type: 'checkbox'}), 'Keep it in this browser after the tab is closed'),
  ]);
  if (!answer) return false;
  keepKey(answer.get('key').trim(), answer.get('keep') !== null);
  return true;
}

function toggle(button, name) {
  find(button).onclick = () => {
    const open = document.body.classList.toggle(name);
    find(button).setAttribute('aria-expanded', open);
    if (name === 'settings-open') find('settings').hidden = !open;
  };
}

async function start() {
  for (const [id, name] of [['open-list', 'menu'], ['open-settings', 'sliders']]) find(id).append(icon(name));
  showTheme(setting('theme', 'auto'));
  find('theme').onclick = changeTheme;
  toggle('open-list', 'list-open');
  toggle('open-settings', 'settings-open');
  for (const tab of ['chat', 'images']) find(`tab-${tab}`).onclick = () => showTab(tab);
  document.querySelector('.tabs').onkeydown = (event) => {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    const next = find('chat').hidden ? 'chat' : 'images';
    showTab(next);
    find(`tab-${next}`).focus();
  };
  document.addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      showTab('chat');
      newChat();
      find('message').focus();
    }
  });
  onKeyNeeded(askKey);
  onModelChange((kind) => { if (kind === 'image') imageModelChanged(); });
  try {
    await loadModels();
    adoptSchema(await get('openapi.json'));
  } catch (error) {
    note(error.message);
  }
  await startChat();
  startImages();
  showTab(modelsOf('language').length ? setting('tab', 'chat') : 'images');
  document.documentElement.dataset.ready = '';
}

start();
