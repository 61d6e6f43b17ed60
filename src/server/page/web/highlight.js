// Colors for code: comments, strings, numbers and keywords, by one small scanner for all languages.
import {el} from './dom.js';

const words = {
  c: `
    alignas auto bool break case catch char class concept const constexpr continue co_await co_return default defer delete do double
    else enum explicit export extends extern false final float fn for friend func function go if impl implements import in inline
    instanceof int interface let long loop map match mod mut namespace new nil noexcept null nullptr operator override package private
    protected pub public range ref requires return self short signed sizeof static static_cast struct super switch template this throw
    trait true try type typedef typename typeof undefined union unsafe unsigned use using var virtual void volatile where while yield
    async await chan crate dyn from of select val when`,
  python: `
    and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match
    None nonlocal not or pass raise return self True try while with yield`,
  shell: `
    if then else elif fi for while until do done case esac in function return exit export local readonly set unset shift source echo
    cd`,
  sql: `
    select from where and or not null insert into values update set delete create table index view drop alter join left right inner
    outer full on group by order having limit offset as distinct union all case when then else end primary key foreign references
    default exists between like is in count sum avg min max with`,
  ruby: `
    alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self
    super then true undef unless until when while yield require local function repeat`,
  data: 'true false null yes no on off',
};
const slashes = ['//'], hash = ['#'], dashes = ['--'];
const families = {
  c: {line: slashes, block: ['/*', '*/'], words: words.c},
  python: {line: hash, words: words.python, triple: true},
  shell: {line: hash, words: words.shell},
  sql: {line: dashes, block: ['/*', '*/'], words: words.sql, anyCase: true},
  ruby: {line: hash, words: words.ruby},
  lua: {line: dashes, words: words.ruby},
  data: {line: hash, words: words.data},
  css: {line: [], block: ['/*', '*/'], words: ''},
  markup: {line: [], block: ['<!--', '-->'], words: ''},
};
const names = {
  c: `
    c h cpp c++ cc cxx hpp cs csharp c# java js javascript jsx mjs ts typescript tsx go golang rust rs kotlin kt swift scala dart php
    zig cuda cu glsl hlsl wgsl proto groovy objc json jsonc`,
  python: 'python py python3 pycon starlark', shell: 'sh bash zsh shell console fish dockerfile makefile make cmake powershell ps1',
  sql: 'sql sqlite mysql postgres postgresql', ruby: 'ruby rb elixir julia r perl pl', lua: 'lua haskell hs ada vhdl',
  data: 'yaml yml toml ini conf properties nix', css: 'css scss less', markup: 'html xml svg xhtml vue',
};
const familyOf = new Map(Object.entries(names).flatMap(([family, list]) => list.trim().split(/\s+/).map((name) => [name, family])));
const setOf = new Map(Object.entries(families).map(([family, f]) => [family, new Set(f.words.trim().split(/\s+/))]));

// Nodes and texts; an unknown language stays plain.
export function highlight(text, language) {
  const name = familyOf.get(language.toLowerCase());
  if (!name || text.length > 100000) return [text];
  const family = families[name], keywords = setOf.get(name);
  const out = [];
  let plain = '';
  const add = (kind, piece) => {
    if (plain) out.push(plain);
    plain = '';
    out.push(el(`span.${kind}`, {}, piece));
  };
  const token = /\s+|[A-Za-z_$][\w$]*|\d[\w.]*|[^]/y;
  for (let i = 0; i < text.length;) {
    const opener = family.line.find((l) => text.startsWith(l, i));
    // In a shell, # inside a word is no comment.
    if (opener && (opener !== '#' || i === 0 || /\s/.test(text[i - 1]))) {
      const end = text.indexOf('\n', i);
      const piece = text.slice(i, end < 0 ? text.length : end);
      add('comment', piece);
      i += piece.length;
      continue;
    }
    if (family.block && text.startsWith(family.block[0], i)) {
      const end = text.indexOf(family.block[1], i + family.block[0].length);
      const piece = text.slice(i, end < 0 ? text.length : end + family.block[1].length);
      add('comment', piece);
      i += piece.length;
      continue;
    }
    const c = text[i];
    const triple = family.triple && (text.startsWith('"""', i) || text.startsWith("'''", i));
    if (c === '"' || c === "'" || (c === '`' && name === 'c')) {
      const close = triple ? c.repeat(3) : c;
      let end = i + close.length;
      const goesOn = () => end < text.length && !text.startsWith(close, end) && (triple || c === '`' || text[end] !== '\n');
      while (goesOn()) end += text[end] === '\\' ? 2 : 1;
      // An apostrophe without its twin in the line is none of a string: 'static in Rust, it's in text.
      if (!triple && text[end] !== c) {
        plain += c;
        ++i;
        continue;
      }
      const piece = text.slice(i, end + close.length);
      add('string', piece);
      i += piece.length;
      continue;
    }
    token.lastIndex = i;
    const piece = token.exec(text)[0];
    const isWord = /^[A-Za-z_$]/.test(piece);
    if (isWord && keywords.has(family.anyCase ? piece.toLowerCase() : piece)) add('keyword', piece);
    else if (/^\d/.test(piece)) add('number', piece);
    else plain += piece;
    i += piece.length;
  }
  if (plain) out.push(plain);
  return out;
}
