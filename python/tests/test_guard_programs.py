"""The guard finds mistakes that others have reported, and accepts correct code."""

import inspect

import guard_programs
import pytest

import unishape


@pytest.mark.parametrize("program", guard_programs.MISTAKES, ids=lambda each: each.__name__)
def test_mistake_is_found(program):
    lines, first = inspect.getsourcelines(program)
    (at,) = [at for at, line in enumerate(lines) if line.startswith("    ") and "  # " in line]
    expected = lines[at].split("  # ")[-1].strip()
    with unishape.guard(policy="collect") as watch:
        program()
    (site,) = watch.suspicious
    assert (site.file, site.line, site.function) == (guard_programs.__file__, first + at, program.__name__)
    assert site.expression == expected
    # The sizes in the message are those of the operands.
    assert str(site.shapes[0]) in site.text() and str(site.result) in site.text()


@pytest.mark.parametrize("program", guard_programs.MISTAKES, ids=lambda each: each.__name__)
def test_mistake_raises_before_it_is_computed(program):
    with pytest.raises(unishape.SuspiciousBroadcastError) as error, unishape.guard(policy="raise"):
        program()
    assert error.value.site.suspicious
    assert error.traceback[1].name == program.__name__


@pytest.mark.parametrize("program", guard_programs.CORRECT, ids=lambda each: each.__name__)
def test_correct_code_is_accepted(program):
    with unishape.guard(policy="raise"):
        program()


def test_there_are_enough_programs():
    assert len(guard_programs.MISTAKES) >= 20 and len(guard_programs.CORRECT) >= 15
