"""What the recipes of control networks (make_control*.py, make_qwen_image_control.py) have in common. Import it in front of torch."""
import json
import os
import sys
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")

import diffusers  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from PIL import Image  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make  # noqa: E402, F401  # so that tools/ is in the path
import name_weights  # noqa: E402

torch.set_num_threads(1)


def one(name, size=(64, 64), seed=0, **settings):
    """A control of a case: the network's name, the size and the seed of its image, its settings."""
    return dict(network=name, size=list(size), seed=seed, **settings)


def control_picture(width, height, seed):
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = [127.5 + 120 * np.sin(x / (3 + c + seed) - y / (9 - c) + seed) * np.cos(x * y / (90 + 40 * seed)) for c in range(3)]
    return np.clip(np.stack(planes, -1).round(), 0, 255).astype(np.uint8)


def control_images(controls, tensors):
    """The images of controls, which the golden file gets, too."""
    images = []
    for c in controls:
        picture = control_picture(*c["size"], c["seed"])
        tensors["control{}.{}x{}".format(c["seed"], *c["size"])] = torch.from_numpy(picture)
        images.append(Image.fromarray(picture))
    return images


def painting(source, width, height, tensors):
    """The image that a run starts from and its mask, by `source`, a recipe; the golden file gets them, too."""
    made = source.picture(width, height), source.mask(width, height)
    for kind, pixels in zip(("picture", "mask"), made):
        tensors[f"{kind}.{width}x{height}"] = torch.from_numpy(pixels)
    return [Image.fromarray(pixels) for pixels in made]


def make_network(name, net, change=None):
    """Writes control/NAME as save_pretrained publishes it, in f16; the weights are functions of their names, which `change` may change."""
    name_weights.fill(net)
    if change:
        change(net)
    net.half().save_pretrained(HERE / "control" / name)
    file = HERE / "control" / name / "config.json"
    config = json.loads(file.read_text())
    config.pop("_name_or_path", None)
    file.write_text(json.dumps(config, indent=2) + "\n")


def opened(cls, name):
    return cls.from_pretrained(HERE / "control" / name, torch_dtype=torch.float32).eval()


def weights_of(name):
    return load_file(HERE / "control" / name / "diffusion_pytorch_model.safetensors")


def save_for_authors(name, tensors):
    """A single file without a configuration."""
    save_file(tensors, HERE / "control/authors" / f"{name}.safetensors")


def windows(control, steps):
    """Of each call in turn: whether the network acts, for pipelines without a start and an end."""
    for i in range(steps):
        yield i / steps >= control.get("start", 0.0) and (i + 1) / steps <= control.get("end", 1.0)


def picked(values):
    """As pipelines expect what there is one of for each network: the list, or the only value."""
    return values if len(values) > 1 else values[0]


def generators(case):
    n = case.get("batch", 1)
    if n == 1 or case.get("compat") == "diffusers":
        return torch.Generator().manual_seed(case["seed"])
    return [torch.Generator().manual_seed(case["seed"] + k) for k in range(n)]


def write(stem, cases, draw):
    """<stem>.json and <stem>.safetensors: the latents that draw(case, tensors) returns, of the cases that the command names, or of all."""
    names = [w for w in sys.argv[1:] if w in cases] or list(cases)
    file = HERE / f"{stem}.safetensors"
    tensors = load_file(file) if file.exists() and len(names) < len(cases) else {}
    for label in names:
        latents = draw(cases[label], tensors)
        tensors[label] = latents.float().contiguous()
        print(f"{label}: rms {latents.square().mean().sqrt():.3g}", flush=True)
    records = {k: {a: b for a, b in v.items() if b is not None} for k, v in cases.items()}
    versions = dict(torch=torch.__version__, diffusers=diffusers.__version__)
    save_file(tensors, file, metadata={"made by": f"tests/e2e/golden/{Path(sys.argv[0]).name}", **versions})
    (HERE / f"{stem}.json").write_text(json.dumps(dict(versions=versions, cases=records), indent=1) + "\n")
