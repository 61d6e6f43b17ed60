"""block_grids.inl: the codebooks of GGUF's IQ types, from the reference reader (python package gguf 0.19.0).

A codebook is a sorted list of points, each a number whose digits are the indices of its values among the few that occur, first value in
the lowest digit. What is written are the gaps between neighboring points: one letter of 0-9A-Za-z for 0 … 61, after a '+' for every 62.

    pip install gguf numpy
    python make_grids.py
"""
import pathlib
import string

import numpy as np
from gguf import quants

LETTERS = string.digits + string.ascii_uppercase + string.ascii_lowercase
WIDTH = 118


def gaps_of(kind):
    kind.init_grid()
    grid, values = kind.grid.reshape(kind.grid_shape), list(kind.grid_map)
    assert values == sorted(values)
    points = (np.searchsorted(values, grid) * len(values) ** np.arange(grid.shape[1])).sum(axis=1)
    gaps = np.diff(points, prepend=0)
    assert (gaps[1:] > 0).all() and points[0] == 0
    return "".join("+" * (gap // len(LETTERS)) + LETTERS[gap % len(LETTERS)] for gap in gaps)


def main():
    out = ["// Codebooks of the IQ types, written by golden/make_grids.py, which explains them.", ""]
    for name, kind in {
        "iq2_xxs": quants.IQ2_XXS, "iq2_xs": quants.IQ2_XS, "iq2_s": quants.IQ2_S, "iq3_xxs": quants.IQ3_XXS, "iq3_s": quants.IQ3_S,
        "iq1": quants.IQ1_S,
    }.items():
        gaps = gaps_of(kind)
        out.append(f"constexpr std::string_view {name}_gaps =")
        lines = [gaps[i : i + WIDTH] for i in range(0, len(gaps), WIDTH)]
        out += [f'    "{line}"' for line in lines]
        out[-1] += ";"
    assert (quants.IQ1_S.grid == quants.IQ1_M.grid).all() if quants.IQ1_M.grid is not None else True
    (pathlib.Path(__file__).parent.parent / "block_grids.inl").write_text("\n".join(out) + "\n")


main()
