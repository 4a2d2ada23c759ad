"use strict";
// Works out from the shapes alone where each element comes from, and shows it. Sizes and indices are
// BigInts throughout, for they may be larger than a number can hold exactly.
const given = JSON.parse(document.getElementById("shapes").textContent);
const dZ = given.z.map(BigInt);
const inputs = given.x.map((sizes) => {
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

function light(names) {
  for (const cell of lit) cell.classList.remove("lit");
  lit = names.map((name) => cells.get(name)).filter((cell) => cell !== undefined);
  for (const cell of lit) cell.classList.add("lit");
}

function say(lines) {
  answer.replaceChildren(...lines.map(([from, ...more]) => {
    const line = document.createElement("p");
    line.append(element("code", "from", from), ...more.map((part) => element("code", "f", part)));
    return line;
  }));
}

function element(tag, name, content) {
  const made = document.createElement(tag);
  made.className = name;
  made.textContent = content;
  return made;
}

// Where the element at an index of Z comes from, in every input.
function showOutput(index) {
  const names = [];
  say(inputs.map((input, m) => {
    const inY = indexInY(input, index);
    const steps = [text(`Z${m}`, index), text(`Y${m}`, inY), text(`X${m}`, inY.slice(input.added))];
    names.push(...steps);
    const shown = cells.get(steps[2]);
    const value = shown === undefined ? "" : `: ${shown.textContent}`;
    return [steps.join(" = ") + value, ...index.map((a, dim) => `f(${a}, ${input.dY[dim]}, ${dZ[dim]}) = ${inY[dim]}`)];
  }));
  light(names);
}

// Which elements of Z read the element at an index of Y.
function showSource(m, inY) {
  const input = inputs[m];
  const inX = text(`X${m}`, inY.slice(input.added));
  const readers = [...cells.values()].filter(({ dataset }) =>
    dataset.of === `Z${m}` && indexInY(input, parse(dataset.index)).join() === inY.join());
  const pattern = inY.map((a, dim) => (input.dY[dim] === dZ[dim] ? a : "∗"));
  const line = `${inX} = ${text(`Y${m}`, inY)} = ${text(`Z${m}`, pattern)}`;
  say([[line, pattern.includes("∗") ? "∗ is any index" : "read once"]]);
  light([inX, text(`Y${m}`, inY), ...readers.map(({ dataset }) => text(dataset.of, [dataset.index]))]);
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
  // The tab key comes back to the cell that was left.
  for (const other of cells.values()) {
    if (other.dataset.of === cell.dataset.of) other.tabIndex = other === cell ? 0 : -1;
  }
  if (cell.dataset.of[0] === "Z") {
    parse(cell.dataset.index).forEach((a, dim) => { fields[dim].value = String(a); });
    check();
  }
  show(cell);
});

// Which dimension a key moves along, counted from the last, and how.
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
  // Shift takes the page keys one dimension further, Ctrl takes Home and End to the very ends.
  const further = event.shiftKey && key[0] === 3 ? 1 : 0;
  const everywhere = event.ctrlKey && (key[1] === "first" || key[1] === "last");
  if (everywhere) at.forEach((_, dim) => move(dim, key[1]));
  else move(at.length - key[0] - further, key[1]);
  cells.get(text(of, at)).focus();
});

// The index in the form, or nothing where a field holds none. Says which fields are wrong.
function check() {
  const wrong = [];
  const index = fields.map((field, dim) => {
    const digits = field.value.trim();
    const a = /^[0-9]{1,40}$/.test(digits) ? BigInt(digits) : -1n;
    const fits = a >= 0n && a < dZ[dim];
    field.setAttribute("aria-invalid", String(!fits));
    if (!fits) wrong.push([`dimension ${dim}: an index is a number from 0 to ${dZ[dim] - 1n}`]);
    return a;
  });
  return { index, wrong };
}

function ask() {
  const { index, wrong } = check();
  if (wrong.length === 0) return showOutput(index);
  light([]);
  say(wrong);
}

const form = document.getElementById("ask");
form.addEventListener("input", ask);
form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
