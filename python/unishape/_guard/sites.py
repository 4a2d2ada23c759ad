"""A place in the source where operands are stretched."""

from dataclasses import asdict, dataclass

from .. import _unishape


@dataclass
class BroadcastSite:
    """A place in source code where an operation has broadcast arrays.

    Attributes
    ----------
    file, line, module, function : str, int, str, str
        Where it is.
    expression : str
        Source text of the operation; empty where there is no source.
    operation : str
        Name of NumPy's or PyTorch's function.
    names : tuple of str
        Source text of the two operands.
    shapes : tuple of tuples of int
        Their shapes when the operation was first seen there.
    result : tuple of int
        Their common shape.
    kind : str
        What is stretched: "one operand stretched", "ambiguous", "both stretched" or "same sizes stretched".
    reason : str
        Why it is suspicious; empty where it is not.
    allowed_by : str
        The rule by which a suspicious site is not reported; empty if there is none.
    count : int
        How often the operation was seen.
    """

    file: str
    line: int
    module: str
    function: str
    expression: str
    operation: str
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]
    kind: str
    reason: str
    allowed_by: str = ""
    count: int = 1

    @property
    def suspicious(self):
        """Whether the broadcast is probably a mistake."""
        return bool(self.reason) and not self.allowed_by

    def headline(self):
        """The operation and its shapes, in one line."""
        first, second = self.shapes
        what = self.expression or self.operation
        return f"{what}: {first} with {second} gives {self.result}"

    def diagram(self):
        """The shapes, aligned on the right, with a mark under each dimension that is stretched."""
        first, second = self.names
        rows = [(first, self.shapes[0]), (second, self.shapes[1]), ("result", self.result)]
        return _unishape._alignment([(name, list(shape)) for name, shape in rows])

    def text(self):
        """Place, expression, shapes aligned, and reason."""
        place = f'  File "{self.file}", line {self.line}, in {self.function}'
        lines = [f"suspicious broadcast: {self.headline()}" if self.suspicious else self.headline(), place, ""]
        lines += self.diagram().splitlines()
        if self.reason:
            lines += [self.reason]
        return "\n".join(lines)

    def as_dict(self):
        """The attributes, for JSON."""
        return asdict(self)


def summary_of(sites):
    """The number of sites, and how many of them are suspicious."""
    suspicious = sum(each.suspicious for each in sites)
    return f"{len(sites)} site{'' if len(sites) == 1 else 's'}, {suspicious} suspicious"


def text_of(sites):
    """The suspicious sites, and the summary."""
    return "\n\n".join([*(each.text() for each in sites if each.suspicious), summary_of(sites)])
