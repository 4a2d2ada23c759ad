//! What is drawn, to the letter, as it was when somebody last looked at it.
//!
//! A change of a picture shows as a change of its file in `drawn`: look at it, and if it is meant, write
//! the files anew with `UNISHAPE_DRAW=1 cargo test -p unishape-explain --test explain drawn`.

use super::explain;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use unishape_explain::Explanation;

/// What every kind of picture is drawn of: few cells, so that files stay small, and all that can be in one.
fn cases() -> Vec<(&'static str, Explanation)> {
    let most = usize::MAX;
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
        ("largest", explain(&[&[1, most], &[most, 1]])),
        ("wide", explain(&[&[5, 1, 8]])),
        ("thin", explain(&[&[100_000, 1, 1]])),
        ("sparse", explain(&[&[most]]).values(0, |_| "1".into())),
        ("hollow", explain(&[&[1, 8], &[0, 1]]).values(0, |_| "12345678".into())),
        ("high", explain(&[&[&[most], &[1; 28][..], &[2]].concat(), &[1; 29]])),
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

/// A picture without one kind of code in it.
fn without(picture: &str, start: &str, end: &str) -> String {
    match picture.split_once(start) {
        Some((before, rest)) => before.to_owned() + rest.split_once(end).unwrap().1,
        None => picture.into(),
    }
}

#[test]
fn pictures_are_as_they_were_last_looked_at() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain/drawn");
    let mut changed = Vec::new();
    for (name, explanation) in cases() {
        let mut text = String::new();
        for width in [100, 36] {
            let _ = writeln!(text, "{}\n", explanation.text(false, width));
        }
        // Colours where they can be read.
        text += &explanation.text(true, 70).replace('\x1b', "\\e");
        for (kind, mut drawn) in [("txt", text), ("svg", explanation.svg()), ("html", explanation.html())] {
            // The script is a file of its own; so is most of the style, and to have it once is enough.
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
    }
    assert!(changed.is_empty(), "drawn in another way than in {changed:#?}");
}

/// An empty output has nothing to be said about, even where its input is not drawn whole.
#[test]
fn of_what_is_empty_nothing_is_left_out() {
    let explanation = explain(&[&[0, 1], &[1000]]);
    for drawn in [explanation.svg(), explanation.html(), explanation.text(false, 80)] {
        assert!(!drawn.contains("Dots leave"), "{drawn}");
    }
}

/// As many cells are drawn as may be, and not one more.
#[test]
fn as_many_cells_as_may_be() {
    let cells = |shape: &[usize], inputs: usize| {
        let svg = explain(&vec![shape; inputs]).svg();
        svg.matches("data-of=\"Z0\"").count()
    };
    assert_eq!(cells(&[5, 5, 8], 1), 200);
    assert!(cells(&[6, 5, 8], 1) < 200);
    assert_eq!(cells(&[5, 5, 8], 4), 200);
    assert!(cells(&[5, 5, 8], 5) < 200);
}

/// The narrowest text in which something holds, and the width of the widest of some of its lines.
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

/// A table, and panels side by side, are there as soon as they fit.
#[test]
fn what_fits_the_width_exactly() {
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
