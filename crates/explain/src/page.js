"use strict";
// Cells that show what they are related to, by pointer and keyboard. The script after this one defines `show(cell)`
// and `focused(cell)`. Sizes and indices are BigInts, since they may exceed the exact integers of numbers.
const shapes = JSON.parse(document.getElementById("shapes").textContent);
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
  focused(cell);
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
