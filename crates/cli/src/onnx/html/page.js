"use strict";
// Zoom, search and figures. Without scripts, the graph and the text are still there.
for (const view of document.querySelectorAll(".view")) {
  const svg = view.querySelector("svg"), all = svg.viewBox.baseVal;
  const whole = { x: all.x, y: all.y, w: all.width, h: all.height };
  let box = { ...whole };
  const show = () => svg.setAttribute("viewBox", `${box.x} ${box.y} ${box.w} ${box.h}`);
  const readable = () => {
    const rect = svg.getBoundingClientRect();
    if (!rect.width || (whole.w <= rect.width && whole.h <= rect.height)) return;
    box = { w: rect.width, h: rect.height, x: whole.x + whole.w / 2 - rect.width / 2, y: whole.y };
    const first = svg.querySelector(".box rect");
    if (first) box.x = +first.getAttribute("x") + first.width.baseVal.value / 2 - box.w / 2;
    show();
  };
  const zoom = (factor, px = 0.5, py = 0.5) => {
    const w = Math.min(Math.max(box.w * factor, 150), whole.w * 4 + 1000);
    const scale = w / box.w, rect = svg.getBoundingClientRect();
    // The frame shows more than the box along one axis, unless both have the same proportions.
    const unit = Math.max(box.w / rect.width, box.h / rect.height);
    const dx = box.w / 2 + rect.width * unit * (px - 0.5), dy = box.h / 2 + rect.height * unit * (py - 0.5);
    box = { x: box.x + dx * (1 - scale), y: box.y + dy * (1 - scale), w, h: box.h * scale };
    show();
  };
  readable();
  view.querySelector(".in").onclick = () => zoom(0.7);
  view.querySelector(".out").onclick = () => zoom(1.4);
  view.querySelector(".fit").onclick = () => { box = { ...whole }; show(); };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const rect = svg.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.15 : 0.87, (event.clientX - rect.left) / rect.width, (event.clientY - rect.top) / rect.height);
  }, { passive: false });
  let from = null, moved = false;
  svg.onpointerdown = (event) => { from = { x: event.clientX, y: event.clientY, box: { ...box } }; moved = false; };
  svg.onpointermove = (event) => {
    if (!from) return;
    const scale = Math.max(box.w / svg.clientWidth, box.h / svg.clientHeight);
    const dx = event.clientX - from.x, dy = event.clientY - from.y;
    if (Math.abs(dx) + Math.abs(dy) > 3) moved = true;
    box = { ...box, x: from.box.x - dx * scale, y: from.box.y - dy * scale };
    show();
  };
  svg.onpointerup = svg.onpointerleave = () => { from = null; };
  const nodes = [...svg.querySelectorAll(".box")];
  for (const node of nodes) {
    if (node.dataset.section !== undefined) node.onclick = () => {
      if (!moved) { const section = document.getElementById("b" + node.dataset.section); section.open = true; section.scrollIntoView(); }
    };
  }
  const field = view.querySelector("input"), count = view.querySelector(".count");
  let hits = [], at = -1;
  const center = (node) => {
    const rect = node.querySelector("rect");
    box = { ...box, x: +rect.getAttribute("x") + 66 - box.w / 2, y: +rect.getAttribute("y") + 19 - box.h / 2 };
    show();
  };
  const next = () => {
    if (!hits.length) return;
    at = (at + 1) % hits.length;
    center(hits[at]);
    count.textContent = `${at + 1} of ${hits.length}`;
  };
  field.oninput = () => {
    const text = field.value.trim().toLowerCase();
    hits = text ? nodes.filter((node) => node.querySelector("title").textContent.toLowerCase().includes(text)) : [];
    for (const node of nodes) node.classList.toggle("hit", hits.includes(node));
    at = -1;
    count.textContent = text ? `${hits.length} found` : "";
    next();
  };
  field.onkeydown = (event) => { if (event.key === "Enter") next(); };
  view.querySelector(".next").onclick = () => {
    if (!field.value) { hits = nodes.filter((node) => node.dataset.section !== undefined); }
    next();
  };
}
const open = async (details) => {
  for (const img of details.querySelectorAll("img[data-figure]")) {
    const bytes = Uint8Array.from(atob(img.dataset.figure), (char) => char.charCodeAt(0));
    img.removeAttribute("data-figure");
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    img.src = "data:image/svg+xml," + encodeURIComponent(await new Response(stream).text());
  }
};
for (const details of document.querySelectorAll("details")) {
  details.addEventListener("toggle", () => { if (details.open) open(details); });
  if (details.open) open(details);
}
