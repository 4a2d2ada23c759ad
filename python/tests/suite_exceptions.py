"""Lists of tests of other libraries that do not apply, with reasons; each must fail."""

import pytest


def mark(items, file):
    """Marks the tests that a file lists as ones that must fail; an entry without a test is an error."""
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    reasons = dict(line.split(": ", 1) for line in lines)
    for item in items:
        reason = reasons.pop(item.nodeid.split("::", 1)[1], None)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    if reasons:
        raise pytest.UsageError(f"{file.name} lists tests that do not exist: {sorted(reasons)}")
