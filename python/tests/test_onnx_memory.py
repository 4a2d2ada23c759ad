"""The memory of outputs: written over where nobody has it any more, and never before."""

import numpy as np
import onnx.parser

import unishape.onnx

MODEL = onnx.parser.parse_model(
    """
    <ir_version: 10, opset_import: ["" : 21]>
    twice (float[N] x) => (float[N] y, bool[N] z) { y = Add(x, x) z = Less(x, y) }
    """
)


def test_outputs_that_are_there_stay_as_they_are():
    program = unishape.onnx.load(MODEL)
    kept = []
    for number in range(1, 6):
        x = np.full(100_000, number, "float32")
        kept.append(program(x=x))
        view = program(x=x)["y"][::7]  # the array itself is gone, but not its memory
        again = program(x=-x)
        assert (view == 2 * number).all() and (again["y"] == -2 * number).all() and not again["z"].any()
    for number, outputs in enumerate(kept, 1):
        assert (outputs["y"] == 2 * number).all() and outputs["z"].all()


def test_memory_is_used_again():
    program = unishape.onnx.load(MODEL)
    x = np.ones(1_000_000, "float32")
    places = {program(x=x)["y"].ctypes.data for _ in range(5)}
    assert len(places) == 1
    # An output as the next one's input is still there.
    y = x
    for _ in range(5):
        y = program(x=y)["y"]
    assert (y == 32).all()
    assert program(x=x[:5000])["y"].shape == (5000,)
    outputs = program(x=x)
    del program
    assert (outputs["y"] == 2).all()
