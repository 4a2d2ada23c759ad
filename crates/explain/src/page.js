"use strict";
// Computes from the shapes alone which element each cell reads, and shows it. Sizes and indices are BigInts,
// since they may exceed the exact integers of numbers.
const shapes = JSON.parse(document.getElementById("shapes").textContent);
const dZ = shapes.z.map(BigInt);
const inputs = shapes.x.map((sizes) => {
  const dX = sizes.map(BigInt);
  const added = dZ.length - dX.length;
  return { added, dY: Array(added).fill(1n).concat(dX) };
});

// The index map of step 2: output index a, in a dimension of size b stretched to size c.
const f = (a, b, c) => (b === c ? a : 0n);

const indexInY = (input, index) => index.map((a, dim) => f(a, input.dY[dim], dZ[dim]));
const text = (name, index) => `${name}[${index.join(",")}]`;

// The drawn cells by array and index, and the indices that are drawn along each dimension.
const cells = new Map();
const axes = new Map();
for (const cell of document.querySelectorAll(".cell")) {
  const { of, index } = cell.dataset;
  cells.set(text(of, [index]), cell);
  if (!axes.has(of)) axes.set(of, []);
  parse(index).forEach((a, dim) => {
    const axis = (axes.get(of)[dim] ??= []);
    if (!axis.includes(a)) axis.push(a);
  });
}

function parse(index) {
  return index === "" ? [] : index.split(",").map(BigInt);
}

const answer = document.getElementById("answer");
const fields = [...document.querySelectorAll("#ask input")];
let lit = [];

function highlight(names) {
  for (const cell of lit) cell.classList.remove("lit");
  lit = names.map((name) => cells.get(name)).filter((cell) => cell !== undefined);
  for (const cell of lit) cell.classList.add("lit");
}

function showLines(lines) {
  answer.replaceChildren(...lines.map(([from, ...more]) => {
    const line = document.createElement("p");
    line.append(element("code", "from", from), ...more.map((part) => element("code", "f", part)));
    return line;
  }));
}

function element(tag, name, content) {
  const node = document.createElement(tag);
  node.className = name;
  node.textContent = content;
  return node;
}

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

const cellAt = (event) => event.target.closest?.(".cell");

document.addEventListener("pointerover", (event) => {
  const cell = cellAt(event);
  if (cell) show(cell);
});

document.addEventListener("focusin", (event) => {
  const cell = cellAt(event);
  if (!cell) return;
  // Roving tabindex: Tab returns to the cell that had the focus.
  for (const other of cells.values()) {
    if (other.dataset.of === cell.dataset.of) other.tabIndex = other === cell ? 0 : -1;
  }
  if (cell.dataset.of[0] === "Z") {
    parse(cell.dataset.index).forEach((a, dim) => { fields[dim].value = String(a); });
    check();
  }
  show(cell);
});

// Dimension that a key moves along, counted from the last, and direction.
const keys = {
  ArrowRight: [1, "next"], ArrowLeft: [1, "back"], ArrowDown: [2, "next"], ArrowUp: [2, "back"],
  PageDown: [3, "next"], PageUp: [3, "back"], Home: [1, "first"], End: [1, "last"],
};

document.addEventListener("keydown", (event) => {
  const cell = cellAt(event);
  const key = keys[event.key];
  if (!cell || !key || event.altKey || event.metaKey) return;
  event.preventDefault();
  const { of, index } = cell.dataset;
  const drawn = axes.get(of);
  const at = parse(index);
  const move = (dim, how) => {
    if (dim < 0) return;
    const axis = drawn[dim];
    const from = axis.indexOf(at[dim]);
    const to = { next: from + 1, back: from - 1, first: 0, last: axis.length - 1 }[how];
    at[dim] = axis[Math.min(Math.max(to, 0), axis.length - 1)];
  };
  // Shift+PageUp and Shift+PageDown move along the fourth dimension from the last; Ctrl+Home and Ctrl+End along all.
  const further = event.shiftKey && key[0] === 3 ? 1 : 0;
  const everywhere = event.ctrlKey && (key[1] === "first" || key[1] === "last");
  if (everywhere) at.forEach((_, dim) => move(dim, key[1]));
  else move(at.length - key[0] - further, key[1]);
  cells.get(text(of, at)).focus();
});

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
