"""What the recipes share whose reference is the package of RWKV's authors, without compiled kernels.

recipe.py is the same for networks of transformers.
"""
import importlib.util
import os

os.environ["PYTORCH_JIT"] = "0"  # before torch is imported
import recipe  # noqa: E402
import torch  # noqa: E402

VERSIONS = f"rwkv 0.8.32, torch {torch.__version__}"
eps = {}  # of norms, in the place of the package's own: "layer" and "group"


class Functions:
    """torch.nn.functional with that eps."""

    def __getattr__(self, name):
        return getattr(torch.nn.functional, name)

    @staticmethod
    def layer_norm(*args, **named):
        return torch.nn.functional.layer_norm(*args, **{**named, "eps": eps["layer"]})

    @staticmethod
    def group_norm(*args, **named):
        return torch.nn.functional.group_norm(*args, **{**named, "eps": eps["group"]})


def package(version):
    """The package's module for networks of this version, 6 or 7, which computes in float64."""
    os.environ.update(RWKV_V7_ON=str(int(version == 7)), RWKV_JIT_ON="0", RWKV_CUDA_ON="0")
    module = importlib.util.module_from_spec(importlib.util.find_spec("rwkv.model"))
    recipe.execute_in_double(module, ("torch.nn.functional.", "F."), ("dtype=torch.float,", "dtype=torch.float64,"), ("[torch.float]", "[torch.float64]"))
    module.F = Functions()
    return module


def tensors(shapes):
    return {name: torch.from_numpy(recipe.name_weights.tensor(name, tuple(shape))) for name, shape in shapes.items()}


def logits(net, ids):
    return net.forward(list(ids), None, full_output=True)[0].float().numpy()


def greedy(net, ids, count):
    y, state = net.forward(list(ids), None)
    out, lead = [], float("inf")
    for _ in range(count):
        best = y.topk(2)
        lead = min(lead, float(best.values[0] - best.values[1]))
        out.append(int(best.indices[0]))
        y, state = net.forward([out[-1]], state)
    return out, lead


class Recipe:
    """network(config) and shapes(config): the package's network, and the shapes of the published tensors."""

    def __init__(self, folder, network, shapes):
        self.folder, self.network, self.shapes = folder, network, shapes

    def case(self, name, c, ids, continue_for=0, thin=1):
        net = self.network(c)
        more, lead = greedy(net, ids, continue_for)
        print(f"  {name}: smallest lead of a greedy token {lead:.2e}")
        recipe.golden.save(self.folder, name, {"logits": logits(net, ids)[::thin]}, c, VERSIONS, ids=ids, factor=1.0, thin=thin, greedy=more,
                           shapes=self.shapes(c))

    def perturbed(self, base, ids, changes):
        y = logits(self.network(base), ids)
        arrays, told = {"base": y}, []
        for key, values in changes.items():
            for value in values:
                c = {**base, key: value}
                z = logits(self.network(c), ids)
                arrays[str(len(told))] = z
                told.append({"key": key, "value": value, "same": recipe.golden.same(z, y), "shapes": recipe.difference(self.shapes(base), self.shapes(c))})
                print("  same" if told[-1]["same"] else "  other", key, value)
        recipe.golden.save(self.folder, "perturbed", arrays, base, VERSIONS, changes=told, ids=ids, factor=1.0, shapes=self.shapes(base))
