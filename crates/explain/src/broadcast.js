// Computes from the shapes alone which element each cell reads, and shows it.
const dZ = shapes.z.map(BigInt);
const inputs = shapes.x.map((sizes) => {
  const dX = sizes.map(BigInt);
  const added = dZ.length - dX.length;
  return { added, dY: Array(added).fill(1n).concat(dX) };
});

// The index map of step 2: output index a, in a dimension of size b stretched to size c.
const f = (a, b, c) => (b === c ? a : 0n);

const indexInY = (input, index) => index.map((a, dim) => f(a, input.dY[dim], dZ[dim]));
const fields = [...document.querySelectorAll("#ask input")];

// Shows which element of every input is read at an index of Z.
function showOutput(index) {
  const names = [];
  showLines(inputs.map((input, m) => {
    const inY = indexInY(input, index);
    const steps = [text(`Z${m}`, index), text(`Y${m}`, inY), text(`X${m}`, inY.slice(input.added))];
    names.push(...steps);
    const shown = cells.get(steps[2]);
    const value = shown === undefined ? "" : `: ${shown.textContent}`;
    return [steps.join(" = ") + value, ...index.map((a, dim) => `f(${a}, ${input.dY[dim]}, ${dZ[dim]}) = ${inY[dim]}`)];
  }));
  highlight(names);
}

// Shows which elements of Z read the element at an index of Y.
function showSource(m, inY) {
  const input = inputs[m];
  const inX = text(`X${m}`, inY.slice(input.added));
  const readers = [...cells.values()].filter(({ dataset }) =>
    dataset.of === `Z${m}` && indexInY(input, parse(dataset.index)).join() === inY.join());
  const pattern = inY.map((a, dim) => (input.dY[dim] === dZ[dim] ? a : "∗"));
  const line = `${inX} = ${text(`Y${m}`, inY)} = ${text(`Z${m}`, pattern)}`;
  showLines([[line, pattern.includes("∗") ? "∗ is any index" : "read once"]]);
  highlight([inX, text(`Y${m}`, inY), ...readers.map(({ dataset }) => text(dataset.of, [dataset.index]))]);
}

function show(cell) {
  const { of, index } = cell.dataset;
  const m = Number(of.slice(1));
  const at = parse(index);
  if (of[0] === "Z") showOutput(at);
  else showSource(m, of[0] === "X" ? Array(inputs[m].added).fill(0n).concat(at) : at);
}

// The form has the index of the cell with the focus.
function focused(cell) {
  if (cell.dataset.of[0] !== "Z") return;
  parse(cell.dataset.index).forEach((a, dim) => { fields[dim].value = String(a); });
  check();
}

// The index in the form, and a message for each invalid field.
function check() {
  const errors = [];
  const index = fields.map((field, dim) => {
    const digits = field.value.trim();
    const a = /^[0-9]{1,40}$/.test(digits) ? BigInt(digits) : -1n;
    const fits = a >= 0n && a < dZ[dim];
    field.setAttribute("aria-invalid", String(!fits));
    if (!fits) errors.push([`dimension ${dim}: an index is a number from 0 to ${dZ[dim] - 1n}`]);
    return a;
  });
  return { index, errors };
}

function showIndex() {
  const { index, errors } = check();
  if (errors.length === 0) return showOutput(index);
  highlight([]);
  showLines(errors);
}

const form = document.getElementById("ask");
form.addEventListener("input", showIndex);
form.addEventListener("submit", (event) => { event.preventDefault(); showIndex(); });
