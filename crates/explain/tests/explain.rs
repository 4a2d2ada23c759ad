//! Diagrams are correct, well-formed, safe and of bounded size.

#[path = "explain/blocks.rs"]
mod blocks;
#[path = "explain/reductions.rs"]
mod reductions;
#[path = "explain/snapshots.rs"]
mod snapshots;

use proptest::prelude::*;
use std::collections::BTreeMap;
use unishape::{Error, Rules};
use unishape_core::{element_count, source_index};
use unishape_explain::Explanation;

fn explain(shapes: &[&[usize]]) -> Explanation {
    Explanation::new(Rules::STANDARD, shapes).unwrap()
}

#[test]
fn names_of_dimensions_stand_for_sizes() {
    let named = |input: &[Option<&str>], result: &[Option<&str>]| {
        explain(&[&[2, 3], &[3]]).dim_names(0, input).result_dim_names(result).text(false, 80)
    };
    let text = named(&[Some("N"), None], &[Some("M"), None]);
    assert!(text.starts_with("Nx3 with 3 gives Mx3\n"), "{text}");
    assert!(text.contains("\nDrawn with N = 2, M = 2. "), "{text}");
    let text = named(&[], &[None, Some("W")]);
    assert!(text.starts_with("2x3 with 3 gives 2xW\n") && text.contains("\nDrawn with W = 3. "), "{text}");
    let text = named(&[], &[]);
    assert!(text.starts_with("2x3 with 3 gives 2x3\n") && !text.contains("Drawn with"), "{text}");
    // With commas where a name has an x, and shortened to 16 characters.
    let text = named(&[Some("x"), Some("characters_of_text")], &[]);
    assert!(text.starts_with("x,characters_of_t… with 3 gives 2x3\n"), "{text}");
    // A modifier has a width only together with the character before.
    let text = named(&[Some("\u{1f44d}\u{1f3fd}n"), None], &[]);
    assert!(text.contains("\nX0  \u{1f44d}\u{1f3fd}nx3 "), "{text}");
}

#[test]
fn text_of_two_inputs() {
    let text = explain(&[&[3, 1], &[4]]).text(false, 80);
    assert_eq!(
        text,
        "\
3x1 with 4 gives 3x4

Step 1 lines the shapes up on the right and completes the shorter ones with 1s
on the left. Step 2 stretches a 1 to the size that the others have there: all
its indices read the same element.
Every output has 12 elements. No element is copied: an output is another way to
read its input.
Dashed cells repeat an element that stands elsewhere.

── X0 ──────────────────────────────────────────────────────────────────────────

X0  3x1           Y0  3x1           Z0  3x4

┌───┐             ┌───┐             ┌───┬╌╌╌┬╌╌╌┬╌╌╌┐
│ 0 │             │ 0 │             │ 0 │ 0 ┊ 0 ┊ 0 ┊
├───┤    step 1   ├───┤    step 2   ├───┼╌╌╌┼╌╌╌┼╌╌╌┤
│ 1 │    ──────▶  │ 1 │    ──────▶  │ 1 │ 1 ┊ 1 ┊ 1 ┊
├───┤             ├───┤             ├───┼╌╌╌┼╌╌╌┼╌╌╌┤
│ 2 │             │ 2 │             │ 2 │ 2 ┊ 2 ┊ 2 ┊
└───┘             └───┘             └───┴╌╌╌┴╌╌╌┴╌╌╌┘

  dimension 0: 3, every index reads itself
  dimension 1: 1 → 4, every index reads 0
  Z0[i,j] = Y0[i,0] = X0[i,0]
  X0 has 3 elements, Z0 has 12 elements: each of X0 is read 4 times.

── X1 ──────────────────────────────────────────────────────────────────────────

X1  4                       Y1  1x4                     Z1  3x4
                                ^ added
┌───┬───┬───┬───┐  step 1   ┌───┬───┬───┬───┐  step 2   ┌───┬───┬───┬───┐
│ 0 │ 1 │ 2 │ 3 │  ──────▶  │ 0 │ 1 │ 2 │ 3 │  ──────▶  │ 0 │ 1 │ 2 │ 3 │
└───┴───┴───┴───┘           └───┴───┴───┴───┘           ├───┼───┼───┼───┤
                                                        ┊ 0 ┊ 1 ┊ 2 ┊ 3 ┊
                                                        ├╌╌╌┼╌╌╌┼╌╌╌┼╌╌╌┤
                                                        ┊ 0 ┊ 1 ┊ 2 ┊ 3 ┊
                                                        └╌╌╌┴╌╌╌┴╌╌╌┴╌╌╌┘

  dimension 0: added by step 1: 1 → 3, every index reads 0
  dimension 1: 4, every index reads itself
  Z1[i,j] = Y1[0,j] = X1[j]
  X1 has 4 elements, Z1 has 12 elements: each of X1 is read 3 times.
"
    );
}

#[test]
fn the_legend_mentions_repetition() {
    for (shapes, repeats) in [
        (&[&[4][..]][..], false),
        (&[&[2, 3], &[2, 3]], false),
        (&[&[0, 3], &[1]], false),
        (&[&[1, 4], &[4]], false),
        (&[&[2, 4], &[4]], true),
    ] {
        let explanation = explain(shapes);
        assert_eq!(explanation.text(false, 80).contains("Dashed cells"), repeats, "{shapes:?}");
        assert_eq!(explanation.svg().contains("dashed cells"), repeats, "{shapes:?}");
        assert_eq!(explanation.html().contains("dashed cells"), repeats, "{shapes:?}");
    }
}

/// The part of a text about one input.
fn about(text: &str, input: usize) -> &str {
    let start = text.find(&format!("── X{input}")).unwrap();
    let rest = &text[start..];
    rest.find(&format!("\n── X{}", input + 1)).map_or(rest, |end| &rest[..end])
}

#[test]
fn text_of_long_dimensions() {
    let text = explain(&[&[1000, 1], &[500]]).text(false, 60);
    assert_eq!(
        about(&text, 1),
        "\
── X1 ──────────────────────────────────────────────────────

X1  500

├─────────── 500 ───────────┤
┌─────┬─────┬─────┐   ┌─────┐
│   0 │   1 │   2 │ ⋯ │ 499 │
└─────┴─────┴─────┘   └─────┘
  │ step 1
  ▼
Y1  1x500
    ^ added
├─────────── 500 ───────────┤
┌─────┬─────┬─────┐   ┌─────┐
│   0 │   1 │   2 │ ⋯ │ 499 │
└─────┴─────┴─────┘   └─────┘
  │ step 2
  ▼
Z1  1000x500

├─────────── 500 ───────────┤
┌─────┬─────┬─────┐   ┌─────┐ ┬
│   0 │   1 │   2 │ ⋯ │ 499 │ │
├─────┼─────┼─────┤   ├─────┤ │
┊   0 ┊   1 ┊   2 ┊ ⋯ ┊ 499 ┊ │
├╌╌╌╌╌┼╌╌╌╌╌┼╌╌╌╌╌┤   ├╌╌╌╌╌┤ │
┊   0 ┊   1 ┊   2 ┊ ⋯ ┊ 499 ┊ 1 → 1000
└╌╌╌╌╌┴╌╌╌╌╌┴╌╌╌╌╌┘   └╌╌╌╌╌┘ │
   ⋮     ⋮     ⋮         ⋮    │
┌╌╌╌╌╌┬╌╌╌╌╌┬╌╌╌╌╌┐   ┌╌╌╌╌╌┐ │
┊   0 ┊   1 ┊   2 ┊ ⋯ ┊ 499 ┊ │
└╌╌╌╌╌┴╌╌╌╌╌┴╌╌╌╌╌┘   └╌╌╌╌╌┘ ┴

  dimension 0: added by step 1: 1 → 1000, every index reads
  0
  dimension 1: 500, every index reads itself
  Z1[i,j] = Y1[0,j] = X1[j]
  X1 has 500 elements, Z1 has 500000 elements: each of X1 is
  read 1000 times.
"
    );
}

#[test]
fn text_of_empty_arrays_and_of_rank_0() {
    let empty = explain(&[&[0, 3], &[]]).text(false, 80);
    assert_eq!(
        about(&empty, 1),
        "\
── X1 ──────────────────────────────────────────────────────────────────────────

X1  ()           Y1  1x1                 Z1  0x3
                     ^ ^ added
┌───┐   step 1   ┌───┐          step 2   ┌───────┐
│ 0 │   ──────▶  │ 0 │          ──────▶  │ empty │
└───┘            └───┘                   └───────┘

  dimension 0: added by step 1: 1 → 0, there is no index
  dimension 1: added by step 1: 1 → 3, every index reads 0
  Z1 has no element, so nothing is read.
  X1 has 1 element, Z1 has none.
"
    );
    assert!(explain(&[]).text(false, 80).starts_with("no input gives ()\n"));
}

#[test]
fn text_of_many_dimensions_is_a_table() {
    let text = explain(&[&[2, 1, 3, 1, 12], &[4, 1, 5, 1]]).text(false, 80);
    assert_eq!(
        about(&text, 1),
        "\
── X1 ──────────────────────────────────────────────────────────────────────────

  X1  4x1x5x1
  Y1  1x4x1x5x1
  Z1  2x4x3x5x12

  dimension  X1  Y1  Z1
          0   –   1   2  added by step 1, every index reads 0
          1   4   4   4  every index reads itself
          2   1   1   3  every index reads 0
          3   5   5   5  every index reads itself
          4   1   1  12  every index reads 0
  Z1[i0,i1,i2,i3,i4] = Y1[0,i1,0,i3,0] = X1[i1,0,i3,0]
  X1 has 20 elements, Z1 has 1440 elements: each of X1 is read 72 times.
"
    );
}

#[test]
fn a_table_that_does_not_fit_is_sentences() {
    let text = explain(&[&[2, 1, 1, 1, 1_000_000_000_000], &[]]).text(false, 40);
    assert!(!text.contains("dimension  X0"));
    assert!(
        about(&text, 0).contains("  dimension 4: 1000000000000, every\n  index reads itself\n"),
        "{text}"
    );
}

#[test]
fn names_and_values_are_shown() {
    let values = ["-1.5", "NaN", "漢字"];
    let explanation = explain(&[&[3], &[2, 1]])
        .name(0, "weights.npy")
        .values(0, |index| values[index[0]].to_string())
        .name(7, "ignored");
    let text = explanation.text(false, 80);
    assert!(text.contains("── X0  weights.npy ──"));
    assert!(text.contains("│ -1.5 │  NaN │ 漢字 │"), "{text}");
    for drawn in [explanation.svg(), explanation.html()] {
        assert!(drawn.contains("weights.npy") && drawn.contains(">-1.5<") && drawn.contains(">漢字<"));
    }
}

/// Wide characters and combining marks do not shift the borders of cells.
#[test]
fn cells_are_aligned_by_terminal_columns() {
    let values = ["漢字", "नमस्ते", "กำ", "e\u{5b0}", "👍🏽"];
    let text = explain(&[&[5], &[2, 1]]).values(0, |index| values[index[0]].to_string()).text(false, 120);
    let width = |line: &str| unicode_width::UnicodeWidthStr::width(line);
    let grid: Vec<&str> = about(&text, 0).lines().skip(4).take(3).collect();
    assert!(grid[0].starts_with('┌') && grid[1].starts_with("│ 漢字"), "{text}");
    let border = |line: &str, end: char| line.find(end).map(|at| width(&line[..at]));
    assert_eq!(border(grid[0], '┐'), border(grid[2], '┘'));
    let row_end = grid[1].match_indices('│').nth(5).map(|(at, _)| width(&grid[1][..at]));
    assert_eq!(row_end, border(grid[0], '┐'), "{text}");
}

#[test]
fn color_is_optional() {
    let explanation = explain(&[&[3, 1], &[4]]);
    assert!(!explanation.text(false, 80).contains('\x1b'));
    let colored = explanation.text(true, 80);
    let mut plain = String::new();
    let mut parts = colored.split("\x1b[");
    plain.push_str(parts.next().unwrap());
    for part in parts {
        plain.push_str(part.split_once('m').unwrap().1);
    }
    assert_eq!(plain, explanation.text(false, 80));
}

#[test]
fn incompatible_shapes_are_an_error() {
    let error = Explanation::new(Rules::STANDARD, &[[3], [4]]).unwrap_err();
    assert!(matches!(error, Error::Incompatible(_)));
    assert!(Explanation::new(Rules::SONNX, &[[0], [1]]).is_err());
}

#[test]
fn hostile_names_and_values_are_harmless() {
    let hostile = "</script><script>alert(1)</script>\"'&<!--]]>\u{1b}[31m\u{0}\r\n\u{202e}\u{ffff}";
    let explanation = explain(&[&[2], &[2, 1]])
        .name(0, hostile)
        .values(0, |_| hostile.into())
        .values(1, |index| ["<b onclick='x'>", "\u{1b}]0;title\u{7}"][index[0]].into());
    let svg = explanation.svg();
    let tree = roxmltree::Document::parse(&svg).unwrap();
    assert!(!tree.descendants().any(|node| node.has_tag_name("script") || node.has_tag_name("b")));
    let html = explanation.html();
    let harmless = explain(&[&[2], &[2, 1]]).html();
    for tag in ["<script", "</script", "<b ", "<!--"] {
        assert_eq!(html.matches(tag).count(), harmless.matches(tag).count(), "{tag}");
    }
    for text in [explanation.text(false, 80), svg.clone(), html.clone()] {
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        assert!(!text.contains(['\u{202e}', '\u{ffff}']));
    }
    assert!(explain(&[&[1]]).name(0, &"long ".repeat(1000)).text(false, 80).len() < 3000);
}

#[test]
fn nothing_is_unbounded() {
    let max = usize::MAX;
    let many = vec![vec![4, 1, 4, 4]; 100_000];
    let cases: Vec<Vec<Vec<usize>>> = vec![
        vec![vec![max, 1, max, 1], vec![max, 1, max]],
        vec![vec![max; 4], vec![max; 4]],
        vec![vec![1; 1000], vec![max; 1000]],
        vec![vec![2; 100_000], vec![]],
        vec![vec![max, 0, max]],
        vec![vec![8; 4]; 6],
        vec![vec![8, 1, 8, 8]; 6],
        many,
    ];
    for shapes in &cases {
        let explanation = Explanation::new(Rules::STANDARD, shapes).unwrap();
        let rank = explanation.shape().len();
        for width in [0, 30, 80, 200, max] {
            let text = explanation.text(true, width);
            assert!(text.len() < 240_000, "text of rank {rank}, width {width}: {}", text.len());
        }
        let (svg, html) = (explanation.svg(), explanation.html());
        assert!(svg.len() < 400_000 && html.len() < 400_000, "rank {rank}: {}, {}", svg.len(), html.len());
        roxmltree::Document::parse(&svg).unwrap();
    }
}

#[test]
fn values_are_requested_only_for_drawn_cells() {
    let mut requests = 0;
    let _ = explain(&[&[1 << 40, 1, 1 << 20]]).values(0, |index| {
        requests += 1;
        format!("{index:?}")
    });
    assert_eq!(requests, 16);
}

#[test]
fn text_fits_the_width() {
    for shapes in [
        &[&[8, 1, 6, 1][..], &[7, 1, 5]][..],
        &[&[64, 1, 5], &[7, 1]],
        &[&[123_456_789_012, 1], &[9_007_199_254_740_993]],
        &[&[2, 1, 3, 1, 2, 1], &[]],
    ] {
        for width in 24..130 {
            for line in explain(shapes).text(false, width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}

/// Compatible shapes: suffixes of a common shape, with some sizes replaced by 1.
fn shapes() -> impl Strategy<Value = Vec<Vec<usize>>> {
    prop::collection::vec(0..=4usize, 0..=4).prop_flat_map(|common| {
        let rank = common.len();
        let shape = (0..=rank, prop::collection::vec(any::<bool>(), rank)).prop_map(move |(skip, keep)| {
            let sizes = common.iter().zip(keep).map(|(&size, keep)| if keep { size } else { 1 });
            sizes.skip(skip).collect::<Vec<usize>>()
        });
        prop::collection::vec(shape, 1..=4)
    })
}

proptest! {
    /// BC-5, BC-7: every drawn cell shows the element that the operator reads there.
    #[test]
    fn svg_cells_show_what_the_operator_reads(shapes in shapes()) {
        let explanation = Explanation::new(Rules::STANDARD, &shapes).unwrap();
        let svg = explanation.svg();
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let mut drawn: BTreeMap<String, BTreeMap<Vec<usize>, (String, bool)>> = BTreeMap::new();
        for node in tree.descendants() {
            if let (Some(of), Some(index)) = (node.attribute("data-of"), node.attribute("data-index")) {
                let index = index.split(',').filter(|part| !part.is_empty()).map(|i| i.parse().unwrap()).collect();
                let label: String = node.descendants().filter(|node| node.is_text()).filter_map(|node| node.text()).collect();
                let again = node.attribute("class").unwrap().contains("again");
                prop_assert!(drawn.entry(of.into()).or_default().insert(index, (label, again)).is_none());
            }
        }
        let target = explanation.shape();
        for (m, shape) in shapes.iter().enumerate() {
            let cells = drawn.remove(&format!("Z{m}")).unwrap_or_default();
            let count = element_count(target).unwrap();
            prop_assert!(cells.len() == count || (count > 200 && cells.len() >= 16));
            for (index, (label, again)) in cells {
                let mut source = vec![0; shape.len()];
                source_index(shape, target, &index, &mut source).unwrap();
                let number = shape.iter().zip(&source).fold(0, |number, (size, at)| number * size + at);
                prop_assert_eq!(label, number.to_string());
                let pad = target.len() - shape.len();
                let original = index[..pad].iter().all(|&i| i == 0) && index[pad..] == source[..];
                prop_assert_eq!(again, !original);
            }
            for stage in ["X", "Y"] {
                let cells = drawn.remove(&format!("{stage}{m}")).unwrap_or_default();
                for (index, (label, _)) in cells {
                    let pad = index.len() - shape.len();
                    let number = shape.iter().zip(&index[pad..]).fold(0, |number, (size, at)| number * size + at);
                    prop_assert_eq!(label, number.to_string());
                }
            }
        }
        prop_assert!(drawn.is_empty());
    }
}
