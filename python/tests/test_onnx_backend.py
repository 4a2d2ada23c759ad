"""ONNX's own node tests against unishape.onnx, each as a case of its own, and none of them skipped."""

import os

import pytest

if "CI" not in os.environ:
    pytest.importorskip("onnx")

import onnx  # noqa: E402

import onnx_node_suite as nodes  # noqa: E402
import unishape.onnx  # noqa: E402


@pytest.mark.parametrize("case", nodes.cases(), ids=lambda case: case.name)
def test_node(case):
    wrong = nodes.outcome(case)
    assert wrong is None, wrong


def test_none_is_lost():
    """ONNX 1.23's cases; another version may have more, and then this number is to be looked at."""
    chosen = nodes.cases()
    assert len({case.name for case in chosen}) == len(chosen)
    assert {case.op_type for case in chosen} == nodes.BROADCASTING | nodes.OTHERS
    broadcasting = [case for case in chosen if case.op_type in nodes.BROADCASTING and case.name not in nodes.MODELS]
    if onnx.__version__.startswith("1.23."):
        assert len(broadcasting) == 218
        assert len(chosen) == 407
    else:
        assert len(broadcasting) >= 218


def test_none_is_skipped():
    assert set(nodes.functions()) == {case.name for case in nodes.cases()}


def test_a_wrong_result_is_seen(monkeypatch):
    """One unit in the last place is a failure where there is one right result."""
    case = next(case for case in nodes.cases() if case.name == "test_add")
    right = unishape.onnx.Model.run

    def wrong(self, inputs, **options):
        outputs = right(self, inputs, **options)
        outputs[0].view("i4")[0, 0, 0] += 1
        return outputs

    monkeypatch.setattr(unishape.onnx.Model, "run", wrong)
    assert "not bit for bit" in nodes.outcome.__wrapped__(case)


def test_a_case_that_is_left_out_is_seen(monkeypatch):
    from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

    def none(*_, **__):
        raise BackendIsNotSupposedToImplementIt("not for us")

    monkeypatch.setattr(unishape.onnx.UnishapeBackend, "prepare", none)
    assert nodes.outcome.__wrapped__(nodes.cases()[0]) == "nothing was compared"


def test_other_devices_are_refused():
    assert not unishape.onnx.supports_device("CUDA")
    with pytest.raises(ValueError, match="not on CUDA"):
        unishape.onnx.prepare(onnx.ModelProto(), device="CUDA")


def test_a_node_alone():
    import numpy as np

    node = onnx.helper.make_node("Add", ["a", "b"], ["c"])
    (sum_,) = unishape.onnx.run_node(node, [np.int32([1, 2]), np.int32([[10], [20]])])
    assert sum_.tolist() == [[11, 12], [21, 22]]
    # The opset decides for which types an operator is.
    bytes_ = [np.int8([1]), np.int8([2])]
    with pytest.raises(ValueError, match="from opset 14 on"):
        unishape.onnx.run_node(node, bytes_, opset_version=13)
    assert unishape.onnx.run_node(node, bytes_, opset_version=14)[0].tolist() == [3]
