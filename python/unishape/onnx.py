"""ONNX in Python: an onnx.backend for element-wise models, and their broadcasting shown and made explicit.

>>> import numpy as np, onnx.parser, unishape.onnx
>>> model = onnx.parser.parse_model('''
...     <ir_version: 10, opset_import: ["" : 21]>
...     scale (float[N, 3] x, float[3] g) => (float[N, 3] y) { y = Mul(x, g) }
... ''')
>>> unishape.onnx.run(model, x=np.ones((2, 3), "float32"), g=np.float32([1, 2, 3]))["y"].tolist()
[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
>>> unishape.onnx.explain(model)
node 0 (Mul) to Nx3
  input 1, g: 3 → Nx3, N times as large
    dimension 0: none → N
>>> [node.op_type for node in unishape.onnx.explicit(model).graph.node]
['Shape', 'Expand', 'Mul']
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._unishape import _onnx

try:
    import onnx
    from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict
except ImportError as error:
    raise ImportError("unishape.onnx needs the package onnx: pip install unishape[onnx]") from error

__all__ = ["Model", "UnishapeBackend", "explain", "explicit", "implicit", "load", "run"]

#: A model: ONNX's own object, the bytes of its file, or where that is.
ModelLike = onnx.ModelProto | bytes | str | os.PathLike


def _loaded(model: ModelLike):
    if isinstance(model, onnx.ModelProto):
        return _onnx.OnnxModel(model.SerializeToString())
    if isinstance(model, bytes):
        return _onnx.OnnxModel(model)
    path = Path(model)
    return _onnx.OnnxModel(path.read_bytes(), path.parent)


class Model(BackendRep):
    """A model that is ready to be run."""

    def __init__(self, model: ModelLike, *, threads: int | None = None):
        self._program = _loaded(model).program(threads=threads)

    @property
    def inputs(self) -> list[str]:
        """The names of what is to be given."""
        return self._program.inputs

    @property
    def outputs(self) -> list[str]:
        """The names of what is computed."""
        return self._program.outputs

    def run(self, inputs: Any, **options: Any) -> tuple[np.ndarray, ...]:
        """Computes the outputs, in their order, of inputs in their order or by name."""
        if not isinstance(inputs, dict):
            if isinstance(inputs, np.ndarray):
                inputs = [inputs]
            if len(inputs) != len(self.inputs):
                raise TypeError(f"the model takes {len(self.inputs)} inputs, and here are {len(inputs)}")
            inputs = dict(zip(self.inputs, inputs))
        outputs = self._program.run(inputs)
        return namedtupledict("Outputs", self.outputs)(*outputs)

    def __call__(self, **inputs: Any) -> dict[str, np.ndarray]:
        return dict(zip(self.outputs, self._program.run(inputs)))


def load(model: ModelLike, *, threads: int | None = None) -> Model:
    """Makes a model ready to be run: `load(model)(x=x, y=y)` gives its outputs by name.

    As long as it is there it keeps the memory of outputs that nobody has any more, for those of the next run.
    """
    return Model(model, threads=threads)


def run(model: ModelLike, **inputs: Any) -> dict[str, np.ndarray]:
    """Runs a model once, on inputs by name, and gives its outputs by name."""
    return load(model)(**inputs)


def explain(model: ModelLike):
    """Where a model broadcasts: prints as text, and has `broadcasts`, `conflicts` and `unseen` to look into."""
    return _loaded(model).explain()


def explicit(model: ModelLike) -> onnx.ModelProto:
    """The same model without implicit broadcasting: an Expand stands before every input that is stretched."""
    return onnx.load_from_string(_loaded(model).explicit()[0])


def implicit(model: ModelLike) -> onnx.ModelProto:
    """The same model without Expands that broadcasting makes needless."""
    return onnx.load_from_string(_loaded(model).implicit()[0])


class UnishapeBackend(Backend):
    """An onnx.backend on the CPU."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> Model:
        _check_device(device)
        return Model(model)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **options: Any):
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence | None = None,
        **options: Any,
    ):
        _check_device(device)
        opset = options.get("opset_version", onnx.defs.onnx_opset_version())
        program = _onnx.OnnxProgram.of_node(node.SerializeToString(), opset)
        if not isinstance(inputs, dict):
            inputs = dict(zip((name for name in node.input if name), inputs))
        return namedtupledict("Outputs", program.outputs)(*program.run(inputs))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return Device(device).type == DeviceType.CPU


def _check_device(device: str) -> None:
    if not UnishapeBackend.supports_device(device):
        raise ValueError(f"unishape runs on the CPU, not on {device}")


# The names that onnx.backend looks for in a module.
prepare = UnishapeBackend.prepare
run_node = UnishapeBackend.run_node
run_model = UnishapeBackend.run_model
supports_device = UnishapeBackend.supports_device
is_compatible = UnishapeBackend.is_compatible
