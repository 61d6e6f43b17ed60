"""Trains the demo language model and writes its checkpoint: a folder as transformers saves it, float16.

    OMP_NUM_THREADS=1 python train.py FOLDER

The same seed gives the same weights on the same machine and versions.
"""

import argparse
import math
import random
import sys
import time
from pathlib import Path

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from dialogues import conversation
from stories import story

sys.path.insert(0, str(Path(__file__).parent.parent / "demo-model"))
from muon import orthogonalised  # noqa: E402

LENGTH, BATCH = 256, 4
SPECIAL = ["<|begin_of_text|>", "<|end_of_text|>", "<|im_start|>", "<|im_end|>"]
# The way Llama 3 splits text before its bytes are joined.
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
TEMPLATE = """{{- bos_token }}
{%- for message in messages %}
    {%- if message['role'] not in ['system', 'user', 'assistant'] %}
        {{- raise_exception('This model knows the roles system, user and assistant, not ' + message['role']) }}
    {%- endif %}
    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] | trim + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def make_tokenizer(texts):
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(SPLIT), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=508, show_progress=False,
                                                     initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    t.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIAL])
    begin = t.token_to_id(SPECIAL[0])
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single=f"{SPECIAL[0]}:0 $A:0", pair=f"{SPECIAL[0]}:0 $A:0 {SPECIAL[0]}:1 $B:1",
                                      special_tokens=[(SPECIAL[0], begin)])])
    return PreTrainedTokenizerFast(tokenizer_object=t, bos_token=SPECIAL[0], eos_token=SPECIAL[3], pad_token=SPECIAL[1],
                                   chat_template=TEMPLATE, clean_up_tokenization_spaces=False, model_max_length=1024,
                                   model_input_names=["input_ids", "attention_mask"])


def make_model(tokenizer):
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8,
        num_key_value_heads=2, head_dim=32, max_position_embeddings=1024, rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        initializer_range=0.02))


def documents(tokenizer, rng, stories):
    """Endless token ids: stories (so often) and conversations, one after the other."""
    end = tokenizer.pad_token_id
    while True:
        if rng.random() < stories:
            yield tokenizer(story(rng)).input_ids + [end]
        else:
            yield tokenizer(tokenizer.apply_chat_template(conversation(rng), tokenize=False), add_special_tokens=False).input_ids


def batches(tokenizer, rng, stories):
    """ids and targets [BATCH, LENGTH]: each row begins with a document; what does not fit is cut off."""
    source = documents(tokenizer, rng, stories)
    while True:
        rows = []
        for _ in range(BATCH):
            row = []
            while len(row) < LENGTH + 1:
                row += next(source)
            rows.append(row[:LENGTH + 1])
        ids = torch.tensor(rows)
        yield ids[:, :-1], ids[:, 1:]


def train(model, tokenizer, options):
    """Muon for the matrices of the layers, AdamW for the rest. The rates rise over 20 steps and fall so that they would be zero after
    options.fall steps; the weights become the mean of those of the last options.average steps."""
    matrices = [p for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n]
    rest = [p for n, p in model.named_parameters() if p.ndim != 2 or "embed" in n]
    adam = torch.optim.AdamW(rest, betas=(0.9, 0.98), weight_decay=0.01)
    momenta = [torch.zeros_like(p) for p in matrices]
    source, start, mean = batches(tokenizer, random.Random(options.seed + 1), options.stories), time.process_time(), None
    steps, average = options.steps, options.average
    averages = [torch.zeros_like(p) for p in model.parameters()]
    for step in range(steps + 1):
        if step > steps - average:
            with torch.no_grad():
                for a, p in zip(averages, model.parameters()):
                    a.add_(p - a, alpha=1 / (step - steps + average))
        if step == steps:
            break
        factor = options.rate * min((step + 1) / 20, 1 - step / options.fall)
        ids, targets = next(source)
        logits = model(input_ids=ids, use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        model.zero_grad(set_to_none=True)
        loss.backward()
        adam.param_groups[0]["lr"] = 1e-2 * factor
        adam.step()
        with torch.no_grad():
            for p, m in zip(matrices, momenta):
                m.lerp_(p.grad, 0.05)
                update = orthogonalised(p.grad.lerp(m, 0.95))
                p.mul_(1 - 0.02 * 0.1 * factor).add_(update, alpha=-0.02 * factor * max(1, p.shape[0] / p.shape[1]) ** 0.5)
        mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
        if step % 20 == 0 or step == steps - 1:
            print(f"step {step}  loss {mean:.4f}  processor {time.process_time() - start:.0f} s", flush=True)
    with torch.no_grad():
        for a, p in zip(averages, model.parameters()):
            p.copy_(a)


def save(model, tokenizer, folder):
    model.generation_config = GenerationConfig(bos_token_id=tokenizer.bos_token_id, pad_token_id=tokenizer.pad_token_id,
                                               eos_token_id=[tokenizer.pad_token_id, tokenizer.eos_token_id],
                                               do_sample=True, temperature=0.6, top_p=0.9, top_k=0)
    model.half().save_pretrained(folder)
    tokenizer.save_pretrained(folder, save_jinja_files=False)
    (folder / "special_tokens_map.json").unlink(missing_ok=True)  # says nothing that tokenizer_config.json does not say


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--start", type=Path, help="go on with this checkpoint")
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--fall", type=int, default=900)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--average", type=int, default=40)
    parser.add_argument("--stories", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    if options.start:
        tokenizer = PreTrainedTokenizerFast.from_pretrained(options.start)
        model = LlamaForCausalLM.from_pretrained(options.start, dtype=torch.float32)
    else:
        rng = random.Random(options.seed)
        texts = [story(rng) for _ in range(1500)] + [m["content"] for _ in range(1500) for m in conversation(rng)]
        # Letters beyond ASCII stay rows of byte tokens.
        tokenizer = make_tokenizer("".join(c for c in text if c.isascii()) for text in texts)
        model = make_model(tokenizer)
    print(f"{len(tokenizer)} tokens, {sum(p.numel() for p in model.parameters())} parameters")
    model.train()
    train(model, tokenizer, options)
    save(model.eval(), tokenizer, options.folder)
