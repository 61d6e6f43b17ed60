// One message on the page.
import {copyButton, el} from './dom.js';
import {GrowingMarkdown} from './markdown.js';

const action = (label, onclick) => el('button.quiet', {type: 'button', onclick}, label);

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const reasons = {length: 'stopped at the token limit', tool_calls: 'calls tools', content_filter: 'filtered'};

const duration = (seconds) => (seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`);

// "42 tokens · 18.3 tokens/s · prompt 31 · first after 200 ms"
export function figures(message) {
  const parts = [];
  if (message.usage) {
    const cached = message.usage.prompt_tokens_details?.cached_tokens;
    parts.push(`${message.usage.completion_tokens} tokens`);
    if (message.rate) parts.push(`${message.rate.toFixed(1)} tokens/s`);
    parts.push(`prompt ${message.usage.prompt_tokens}${cached ? ` (${cached} cached)` : ''}`);
  }
  if (message.first !== undefined) parts.push(`first after ${duration(message.first)}`);
  if (reasons[message.finish]) parts.push(reasons[message.finish]);
  if (message.stopped) parts.push('stopped');
  return parts.join(' · ');
}

// `act` has what the buttons do: edit, regenerate, resume, choose, answerTools.
export class MessageView {
  constructor(message, act) {
    this.message = message;
    this.act = act;
    this.body = el(message.role === 'assistant' ? 'div.text.markdown' : 'div.text.plain');
    this.thought = el('div.markdown');
    this.thoughtText = new GrowingMarkdown(this.thought);
    this.summary = el('summary', {}, 'Reasoning');
    this.reasoning = el('details.reasoning', {hidden: true}, this.summary, this.thought);
    this.calls = el('div.calls');
    this.error = el('p.error', {hidden: true});
    this.foot = el('footer');
    this.text = new GrowingMarkdown(this.body);
    this.who = el('h2');
    this.node = el(`article.message.${message.role}`, {'data-id': message.id}, this.who, this.reasoning, this.body, this.calls,
      this.error, this.foot);
  }

  // `running`: while text still comes; `last`: the end of the conversation; versions of the message, for the switch between them.
  show({running = false, last = false, versions = []} = {}) {
    const m = this.message;
    this.who.textContent = m.role === 'user' ? 'You' : m.role === 'tool' ? `Result of ${m.name ?? 'the tool'}` : m.model ?? 'Answer';
    if (m.role === 'assistant') this.text.set(m.content);
    else this.body.textContent = m.content;
    this.reasoning.hidden = !m.reasoning;
    if (m.reasoning) this.thoughtText.set(m.reasoning);
    this.summary.textContent = running && !m.content ? 'Reasoning …' : 'Reasoning';
    this.node.setAttribute('aria-busy', running);
    this.node.classList.toggle('waiting', running && !m.content && !m.reasoning && !m.tool_calls);
    this.error.hidden = !m.error;
    this.error.textContent = m.error ?? '';
    this.calls.replaceChildren(...(m.tool_calls ?? []).map((call) => el('details.call', {open: true},
      el('summary', {}, 'Calls ', el('code', {}, call.function.name)), el('pre', {}, pretty(call.function.arguments)))));
    if (running) this.foot.replaceChildren();
    else this.foot.replaceChildren(...this.tools(last, versions));
  }

  tools(last, versions) {
    const m = this.message, at = versions.indexOf(m);
    const buttons = [];
    if (versions.length > 1) {
      buttons.push(el('span.versions', {},
        el('button.quiet', {type: 'button', 'aria-label': 'Earlier version', disabled: at === 0,
          onclick: () => this.act.choose(versions[at - 1])}, '‹'),
        `${at + 1} of ${versions.length}`,
        el('button.quiet', {type: 'button', 'aria-label': 'Later version', disabled: at + 1 === versions.length,
          onclick: () => this.act.choose(versions[at + 1])}, '›')));
    }
    if (m.content) buttons.push(copyButton(() => m.content));
    if (m.role === 'user' || (m.role === 'assistant' && m.content)) buttons.push(action('Edit', () => this.edit()));
    if (m.role === 'assistant') buttons.push(action('Regenerate', () => this.act.regenerate(m)));
    if (m.role === 'assistant' && last && m.content && !m.tool_calls) buttons.push(action('Continue', () => this.act.resume(m)));
    if (m.role === 'assistant' && last && m.tool_calls) buttons.push(action('Give the results', () => this.results()));
    if (m.role === 'user' && last) buttons.push(action('Send again', () => this.act.answer(m)));
    const text = figures(m);
    return text ? [...buttons, el('span.figures', {}, text)] : buttons;
  }

  edit() {
    const m = this.message;
    const area = el('textarea', {value: m.content, rows: 1, 'aria-label': 'Edit the message'});
    const end = () => {
      form.replaceWith(this.body);
      this.foot.hidden = false;
    };
    const form = el('form.edit', {}, area, el('div.row', {}, el('button', {type: 'button', onclick: end}, 'Cancel'),
      el('button.primary', {type: 'submit'}, m.role === 'user' ? 'Send' : 'Save')));
    form.onsubmit = (event) => {
      event.preventDefault();
      end();
      if (area.value !== m.content) this.act.edit(m, area.value);
    };
    area.onkeydown = (event) => {
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing && m.role === 'user') {
        event.preventDefault();
        form.requestSubmit();
      } else if (event.key === 'Escape') {
        event.stopPropagation();
        end();
      }
    };
    const fit = () => {
      area.style.height = 'auto';
      area.style.height = `${Math.min(area.scrollHeight + 2, innerHeight * 0.6)}px`;
    };
    area.oninput = fit;
    this.body.replaceWith(form);
    this.foot.hidden = true;
    fit();
    area.focus();
  }

  // The page runs no tools: the user types what they return.
  results() {
    const areas = this.message.tool_calls.map((call) => el('textarea', {rows: 3, 'aria-label': `Result of ${call.function.name}`}));
    const form = el('form.edit', {}, this.message.tool_calls.map((call, i) => el('label', {}, `Result of ${call.function.name}`, areas[i])),
      el('div.row', {}, el('button.primary', {type: 'submit'}, 'Send')));
    form.onsubmit = (event) => {
      event.preventDefault();
      this.act.answerTools(this.message, areas.map((a) => a.value));
    };
    this.calls.append(form);
    areas[0].focus();
  }
}
