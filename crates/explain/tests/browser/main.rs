//! The page in a browser: the answer for every cell is compared with the operator.

mod cdp;

use cdp::Browser;
use ndarray::{ArrayD, Dimension, IxDyn};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use unishape::expr::{ReduceOp, Reduction, lazy};
use unishape::{Rules, Tensor, broadcast_to};
use unishape_core::{index_map, padded_dim, source_index};
use unishape_explain::{Explanation, ReductionExplanation};

/// Expected answers for some shapes, from the operator.
struct Expected {
    shapes: Vec<Vec<usize>>,
    target: Vec<usize>,
    page: String,
}

impl Expected {
    fn new(shapes: &[&[usize]]) -> Expected {
        let explanation = Explanation::new(Rules::STANDARD, shapes).unwrap();
        Expected {
            shapes: shapes.iter().map(|shape| shape.to_vec()).collect(),
            target: explanation.shape().to_vec(),
            page: explanation.html(),
        }
    }

    /// The index in X that an index in Z reads.
    fn source(&self, m: usize, index: &[usize]) -> Vec<usize> {
        let mut source = vec![0; self.shapes[m].len()];
        source_index(&self.shapes[m], &self.target, index, &mut source).unwrap();
        source
    }

    /// The index in Y: padded with 0s on the left.
    fn padded(&self, source: &[usize]) -> Vec<usize> {
        let mut padded = vec![0; self.target.len() - source.len()];
        padded.extend(source);
        padded
    }

    /// Names of the cells that show one element: at an index of Z, in Y and in X.
    fn names(&self, m: usize, index: &[usize]) -> [String; 3] {
        let source = self.source(m, index);
        let in_y = self.padded(&source);
        [cell("Z", m, index), cell("Y", m, &in_y), cell("X", m, &source)]
    }

    /// The expected answer for an index of Z. `numbers` has the broadcast numbers of elements, if they are
    /// small.
    fn answer(&self, index: &[usize], numbers: Option<&[ArrayD<usize>]>) -> Vec<Vec<String>> {
        (0..self.shapes.len())
            .map(|m| {
                let mut from = self.names(m, index).join(" = ");
                if let Some(numbers) = numbers {
                    from.push_str(&format!(": {}", numbers[m][IxDyn(index)]));
                }
                let f = index.iter().zip(&self.target).enumerate().map(|(dim, (&a, &c))| {
                    let b = padded_dim(&self.shapes[m], self.target.len(), dim);
                    format!("f({a}, {b}, {c}) = {}", index_map(a, b, c))
                });
                [from].into_iter().chain(f).collect()
            })
            .collect()
    }

    /// Numbers of elements in the shape of each input, broadcast by the operator.
    fn numbers(&self) -> Vec<ArrayD<usize>> {
        let array = |shape: &Vec<usize>| {
            let count = shape.iter().product();
            let x = ArrayD::from_shape_vec(IxDyn(shape), (0..count).collect()).unwrap();
            broadcast_to(&x, IxDyn(&self.target)).unwrap().to_owned()
        };
        self.shapes.iter().map(array).collect()
    }

    /// The cells that must be highlighted for an index of Z.
    fn lit(&self, index: &[usize]) -> BTreeSet<String> {
        (0..self.shapes.len()).flat_map(|m| self.names(m, index)).collect()
    }
}

fn cell(letter: &str, m: usize, index: &[usize]) -> String {
    let index: Vec<String> = index.iter().map(usize::to_string).collect();
    format!("{letter}{m}[{}]", index.join(","))
}

/// The answer of the page and the highlighted cells.
fn state(browser: &mut Browser) -> (Vec<Vec<String>>, BTreeSet<String>) {
    let state = browser.evaluate(
        "({ answer: [...document.querySelectorAll('#answer p')].map((line) => \
            [...line.querySelectorAll('code')].map((part) => part.textContent)), \
          lit: [...document.querySelectorAll('.lit')].map(({ dataset }) => \
            `${dataset.of}[${dataset.index}]`) })",
    );
    (
        serde_json::from_value(state["answer"].clone()).unwrap(),
        serde_json::from_value(state["lit"].clone()).unwrap(),
    )
}

/// The drawn cells of the arrays with this letter: the number of the input and the index.
fn drawn(browser: &mut Browser, letter: &str) -> Vec<(usize, Vec<usize>)> {
    let cells = browser.evaluate(&format!(
        "[...document.querySelectorAll('.cell[data-of^={letter}]')].map(({{ dataset }}) => \
         [dataset.of, dataset.index])"
    ));
    let cells: Vec<(String, String)> = serde_json::from_value(cells).unwrap();
    cells.into_iter().map(|(of, index)| (of[1..].parse().unwrap(), parse(&index))).collect()
}

fn parse(index: &str) -> Vec<usize> {
    index.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().unwrap()).collect()
}

/// Moves the mouse onto a cell of an input.
fn point_at(browser: &mut Browser, letter: &str, m: usize, index: &[usize]) {
    point_at_cell(browser, &format!("{letter}{m}"), index);
}

/// Moves the mouse onto a cell of an array.
fn point_at_cell(browser: &mut Browser, of: &str, index: &[usize]) {
    let index: Vec<String> = index.iter().map(usize::to_string).collect();
    let at = browser.evaluate(&format!(
        "(() => {{ const cell = document.querySelector('.cell[data-of=\"{of}\"]\
         [data-index=\"{}\"]'); cell.scrollIntoView({{ block: 'center', inline: 'center' }}); \
         const box = cell.getBoundingClientRect(); \
         return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
        index.join(",")
    ));
    browser.move_mouse(at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
}

fn check_complaints(browser: &mut Browser) {
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Small enough to be drawn completely.
const SMALL: [&[&[usize]]; 6] = [
    &[&[3, 1], &[4]],
    &[&[2, 3, 1], &[4]],
    &[&[], &[3]],
    &[&[2, 1, 2, 3], &[3, 1, 1], &[1, 2, 1]],
    &[&[1], &[1, 1]],
    &[&[]],
];

/// BC-5, BC-7: the page shows for every cell what the operator reads.
#[test]
fn pointing_at_a_cell_shows_its_source() {
    let Some(mut browser) = Browser::start() else { return };
    browser.resize(1300, 1000);
    for shapes in SMALL {
        let truth = Expected::new(shapes);
        let numbers = truth.numbers();
        browser.open(&truth.page);
        let cells = drawn(&mut browser, "Z");
        assert_eq!(cells.len(), numbers.iter().map(ArrayD::len).sum::<usize>());
        for (m, index) in &cells {
            point_at(&mut browser, "Z", *m, index);
            let (answer, lit) = state(&mut browser);
            assert_eq!(answer, truth.answer(index, Some(&numbers)), "{shapes:?}, Z{m}{index:?}");
            assert_eq!(lit, truth.lit(index), "{shapes:?}, Z{m}{index:?}");
        }
        check_complaints(&mut browser);
    }
}

#[test]
fn pointing_at_an_input_shows_its_readers() {
    let Some(mut browser) = Browser::start() else { return };
    browser.resize(1300, 1000);
    for shapes in [SMALL[0], SMALL[3], &[&[9, 1], &[3]]] {
        let truth = Expected::new(shapes);
        browser.open(&truth.page);
        let outputs = drawn(&mut browser, "Z");
        for letter in ["X", "Y"] {
            for (m, index) in drawn(&mut browser, letter) {
                point_at(&mut browser, letter, m, &index);
                let source = &index[index.len() - truth.shapes[m].len()..];
                let readers = outputs.iter().filter(|(n, at)| *n == m && truth.source(m, at) == source);
                let mut expected: BTreeSet<String> = readers.map(|(_, at)| cell("Z", m, at)).collect();
                assert!(!expected.is_empty());
                expected.insert(cell("X", m, source));
                expected.insert(cell("Y", m, &truth.padded(source)));
                assert_eq!(state(&mut browser).1, expected, "{shapes:?}, {letter}{m}{index:?}");
            }
        }
        check_complaints(&mut browser);
    }
}

/// Moves as a key does, along the drawn indices.
fn follow(axes: &[Vec<usize>], at: &mut [usize], key: &str, modifiers: u8) {
    let rank = axes.len();
    let mut step = |dim: Option<usize>, how: i32| {
        let Some(dim) = dim else { return };
        let from = axes[dim].iter().position(|&a| a == at[dim]).unwrap();
        let to = match how {
            -2 => 0,
            2 => axes[dim].len() - 1,
            1 => (from + 1).min(axes[dim].len() - 1),
            _ => from.saturating_sub(1),
        };
        at[dim] = axes[dim][to];
    };
    let how = match key {
        "ArrowRight" | "ArrowDown" | "PageDown" => 1,
        "ArrowLeft" | "ArrowUp" | "PageUp" => -1,
        "End" => 2,
        _ => -2,
    };
    let back = match key {
        "ArrowUp" | "ArrowDown" => 2,
        "PageUp" | "PageDown" => 3 + usize::from(modifiers == 8),
        _ => 1,
    };
    if modifiers == 2 {
        (0..rank).for_each(|dim| step(Some(dim), how));
    } else {
        step(rank.checked_sub(back), how);
    }
}

#[test]
fn keys_move_along_the_dimensions() {
    let Some(mut browser) = Browser::start() else { return };
    browser.resize(1300, 1000);
    let keys = [
        ("ArrowRight", 0),
        ("ArrowDown", 0),
        ("ArrowRight", 0),
        ("PageDown", 0),
        ("ArrowLeft", 0),
        ("PageDown", 8),
        ("End", 0),
        ("ArrowDown", 0),
        ("ArrowRight", 0),
        ("ArrowUp", 0),
        ("Home", 0),
        ("PageUp", 0),
        ("End", 2),
        ("ArrowUp", 0),
        ("PageUp", 8),
        ("ArrowLeft", 0),
        ("Home", 2),
        ("ArrowLeft", 0),
        ("ArrowUp", 0),
        ("PageUp", 0),
        ("ArrowDown", 0),
        ("ArrowDown", 0),
    ];
    for shapes in [SMALL[0], SMALL[1], SMALL[2], SMALL[3], &[&[20, 1], &[30]], &[&[]]] {
        let truth = Expected::new(shapes);
        let numbers = truth.numbers();
        browser.open(&truth.page);
        let cells = drawn(&mut browser, "Z");
        let axes: Vec<Vec<usize>> = (0..truth.target.len())
            .map(|dim| BTreeSet::from_iter(cells.iter().map(|(_, at)| at[dim])).into_iter().collect())
            .collect();
        // X, Y and Z of each input are one tab stop each.
        for m in 0..shapes.len() {
            let mut at = vec![0; truth.target.len()];
            (0..3).for_each(|_| browser.press("Tab", 0));
            for &(key, modifiers) in [("", 0)].iter().chain(&keys) {
                if !key.is_empty() {
                    browser.press(key, modifiers);
                    follow(&axes, &mut at, key, modifiers);
                }
                let focus = browser.evaluate(
                    "(() => { const cell = document.activeElement; return { \
                     name: `${cell.dataset.of}[${cell.dataset.index}]`, \
                     label: cell.getAttribute('aria-label'), ring: getComputedStyle(cell).boxShadow, \
                     stops: document.querySelectorAll(`[data-of=${cell.dataset.of}][tabindex=\"0\"]`).length, \
                     fields: [...document.querySelectorAll('#ask input')].map(({ value }) => value) }; })()",
                );
                let name = cell("Z", m, &at);
                assert_eq!(focus["name"], name, "{shapes:?} after {key}");
                assert!(focus["label"].as_str().unwrap().starts_with(&name));
                assert_ne!(focus["ring"], "none");
                assert_eq!(focus["stops"], 1);
                assert_eq!(focus["fields"], json!(at.iter().map(usize::to_string).collect::<Vec<_>>()));
                let (answer, lit) = state(&mut browser);
                assert_eq!(answer, truth.answer(&at, Some(&numbers)), "{shapes:?}, Z{m}{at:?}");
                assert_eq!(lit, truth.lit(&at));
            }
        }
        check_complaints(&mut browser);
    }
}

/// Types an index into the form.
fn fill_in(browser: &mut Browser, dim: usize, text: &str) {
    browser.evaluate(&format!("document.querySelectorAll('#ask input')[{dim}].select()"));
    browser.call("Input.insertText", json!({ "text": text }));
}

/// Also for sizes beyond the exact integers of JavaScript, and for ranks without a diagram.
#[test]
fn the_form_answers_for_any_shape() {
    let Some(mut browser) = Browser::start() else { return };
    let huge = 9_007_199_254_740_993; // 2^53 + 1
    let cases: [(&[&[usize]], &[usize]); 4] = [
        (&[&[huge, 1], &[5]], &[huge - 2, 3]),
        (&[&[usize::MAX, 1], &[1, usize::MAX], &[]], &[usize::MAX - 1, usize::MAX - 2]),
        (&[&[2, 1, 3, 1, 2, 1], &[4, 1, 5, 1, 7]], &[1, 3, 2, 4, 1, 6]),
        (&[&[30; 20], &[1]], &[29; 20]),
    ];
    for (shapes, index) in cases {
        let truth = Expected::new(shapes);
        browser.open(&truth.page);
        for (dim, at) in index.iter().enumerate() {
            fill_in(&mut browser, dim, &at.to_string());
        }
        // The answer has the value of the source if that is drawn.
        let strip = |line: &Vec<String>| {
            let mut line = line.clone();
            line[0] = line[0].split(": ").next().unwrap_or("").into();
            line
        };
        let answer: Vec<Vec<String>> = state(&mut browser).0.iter().map(strip).collect();
        assert_eq!(answer, truth.answer(index, None), "{shapes:?}");

        let size = truth.target[0];
        for wrong in [&size.to_string()[..], "-1", "1.5", "", "x"] {
            fill_in(&mut browser, 0, "0");
            fill_in(&mut browser, 0, wrong);
            if wrong.is_empty() {
                browser.evaluate(
                    "(() => { const field = document.querySelector('#ask input'); field.value = ''; \
                     field.dispatchEvent(new Event('input', { bubbles: true })); })()",
                );
            }
            let (answer, lit) = state(&mut browser);
            let expected = format!("dimension 0: an index is a number from 0 to {}", size - 1);
            assert_eq!(answer, [[expected]], "{wrong}");
            assert!(lit.is_empty());
        }
        check_complaints(&mut browser);
    }
}

/// The lowest contrast of any text on the page with its background, by WCAG.
const CONTRAST: &str = "(() => {
    const parse = (color) => {
      const [r, g, b, a = 1] = color.match(/[0-9.]+/g).map(Number);
      return { rgb: [r, g, b], a };
    };
    const over = (top, below) => top.rgb.map((c, at) => c * top.a + below[at] * (1 - top.a));
    const behind = (element) => {
      if (element === null) return [255, 255, 255];
      const color = parse(getComputedStyle(element).backgroundColor);
      return color.a === 1 ? color.rgb : over(color, behind(element.parentElement));
    };
    const light = (rgb) => rgb.map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
      .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
    let least = [Infinity, ''];
    for (const element of document.body.querySelectorAll('*')) {
      const has = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
      if (!(has || element.tagName === 'INPUT') || element.tagName === 'SCRIPT') continue;
      const back = behind(element);
      const text = over(parse(getComputedStyle(element).color), back);
      const [a, b] = [light(text), light(back)];
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (contrast < least[0]) least = [contrast, element.outerHTML.slice(0, 120)];
    }
    return { least, paper: getComputedStyle(document.body).backgroundColor };
  })()";

/// Sizes of blocks that overlap a cell, a frame or each other, or exceed their area.
const IN_THE_WAY: &str = "(() => {
    const boxes = (what) => [...document.querySelectorAll(what)].map((element) => [element, element.getBoundingClientRect()]);
    const others = boxes('.cell:not(.lit), .frame, .size, .which, .at, caption, figcaption');
    const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    return boxes('.size').flatMap(([size, box]) => {
      const place = size.parentElement.getBoundingClientRect();
      const leaves = box.left < place.left - 1 || box.right > place.right + 1 || box.bottom > place.bottom + 1;
      const met = others.filter(([other, there]) => other !== size && overlap(box, there));
      return [...(leaves ? [`${size.textContent} leaves its place`] : []),
        ...met.map(([other]) => `${size.textContent} and ${other.outerHTML.slice(0, 80)}`)];
    });
  })()";

#[test]
fn the_page_is_readable_in_both_color_schemes_and_on_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    let six = [&[2, 1][..], &[3], &[2, 3], &[1, 3], &[1], &[]];
    let pages = [
        Explanation::new(Rules::STANDARD, &six).unwrap().html(),
        Explanation::new(Rules::STANDARD, &[&[8, 1, 6, 1][..], &[7, 1, 5]]).unwrap().html(),
        Explanation::new(Rules::STANDARD, &[[0, 3], [1, 1]]).unwrap().html(),
        Explanation::new(Rules::STANDARD, &[vec![usize::MAX; 3], vec![]]).unwrap().html(),
        Explanation::new(Rules::STANDARD, &[vec![usize::MAX; 30], vec![1; 7]]).unwrap().html(),
        Explanation::new(Rules::STANDARD, &[[1000, 1]; 10])
            .unwrap()
            .name(0, &"long".repeat(20))
            .values(0, |_| "a value without end, wide and long".into())
            .html(),
    ];
    for page in &pages {
        browser.resize(1300, 1000);
        browser.open(page);
        // Also with a highlighted cell, if there is one.
        browser.evaluate("document.querySelector('.cell[data-of=Z0]')?.focus()");
        let mut papers = Vec::new();
        for scheme in ["light", "dark"] {
            browser.emulate("prefers-color-scheme", scheme);
            let look = browser.evaluate(CONTRAST);
            assert!(look["least"][0].as_f64().unwrap() >= 4.5, "{scheme}: {look}");
            papers.push(look["paper"].clone());
        }
        assert_ne!(papers[0], papers[1]);

        browser.resize(390, 844);
        let widths =
            browser.evaluate("[document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]");
        assert_eq!(widths, json!([390, 390, 390]));

        for width in [390, 1300] {
            browser.resize(width, 844);
            assert_eq!(browser.evaluate(IN_THE_WAY), json!([]), "at {width}");
        }

        let motion = "(() => { const cell = document.querySelector('.cell.lit'); \
                      return cell && [getComputedStyle(cell).transitionProperty, \
                      getComputedStyle(cell).transform]; })()";
        browser.emulate("prefers-reduced-motion", "reduce");
        let still = browser.evaluate(motion);
        assert!(still == Value::Null || still == json!(["none", "none"]), "{still}");
        check_complaints(&mut browser);
    }
}

/// The page of a reduction shows for every cell which elements the engine folds into one.
#[test]
fn reductions_show_what_is_folded() {
    let Some(mut browser) = Browser::start() else { return };
    browser.resize(1300, 1000);
    let sum = || Reduction::new(ReduceOp::Sum);
    for (shape, reduction) in [
        (&[3usize, 4][..], sum().axes(1)),
        (&[2, 3, 2], sum().axes([0, 2])),
        (&[2, 2], sum().axes(0).keep_dims(true)),
        (&[3], sum()),
    ] {
        browser.open(&ReductionExplanation::new(&reduction, shape).unwrap().html());
        let zeros = ArrayD::<i64>::zeros(IxDyn(shape));
        for (index, _) in zeros.indexed_iter() {
            let mut marked = zeros.clone();
            marked[index.clone()] = 1;
            // The result that this element is folded into, and all elements of that result.
            let Tensor::I64(hit) = lazy(&marked).reduce(reduction.clone()).compute().unwrap() else {
                panic!()
            };
            let (result, _) = hit.indexed_iter().find(|(_, sum)| **sum == 1).unwrap();
            let result = cell("R", result.slice());
            point_at_cell(&mut browser, "X", index.slice());
            let (answer, lit) = state(&mut browser);
            assert!(answer[0][0].starts_with(&format!("{result} = ")), "{answer:?}");
            let members = zeros.indexed_iter().map(|(other, _)| other).filter(|other| {
                let mut both = zeros.clone();
                both[index.clone()] += 1;
                both[other.clone()] += 1;
                let sum = lazy(&both).reduce(reduction.clone()).compute().unwrap();
                matches!(sum, Tensor::I64(sum) if sum.iter().any(|&sum| sum == 2))
            });
            let expected: BTreeSet<String> = members.map(|other| cell("X", other.slice())).collect();
            let shown: BTreeSet<String> = lit.iter().filter(|name| name.starts_with('X')).cloned().collect();
            assert_eq!(shown, expected, "{shape:?} {index:?}");
            assert!(lit.contains(&result) && lit.iter().any(|name| name.starts_with('Y')), "{lit:?}");
        }
        check_complaints(&mut browser);
    }

    fn cell(of: &str, index: &[usize]) -> String {
        let index: Vec<String> = index.iter().map(usize::to_string).collect();
        format!("{of}[{}]", index.join(","))
    }
}
