"""Write YuNet so that it takes pictures of any size, any number of them, in single precision.

``python scripts/yunet_any_size.py face_detection_yunet_2023mar_int8bq.onnx
src/castlist/models/yunet_any_size.onnx``. The OpenCV Zoo's file (MIT) is written for one picture of
640 × 640 pixels, and its weights are bytes with a scale per block. OpenCV gives it another size;
onnxruntime does not. The weights stay the same numbers. It needs the package ``onnx``.
"""

from __future__ import annotations

import argparse

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper


def main() -> None:
    """Read the arguments and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", help="the OpenCV Zoo's file")
    parser.add_argument("out", help="the file to write")
    given = parser.parse_args()
    model = onnx.load(given.source)
    expand_weights(model.graph)
    free_shapes(model.graph)
    onnx.checker.check_model(model)
    onnx.save(model, given.out)


def expand_weights(graph: onnx.GraphProto) -> None:
    """Replace weights in bytes, and the nodes that scale and shape them, by what they give."""
    known = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    made: dict[str, NDArray[np.float32]] = {}
    kept = []
    for node in graph.node:
        first, *others = node.input
        if node.op_type == "DequantizeLinear":
            block = {one.name: one.i for one in node.attribute}
            scale, zero = (
                np.repeat(known[name], block["block_size"], axis=block["axis"]) for name in others
            )
            value = known[first].astype(np.int32)
            columns = value.shape[block["axis"]]
            scale, zero = (one.take(range(columns), axis=block["axis"]) for one in (scale, zero))
            made[node.output[0]] = ((value - zero) * scale).astype(np.float32)
        elif node.op_type == "Reshape" and first in made:
            made[node.output[0]] = made[first].reshape(known[others[0]])
        else:
            kept.append(node)
    used = {name for node in kept for name in node.input}
    weights = [one for one in graph.initializer if one.name in used]
    weights += [numpy_helper.from_array(made[name], name) for name in made if name in used]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(kept)
    graph.initializer.extend(weights)


def free_shapes(graph: onnx.GraphProto) -> None:
    """Take any number of pictures of any size."""
    for value in (*graph.input, *graph.output):
        shape = value.type.tensor_type.shape.dim
        shape[0].dim_param = "pictures"
        if value.name == "input":
            shape[2].dim_param, shape[3].dim_param = "height", "width"
        else:  # one row per place of a grid of a stride
            shape[1].dim_param = f"places_{value.name.rpartition('_')[2]}"
    shapes = {node.input[1] for node in graph.node if node.op_type == "Reshape"}
    for constant in graph.initializer:
        if constant.name in shapes:
            shape = numpy_helper.to_array(constant).copy()
            shape[0] = 0  # as many as there are pictures
            constant.CopyFrom(numpy_helper.from_array(shape, constant.name))
    del graph.value_info[:]


if __name__ == "__main__":
    main()
