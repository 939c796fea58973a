"""Teach SFace to see faces as television shows them: the describer that comes with castlist.

``python datasets/distil_sface.py DATA VALIDATION OUT.onnx`` trains a copy of SFace, the student,
to say of a degraded face what SFace, the teacher, says of the photograph. No labels are used. DATA
and VALIDATION are made by ``television_faces.py``. The loss is one minus the cosine to the
teacher's feature, and InfoNCE over the teacher's features of all photographs, less those that look
alike.
The first layers stay as they are. The learning rate of a layer is in proportion to its weights: a
rate that suits the last layer ruins the first. The saved weights are a mean of the student's and
the teacher's (``--part``), in half precision.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.nn import functional as F

from castlist.video.weights import fetch

FROZEN = 8  # blocks of the network that are not trained
ALIKE = 0.35  # cosine of two photographs that may show one person
HEAT = 1 / 24  # temperature of InfoNCE
INFO = 0.1  # weight of InfoNCE
WIDTHS = (12, 16, 24, 32, 48, 110)  # bounds of the widths that validation tells apart


class Net(nn.Module):
    """SFace: convolutions, each followed by a PReLU, and a linear layer; all norms folded in."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        graph = onnx.load(str(path)).graph
        value = {one.name: numpy_helper.to_array(one).copy() for one in graph.initializer}
        nodes = {one.output[0]: one for one in graph.node}
        after = {one.input[0]: one for one in graph.node}

        def norm(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            node = nodes[name]
            gamma, beta, mean, var = (value[k] for k in node.input[1:])
            epsilon = next(a.f for a in node.attribute if a.name == "epsilon")
            scale = gamma / np.sqrt(var + epsilon)
            return scale, beta - mean * scale

        self.layers: list[tuple[nn.Conv2d, nn.PReLU]] = []
        for node in graph.node:
            if node.op_type != "Conv":
                continue
            how: dict[str, Any] = {a.name: list(a.ints) or a.i for a in node.attribute}
            weight = value[node.input[1]]
            scale, shift = norm(after[node.output[0]].output[0])
            conv = nn.Conv2d(
                weight.shape[1] * how["group"], len(weight), weight.shape[2], how["strides"][0],
                how["pads"][0], groups=how["group"],
            )  # fmt: skip
            conv.weight.data = torch.from_numpy(weight * scale[:, None, None, None])
            conv.bias = nn.Parameter(torch.from_numpy(shift))
            relu = nn.PReLU(len(weight))
            slope = after[after[node.output[0]].output[0]]
            relu.weight.data = torch.from_numpy(value[slope.input[1]].reshape(-1))
            self.layers.append((conv, relu))
        self.blocks = nn.Sequential(*(nn.Sequential(*pair) for pair in self.layers))
        gemm = next(node for node in graph.node if node.op_type == "Gemm")
        weight, bias = value[gemm.input[1]], value[gemm.input[2]]
        before, behind = norm("bn1"), norm(after[gemm.output[0]].output[0])
        cells = weight.shape[1] // len(before[0])
        bias = bias + weight @ np.repeat(before[1], cells)
        weight = weight * np.repeat(before[0], cells)
        self.last = nn.Linear(weight.shape[1], len(weight))
        self.last.weight.data = torch.from_numpy(weight * behind[0][:, None])
        self.last.bias.data = torch.from_numpy(bias * behind[0] + behind[1])
        self.offset = float(value["scalar_op1"][0])
        self.scale = float(value["scalar_op2"][0])

    def start(self, crops: NDArray[np.uint8]) -> Tensor:
        """Return faces after the layers that are not trained."""
        rgb = np.ascontiguousarray(crops[..., ::-1].transpose(0, 3, 1, 2))
        with torch.no_grad():
            x = (torch.from_numpy(rgb).float() - self.offset) * self.scale
            found: Tensor = self.blocks[:FROZEN](x.contiguous(memory_format=torch.channels_last))
            return found

    def finish(self, x: Tensor) -> Tensor:
        """Return unit-length features."""
        return F.normalize(self.last(self.blocks[FROZEN:](x).flatten(1)), dim=1)

    @torch.no_grad()
    def describe(self, crops: NDArray[np.uint8], mirror: bool = False) -> Tensor:
        """Return unit-length features of faces, or their means with those of the mirror images."""
        found = []
        for k in range(0, len(crops), 64):
            own = self.finish(self.start(crops[k : k + 64]))
            if mirror:
                own = own + self.finish(self.start(crops[k : k + 64, :, ::-1]))
            found.append(F.normalize(own, dim=1))
        return torch.cat(found)


def train(
    student: Net, crops: NDArray[np.uint8], photo: NDArray[np.int64], targets: Tensor, *,
    samples: int, batch: int, rate: float, seed: int,
) -> None:  # fmt: skip
    """Train the student's last layers on some samples."""
    # Depthwise filters stay, too: they are few, and their gradient takes as long as all others.
    fixed = {id(conv.weight) for conv, _ in student.layers if conv.groups > 1}
    fixed |= {id(p) for p in student.blocks[:FROZEN].parameters()}
    layers = [p for p in student.parameters() if id(p) not in fixed]
    for p in student.parameters():
        p.requires_grad_(id(p) not in fixed)
    groups = [
        {"params": [p], "lr": rate * (float(p.detach().square().mean().sqrt()) + 1e-4)}
        for p in layers
    ]
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.99))
    steps = samples // batch
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda k: min(1.0, (k + 1) / 50) * (0.5 + 0.5 * np.cos(np.pi * min(1.0, k / steps))),
    )
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(len(crops)) for _ in range(samples // len(crops) + 1)])
    began, mean = time.monotonic(), 0.0
    for step in range(steps):
        chosen = np.sort(order[step * batch : (step + 1) * batch])
        faces = crops[chosen]
        turned = rng.random(batch) < 0.5
        faces[turned] = faces[turned, :, ::-1]
        own = torch.from_numpy(photo[chosen])
        found = student.finish(student.start(faces))
        near = (found * targets[own]).sum(1)
        alike = targets[own] @ targets.T > ALIKE
        alike[torch.arange(batch), own] = False
        logits = (found @ targets.T / HEAT).masked_fill(alike, -1e4)
        loss = (1 - near).mean() + INFO * F.cross_entropy(logits, own)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        mean += (float(near.mean()) - mean) / min(step + 1, 50)
        if step % 50 == 0:
            seconds = time.monotonic() - began
            print(f"{step} of {steps}: cosine {mean:.4f}, {seconds:.0f} s", flush=True)


def tar(
    found: Tensor, who: NDArray[np.str_], clean: Tensor, names: NDArray[np.str_], far: float
) -> float:
    """Return the share of pairs of one person above the cosine that a share of strangers exceed."""
    cosine = (found @ clean.T).numpy()
    same = who[:, None] == names[None]
    cosine[(cosine > 0.99999) & same] = np.nan  # a photograph with itself
    strangers = np.sort(cosine[~same])
    bound = strangers[int((1 - far) * len(strangers))]
    return float((cosine[same & ~np.isnan(cosine)] > bound).mean())


def validate(net: Net, folder: Path, many: int = 4000) -> list[float]:
    """Return the true accept rate by width at a false one of 1e-2, and clean at 1e-3."""
    faces, clean = np.load(folder / "faces.npz"), np.load(folder / "clean.npy")
    crops = np.load(folder / "crops.npy", mmap_mode="r")
    names, width = faces["who"], faces["width"][:many]
    features = net.describe(clean)
    found, who = net.describe(crops[:many]), names[faces["photo"][:many]]
    scores = []
    for low, high in pairwise(WIDTHS):
        own = (width >= low) & (width < high)
        scores.append(tar(found[torch.from_numpy(own)], who[own], features, names, 1e-2))
    return [*scores, tar(features, names, features, names, 1e-3)]


def between(student: Net, teacher: Net, part: float) -> None:
    """Move the student's weights towards the teacher's, so that a part of the change is left."""
    with torch.no_grad():
        for own, other in zip(student.parameters(), teacher.parameters(), strict=True):
            own.copy_(part * own + (1 - part) * other)


def save(net: Net, path: Path) -> None:
    """Write the network as an ONNX file, its weights rounded to half precision.

    They are stored in single precision, which OpenCV runs twice as fast. The zeros at their ends
    take no room in a wheel.
    """
    nodes, values, last = [], [], "scaled"

    def weight(name: str, tensor: Tensor | None) -> str:
        assert tensor is not None
        rounded = tensor.detach().half().float().numpy()
        values.append(numpy_helper.from_array(rounded, name))
        return name

    nodes.append(
        helper.make_node("Sub", ["data", weight("offset", torch.tensor([net.offset]))], ["centred"])
    )
    nodes.append(
        helper.make_node("Mul", ["centred", weight("scale", torch.tensor([net.scale]))], [last])
    )
    for k, (conv, relu) in enumerate(net.layers):
        inputs = [last, weight(f"w{k}", conv.weight), weight(f"b{k}", conv.bias)]
        nodes.append(
            helper.make_node(
                "Conv", inputs, [f"conv{k}"], group=conv.groups, strides=conv.stride,
                kernel_shape=conv.kernel_size, pads=2 * conv.padding,
            )
        )  # fmt: skip
        slope = weight(f"s{k}", relu.weight.reshape(-1, 1, 1))
        last = f"relu{k}"
        nodes.append(helper.make_node("PRelu", [f"conv{k}", slope], [last]))
    nodes.append(helper.make_node("Flatten", [last], ["flat"]))
    inputs = ["flat", weight("w", net.last.weight), weight("b", net.last.bias)]
    nodes.append(helper.make_node("Gemm", inputs, ["feature"], transB=1))
    shape: list[str | int | None] = ["batch", 3, 112, 112]
    graph = helper.make_graph(
        nodes, "SFace for television",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("feature", TensorProto.FLOAT, ["batch", 128])],
        values,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("validation", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--samples", type=int, default=32_000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=0.0015)
    parser.add_argument("--part", type=float, default=1.0, help="of the change that is kept")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    path = fetch("sface")
    teacher, student = Net(path).eval(), Net(path).eval()
    clean = np.load(given.data / "clean.npy")
    kept = given.data / "targets.npy"
    if not kept.exists():
        np.save(kept, teacher.describe(clean, mirror=True).numpy())
    targets = torch.from_numpy(np.load(kept))
    columns = " ".join(f"{low}-{high}" for low, high in pairwise(WIDTHS))
    print(f"true accept rate by width {columns}, and clean")
    print("teacher", *(f"{x:.3f}" for x in validate(teacher, given.validation)), flush=True)
    crops = np.load(given.data / "crops.npy", mmap_mode="r")
    train(
        student, crops, np.load(given.data / "faces.npz")["photo"], targets,
        samples=given.samples, batch=given.batch, rate=given.rate, seed=given.seed,
    )  # fmt: skip
    torch.save(student.state_dict(), given.out.with_suffix(".pt"))
    between(student, teacher, given.part)
    print("student", *(f"{x:.3f}" for x in validate(student, given.validation)), flush=True)
    save(student, given.out)


if __name__ == "__main__":
    main()
