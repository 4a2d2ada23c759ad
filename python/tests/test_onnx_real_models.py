"""Real models: no broadcast is missed or invented, and rewritten models compute the same.

The ground truth are the shapes that ONNX Runtime sees at every node, in subgraphs, too.
"""

import os

import pytest

if "CI" not in os.environ:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

import numpy as np  # noqa: E402
import onnx  # noqa: E402

import onnx_real_models as real  # noqa: E402
import unishape.onnx  # noqa: E402

#: Element-wise operators that broadcast: all inputs have the same shape, or some are stretched.
ELEMENT_WISE = {
    *("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Sum", "Mean", "And", "Or", "Xor", "Equal", "Less"),
    *("Greater", "LessOrEqual", "GreaterOrEqual", "Where", "PRelu", "BitShift", "BitwiseAnd", "BitwiseOr"),
}


@pytest.fixture(params=real.MODELS, ids=lambda model: model.file.rsplit("/", 1)[-1].removesuffix(".onnx"), scope="module")
def case(request):
    try:
        path = real.fetch(request.param)
    except Exception as error:
        if "CI" in os.environ:
            raise
        pytest.skip(f"the model cannot be downloaded: {error}")
    return request.param, path, onnx.load(path)


def broadcasts(node, shapes):
    """Whether a node broadcasts inputs of these shapes; None if the test does not know its operator."""
    if node.domain not in ("", "ai.onnx"):
        return None
    if node.op_type in ELEMENT_WISE:
        return len(set(shapes)) > 1
    if node.op_type == "MatMul":
        return shapes[0][:-2] != shapes[1][:-2]
    if node.op_type == "Gemm":
        a, b, *c = shapes
        transposed = {attribute.name: attribute.i for attribute in node.attribute}
        result = (a[1 if transposed.get("transA") else 0], b[0 if transposed.get("transB") else 1])
        return bool(c) and c[0] != result
    if node.op_type == "LayerNormalization":
        return any(shape != shapes[0] for shape in shapes[1:])
    return None


def test_no_broadcast_is_missed_or_invented(case):
    _, path, model = case
    report = unishape.onnx.explain(path)
    assert report.conflicts == []
    found = {(each["path"], each["node"]): each for each in report.broadcasts}
    nodes = {
        (path, index): node for path, graph in real.graphs(model) for index, node in enumerate(graph.node)
    }
    checked = 0
    for given in real.runs(path):
        for place, seen in real.shapes_at_run_time(model, given).items():
            for shapes in seen:
                truth = broadcasts(nodes[place], shapes)
                if truth is None:
                    continue
                checked += 1
                reported = found.get(place)
                assert reported or not truth, f"missed: {place} {nodes[place].op_type} {shapes}"
                assert truth or not reported or not reported["certain"], f"invented: {place} {shapes} {reported}"
    assert checked


def test_inferred_shapes_are_right(case):
    """Every inferred size that is a number is the size that ONNX Runtime computes."""
    _, path, model = case
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    known = {value.name for value in [*exposed.graph.input, *exposed.graph.output, *exposed.graph.initializer]}
    values = dict.fromkeys(name for node in exposed.graph.node for name in node.output if name and name not in known)
    exposed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in values)
    opened = real.session(exposed)
    names = [each.name for each in opened.get_outputs()]
    for given in real.runs(path):
        # Once with unknown sizes, once with those of the run.
        declared = {each.name: each.shape for each in opened.get_inputs()}
        pairs = (pair for name, array in given.items() for pair in zip(declared[name], array.shape))
        dims = {symbol: size for symbol, size in pairs if isinstance(symbol, str)}
        results = opened.run(names, given)
        for inferred in (unishape.onnx.shapes(path), unishape.onnx.shapes(path, dims=dims)):
            for name, array in zip(names, results):
                shape = inferred[name]
                if shape is None or not isinstance(array, np.ndarray):
                    continue
                assert len(shape) == array.ndim, (name, shape, array.shape)
                known = [(size, real_size) for size, real_size in zip(shape, array.shape) if isinstance(size, int)]
                assert all(size == real_size for size, real_size in known), (name, shape, array.shape)


def test_explicit_models_compute_the_same(case):
    """Bit for bit without optimizations; one pass settles; implicit restores the bytes of the file."""
    _, path, _ = case
    loaded = unishape.onnx._load(path)
    options = dict(dims={}, certain_only=False, expand_pow=False, expand_matmul=False)
    explicit, _ = loaded.explicit(**options)
    again, expands = explicit.explicit(**options)
    assert expands == 0 and again.to_bytes() == explicit.to_bytes()
    left = explicit.explain(dims={}).broadcasts
    assert {each["kind"] for each in left} <= {"pow", "matmul", "normalization", "quantization"}
    assert explicit.implicit(all=False)[0].to_bytes() == path.read_bytes()
    before, after = real.session(str(path)), real.session(explicit.to_bytes())
    for given in real.runs(path):
        for result, expected in zip(after.run(None, given), before.run(None, given), strict=True):
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            assert result.tobytes() == expected.tobytes()
