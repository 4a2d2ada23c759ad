//! The page of `unishape onnx explain --html` in a browser: search, zoom, figures, and no network access.

// The client has more than this page needs.
#[allow(dead_code)]
#[path = "../../../explain/tests/browser/cdp.rs"]
mod cdp;

use crate::support::TestDir;
use cdp::Browser;
use serde_json::{Value, json};
use unishape::DType;
use unishape_onnx::model_builder::ModelBuilder;

/// Twenty layers, taller than the page: each negates, and adds a row that is certainly or perhaps stretched.
fn page() -> String {
    let mut builder = ModelBuilder::new(21)
        .input("v0", DType::F32, "N 3")
        .input("row", DType::F32, "3")
        .input("one", DType::F32, "1 3");
    for layer in 0..20 {
        let row = if layer % 2 == 0 { "row" } else { "one" };
        builder = builder.node("Neg", &format!("v{layer}"), &format!("n{layer}")).node(
            "Add",
            &format!("n{layer} {row}"),
            &format!("v{}", layer + 1),
        );
    }
    let dir = TestDir::new();
    dir.write("m.onnx", builder.output("v20", DType::F32, "N 3").to_bytes());
    dir.run(["onnx", "explain", "m.onnx", "--html", "page.html"]).expect_success();
    String::from_utf8(dir.read("page.html")).expect("text")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number")).collect()
}

/// Left, top, width and height of the visible part of the graph.
fn view_box(browser: &mut Browser) -> Vec<f64> {
    numbers(&browser.evaluate(
        "(({ x, y, width, height }) => [x, y, width, height])(document.querySelector('svg').viewBox.baseVal)",
    ))
}

/// Types into the search field; returns the text beside it.
fn search(browser: &mut Browser, text: &str) -> Value {
    browser.evaluate(&format!(
        "(() => {{ const field = document.querySelector('input[type=search]'); field.value = {}; \
         field.dispatchEvent(new Event('input')); return document.querySelector('.count').textContent; }})()",
        json!(text)
    ))
}

fn click(browser: &mut Browser, selector: &str) {
    browser.evaluate(&format!("document.querySelector('{selector}').click()"));
}

fn start() -> Option<Browser> {
    let mut browser = Browser::start()?;
    browser.resize(1200, 900);
    browser.open(&page());
    Some(browser)
}

#[test]
fn nodes_that_broadcast_are_coloured() {
    let Some(mut browser) = start() else { return };
    let counts = browser.evaluate(
        "['', '.certain', '.perhaps', '.end'].map((kind) => document.querySelectorAll('.box' + kind).length)",
    );
    assert_eq!(counts, json!([44, 10, 10, 4]), "nodes; the ends are three inputs and an output");
    let colours = browser.evaluate(
        "['.certain', '.perhaps', '.end'].map((kind) => \
         getComputedStyle(document.querySelector('.box' + kind + ' rect')).fill)",
    );
    assert_eq!(colours, json!(["rgb(217, 72, 15)", "rgb(232, 163, 61)", "none"]));
    // Every node is below those that it reads.
    let is_below = browser.evaluate(
        "[...document.querySelectorAll('.lines path')].every((line) => \
         line.getPointAtLength(0).y < line.getPointAtLength(line.getTotalLength()).y)",
    );
    assert_eq!(is_below, true);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn search_shows_what_it_finds() {
    let Some(mut browser) = start() else { return };
    assert_eq!(search(&mut browser, "neg"), "1 of 20");
    let hits = "[...document.querySelectorAll('.hit title')].map((title) => title.textContent)";
    assert_eq!(browser.evaluate(&format!("{hits}.length")), 20);
    click(&mut browser, ".next");
    assert_eq!(browser.evaluate("document.querySelector('.count').textContent"), "2 of 20");
    // One node by its name, which is then in the middle of the view.
    assert_eq!(search(&mut browser, "add_of_v17"), "1 of 1");
    assert_eq!(browser.evaluate(hits), json!(["Add Add_of_v17"]));
    let middle = numbers(&browser.evaluate(
        "(() => { const box = document.querySelector('.hit rect').getBoundingClientRect(), \
         frame = document.querySelector('svg').getBoundingClientRect(); \
         return [box.x + box.width / 2 - frame.x - frame.width / 2, \
         box.y + box.height / 2 - frame.y - frame.height / 2]; })()",
    ));
    assert!(middle.iter().all(|distance| distance.abs() < 2.0), "{middle:?}");
    assert_eq!(search(&mut browser, "no such node"), "0 found");
    assert_eq!(search(&mut browser, ""), "");
    assert_eq!(browser.evaluate(&format!("{hits}.length")), 0);
    // Without a text, the nodes that broadcast are found.
    click(&mut browser, ".next");
    assert_eq!(browser.evaluate("document.querySelector('.count').textContent"), "1 of 20");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn the_graph_zooms_and_moves() {
    let Some(mut browser) = start() else { return };
    let near = |a: f64, b: f64| (a - b).abs() < 1e-3 * b.abs().max(1.0);
    let before = view_box(&mut browser);
    click(&mut browser, ".in");
    let closer = view_box(&mut browser);
    assert!(near(closer[2], before[2] * 0.7) && near(closer[3], before[3] * 0.7), "{before:?} {closer:?}");
    click(&mut browser, ".out");
    assert!(near(view_box(&mut browser)[2], before[2] * 0.98));
    click(&mut browser, ".fit");
    let whole = view_box(&mut browser);
    let inside = browser.evaluate(
        "(() => { const frame = document.querySelector('svg').getBoundingClientRect(); \
         return [...document.querySelectorAll('.box rect')].every((each) => { \
         const box = each.getBoundingClientRect(); return box.top >= frame.top && box.bottom <= frame.bottom && \
         box.left >= frame.left && box.right <= frame.right; }); })()",
    );
    assert_eq!(inside, true, "{whole:?}");
    // The wheel keeps what is under the pointer in its place.
    let points = numbers(&browser.evaluate(
        "(() => { const svg = document.querySelector('svg'), frame = svg.getBoundingClientRect(), \
         at = new DOMPoint(Math.round(frame.left + 100), Math.round(frame.top + 50)), \
         under = () => at.matrixTransform(svg.getScreenCTM().inverse()), before = under(); \
         svg.dispatchEvent(new WheelEvent('wheel', { deltaY: -100, clientX: at.x, clientY: at.y, \
         cancelable: true })); const after = under(); return [before.x, after.x, before.y, after.y]; })()",
    ));
    assert!((points[0] - points[1]).abs() < 0.1 && (points[2] - points[3]).abs() < 0.1, "{points:?}");
    let rolled = view_box(&mut browser);
    assert!(near(rolled[2], whole[2] * 0.87), "{whole:?} {rolled:?}");
    // Dragging to the right and down shows what is on the left and above.
    browser.evaluate(
        "(() => { const svg = document.querySelector('svg'); \
         for (const [kind, at] of [['pointerdown', 100], ['pointermove', 150], ['pointerup', 150]]) \
         svg.dispatchEvent(new PointerEvent(kind, { clientX: at, clientY: at })); })()",
    );
    let moved = view_box(&mut browser);
    assert!(moved[0] < rolled[0] && moved[1] < rolled[1] && near(moved[2], rolled[2]), "{moved:?}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn figures_are_loaded_when_they_are_opened() {
    let Some(mut browser) = start() else { return };
    let loaded = "[...document.querySelectorAll('details img')].map((image) => !!image.src)";
    assert_eq!(browser.evaluate(loaded), json!([false, false]), "one for each pair of shapes");
    // A click on a box opens the section about its node.
    let width = browser.evaluate(
        "(async () => { document.querySelector('.box.perhaps').dispatchEvent(new MouseEvent('click')); \
         const section = document.querySelector('details[open]'), image = section.querySelector('img'); \
         for (let tries = 0; tries < 500 && !image.naturalWidth; tries++) \
         await new Promise((done) => setTimeout(done, 10)); \
         return [section.querySelector('summary').textContent, image.naturalWidth > 0]; })()",
    );
    assert_eq!(width[1], true, "{width}");
    assert!(width[0].as_str().is_some_and(|title| title.contains("Add_of_v2)")), "{width}");
    assert_eq!(browser.evaluate(loaded), json!([false, true]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
