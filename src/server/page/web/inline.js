// Markdown → DOM: what is inside a paragraph. Code, links, emphasis (the delimiter rules of CommonMark), line breaks.
import {el} from './dom.js';

const escapable = '\\`*_#+-.!|~<>&"';  // not brackets: \( and \[ are formulas, which stay as they are
const entities = {amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0'};
const longestLabel = 1000;
// Behind "](": an address, in <…> or with balanced parentheses, and a title.
const target =
  /^\s*(?:<([^<>\n]*)>|((?:[^\s()]|\([^\s()]*\))*))(?:\s+(?:"([^"]*)"|'([^']*)'))?\s*\)/;

// A link only to the web: no other scheme, so none that runs anything.
function link(address, children, title) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  return el('a', {href: url.href, rel: 'noopener noreferrer', target: '_blank', title: title || undefined}, children);
}

// [text](address "title") or ![text](address) at i: {end, node}. An image becomes a link: the page loads nothing from elsewhere.
function linkAt(text, i) {
  const open = text[i] === '!' ? i + 1 : i;
  let depth = 0, close = -1;
  for (let k = open; k < text.length && k < open + longestLabel; ++k) {
    if (text[k] === '\\') ++k;
    else if (text[k] === '[') ++depth;
    else if (text[k] === ']' && --depth === 0) {
      close = k;
      break;
    }
  }
  if (close < 0 || text[close + 1] !== '(') return null;
  const tail = text.slice(close + 2, close + 4000).match(target);
  if (!tail) return null;
  const label = text.slice(open + 1, close);
  const node = link(tail[1] ?? tail[2], open > i ? [label || 'image'] : inline(label, true), tail[3] ?? tail[4]);
  return node ? {end: close + 2 + tail[0].length, node} : null;
}

const isSpace = (c) => c === undefined || /\s/.test(c);
const isPunctuation = (c) => c !== undefined && /[\p{P}\p{S}]/u.test(c);

function delimiter(text, begin, end) {
  const mark = text[begin], before = text[begin - 1], after = text[end];
  const left = !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before));
  const right = !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after));
  return {
    mark, count: end - begin,
    opens: left && (mark !== '_' || !right || isPunctuation(before)),
    closes: right && (mark !== '_' || !left || isPunctuation(after)),
  };
}

// Pairs delimiters: `parts` has nodes, texts and delimiters; returns nodes.
function emphasize(parts) {
  const stack = [];  // places of open delimiters
  for (let i = 0; i < parts.length; ++i) {
    const closer = parts[i];
    if (!closer.mark) continue;
    while (closer.closes && closer.count > 0) {
      let k = stack.length - 1;
      const fits = (d) => d.mark === closer.mark && d.count > 0 && (d.mark !== '~' || (d.count === closer.count && d.count <= 2)) &&
        !((d.closes || closer.opens) && (d.count + closer.count) % 3 === 0 && (d.count % 3 !== 0 || closer.count % 3 !== 0));
      while (k >= 0 && !fits(parts[stack[k]])) --k;
      if (k < 0) break;
      const at = stack[k], opener = parts[at];
      const used = closer.mark === '~' ? closer.count : Math.min(2, opener.count, closer.count);
      const inside = parts.splice(at + 1, i - at - 1).map(plain);
      i = at + 1;
      const tag = closer.mark === '~' ? 'del' : used === 2 ? 'strong' : 'em';
      opener.count -= used;
      closer.count -= used;
      parts.splice(i, 0, el(tag, {}, inside));
      ++i;
      stack.length = opener.count > 0 ? k + 1 : k;
    }
    if (closer.opens && closer.count > 0) stack.push(i);
  }
  return parts.map(plain).filter((p) => p !== '');
}

const plain = (part) => (part.mark ? part.mark.repeat(part.count) : part);

// The nodes and texts of a paragraph; `linked`: inside a link, where no other link begins.
export function inline(text, linked = false) {
  const parts = [];
  let run = '';
  const add = (part) => {
    if (run) parts.push(run);
    run = '';
    parts.push(part);
  };
  for (let i = 0; i < text.length;) {
    const c = text[i];
    if (c === '\\' && text[i + 1] === '\n') {
      add(el('br'));
      i += 2;
    } else if (c === '\\' && escapable.includes(text[i + 1] ?? ' ')) {
      run += text[i + 1];
      i += 2;
    } else if (c === '`') {
      const ticks = text.slice(i).match(/^`+/)[0];
      let end = i + ticks.length;
      for (;;) {
        end = text.indexOf(ticks, end);
        if (end < 0 || (text[end + ticks.length] !== '`' && text[end - 1] !== '`')) break;
        while (text[end] === '`') ++end;
      }
      if (end < 0) {
        run += ticks;
        i += ticks.length;
      } else {
        const inside = text.slice(i + ticks.length, end).replace(/\n/g, ' ');
        add(el('code', {}, /^ .*[^ ].* $/.test(inside) ? inside.slice(1, -1) : inside));
        i = end + ticks.length;
      }
    } else if (c === '*' || c === '_' || c === '~') {
      let end = i;
      while (text[end] === c) ++end;
      add(delimiter(text, i, end));
      i = end;
    } else if (!linked && (c === '[' || (c === '!' && text[i + 1] === '['))) {
      const found = linkAt(text, i);
      if (found) add(found.node);
      else run += c;
      i = found ? found.end : i + 1;
    } else if (!linked && (c === '<' || (c === 'h' && !/\w/.test(text[i - 1] ?? ' ')))) {
      const rest = text.slice(i, i + 2000);
      const m = c === '<' ? rest.match(/^<(https?:\/\/[^\s<>]+)>/i) : rest.match(/^(https?:\/\/[^\s<>`]*[^\s<>`.,;:!?'"*_~\])])/i);
      // A closing parenthesis belongs to the address only if it opened one.
      const end = m && c === 'h' && m[1].includes('(') && rest[m[1].length] === ')' ? `${m[1]})` : m?.[1];
      const node = m && link(end, [end]);
      if (node) add(node);
      else run += c;
      i += node ? (c === '<' ? m[0].length : end.length) : 1;
    } else if (c === '&') {
      const m = text.slice(i, i + 8).match(/^&(#39|amp|lt|gt|quot|apos|nbsp);/);
      run += m ? (m[1] === '#39' ? "'" : entities[m[1]]) : c;
      i += m ? m[0].length : 1;
    } else if (c === '\n') {
      if (run.endsWith('  ')) {
        run = run.trimEnd();
        add(el('br'));
      } else {
        run += '\n';
      }
      ++i;
    } else {
      run += c;
      ++i;
    }
  }
  if (run) parts.push(run);
  return emphasize(parts);
}
