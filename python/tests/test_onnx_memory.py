"""Memory of outputs is reused only after it has been released."""

import numpy as np
import onnx.parser

import unishape.onnx

MODEL = onnx.parser.parse_model(
    """
    <ir_version: 10, opset_import: ["" : 21]>
    twice (float[N] x) => (float[N] y, bool[N] z) { y = Add(x, x) z = Less(x, y) }
    """
)


def test_live_outputs_are_not_overwritten():
    program = unishape.onnx.load(MODEL)
    kept = []
    for number in range(1, 6):
        x = np.full(100_000, number, "float32")
        kept.append(program(x=x))
        view = program(x=x)["y"][::7]  # the array is released, but the view keeps its memory alive
        again = program(x=-x)
        assert (view == 2 * number).all() and (again["y"] == -2 * number).all() and not again["z"].any()
    for number, outputs in enumerate(kept, 1):
        assert (outputs["y"] == 2 * number).all() and outputs["z"].all()


def test_released_memory_is_reused():
    program = unishape.onnx.load(MODEL)
    x = np.ones(1_000_000, "float32")
    addresses = {program(x=x)["y"].ctypes.data for _ in range(5)}
    assert len(addresses) == 1
    # An output that is the input of the next run is not overwritten.
    y = x
    for _ in range(5):
        y = program(x=y)["y"]
    assert (y == 32).all()
    assert program(x=x[:5000])["y"].shape == (5000,)
    outputs = program(x=x)
    del program
    assert (outputs["y"] == 2).all()
