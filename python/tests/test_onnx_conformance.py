"""docs/onnx-conformance.md is what the tests found. UNISHAPE_DRAW=1 writes it."""

import collections
import os
import textwrap
from pathlib import Path

import pytest

if "CI" not in os.environ:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

import onnx  # noqa: E402
import onnxruntime  # noqa: E402

import onnx_cells  # noqa: E402
import onnx_corpus as corpus  # noqa: E402
import onnx_disagreements  # noqa: E402
import onnx_node_suite as nodes  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "onnx-conformance.md"

TEXT = """\
# ONNX's operators, by type

How many cases each operator of `unishape.onnx` has been run on, for each type, and whether they all came out right.
Nothing here is written by hand: the tests run the cases and compare this page with what they found
(`python/tests/test_onnx_conformance.py`; `UNISHAPE_DRAW=1` writes it). A number is of cases that passed; if some had
not, it would read *passed of all*.

Made with onnx {onnx}, its opset {opset}, and ONNX Runtime {runtime}, on its CPU provider.

## ONNX's own node tests

The cases that the package `onnx` makes for its backends: {node_cases}, of which {broadcasting} are all single-node
cases of the operators that broadcast, and {models} are its models `expand_shape_model`. Outputs are compared bit for
bit; those of functions that nobody rounds correctly ({approximate}) within {ulps} units in the last place, Gelu within
{gelu}. The suite itself would let 1e-3 pass.

Not counted: cases with types that are not computed with (the 8-bit floating point types, integers and floating point of
less than 8 bits), and Identity of sequences and optional values. The type is that of the first input, and for Where of
the second.

{node_table}

## Beside ONNX Runtime

ONNX's cases have no sizes of 0, no rank above 4, and no broadcasting for Max, Min, Mean, Sum, Where and BitShift. The
corpus has: {corpus_cases} cases of every operator in each version since opset 7 ({cells} combinations of operator,
version, type and attributes), with scalars, up to six dimensions, sizes of 0, every input stretched, and values such as
infinities, NaN, -0, subnormal numbers and the ends of the integers. A case is one run; shapes and values are drawn, with
a seed. {by_runtime} are compared with ONNX Runtime, {in_float} of bfloat16 with ONNX Runtime in float, rounded once.
For the rest ONNX Runtime has no implementation, or takes no bfloat16 from Python: {by_reference} are compared with
ONNX's reference and {by_numpy}, of Mean, which the reference does not broadcast, with NumPy. {unasked} could be compared
with nobody. Of the {pairs} pairs of operator and type, ONNX Runtime has {not_run} in no version: their numbers are in
*italics*.

Bit for bit but for the approximated functions, which may be {corpus_ulps} units in the last place off, or, where ONNX
Runtime's own lose accuracy near 0, {epsilons} times the type's epsilon of 1 or of the argument. Operators that make or
rearrange shapes (Constant, Shape, Concat, …) are not in it.

{corpus_table}

## Where others have it differently

Elements that are not compared, because it is known why they differ. Each happens in the corpus: a line that is no
longer needed fails the tests.

{disagreements}

ONNX Runtime ends the process, or does what C++ leaves open, for integers divided by 0, the smallest integer divided by
-1, shifts by the width of the type or more, and floating point converted to an integer that does not hold it. The corpus
leaves these out. Here they give 0, the smallest integer, 0 and the nearest integer (of NaN 0), which tests of their own
see to.
"""

SHORT = {"complex64": "c64", "complex128": "c128", "bfloat16": "bf16", "float16": "f16", "float": "f32", "double": "f64"}


def short(dtype):
    return SHORT.get(dtype, dtype.replace("uint", "u").replace("int", "i"))


def table(counts, mark=lambda key, text: text):
    """Of {(operator, type): (passed, all)}."""
    dtypes = [dtype for dtype in nodes.TYPES if any(key[1] == dtype for key in counts)]
    rows = ["| | " + " | ".join(map(short, dtypes)) + " | all |", "|---|" + "---:|" * (len(dtypes) + 1)]

    def told(passed, all_):
        return "" if not all_ else f"{passed}" if passed == all_ else f"{passed} of {all_}"

    def row(name, of):
        total = [sum(part) for part in zip(*of.values())]
        cells = [mark((name, dtype), told(*of.get(dtype, (0, 0)))) for dtype in dtypes]
        return f"| {name} | " + " | ".join([*cells, told(*total)]) + " |"

    for op_type in sorted({op_type for op_type, _ in counts}):
        rows.append(row(op_type, {dtype: count for (its, dtype), count in counts.items() if its == op_type}))
    sums = {}
    for (_, dtype), (passed, all_) in counts.items():
        before = sums.get(dtype, (0, 0))
        sums[dtype] = (before[0] + passed, before[1] + all_)
    return "\n".join([*rows, row("**all**", sums)])


def counted(found):
    """Of pairs of a key and whether it passed, some of them for many."""
    counts = collections.defaultdict(lambda: (0, 0))
    for key, passed, all_ in found:
        counts[key] = (counts[key][0] + passed, counts[key][1] + all_)
    return dict(counts)


def node_counts():
    for case in nodes.cases():
        # The models of Expand are float.
        dtype = "float" if case.name in nodes.MODELS else case.dtype
        yield (case.op_type, dtype), int(nodes.outcome(case) is None), 1


def corpus_counts():
    for cell in onnx_cells.cells():
        found = corpus.outcome(cell)
        yield (cell.op_type, cell.dtype), found.cases - bool(found.wrong), found.cases


def release(module):
    """Without the last part, which is for repairs."""
    return ".".join(module.__version__.split(".")[:2])


def wrapped(text):
    """Lines of one length, whatever numbers are in them; tables and headings as they are."""
    fill = lambda part: part if part.startswith(("|", "#")) else textwrap.fill(part, 116, break_on_hyphens=False)
    return "\n\n".join(map(fill, text.rstrip().split("\n\n"))) + "\n"


def page():
    outcomes = {cell: corpus.outcome(cell) for cell in onnx_cells.cells()}
    by = collections.Counter()
    for each in outcomes.values():
        by[each.oracle] += each.cases
    pairs = {(cell.op_type, cell.dtype) for cell in outcomes}
    run = {(cell.op_type, cell.dtype) for cell, each in outcomes.items() if each.oracle == "ONNX Runtime"}
    chosen = nodes.cases()
    broadcasting = [case for case in chosen if case.op_type in nodes.BROADCASTING and case.name not in nodes.MODELS]
    escaped = lambda text: text.replace("|", r"\|")
    known = onnx_disagreements.DISAGREEMENTS
    lines = [f"| {escaped(one.what)} | {escaped(one.decision)} |" for one in known]
    italic = lambda key, text: f"*{text}*" if text and key in pairs - run else text
    found = dict(
        onnx=release(onnx),
        opset=onnx.defs.onnx_opset_version(),
        runtime=release(onnxruntime),
        node_cases=len(chosen),
        broadcasting=len(broadcasting),
        models=len(nodes.MODELS),
        approximate=", ".join(sorted(nodes.APPROXIMATE)),
        ulps=nodes.ULPS,
        gelu=nodes.MORE_ULPS["Gelu"],
        node_table=table(counted(node_counts())),
        corpus_cases=sum(by.values()),
        cells=len(outcomes),
        by_runtime=by["ONNX Runtime"],
        in_float=by["ONNX Runtime in float"],
        by_reference=by["reference"],
        by_numpy=by["NumPy"],
        unasked=sum(each.unasked for each in outcomes.values()),
        pairs=len(pairs),
        not_run=len(pairs - run),
        corpus_ulps=onnx_disagreements.ULPS,
        epsilons=onnx_disagreements.EPSILONS,
        corpus_table=table(counted(corpus_counts()), italic),
        disagreements="\n".join(["| | what is decided, and why |", "|---|---|", *lines]),
    )
    return wrapped(TEXT.format(**found))


def test_the_page_is_what_was_found():
    made = page()
    if os.environ.get("UNISHAPE_DRAW"):
        PAGE.write_text(made)
    assert made == PAGE.read_text(), "UNISHAPE_DRAW=1 writes docs/onnx-conformance.md anew; then look at what changed"


def test_a_failure_would_be_seen():
    drawn = table({("Add", "float"): (3, 4), ("Add", "int8"): (2, 2)})
    assert drawn.splitlines()[2:] == ["| Add | 3 of 4 | 2 | 5 of 6 |", "| **all** | 3 of 4 | 2 | 5 of 6 |"]
