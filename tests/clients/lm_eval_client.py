#!/usr/bin/env python3
"""EleutherAI's lm-eval against a running server, and against transformers with the same weights.

    python lm_eval_client.py http://127.0.0.1:8080 MODEL_ID FOLDER

Needs the packages lm_eval[api], torch and transformers. FOLDER has the model MODEL_ID; the demo language model is enough. Three tasks, one of each
kind of request, must give the same numbers: choices by log-likelihood, the perplexity of a page, and generated text.
"""
import json
import pathlib
import sys
import tempfile

import lm_eval
from lm_eval.tasks import TaskManager

url, model, folder = sys.argv[1:4]
things = ["house", "lighthouse", "ship", "garden", "river", "mountain", "train", "kitchen"]
rows = [
    {"text": f"The {thing} stood near the old {other}.", "question": f"The keeper of the {thing} said that the",
     "choices": [" sea", f" {other}", " red hills were far"], "answer": i % 3}
    for i, (thing, other) in enumerate((a, b) for a in things for b in things if a != b)
]
page = " ".join(row["text"] for row in rows[:12])

task_files = {
    "choices": {
        "output_type": "multiple_choice", "doc_to_text": "{{question}}", "doc_to_choice": "{{choices}}", "doc_to_target": "answer",
        "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}]},
    "page": {
        "output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{page}}",
        "metric_list": [{"metric": "word_perplexity"}, {"metric": "byte_perplexity"}, {"metric": "bits_per_byte"}]},
    "text": {
        "output_type": "generate_until", "doc_to_text": "{{question}}", "doc_to_target": "{{text}}",
        "generation_kwargs": {"until": ["\n", ". "], "max_gen_toks": 24, "do_sample": False},
        "metric_list": [{"metric": "exact_match"}]},
}


def evaluate(tasks, kind, arguments):
    made = lm_eval.simple_evaluate(
        model=kind, model_args=arguments, tasks=[f"hearth_{name}" for name in task_files], task_manager=tasks, batch_size=4, log_samples=True,
        bootstrap_iters=0)
    results = {name: {key: value for key, value in made["results"][f"hearth_{name}"].items() if isinstance(value, float)} for name in task_files}
    samples = {name: [sample["resps"] for sample in sorted(made["samples"][f"hearth_{name}"], key=lambda s: s["doc_id"])] for name in task_files}
    return results, samples


def main():
    with tempfile.TemporaryDirectory() as place:
        for name in task_files:
            data = pathlib.Path(place) / f"{name}.json"
            data.write_text("\n".join(json.dumps(row) for row in ([{"page": page}] if name == "page" else rows)))
            task = {"task": f"hearth_{name}", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(data)}}, "test_split": "test",
                    **task_files[name]}
            (pathlib.Path(place) / f"{name}.yaml").write_text(json.dumps(task))  # JSON is YAML
        tasks = TaskManager(include_path=place, include_defaults=False)
        common = f"tokenizer={folder},max_length=256,add_bos_token=True"
        ours, our_samples = evaluate(tasks, "local-completions", f"model={model},base_url={url}/v1/completions,num_concurrent=4,{common}")
        theirs, their_samples = evaluate(tasks, "hf", f"pretrained={folder},device=cpu,dtype=float32,{common}")
    for name in task_files:
        print(name, "server", ours[name], "transformers", theirs[name])
        for key, value in theirs[name].items():
            assert abs(ours[name][key] - value) <= 1e-3 * max(1, abs(value)), (name, key)
    assert our_samples["text"] == their_samples["text"]
    worst = max(abs(float(a[0][0]) - float(b[0][0])) for x, y in zip(our_samples["choices"], their_samples["choices"]) for a, b in zip(x, y))
    print(f"log-likelihoods differ by at most {worst:.2g}; {len(rows)} generated texts are equal")
    assert worst < 2e-3


main()
