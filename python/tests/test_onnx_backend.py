"""The node tests of the onnx package against unishape.onnx, one test per case, none skipped."""

import os

import pytest

if "CI" not in os.environ:
    pytest.importorskip("onnx")

import onnx  # noqa: E402

import onnx_node_suite as nodes  # noqa: E402
import unishape.onnx  # noqa: E402


@pytest.mark.parametrize("case", nodes.cases(), ids=lambda case: case.name)
def test_node(case):
    failure = nodes.outcome(case)
    assert failure is None, failure


def test_number_of_cases():
    """The number for onnx 1.23; another version may have more cases, and then the number needs an update."""
    chosen = nodes.cases()
    assert len({case.name for case in chosen}) == len(chosen)
    assert {case.op_type for case in chosen} == nodes.SUPPORTED
    broadcasting = [case for case in chosen if case.op_type in nodes.BROADCASTING and case.name not in nodes.MODELS]
    if onnx.__version__.startswith("1.23."):
        assert len(broadcasting) == 218
        assert len(chosen) == 407 + 181
    else:
        assert len(broadcasting) >= 218


def test_no_case_is_skipped():
    assert set(nodes.functions()) == {case.name for case in nodes.cases()}


def test_wrong_results_are_detected(monkeypatch):
    """An error of one unit in the last place is a failure where the result is exactly defined."""
    case = next(case for case in nodes.cases() if case.name == "test_add")
    correct_run = unishape.onnx.Model.run

    def wrong_run(self, inputs, **options):
        outputs = correct_run(self, inputs, **options)
        outputs[0].view("i4")[0, 0, 0] += 1
        return outputs

    monkeypatch.setattr(unishape.onnx.Model, "run", wrong_run)
    assert "not bit for bit" in nodes.outcome.__wrapped__(case)


def test_refused_cases_are_detected(monkeypatch):
    from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

    def refuse(*_, **__):
        raise BackendIsNotSupposedToImplementIt("refused")

    monkeypatch.setattr(unishape.onnx.UnishapeBackend, "prepare", refuse)
    assert nodes.outcome.__wrapped__(nodes.cases()[0]) == "nothing was compared"


@pytest.mark.parametrize("test", nodes.expanded(), ids=lambda test: test.name)
def test_expanded_function(test):
    """Several nodes, which are fused. Each of them rounds, as in the graph that computed the expected outputs."""
    compiled = unishape.onnx.load(test.model)
    for given, expected in test.data_sets:
        for result, reference in zip(compiled.run(list(given)), expected, strict=True):
            near = nodes.near_one(result, reference, nodes.EPSILONS)
            failure = nodes.difference(result, reference, nodes.ULPS, near)
            assert failure is None, failure


def test_number_of_expanded_functions():
    assert len(nodes.expanded()) >= 73


def test_training_is_refused():
    """The cases that are excluded: what they need is not computed, and the error says so."""
    refused = [test for test in nodes.suite()[1] if test.name in nodes.TRAINING]
    assert len(refused) == len(nodes.TRAINING) == 2
    for test in refused:
        (given, _), *_ = test.data_sets
        with pytest.raises(NotImplementedError, match="training mode of BatchNormalization is not supported"):
            unishape.onnx.load(test.model).run(list(given))


def test_other_devices_are_rejected():
    assert not unishape.onnx.supports_device("CUDA")
    with pytest.raises(ValueError, match="not CUDA"):
        unishape.onnx.prepare(onnx.ModelProto(), device="CUDA")


def test_run_node():
    import numpy as np

    node = onnx.helper.make_node("Add", ["a", "b"], ["c"])
    (sum_,) = unishape.onnx.run_node(node, [np.int32([1, 2]), np.int32([[10], [20]])])
    assert sum_.tolist() == [[11, 12], [21, 22]]
    # The opset determines the element types of an operator.
    int8_inputs = [np.int8([1]), np.int8([2])]
    with pytest.raises(ValueError, match="from opset 14"):
        unishape.onnx.run_node(node, int8_inputs, opset_version=13)
    assert unishape.onnx.run_node(node, int8_inputs, opset_version=14)[0].tolist() == [3]
