"""Write YuNet so that it takes pictures of any size, and any number of them.

``python scripts/yunet_any_size.py face_detection_yunet_2023mar.onnx
src/castlist/models/yunet_any_size.onnx``. The OpenCV Zoo's file (MIT) is written for one picture of
640 × 640 pixels. OpenCV and OpenVINO give it another size; onnxruntime does not. The weights are
the same. It needs the package ``onnx``.
"""

from __future__ import annotations

import argparse

import onnx
from onnx import numpy_helper


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", help="the OpenCV Zoo's file")
    parser.add_argument("out", help="the file to write")
    given = parser.parse_args()
    model = onnx.load(given.source)
    graph = model.graph
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
    onnx.checker.check_model(model)
    onnx.save(model, given.out)


if __name__ == "__main__":
    main()
