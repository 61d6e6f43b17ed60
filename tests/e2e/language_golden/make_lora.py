"""Goldens of PEFT's adapters on the demo language model.

    OMP_NUM_THREADS=1 python make_lora.py

needs torch, transformers 4.57.1 and peft 0.21.2; writes lora.json: for each case adapter_config.json, the adapter's tensors (name → shape; values are
those of tools/name_weights.py), and the log-probabilities of the prompt's tokens after the first, in f32.
"""

import json
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from peft import IA3Config, LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import name_weights  # noqa: E402

torch.set_num_threads(1)
MODEL = ROOT / "assets/demo-language-model"
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
CASES = {
    "attention": LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "v_proj"]),
    "all": LoraConfig(r=3, lora_alpha=2, target_modules=ALL),
    "stabilized": LoraConfig(r=4, lora_alpha=2, use_rslora=True, target_modules=ALL),
    "patterns": LoraConfig(r=4, lora_alpha=8, target_modules=ALL, rank_pattern={"q_proj": 2, "layers.1.mlp.up_proj": 5},
                           alpha_pattern={"v_proj": 1, "layers.0.mlp.down_proj": 3}),
    "dora": LoraConfig(r=4, lora_alpha=8, use_dora=True, target_modules=ALL),
    "ia3": IA3Config(target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"]),
}
KEYS = ("peft_type", "r", "lora_alpha", "use_rslora", "use_dora", "rank_pattern", "alpha_pattern", "target_modules", "feedforward_modules",
        "fan_in_fan_out", "bias", "modules_to_save")
IDS = [508, 84, 104, 301, 32, 17, 250, 99, 400, 7, 311, 42]


def main():
    cases = {}
    for label, config in CASES.items():
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32)
        plain = torch.log_softmax(model(torch.tensor([IDS])).logits[0], -1)
        with tempfile.TemporaryDirectory() as folder:
            get_peft_model(model, config, autocast_adapter_dtype=False).save_pretrained(folder)
            shapes = {name: list(x.shape) for name, x in load_file(f"{folder}/adapter_model.safetensors").items()}
            save_file({name: torch.from_numpy(name_weights.tensor(name, tuple(shape))).contiguous() for name, shape in shapes.items()},
                      f"{folder}/adapter_model.safetensors")
            stated = json.loads(Path(f"{folder}/adapter_config.json").read_text())
            model = PeftModel.from_pretrained(transformers.AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32), folder).eval()
            with torch.no_grad():
                found = torch.log_softmax(model(torch.tensor([IDS])).logits[0], -1)
        ids = torch.tensor(IDS[1:])
        values = found[:-1].gather(1, ids[:, None])[:, 0]
        print(f"{label}: {len(shapes)} tensors, away {float((found - plain).norm() / plain.norm()):.1e}")
        cases[label] = dict(config={key: stated[key] for key in KEYS if key in stated}, tensors=shapes, logprobs=[float(v) for v in values])
        if isinstance(cases[label]["config"]["target_modules"], list):
            cases[label]["config"]["target_modules"].sort()
    import peft
    versions = dict(torch=torch.__version__, transformers=transformers.__version__, peft=peft.__version__)
    (HERE / "lora.json").write_text(json.dumps(dict(versions=versions, ids=IDS, cases=cases), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
