// Markdown → DOM: blocks. Builds nodes from text only, so the text of a model cannot become anything else.
import {copyButton, el} from './dom.js';
import {highlight} from './highlight.js';
import {inline} from './inline.js';

const deepest = 12;  // nested quotes and lists; deeper ones stay text

const fence = /^( {0,3})(`{3,}|~{3,})\s*([^`]*)$/;
const heading = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/;
const rule = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const quote = /^ {0,3}> ?/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])(?:( {1,4})(?=\S)| *$|( +))/;
const delimiterRow = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const blank = /^\s*$/;
const indent = (line) => line.match(/^ */)[0].length;

function beginsTable(lines, i) {
  return i + 1 < lines.length && lines[i].includes('|') && lines[i + 1].includes('-') && delimiterRow.test(lines[i + 1]) &&
    cells(lines[i]).length === cells(lines[i + 1]).length;
}

// A numbered list interrupts a paragraph only if it begins with 1, so that a wrapped year stays text.
function interrupts(lines, i) {
  const line = lines[i];
  if (fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || beginsTable(lines, i)) return true;
  const m = line.match(item);
  return Boolean(m) && line.trim().length > m[2].length && (!/\d/.test(m[2]) || parseInt(m[2], 10) === 1);
}

// Divides lines into blocks {kind, lines, …}.
function blocksOf(lines) {
  const blocks = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i], begin = i;
    let m;
    if (blank.test(line)) {
      ++i;
      continue;
    }
    if ((m = line.match(fence))) {
      const close = new RegExp(`^ {0,3}${m[2][0]}{${m[2].length},}\\s*$`);
      ++i;
      while (i < lines.length && !close.test(lines[i])) ++i;
      const inside = lines.slice(begin + 1, i).map((l) => l.slice(Math.min(indent(l), m[1].length)));
      if (i < lines.length) ++i;
      blocks.push({kind: 'code', language: m[3].trim().split(/[\s{:,]/)[0], text: inside.join('\n')});
    } else if ((m = line.match(heading))) {
      ++i;
      blocks.push({kind: 'heading', level: m[1].length, text: m[2] ?? ''});
    } else if (rule.test(line)) {
      ++i;
      blocks.push({kind: 'rule'});
    } else if (quote.test(line)) {
      while (i < lines.length && !blank.test(lines[i]) && (quote.test(lines[i]) || !interrupts(lines, i))) ++i;
      blocks.push({kind: 'quote', lines: lines.slice(begin, i).map((l) => l.replace(quote, ''))});
    } else if (item.test(line)) {
      i = endOfList(lines, i);
      blocks.push({kind: 'list', lines: lines.slice(begin, i)});
    } else if (beginsTable(lines, i)) {
      i += 2;
      while (i < lines.length && !blank.test(lines[i]) && lines[i].includes('|')) ++i;
      blocks.push({kind: 'table', lines: lines.slice(begin, i)});
    } else if (indent(line) >= 4) {
      while (i < lines.length && (indent(lines[i]) >= 4 || blank.test(lines[i]))) ++i;
      blocks.push({kind: 'code', language: '', text: lines.slice(begin, i).map((l) => l.slice(4)).join('\n').trimEnd()});
    } else {
      ++i;
      while (i < lines.length && !blank.test(lines[i]) && !interrupts(lines, i)) ++i;
      blocks.push({kind: 'paragraph', text: lines.slice(begin, i).map((l) => l.replace(/^\s+/, '')).join('\n')});
    }
    blocks.at(-1).source = lines.slice(begin, i).join('\n');
  }
  return blocks;
}

const kindOf = (mark) => (/\d/.test(mark) ? mark.at(-1) : mark);

// The line behind the list that begins at line i: its items, their indented lines, and blank lines between them.
function endOfList(lines, i) {
  const first = lines[i].match(item), kind = kindOf(first[2]);
  let fenced = null;
  for (++i; i < lines.length; ++i) {
    const line = lines[i], m = line.match(item);
    const inside = indent(line) >= 2;
    if (fenced) {
      if (inside && fenced.test(line.trim())) fenced = null;
      if (inside || blank.test(line)) continue;
      return i;
    }
    if (blank.test(line)) {
      let next = i;
      while (next < lines.length && blank.test(lines[next])) ++next;
      if (next === lines.length) return i;
      const after = lines[next].match(item);
      if (indent(lines[next]) < 2 && !(after && kindOf(after[2]) === kind)) return i;
      continue;
    }
    const opening = line.trim().match(/^(`{3,}|~{3,})/);
    if (inside && opening) fenced = new RegExp(`^${opening[1][0]}{${opening[1].length},}\\s*$`);
    if (m && !rule.test(line) && (indent(line) >= 2 || kindOf(m[2]) === kind)) continue;
    if (!inside && (rule.test(line) || (m && kindOf(m[2]) !== kind) || interrupts(lines, i))) return i;
  }
  return i;
}

function list(lines, depth) {
  const first = lines[0].match(item), ordered = /\d/.test(first[2]), kind = kindOf(first[2]), base = first[1].length;
  const items = [];
  for (const line of lines) {
    const m = line.match(item);
    // A mark at the list's own depth begins an item; a deeper one belongs to the item above.
    if (m && m[1].length < base + 2 && kindOf(m[2]) === kind && !rule.test(line)) {
      const width = m[1].length + m[2].length + (m[3] ? m[3].length : 1);
      items.push({width, lines: [line.slice(width)]});
    } else {
      const last = items.at(-1);
      last.lines.push(line.slice(Math.min(indent(line), last.width)));
    }
  }
  const loose = items.some((it) => it.lines.slice(0, -1).some((l, k) => blank.test(l) && k > 0 &&
    !blank.test(it.lines.slice(k + 1).join(''))));
  const made = el(ordered ? 'ol' : 'ul');
  if (ordered) made.start = parseInt(first[2], 10);
  for (const it of items) {
    const li = el('li');
    const task = it.lines[0].match(/^\[([ xX])\]\s+/);
    if (task) {
      it.lines[0] = it.lines[0].slice(task[0].length);
      li.append(el('input', {type: 'checkbox', disabled: true, checked: task[1] !== ' ', 'aria-label': 'done'}), ' ');
    }
    for (const block of blocksOf(it.lines)) {
      if (block.kind === 'paragraph' && !loose) li.append(...inline(block.text));
      else li.append(nodeOf(block, depth + 1));
    }
    made.append(li);
  }
  return made;
}

// The cells of a table's row. A | inside a code span or behind a backslash does not divide.
function cells(line) {
  const out = [];
  let cell = '', code = false;
  const text = line.trim().replace(/^\|/, '');
  for (let i = 0; i < text.length; ++i) {
    if (text[i] === '\\' && text[i + 1] === '|') {
      cell += '|';
      ++i;
    } else if (text[i] === '|' && !code) {
      out.push(cell.trim());
      cell = '';
    } else {
      if (text[i] === '`' && (code || text.indexOf('`', i + 1) > 0)) code = !code;
      cell += text[i];
    }
  }
  if (cell.trim() !== '' || !text.endsWith('|')) out.push(cell.trim());
  return out;
}

function table(lines) {
  const sides = cells(lines[1]).map((c) => (/^:.*:$/.test(c) ? 'center' : c.endsWith(':') ? 'right' : ''));
  const row = (line, tag) => {
    const texts = cells(line);
    return el('tr', {}, sides.map((side, k) => el(side ? `${tag}.${side}` : tag, {}, inline(texts[k] ?? ''))));
  };
  return el('div.scroll', {tabIndex: 0}, el('table', {}, el('thead', {}, row(lines[0], 'th')),
    el('tbody', {}, lines.slice(2).map((l) => row(l, 'td')))));
}

function code(block) {
  const inner = el('code', {}, highlight(block.text, block.language));
  return el('figure.code', {}, el('figcaption', {}, el('span', {}, block.language || 'text'), copyButton(() => block.text)),
    el('pre', {tabIndex: 0}, inner));
}

function nodeOf(block, depth) {
  switch (block.kind) {
    case 'code': return code(block);
    case 'heading': return el(`h${Math.min(6, block.level + 2)}`, {}, inline(block.text));  // below the page's own headings
    case 'rule': return el('hr');
    case 'quote':
      if (depth >= deepest) return el('p', {}, block.lines.join('\n'));
      return el('blockquote', {}, blocksOf(block.lines).map((b) => nodeOf(b, depth + 1)));
    case 'list': return depth >= deepest ? el('p', {}, block.lines.join('\n')) : list(block.lines, depth);
    case 'table': return table(block.lines);
    default: return el('p', {}, inline(block.text));
  }
}

const linesOf = (text) => text.replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n');

// The nodes of a text.
export function markdown(text) {
  return blocksOf(linesOf(text)).map((b) => nodeOf(b, 0));
}

// Renders a growing text into `into`: blocks that have not changed keep their nodes, so a selection in them survives.
export class GrowingMarkdown {
  constructor(into) {
    this.into = into;
    this.shown = [];
  }

  set(text) {
    const blocks = blocksOf(linesOf(text));
    let same = 0;
    while (same < blocks.length && same < this.shown.length && blocks[same].source === this.shown[same].source) ++same;
    for (const old of this.shown.splice(same)) old.node.remove();
    for (const block of blocks.slice(same)) {
      const node = nodeOf(block, 0);
      this.into.append(node);
      this.shown.push({source: block.source, node});
    }
  }
}
