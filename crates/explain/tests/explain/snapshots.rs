//! Diagrams compared with snapshots in the folder `snapshots`.
//!
//! After an intended change, review the new snapshots that this command writes:
//! `UNISHAPE_DRAW=1 cargo test -p unishape-explain --test explain snapshots`.

use super::explain;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use unishape::expr::{ReduceOp, Reduction};
use unishape_explain::{Explanation, ReductionExplanation};

/// Inputs that cover every kind of diagram, with few cells to keep files small.
fn cases() -> Vec<(&'static str, Explanation)> {
    let max = usize::MAX;
    vec![
        ("matrix", explain(&[&[3, 1], &[4]])),
        ("same", explain(&[&[2, 3], &[2, 3]])),
        ("scalars", explain(&[&[], &[]])),
        ("none", explain(&[])),
        ("empty", explain(&[&[0, 3], &[]])),
        ("panels", explain(&[&[2, 1, 3], &[2, 1]])),
        ("four", explain(&[&[2, 1, 2, 1], &[3, 1, 2]])),
        ("long", explain(&[&[1000, 1], &[12]])),
        ("blocks", explain(&[&[12, 1, 1, 1], &[10_000, 1, 9]])),
        ("largest", explain(&[&[1, max], &[max, 1]])),
        ("wide", explain(&[&[5, 1, 8]])),
        ("thin", explain(&[&[100_000, 1, 1]])),
        ("sparse", explain(&[&[max]]).values(0, |_| "1".into())),
        ("hollow", explain(&[&[1, 8], &[0, 1]]).values(0, |_| "12345678".into())),
        ("high", explain(&[&[&[max], &[1; 28][..], &[2]].concat(), &[1; 29]])),
        ("table", explain(&[&[2, 1, 3, 1, 12], &[4, 1, 5, 1]])),
        ("many", explain(&[&[2][..]; 7])),
        (
            "named",
            explain(&[&[3, 1], &[2]])
                .name(0, "a <file> & \"more\"")
                .name(1, &"long".repeat(20))
                .values(0, |index| ["-1.5", "NaN", "漢字"][index[0]].into())
                .values(1, |index| ["a value that is long", "1"][index[0]].into()),
        ),
    ]
}

/// The diagram without the text from `start` to `end`.
fn without(diagram: &str, start: &str, end: &str) -> String {
    match diagram.split_once(start) {
        Some((before, rest)) => before.to_owned() + rest.split_once(end).unwrap().1,
        None => diagram.into(),
    }
}

#[test]
fn diagrams_are_equal_to_their_snapshots() {
    let mut changed = Vec::new();
    for (name, explanation) in cases() {
        let mut text = String::new();
        for width in [100, 36] {
            let _ = writeln!(text, "{}\n", explanation.text(false, width));
        }
        // Escape sequences of colors, readable.
        text += &explanation.text(true, 70).replace('\x1b', "\\e");
        changed.extend(differing(name, [text, explanation.svg(), explanation.html()]));
    }
    assert!(changed.is_empty(), "the diagrams differ from {changed:#?}");
}

/// Reductions of every kind.
#[test]
fn reductions_are_equal_to_their_snapshots() {
    let sum = || Reduction::new(ReduceOp::Sum);
    let of = |reduction: Reduction, shape: &[usize]| ReductionExplanation::new(&reduction, shape).unwrap();
    let values = of(Reduction::new(ReduceOp::Mean).axes(0), &[2, 2]).name("a <b>.npy").values(
        |index| ["1.5", "2.5", "3.5", "4.5"][2 * index[0] + index[1]].into(),
        |index| ["2.5", "3.5"][index[0]].into(),
    );
    let cases = [
        ("reduce-rows", of(sum().axes(1), &[3, 4])),
        ("reduce-all", of(sum(), &[2, 3])),
        ("reduce-keep", of(Reduction::new(ReduceOp::Max).axes([0, -1]).keep_dims(true), &[2, 3, 2])),
        ("reduce-none", of(sum().axes([]), &[3])),
        ("reduce-empty", of(sum().axes(0), &[0, 2])),
        ("reduce-long", of(sum().axes(0), &[1000, 12])),
        ("reduce-table", of(sum().axes([1, 4]), &[2, 3, 4, 5, 6])),
        ("reduce-values", values),
    ];
    let mut changed = Vec::new();
    for (name, explanation) in cases {
        let text = [100, 36].map(|width| explanation.text(false, width)).join("\n\n");
        changed.extend(differing(name, [text, explanation.svg(), explanation.html()]));
    }
    assert!(changed.is_empty(), "the diagrams differ from {changed:#?}");
}

/// The files whose content differs from the text, SVG and HTML of a diagram.
fn differing(name: &str, [text, svg, html]: [String; 3]) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain/snapshots");
    let mut changed = Vec::new();
    for (kind, mut drawn) in [("txt", text), ("svg", svg), ("html", html)] {
        // Script and style are constant; one snapshot with the style is enough.
        drawn = without(&drawn, "<script>", "</script>");
        if name != "long" {
            drawn = without(&drawn, "<style>", "</style>");
        }
        let path = folder.join(format!("{name}.{kind}"));
        if std::env::var_os("UNISHAPE_DRAW").is_some() {
            fs::write(&path, &drawn).unwrap();
        }
        if fs::read_to_string(&path).ok() != Some(drawn) {
            changed.push(path);
        }
    }
    changed
}

/// An empty output has no legend about omitted cells, even if its input omits some.
#[test]
fn empty_outputs_omit_no_cells() {
    let explanation = explain(&[&[0, 1], &[1000]]);
    for drawn in [explanation.svg(), explanation.html(), explanation.text(false, 80)] {
        assert!(!drawn.contains("Dots leave"), "{drawn}");
    }
}

/// The limits on the number of cells are exact.
#[test]
fn the_number_of_cells_is_limited() {
    let cells = |shape: &[usize], inputs: usize| {
        let svg = explain(&vec![shape; inputs]).svg();
        svg.matches("data-of=\"Z0\"").count()
    };
    assert_eq!(cells(&[5, 5, 8], 1), 200);
    assert!(cells(&[6, 5, 8], 1) < 200);
    assert_eq!(cells(&[5, 5, 8], 4), 200);
    assert!(cells(&[5, 5, 8], 5) < 200);
}

/// The smallest width at which `holds`, and the width of the widest of the lines `of` interest.
fn narrowest(
    explanation: &Explanation,
    holds: impl Fn(&str) -> bool,
    of: impl Fn(&&str) -> bool,
) -> (usize, usize) {
    let text = |width: usize| explanation.text(false, width);
    let width = (24..200).find(|&width| holds(&text(width))).unwrap();
    let widest = text(width).lines().filter(of).map(|line| line.chars().count()).max();
    (width, widest.unwrap())
}

/// A table, and panels side by side, appear at the smallest width that fits them.
#[test]
fn the_width_is_used_exactly() {
    let (width, widest) = narrowest(
        &explain(&[&[2, 1, 3, 1, 12], &[4, 1, 5, 1]]),
        |text| text.contains("dimension  X1"),
        |line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()) && line.ends_with(['0', 'f']),
    );
    assert_eq!(width, widest);
    let (width, widest) = narrowest(
        &explain(&[&[3, 1, 2]]),
        |text| text.lines().any(|line| line.contains("[0,:,:]") && line.contains("[2,:,:]")),
        |line| line.contains('│'),
    );
    assert_eq!(width, widest);
}
