// Requests to /sdapi/v1 from the values of the form, and what their answers say.
import {scriptsOf} from './adapters.js';
import {imageParameters} from './parameters.js';

const base64Of = (url) => url.slice(url.indexOf(',') + 1);

// {path, body} for the values of the form and an image model's id.
export function requestOf(values, model) {
  const body = {prompt: values.prompt, negative_prompt: values.negative_prompt};
  const options = model ? {sd_model_checkpoint: model} : {};
  for (const p of imageParameters) {
    const value = values[p.name] ?? (p.type === 'flag' ? undefined : p.start);
    if (p.when && !p.when(values)) continue;
    // Where a switch is off the server has a default of its own, which differs for some.
    if (p.type === 'flag' && p.start !== undefined) body[p.sentAs ?? p.name] = p.asNumber ? Number(Boolean(value)) : Boolean(value);
    else if (value !== undefined) (p.option ? options : body)[p.sentAs ?? p.name] = value;
  }
  body.override_settings = options;
  const scripts = scriptsOf(values.units);
  if (scripts) body.alwayson_scripts = scripts;
  if (!values.initImage) return {path: 'sdapi/v1/txt2img', body};
  body.init_images = [base64Of(values.initImage)];
  if (values.mask) body.mask = base64Of(values.mask);
  return {path: 'sdapi/v1/img2img', body};
}

// For each image of an answer: its seed and its text of settings.
export function infoOf(answer) {
  const info = JSON.parse(answer.info);
  return answer.images.map((_, i) => ({seed: info.all_seeds?.[i] ?? info.seed, text: info.infotexts?.[i] ?? '',
    model: info.sd_model_name ?? ''}));
}
