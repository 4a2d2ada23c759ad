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
from onnx_generated import evaluate  # noqa: E402
import unishape.onnx  # noqa: E402


@pytest.fixture(params=real.MODELS, ids=lambda model: model.file.rsplit("/", 1)[-1].removesuffix(".onnx"), scope="module")
def case(request):
    try:
        path = real.fetch(request.param)
    except Exception as error:
        if "CI" in os.environ:
            raise
        pytest.skip(f"the model cannot be downloaded: {error}")
    return request.param, path, onnx.load(path)


def test_no_broadcast_is_missed_or_invented(case):
    _, path, model = case
    report = unishape.onnx.explain(path)
    assert report.conflicts == []
    found = {(each["path"], each["node"]): each for each in report.broadcasts}
    nodes = {
        (path, index): node for path, graph in real.graphs(model) for index, node in enumerate(graph.node)
    }
    checked = 0
    for place, seen in real.observed(path).items():
        for shapes in seen:
            truth = real.broadcasts(nodes[place], shapes)
            if truth is None:
                continue
            checked += 1
            reported = found.get(place)
            assert reported or not truth, f"missed: {place} {nodes[place].op_type} {shapes}"
            assert truth or not reported or not reported["certain"], f"invented: {place} {shapes} {reported}"
    assert checked


def test_at_least_as_certain_as_onnx(case):
    """Wherever `onnx.shape_inference` can tell whether a node broadcasts, so can unishape."""
    _, path, _ = case
    for each in real.judged(path):
        assert each.onnx == "perhaps" or each.ours == each.onnx, each


def test_figures_of_the_page():
    """docs/onnx-conformance.md has these counts. UNISHAPE_DRAW=1 writes them."""
    try:
        section = real.figures()
    except Exception as error:
        if "CI" in os.environ:
            raise
        pytest.skip(f"a model cannot be downloaded: {error}")
    page, _, old = real.PAGE.read_text().partition(real.HEADING)
    old, _, measured = (real.HEADING + old).partition(real.MEASURED)
    if os.environ.get("UNISHAPE_DRAW"):
        real.PAGE.write_text(f"{page}{section}\n{real.MEASURED}{measured}")
        old = f"{section}\n"
    assert old == f"{section}\n", "UNISHAPE_DRAW=1 updates docs/onnx-conformance.md; review the changes"


def test_inferred_shapes_are_right(case):
    """Every inferred size, a number or an expression of symbols, is the size that ONNX Runtime computes."""
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
                for size, expected in zip(shape, array.shape):
                    # Symbols of exporters may contain any character.
                    if isinstance(size, str) and "?" not in size and all(name.isidentifier() for name in dims):
                        size = evaluate(size, dims)
                    assert not isinstance(size, int) or size == expected, (name, shape, array.shape)


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
