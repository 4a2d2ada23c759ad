"""Generated models: inferred shapes and broadcasts, beside those that ONNX Runtime computes."""

import os

import pytest

if "CI" not in os.environ:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")


import onnx_generated as generated  # noqa: E402
import onnx_real_models as real  # noqa: E402
import unishape.onnx  # noqa: E402
from onnx_real_models import broadcasts  # noqa: E402


def check(draft):
    """Compares the inference with a run, with known and with symbolic sizes; None if ONNX Runtime rejects the model."""
    model, _ = draft.model(symbolic=False)
    try:
        session = real.session(model)
        names = [output.name for output in session.get_outputs()]
        results = session.run(names, draft.arrays)
    except Exception:
        return None
    shapes = {name: array.shape for name, array in [*draft.arrays.items(), *zip(names, results)]}
    shapes.update({tensor.name: tuple(tensor.dims) for tensor in draft.initializers})
    known = 0
    for symbolic in (False, True, True):
        model, sizes = draft.model(symbolic)
        context = (str(model.graph), sizes)
        inferred = unishape.onnx.shapes(model)
        for name in names:
            if inferred[name] is None:
                continue
            assert len(inferred[name]) == len(shapes[name]), (name, inferred[name], shapes[name], *context)
            for size, expected in zip(inferred[name], shapes[name]):
                if isinstance(size, str) and "?" not in size:
                    size = generated.evaluate(size, sizes)
                known += isinstance(size, int)
                assert not isinstance(size, int) or size == expected, (name, inferred[name], shapes[name], *context)
        report = unishape.onnx.explain(model)
        assert report.conflicts == [] and report.not_analyzed == [], context
        found = {each["node"]: each for each in report.broadcasts}
        for index, node in enumerate(model.graph.node):
            truth = broadcasts(node, [shapes[name] for name in node.input if name])
            if truth is None:
                continue
            each = found.get(index)
            assert each or not truth, ("missed", index, *context)
            assert truth or not each or not each["certain"], ("invented", index, *context)
            # Where all sizes are known, so is the answer.
            assert symbolic or (bool(each) and each["certain"]) == truth, ("perhaps", index, *context)
        explicit = unishape.onnx.explicit(model)
        if explicit == model:
            continue
        assert unishape.onnx.implicit(explicit) == model, context
        for result, expected in zip(real.session(explicit).run(names, draft.arrays), results, strict=True):
            assert (result.shape, result.tobytes()) == (expected.shape, expected.tobytes()), context
    return known


@pytest.mark.parametrize("make", generated.OPERATORS, ids=lambda make: make.__name__)
def test_one_operator(make):
    checked = 0
    for seed in range(60):
        draft = generated.Draft(seed)
        make(draft)
        checked += check(draft) is not None
    assert checked >= 30, "ONNX Runtime rejects most models"


def test_computed_shapes():
    known = 0
    for seed in range(400):
        draft = generated.Draft(seed)
        generated.chain(draft)
        if draft.nodes:
            known += check(draft) or 0
    assert known > 10_000


def test_control_flow():
    """If, Loop and Scan in each other: broadcasts inside of them, and the explicit models, which compute the same."""
    checked = 0
    for seed in range(300):
        flow = generated.Flow(seed)
        for condition in (True, False):
            given = flow.arrays(condition)
            try:
                seen = real.shapes_at_run_time(flow.model(symbolic=False), given)
            except Exception:
                continue
            for symbolic in (False, True):
                model = flow.model(symbolic)
                found = {(each["path"], each["node"]): each for each in unishape.onnx.explain(model).broadcasts}
                nodes = {(path, index): node for path, graph in real.graphs(model) for index, node in enumerate(graph.node)}
                for place, shapes in ((place, shapes) for place, all_ in seen.items() for shapes in all_):
                    truth, each = broadcasts(nodes[place], shapes), found.get(place)
                    assert not truth or each, ("missed", seed, place)
                    assert truth is not False or not each or not each["certain"], ("invented", seed, place)
                    checked += bool(truth and place[0])
                explicit = unishape.onnx.explicit(model)
                assert unishape.onnx.explain(explicit).broadcasts == [], seed
                assert unishape.onnx.implicit(explicit) == model, seed
                (expected,), (result,) = (real.session(each).run(None, given) for each in (model, explicit))
                assert (result.shape, result.tobytes()) == (expected.shape, expected.tobytes()), seed
    assert checked > 100


def test_expressions_are_evaluated():
    assert generated.evaluate("floor((H+1)/2)", {"H": 4}) == 2
    assert generated.evaluate("2*(M|N)-max(M-3,0)", {"M": 1, "N": 5}) == 10
    assert generated.evaluate("floor(M/(2*N))", {"M": 9, "N": 2}) == 2
