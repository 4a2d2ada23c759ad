"""ONNX models: run them, explain their broadcasting, and make it explicit or implicit.

Runs models of element-wise operators, reductions and normalizations, also as a backend for `onnx.backend`.

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
    raise ImportError("unishape.onnx requires the package onnx: pip install unishape[onnx]") from error

__all__ = ["Model", "UnishapeBackend", "explain", "explicit", "implicit", "load", "run", "shapes"]

#: A model: a ModelProto, its serialized bytes, or the path of its file.
ModelLike = onnx.ModelProto | bytes | str | os.PathLike


def _load(model: ModelLike):
    if isinstance(model, onnx.ModelProto):
        return _onnx.OnnxModel(model.SerializeToString())
    if isinstance(model, bytes):
        return _onnx.OnnxModel(model)
    return _onnx.OnnxModel.open(Path(model))


#: Size in bytes that a ModelProto must not reach: protobuf's limit.
_PROTOBUF_LIMIT = 2**31


def _proto(rewritten) -> onnx.ModelProto:
    data = rewritten.to_bytes()
    if len(data) >= _PROTOBUF_LIMIT:
        raise ValueError(
            f"the new model takes {len(data)} bytes, but a ModelProto holds less than 2 GiB: store the weights as "
            "external data, or use the command `unishape onnx`"
        )
    return onnx.load_from_string(data)


class Model(BackendRep):
    """A compiled model.

    Parameters
    ----------
    model : ModelProto, bytes or path
        External data is read only if `model` is a path, from the directory of the file.
    threads : int, optional
        Number of worker threads. Default: `unishape.get_num_threads()` at each run.
    """

    def __init__(self, model: ModelLike, *, threads: int | None = None):
        self._compiled = _load(model).compile(threads=threads)

    @property
    def inputs(self) -> list[str]:
        """Names of the required inputs."""
        return self._compiled.inputs

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        return self._compiled.outputs

    def run(self, inputs: Any, **options: Any) -> tuple[np.ndarray, ...]:
        """Computes the outputs, in order. `inputs`: a dict by name, or a sequence in the order of the inputs."""
        if not isinstance(inputs, dict):
            if isinstance(inputs, np.ndarray):
                inputs = [inputs]
            if len(inputs) != len(self.inputs):
                raise TypeError(f"expected {len(self.inputs)} inputs, got {len(inputs)}")
            inputs = dict(zip(self.inputs, inputs))
        outputs = self._compiled.run(inputs)
        return namedtupledict("Outputs", self.outputs)(*outputs)

    def __call__(self, **inputs: Any) -> dict[str, np.ndarray]:
        """Computes the outputs, by name, from inputs by name."""
        return dict(zip(self.outputs, self._compiled.run(inputs)))


def load(model: ModelLike, *, threads: int | None = None) -> Model:
    """Compiles a model; `load(model)(x=x, y=y)` returns its outputs by name.

    The compiled model keeps the memory of large outputs that have been released, and reuses it in the next run.
    """
    return Model(model, threads=threads)


def run(model: ModelLike, **inputs: Any) -> dict[str, np.ndarray]:
    """Compiles a model and runs it once, with inputs and outputs by name."""
    return load(model)(**inputs)


def explain(model: ModelLike, *, dims: dict[str, int] | None = None):
    """Reports where a model broadcasts, in its main graph, subgraphs and functions.

    The report prints as text. Its attributes are

    - `verdict`: "explicit", "broadcasts", "incompatible" (the error E1), or "unknown" if it depends on unknown sizes or
      on unknown operators; the exit codes of `unishape onnx explicit --check` are 0, 1, 1 and 3;
    - `broadcasts`: one dict per node that broadcasts or may, with its `path` (subgraph or function), `kind`, `certain`;
    - `conflicts`: index and error message of each node with incompatible inputs;
    - `not_analyzed`: operators that may broadcast, but are not known;
    - `wrong_declarations`: declared shapes that are wrong; they are not used.

    Parameters
    ----------
    model : ModelProto, bytes or path
    dims : dict, optional
        Sizes of symbolic dimensions of the inputs, by name.
    """
    return _load(model).explain(dims=dims or {})


def shapes(model: ModelLike, *, dims: dict[str, int] | None = None) -> dict[str, tuple | None]:
    """Returns the inferred shapes of all values of the main graph, by name.

    A size that is not known is an expression of the symbolic dimensions of the inputs, such as "floor((H+1)/2)", or
    None; a shape is None if its rank is not known. `dims`: sizes of symbolic dimensions, by name.
    """
    return _load(model).shapes(dims=dims or {})


def explicit(
    model: ModelLike,
    *,
    dims: dict[str, int] | None = None,
    certain_only: bool = False,
    expand_pow: bool = False,
    expand_matmul: bool = False,
) -> onnx.ModelProto:
    """Returns the model with an Expand before every stretched input of an element-wise operator or a Gemm.

    External data is neither read nor copied: save the new model in the directory of the old one.

    Parameters
    ----------
    model : ModelProto, bytes or path
    dims : dict, optional
        Sizes of symbolic dimensions of the inputs, by name; the new model is for these sizes only.
    certain_only : bool
        Expand only inputs that are stretched whatever the unknown sizes are.
    expand_pow : bool
        Expand a single exponent of Pow, too: ONNX Runtime may round its result differently.
    expand_matmul : bool
        Expand batch dimensions of matrix products, too: needs more memory.
    """
    rewritten, _ = _load(model).explicit(
        dims=dims or {}, certain_only=certain_only, expand_pow=expand_pow, expand_matmul=expand_matmul
    )
    return _proto(rewritten)


def implicit(model: ModelLike, *, all: bool = False) -> onnx.ModelProto:
    """Returns the model without the Expand nodes that `explicit` inserted.

    With `all`, also without those of the model's author that broadcasting makes redundant.
    """
    return _proto(_load(model).implicit(all=all)[0])


class UnishapeBackend(Backend):
    """Backend for `onnx.backend`, on the CPU."""

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
        compiled = _onnx.OnnxCompiledModel.from_node(node.SerializeToString(), opset)
        if not isinstance(inputs, dict):
            inputs = dict(zip((name for name in node.input if name), inputs))
        return namedtupledict("Outputs", compiled.outputs)(*compiled.run(inputs))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return Device(device).type == DeviceType.CPU


def _check_device(device: str) -> None:
    if not UnishapeBackend.supports_device(device):
        raise ValueError(f"unishape supports only the device CPU, not {device}")


# onnx.backend expects these names in a backend module.
prepare = UnishapeBackend.prepare
run_node = UnishapeBackend.run_node
run_model = UnishapeBackend.run_model
supports_device = UnishapeBackend.supports_device
is_compatible = UnishapeBackend.is_compatible
