//! Shortened axes: their sizes are correct and complete, and overlap nothing.

use super::explain;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use unishape::Rules;
use unishape_explain::Explanation;

/// A rectangle: left, top, right, bottom.
type Rect = [f64; 4];

/// The content of an SVG file, in its coordinates.
#[derive(Default)]
struct Diagram {
    view: Rect,
    cells: Vec<Rect>,
    frames: Vec<Rect>,
    /// Texts outside cells, except sizes.
    texts: Vec<Rect>,
    sizes: Vec<(String, Rect)>,
}

impl Diagram {
    fn new(svg: &str) -> Diagram {
        let tree = roxmltree::Document::parse(svg).unwrap();
        let mut diagram = Diagram::default();
        for node in tree.descendants().filter(roxmltree::Node::is_element) {
            let number = |name: &str| node.attribute(name).unwrap_or("0").parse::<f64>().unwrap();
            let [dx, dy] = node
                .ancestors()
                .skip(1)
                .map(|node| shift(&node))
                .fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
            let (x, y) = (number("x") + dx, number("y") + dy);
            let class = node.attribute("class").unwrap_or("");
            let in_cell =
                node.parent_element().is_some_and(|parent| parent.attribute("data-index").is_some());
            match node.tag_name().name() {
                "svg" => diagram.view = [0.0, 0.0, number("width"), number("height")],
                "rect" if in_cell || class.starts_with("frame") => {
                    let rect = [x, y, x + number("width"), y + number("height")];
                    if in_cell { diagram.cells.push(rect) } else { diagram.frames.push(rect) }
                }
                "text" if class == "size" => {
                    let text = node.text().unwrap_or("").to_string();
                    let half = text.chars().count() as f64 * 4.0;
                    let rect = match node.attribute("transform") {
                        Some(_) => [x - 6.0, y - half, x + 6.0, y + half],
                        None => [x - half, y - 10.0, x + half, y + 2.0],
                    };
                    diagram.sizes.push((text, rect));
                }
                "text" if !in_cell => {
                    let content: String = node
                        .descendants()
                        .filter(roxmltree::Node::is_text)
                        .filter_map(|node| node.text())
                        .collect();
                    let is_middle = ["at", "dots", "step", "how"].contains(&class);
                    let width = content.chars().count() as f64 * if class == "at" { 5.5 } else { 7.0 };
                    let left = if is_middle { x - width / 2.0 } else { x };
                    diagram.texts.push([left, y - 9.0, left + width, y + 2.0]);
                }
                _ => {}
            }
        }
        diagram
    }
}

/// Translation of the content of a node.
fn shift(node: &roxmltree::Node<'_, '_>) -> [f64; 2] {
    let numbers = node.attribute("transform").and_then(|transform| {
        let (x, y) = transform.strip_prefix("translate(")?.strip_suffix(')')?.split_once(' ')?;
        Some([x.parse().ok()?, y.parse().ok()?])
    });
    numbers.unwrap_or([0.0; 2])
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

fn is_within(inner: &Rect, outer: &Rect) -> bool {
    inner[0] >= outer[0] && inner[1] >= outer[1] && inner[2] <= outer[2] && inner[3] <= outer[3]
}

/// Checks that nothing is cut off, and that no size or frame overlaps anything.
fn check_overlap(svg: &str) -> Result<(), TestCaseError> {
    let diagram = Diagram::new(svg);
    for (at, (text, size)) in diagram.sizes.iter().enumerate() {
        prop_assert!(is_within(size, &diagram.view), "{text} is cut off");
        for other in diagram.cells.iter().chain(&diagram.frames).chain(&diagram.texts) {
            prop_assert!(!overlap(size, other), "{text} {size:?} overlaps {other:?}");
        }
        for (other, rect) in &diagram.sizes[..at] {
            prop_assert!(!overlap(size, rect), "{text} overlaps {other}");
        }
    }
    for (at, frame) in diagram.frames.iter().enumerate() {
        prop_assert!(is_within(frame, &diagram.view));
        prop_assert!(!diagram.frames[..at].iter().any(|other| overlap(frame, other)));
        for cell in &diagram.cells {
            prop_assert!(is_within(cell, frame) || !overlap(cell, frame));
        }
    }
    Ok(())
}

/// The indices that are drawn along each dimension of each array.
type Drawn = BTreeMap<String, Vec<BTreeSet<usize>>>;

/// Reads the drawn indices from an SVG file or a page.
fn drawn(diagram: &str) -> Drawn {
    let mut drawn = Drawn::new();
    for part in diagram.split("data-of=\"").skip(1) {
        let (of, rest) = part.split_once('"').unwrap();
        let Some(rest) = rest.trim_start().strip_prefix("data-index=\"") else { continue };
        let index = rest.split('"').next().unwrap().split(',').filter(|at| !at.is_empty());
        let axes = drawn.entry(of.into()).or_default();
        for (dim, at) in index.enumerate() {
            if axes.len() <= dim {
                axes.push(BTreeSet::new());
            }
            axes[dim].insert(at.parse().unwrap());
        }
    }
    drawn
}

/// The sizes that the diagram must contain, sorted.
fn expected(shapes: &[Vec<usize>], target: &[usize], drawn: &Drawn) -> Vec<String> {
    let mut sizes = Vec::new();
    for (of, axes) in drawn {
        let shape = &shapes[of[1..].parse::<usize>().unwrap()];
        let rank = axes.len();
        for (dim, axis) in axes.iter().enumerate() {
            let before = (dim + shape.len()).checked_sub(rank).map_or(1, |at| shape[at]);
            let size = if of.starts_with('Z') { target[dim] } else { before };
            if axis.len() == size {
                continue;
            }
            let stretched = if size == before { "" } else { "1 → " };
            let panels = if dim + 2 < rank { " panels" } else { "" };
            let text = format!("{stretched}{}{panels}", digits(size));
            // The number of columns is written at every panel, that of rows once per row of panels.
            let count = |from: usize| axes[..rank - from].iter().rev();
            let times = match rank - dim {
                1 => count(2.min(rank)).map(BTreeSet::len).product(),
                2 => count(3.min(rank)).map(BTreeSet::len).product(),
                _ => 1,
            };
            sizes.extend(std::iter::repeat_n(text, times));
        }
    }
    sizes.sort();
    sizes
}

/// Digits in groups of three, from 10 000 on.
fn digits(size: usize) -> String {
    match size {
        0..10_000 => size.to_string(),
        _ => {
            let mut groups = Vec::new();
            let mut rest = size;
            while rest >= 1000 {
                groups.push(format!("{:03}", rest % 1000));
                rest /= 1000;
            }
            groups.push(rest.to_string());
            groups.reverse();
            groups.join("\u{202f}")
        }
    }
}

/// The sizes on a page, sorted.
fn page_sizes(page: &str) -> Vec<String> {
    let parts = page.split("<p class=\"size ").skip(1);
    let mut sizes: Vec<String> =
        parts.map(|part| part.split(['>', '<']).nth(1).unwrap().to_string()).collect();
    sizes.sort();
    sizes
}

/// Compatible shapes with small, large and maximal sizes.
fn shapes() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let size = prop_oneof![4 => 1..=9usize, 3 => 9..2000usize, 1 => Just(9_999), 1 => Just(10_000),
        1 => Just(1_000_000), 1 => Just(usize::MAX), 1 => Just(0)];
    prop::collection::vec(size, 0..=4).prop_flat_map(|common| {
        let rank = common.len();
        let shape = (0..=rank, prop::collection::vec(any::<bool>(), rank)).prop_map(move |(skip, keep)| {
            let sizes = common.iter().zip(keep).map(|(&size, keep)| if keep { size } else { 1 });
            sizes.skip(skip).collect::<Vec<usize>>()
        });
        prop::collection::vec(shape, 1..=3)
    })
}

proptest! {
    #[test]
    fn sizes_are_written_along_shortened_axes(shapes in shapes()) {
        let explanation = Explanation::new(Rules::STANDARD, &shapes).unwrap();
        let target = explanation.shape();
        let (svg, page) = (explanation.svg(), explanation.html());
        let mut sizes: Vec<String> = Diagram::new(&svg).sizes.into_iter().map(|(size, _)| size).collect();
        sizes.sort();
        prop_assert_eq!(sizes, expected(&shapes, target, &drawn(&svg)));
        prop_assert_eq!(page_sizes(&page), expected(&shapes, target, &drawn(&page)));
        check_overlap(&svg)?;
    }
}

#[test]
fn the_largest_sizes_fit() {
    let most = usize::MAX;
    for shapes in [
        &[&[most, 1][..], &[3]][..],
        &[&[1, 3], &[most, 1]],
        &[&[1, 1], &[most, most]],
        &[&[most, 1, most], &[most, 1]],
        &[&[most; 4], &[]],
        &[&[most, 1, most, 1], &[most, 1, most]],
    ] {
        let svg = explain(shapes).svg();
        check_overlap(&svg).unwrap();
        assert!(svg.contains(&digits(most)));
    }
}

#[test]
fn sizes_of_a_shortened_matrix() {
    let svg = explain(&[&[1000, 1], &[500]]).svg();
    let sizes: Vec<String> = Diagram::new(&svg).sizes.into_iter().map(|(size, _)| size).collect();
    assert_eq!(sizes, ["1000", "1000", "1 → 500", "1000", "500", "500", "500", "1 → 1000"]);
    assert_eq!(Diagram::new(&svg).frames.len(), 6);
}

/// An array that is drawn in full has no frame, no sizes and no legend about them.
#[test]
fn complete_arrays_are_not_blocks() {
    let explanation = explain(&[&[2, 3, 1], &[4]]);
    let (svg, page) = (explanation.svg(), explanation.html());
    assert!(!svg.contains("class=\"frame") && !svg.contains("extent") && !svg.contains("Dots"));
    assert!(!page.contains("class=\"size") && !page.contains("class=\"sized") && !page.contains("Dots"));
    assert!(!explanation.text(false, 80).contains("Dots"));
}

/// The output of the first input in a text.
fn output(text: &str) -> &str {
    let start = text.find("Z0  ").unwrap();
    &text[start..start + text[start..].find("\n\n  dimension 0").unwrap()]
}

#[test]
fn text_of_omitted_panels() {
    let text = explain(&[&[12_345, 1, 1], &[2, 1]]).text(false, 60);
    assert_eq!(
        output(&text),
        "\
Z0  12345x2x1

├─────────────── 12 345 panels ───────────────┤
[0,:,:]    [1,:,:]    [2,:,:]       [12344,:,:]
┌───────┐  ┌───────┐  ┌───────┐     ┌───────┐
│     0 │  │     1 │  │     2 │     │ 12344 │
├───────┤  ├───────┤  ├───────┤  ⋯  ├───────┤
┊     0 ┊  ┊     1 ┊  ┊     2 ┊     ┊ 12344 ┊
└╌╌╌╌╌╌╌┘  └╌╌╌╌╌╌╌┘  └╌╌╌╌╌╌╌┘     └╌╌╌╌╌╌╌┘"
    );
}
