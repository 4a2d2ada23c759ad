"use strict";
// The page of the playground. `engine.js` has the compiled engine, compressed, in `unishapeEngine`: a script, because
// pages that are opened from a folder cannot fetch files.
const fields = {
  shapes: ["shapes"],
  reduction: ["op", "shape", "axis", "keepdims"],
  expression: ["expression", "values"],
};
const $ = (id) => document.getElementById(id);
const form = $("form");
let engine = null;

// Instantiates the engine; again after a failure, which leaves it in an unknown state.
let compiled = null;
async function start() {
  if (compiled === null) {
    const bytes = Uint8Array.from(atob(unishapeEngine), (c) => c.charCodeAt(0));
    const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    compiled = await WebAssembly.compile(await new Response(unpacked).arrayBuffer());
  }
  engine = (await WebAssembly.instantiate(compiled, {})).exports;
}

// The engine's answer to a request.
function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const at = engine.reserve(bytes.length);
  new Uint8Array(engine.memory.buffer, at, bytes.length).set(bytes);
  const length = engine.respond();
  return JSON.parse(new TextDecoder().decode(new Uint8Array(engine.memory.buffer, engine.buffer(), length)));
}

const mode = () => form.elements.mode.value;
const read = (id) => ($(id).type === "checkbox" ? $(id).checked : $(id).value);

function request() {
  const result = { mode: mode() };
  for (const id of fields[mode()]) result[id] = read(id);
  return result;
}

function show(answer) {
  const failed = answer.error !== undefined;
  $("error").hidden = !failed;
  $("error").textContent = failed ? answer.message : "";
  const isComputed = !failed && answer.plan !== undefined;
  $("computed").hidden = !isComputed;
  if (isComputed) {
    $("result").textContent = answer.result ?? "More than a million elements: the plan only.";
    $("plan").textContent = answer.plan;
    $("bytes").textContent = `${answer.moved}. In memory: ${answer.memory}.`;
  }
  const hasPicture = !failed && typeof answer.svg === "string";
  $("picture").hidden = !hasPicture;
  // The engine escapes every text of the picture.
  $("picture").innerHTML = hasPicture ? answer.svg : "";
  const shape = failed ? "" : answer.dtype === undefined ? `Shape ${answer.shape}` : `Shape ${answer.shape} of ${answer.dtype}`;
  const noPicture = !failed && answer.svg === null ? ". Sizes that are not known cannot be drawn." : "";
  $("summary").textContent = failed ? (answer.error === "E1" ? "These shapes are incompatible." : "") : shape + noPicture;
}

// The state as a URL fragment: the mode's first field alone where the others are not needed.
function fragment() {
  const parts = new URLSearchParams();
  for (const id of fields[mode()]) if (read(id) !== false) parts.set(id, read(id) === true ? "1" : read(id));
  if (mode() === "shapes") parts.set("shapes", read("shapes").trim().replace(/[;\s]*[;\n][;\s]*/g, ";"));
  return `#${parts}`;
}

function restore() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const found = Object.keys(fields).find((name) => parts.has(fields[name][0]));
  if (found === undefined) return false;
  form.elements.mode.value = found;
  for (const id of fields[found]) {
    if ($(id).type === "checkbox") $(id).checked = parts.has(id);
    else if (parts.has(id)) $(id).value = parts.get(id);
  }
  return true;
}

async function update() {
  for (const part of form.querySelectorAll("[data-mode]")) part.hidden = part.dataset.mode !== mode();
  $("permalink").href = fragment();
  if (engine === null) return;
  try {
    show(ask(request()));
  } catch (error) {
    show({ error: "internal", message: `internal error: ${error}; please report it` });
    await start();
  }
  document.documentElement.dataset.shown = JSON.stringify(request());
}

form.addEventListener("input", update);
form.addEventListener("submit", (event) => event.preventDefault());
$("permalink").addEventListener("click", (event) => {
  event.preventDefault();
  history.replaceState(null, "", fragment());
  navigator.clipboard?.writeText(location.href).then(() => { $("state").textContent = "The link is copied."; }, () => {});
});
window.addEventListener("hashchange", () => { if (restore()) update(); });

restore();
update();
if (typeof unishapeEngine === "undefined") {
  $("state").textContent = "This copy of the site was built without the engine.";
} else {
  start().then(() => { $("state").textContent = ""; return update(); }, (error) => {
    $("state").textContent = `The engine could not be started: ${error}`;
  });
}
