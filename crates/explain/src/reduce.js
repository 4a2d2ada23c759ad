// Computes from the shapes alone which elements are folded into which, and shows it.
const { op, keeps } = shapes;
const reduced = shapes.reduced;
const collapse = (index) => index.map((a, dim) => (reduced[dim] ? 0n : a));
const drop = (inY) => (keeps ? inY : inY.filter((_, dim) => !reduced[dim]));

// The index in Y of any cell.
function indexInY({ of, index }) {
  const at = parse(index);
  if (of === "X") return collapse(at);
  if (of === "Y" || keeps) return at;
  return reduced.map((isReduced) => (isReduced ? 0n : at.shift()));
}

function show(cell) {
  const inY = indexInY(cell.dataset);
  const pattern = inY.map((a, dim) => (reduced[dim] ? ":" : a));
  const result = text("R", drop(inY));
  const sources = [...cells.values()].filter(({ dataset }) =>
    dataset.of === "X" && indexInY(dataset).join() === inY.join());
  const value = cells.get(result);
  showLines([[`${result} = ${text("Y", inY)} = ${op}(${text("X", pattern)})` +
    (value === undefined ? "" : `: ${value.textContent}`), ": is every index"]]);
  highlight([result, text("Y", inY), ...sources.map(({ dataset }) => text(dataset.of, [dataset.index]))]);
}

function focused() {}
