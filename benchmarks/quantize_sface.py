"""Quantize the describer's pointwise convolutions to 8 bits.

``python benchmarks/quantize_sface.py sface_tv_f32.onnx FACES sface_tv.onnx`` takes the network that
``distil_sface.py`` made, and aligned faces that ``television_faces.py`` made in the folder FACES,
to see which values occur. It needs NNCF (``pip install nncf``), which castlist itself does not.

Most of the work is in pointwise convolutions, and they lose little. The depthwise ones lose much
and take little time, so they stay as they are, with the first one (docs/describer.md).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import nncf
import numpy as np
import onnx

SAMPLES = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", type=Path)
    parser.add_argument("faces", type=Path, help="folder with crops.npy")
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    crops = np.load(given.faces / "crops.npy", mmap_mode="r")
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(len(crops), SAMPLES, replace=False))
    rgb = crops[chosen][..., ::-1].transpose(0, 3, 1, 2).astype(np.float32)

    model = onnx.load(given.network)
    for k, node in enumerate(model.graph.node):
        node.name = f"{node.op_type}_{k}"
    shape = {one.name: list(one.dims) for one in model.graph.initializer}
    convolutions = [node for node in model.graph.node if node.op_type == "Conv"]
    depthwise = [node.name for node in convolutions if shape[node.input[1]][1] == 1]
    scaling = [node.name for node in model.graph.node if node.op_type in ("Sub", "Mul")]
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1  # as NNCF wants it
    small = nncf.quantize(
        model,
        nncf.Dataset([{model.graph.input[0].name: one[None]} for one in rgb]),
        preset=nncf.QuantizationPreset.MIXED,  # slopes of PReLU make activations uneven
        subset_size=SAMPLES,
        ignored_scope=nncf.IgnoredScope(names=[*depthwise, *scaling, convolutions[0].name]),
    )
    for value in (small.graph.input[0], small.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    del small.graph.value_info[:]
    onnx.checker.check_model(small)
    onnx.save(small, given.out)


if __name__ == "__main__":
    main()
