"""Quantize the describer's pointwise convolutions to 8 bits.

``python datasets/quantize_sface.py sface_tv_f32.onnx FACES sface_tv.onnx`` takes the network that
``distil_sface.py`` made, and aligned faces that ``television_faces.py`` made in the folder FACES,
to see which values occur. It needs NNCF (``pip install nncf``), which castlist itself does not.

Most of the work is in pointwise convolutions, and they lose little. The depthwise ones lose much
and take little time, so they stay as they are, with the first one (docs/research/describer.md).

``--compare`` makes nothing. It describes other faces with both files, in turn, and prints how
similar the features are and how long each takes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from castlist.parallel import set_threads
from castlist.video.inference import Input, open_network

SAMPLES = 300
COMPARED = 1600
ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", type=Path)
    parser.add_argument("faces", type=Path, help="folder with crops.npy")
    parser.add_argument("out", type=Path)
    parser.add_argument("--compare", action="store_true")
    given = parser.parse_args()
    crops = np.load(given.faces / "crops.npy", mmap_mode="r")
    chosen = np.random.default_rng(0).permutation(len(crops))
    if given.compare:
        compare(given.network, given.out, crops[np.sort(chosen[SAMPLES:][:COMPARED])])
    else:
        quantize(given.network, given.out, crops[np.sort(chosen[:SAMPLES])])


def quantize(network: Path, out: Path, crops: np.ndarray) -> None:
    """Write the network with its pointwise convolutions in 8 bits."""
    import nncf
    import onnx

    rgb = crops[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32)
    model = onnx.load(network)
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
    onnx.save(small, out)


def compare(network: Path, out: Path, crops: np.ndarray) -> None:
    """Print the similarity of two networks' features, and the processor time of each per face."""
    set_threads(1)
    opened = [open_network(path, Input(rgb=True)) for path in (network, out)]
    batches = [np.ascontiguousarray(crops[i : i + 8]) for i in range(0, len(crops), 8)]
    features = []
    for one in opened:
        rows = np.concatenate([one(batch)[0] for batch in batches])
        features.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    cosine = (features[0] * features[1]).sum(1)
    print(f"cosine over {len(crops)} faces: mean {cosine.mean():.4f}, least {cosine.min():.4f}")
    best = [np.inf, np.inf]
    for _ in range(ROUNDS):
        for k, one in enumerate(opened):
            start = time.process_time()
            for batch in batches[:40]:
                one(batch)
            best[k] = min(best[k], (time.process_time() - start) / 320)
    times = ", ".join(f"{1000 * value:.1f}" for value in best)
    print(f"processor time per face, best of {ROUNDS} in turn: {times} ms")


if __name__ == "__main__":
    main()
