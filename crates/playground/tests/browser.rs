//! The playground of the built site in a browser, compared with the native engine.
//!
//! `cargo xtask site --test` builds the site and runs this with its folder in `UNISHAPE_SITE`, and with the script of
//! axe-core in `UNISHAPE_AXE`. Without a site nothing is tested.

#[allow(dead_code, reason = "this test needs only a part of the client")]
#[path = "../../explain/tests/browser/cdp.rs"]
mod cdp;

use cdp::Browser;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The folder of the built site, and a browser.
fn site() -> Option<(PathBuf, Browser)> {
    let Some(folder) = std::env::var_os("UNISHAPE_SITE") else {
        println!("skipped: `cargo xtask site --test` sets UNISHAPE_SITE");
        return None;
    };
    Some((folder.into(), Browser::start()?))
}

/// Opens the playground with a state, and waits until its engine has answered.
fn open(browser: &mut Browser, site: &Path, fragment: &str) {
    // Another page first: a change of the fragment alone does not load the page again.
    browser.navigate("about:blank");
    browser.navigate(&format!("file://{}/playground/index.html{fragment}", site.display()));
    browser.evaluate(
        "new Promise((done) => { const wait = () => document.documentElement.dataset.shown ? done() : \
         setTimeout(wait, 5); wait(); })",
    );
}

/// What the page shows after fields are set.
fn shown(browser: &mut Browser, request: &Value) -> Value {
    browser.evaluate(&format!(
        "(async () => {{ const request = {request}; form.elements.mode.value = request.mode; \
         for (const id of fields[request.mode]) {{ \
           if ($(id).type === 'checkbox') $(id).checked = request[id]; else $(id).value = request[id]; }} \
         await update(); \
         return {{ error: $('error').hidden ? null : $('error').textContent, \
           result: $('computed').hidden ? null : $('result').textContent, \
           plan: $('computed').hidden ? null : $('plan').textContent, \
           summary: $('summary').textContent, answer: ask(request) }}; }})()"
    ))
}

fn native(request: &Value) -> Value {
    serde_json::from_str(&unishape_playground::answer(&request.to_string())).unwrap()
}

/// Random requests of each mode, some of them with errors.
fn requests() -> impl Strategy<Value = Value> {
    let sizes = prop::collection::vec(prop::sample::select(vec![1usize, 1, 2, 3, 5]), 0..4);
    let text = |shape: &Vec<usize>| unishape::notation::shape_text(shape);
    let shapes = prop::collection::vec(sizes.clone(), 1..4).prop_map(move |shapes| {
        let words: Vec<String> = shapes.iter().map(text).collect();
        json!({"mode": "shapes", "shapes": words.join(" ")})
    });
    let ops = prop::sample::select(vec!["sum", "mean", "max", "argmin", "var"]);
    let reduction = (sizes, ops, -2i64..3, any::<bool>()).prop_map(move |(shape, op, axis, keep)| {
        json!({"mode": "reduction", "op": op, "shape": text(&shape), "axis": axis.to_string(), "keepdims": keep})
    });
    let leaf = prop::sample::select(vec!["a", "b", "c", "2", "0.5"]).prop_map(String::from);
    let expression = leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(vec!["+", "-", "*", "/", "**", "<", "//", "%"]),
                inner.clone()
            )
                .prop_map(|(x, op, y)| format!("({x} {op} {y})")),
            (
                prop::sample::select(vec!["exp", "sin", "sqrt", "tanh", "abs", "softmax", "float32"]),
                inner.clone()
            )
                .prop_map(|(f, x)| format!("{f}({x})")),
            (prop::sample::select(vec!["sum", "mean", "max", "std"]), inner)
                .prop_map(|(f, x)| format!("{f}({x}, axis=-1, keepdims=True)")),
        ]
    });
    let arrays = prop::sample::select(vec![
        "a = [1, 2, 3]\nb = [[1.5], [2.5]]\nc = 0:3",
        "a = 0:40x1\nb = 0:1:0.125\nc = [true, false, true, true, false, true, false, true]",
        "a = [1, 2]\nb = [1, 2, 3]\nc = 2j",
        "a = []\nb = 0:0x1\nc = 3",
    ]);
    let expression = (expression, arrays).prop_map(
        |(expression, values)| json!({"mode": "expression", "expression": expression, "values": values}),
    );
    prop_oneof![1 => shapes, 1 => reduction, 2 => expression]
}

#[test]
fn answers_are_those_of_the_native_engine() {
    let Some((site, mut browser)) = site() else { return };
    open(&mut browser, &site, "");
    let mut runner = TestRunner::deterministic();
    for _ in 0..300 {
        let request = requests().new_tree(&mut runner).unwrap().current();
        let (page, native) = (shown(&mut browser, &request), native(&request));
        // Block sizes in plans depend on the CPU's caches; everything else is the same to the last digit.
        let without_plan = |answer: &Value| {
            let mut answer = answer.clone();
            answer.as_object_mut().unwrap().remove("plan");
            answer
        };
        assert_eq!(without_plan(&page["answer"]), without_plan(&native), "{request}");
        let is_error = native.get("error").is_some();
        assert_eq!(
            page["error"],
            if is_error { native["message"].clone() } else { Value::Null },
            "{request}"
        );
        if !is_error && native.get("plan").is_some() {
            assert_eq!(page["result"], native["result"], "{request}");
            assert!(page["plan"].as_str().is_some_and(|plan| !plan.is_empty()), "{request}");
        }
    }
}

#[test]
fn a_link_holds_the_state() {
    let Some((site, mut browser)) = site() else { return };
    for request in [
        json!({"mode": "shapes", "shapes": "2x1;8x4x3"}),
        json!({"mode": "reduction", "op": "max", "shape": "2x3", "axis": "0, -1", "keepdims": true}),
        json!({"mode": "expression", "expression": "a + b # & = 100%", "values": "a = [1, 2]\nb = 0:2x1"}),
    ] {
        open(&mut browser, &site, "");
        shown(&mut browser, &request);
        let fragment = browser.evaluate("fragment()");
        open(&mut browser, &site, fragment.as_str().unwrap());
        assert_eq!(browser.evaluate("request()"), request, "{fragment}");
    }
    // The link of the command.
    open(&mut browser, &site, "#shapes=2x1;8x4x3");
    let error = browser.evaluate("$('error').textContent");
    assert_eq!(error, native(&json!({"mode": "shapes", "shapes": "2x1 8x4x3"}))["message"]);
}

/// Waits until the page shows the answer to what its fields hold; returns the request.
fn answered(browser: &mut Browser) -> Value {
    browser.evaluate(
        "new Promise((done) => { const wait = () => document.documentElement.dataset.shown === \
         JSON.stringify(request()) ? done(request()) : setTimeout(wait, 5); wait(); })",
    )
}

/// Presses the key of each character.
fn type_text(browser: &mut Browser, text: &str) {
    for character in text.chars() {
        let key = character.to_string();
        browser.call("Input.dispatchKeyEvent", json!({ "type": "keyDown", "key": key, "text": key }));
        browser.call("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": key }));
    }
}

#[test]
fn the_keyboard_suffices() {
    let Some((site, mut browser)) = site() else { return };
    open(&mut browser, &site, "");
    // The link to the pages, and then the modes.
    browser.press("Tab", 0);
    browser.press("Tab", 0);
    assert_eq!(browser.evaluate("document.activeElement.name"), "mode");
    browser.press("ArrowDown", 0);
    assert_eq!(answered(&mut browser)["mode"], "reduction");
    assert_eq!(browser.evaluate("$('op').checkVisibility() && !$('shapes').checkVisibility()"), true);
    browser.press("ArrowUp", 0);
    browser.press("Tab", 0);
    assert_eq!(browser.evaluate("document.activeElement.id"), "shapes");
    browser.press("End", 0);
    type_text(&mut browser, " 2x1x1");
    assert_eq!(answered(&mut browser), json!({"mode": "shapes", "shapes": "3x1 4 2x1x1"}));
    assert_eq!(browser.evaluate("$('error').hidden && $('picture').checkVisibility()"), true);
    type_text(&mut browser, " 5");
    let request = answered(&mut browser);
    assert_eq!(request["shapes"], "3x1 4 2x1x1 5");
    assert_eq!(browser.evaluate("$('error').textContent"), native(&request)["message"]);
}

#[test]
fn the_engine_is_loaded_from_the_folder_alone() {
    let Some((site, mut browser)) = site() else { return };
    open(&mut browser, &site, "#shapes=3x1;4");
    assert!(browser.evaluate("$('picture').querySelectorAll('.cell').length").as_u64().unwrap() > 30);
    let names = browser.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)");
    assert!(
        names.as_array().unwrap().iter().all(|name| name.as_str().unwrap().starts_with("file://")),
        "{names}"
    );
}

/// The pages in a folder of the site, as paths in the site.
fn html_files(site: &Path, folder: &str) -> Vec<String> {
    let files = std::fs::read_dir(site.join(folder)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".html")).map(|name| format!("{folder}{name}")).collect()
}

/// Pages at phone and desktop width, light and dark: nothing but pictures, tables and code is wider than the window, and
/// axe-core finds nothing.
#[test]
fn pages_are_accessible_and_fit_the_window() {
    let Some((site, mut browser)) = site() else { return };
    let axe = std::env::var_os("UNISHAPE_AXE").map(|path| std::fs::read_to_string(path).unwrap());
    let mut pages = [
        "playground/index.html#shapes=3x1;4",
        "playground/index.html#shapes=2x1;3",
        "playground/index.html#op=sum&shape=2x3&axis=1",
        "playground/index.html#expression=a*a&values=a = 0:4",
    ]
    .map(String::from)
    .to_vec();
    pages.extend(html_files(&site, ""));
    pages.extend(html_files(&site, "sonnx/"));
    assert!(pages.len() > 30 && pages.iter().any(|page| page.starts_with("sonnx/")), "{pages:?}");
    let mut all = Vec::new();
    // All four for the playground and the first page; the others have its styles.
    for (page, width, scheme) in pages.iter().flat_map(|page| {
        let (first, rest) =
            ([(page, 360, "light"), (page, 1280, "dark")], [(page, 360, "dark"), (page, 1280, "light")]);
        let rest = rest.into_iter().filter(|(page, ..)| page.contains("index.html"));
        first.into_iter().chain(rest)
    }) {
        browser.resize(width, 900);
        browser.emulate("prefers-color-scheme", scheme);
        browser.navigate("about:blank");
        browser.navigate(&format!("file://{}/{page}", site.display()));
        browser.evaluate("new Promise((done) => setTimeout(done, 400))");
        let wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(wide.as_i64().unwrap() <= 0, "{page} at {width}: {wide} pixels too wide");
        if let Some(axe) = &axe {
            browser.evaluate(&format!("{axe}; 0"));
            let found = browser.evaluate(
                "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations.map((found) => \
                 `${found.id}: ${found.help}: ${found.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`))",
            );
            let found = found.as_array().unwrap().iter();
            all.extend(found.map(|found| format!("{page} at {width}, {scheme}: {found}")));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
