//! Diagrams of reductions show what the engine computes.

use ndarray::{ArrayD, IxDyn};
use proptest::prelude::*;
use std::collections::BTreeMap;
use unishape::Tensor;
use unishape::expr::{ReduceOp, Reduction, lazy};
use unishape_explain::ReductionExplanation;

/// The index of the result that the engine folds the element at an index of X into.
fn folded_into(reduction: &Reduction, shape: &[usize], index: &[usize]) -> Vec<usize> {
    let mut marked = ArrayD::<i64>::zeros(IxDyn(shape));
    marked[IxDyn(index)] = 1;
    let Tensor::I64(sum) = lazy(&marked).reduce(reduction.clone()).compute().unwrap() else {
        panic!("not i64")
    };
    let mut found = sum.indexed_iter().filter(|(_, sum)| **sum == 1);
    let (index, _) = found.next().unwrap();
    assert!(found.next().is_none());
    ndarray::Dimension::slice(&index).to_vec()
}

/// The fill class of every cell of a diagram, by array and index.
fn shades(svg: &str) -> BTreeMap<(String, Vec<usize>), String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let cells = document.descendants().filter(|node| node.has_attribute("data-of"));
    cells
        .map(|cell| {
            let index = cell.attribute("data-index").unwrap();
            let index = index.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().unwrap());
            let shade = cell.first_element_child().unwrap().attribute("class").unwrap();
            ((cell.attribute("data-of").unwrap().into(), index.collect()), shade.into())
        })
        .collect()
}

fn reductions() -> impl Strategy<Value = (Vec<usize>, Reduction)> {
    prop::collection::vec(1usize..4, 0..5).prop_flat_map(|shape| {
        let axes = prop::sample::subsequence((0..shape.len() as i64).collect::<Vec<_>>(), 0..=shape.len());
        (Just(shape), axes, any::<bool>(), any::<bool>()).prop_map(|(shape, axes, negative, keep)| {
            let rank = shape.len() as i64;
            let axes: Vec<i64> =
                axes.into_iter().map(|axis| if negative { axis - rank } else { axis }).collect();
            (shape, Reduction::new(ReduceOp::Sum).axes(axes).keep_dims(keep))
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Every cell of X has the shade of the result that the engine folds it into, and the shape is the engine's.
    #[test]
    fn cells_have_the_colour_of_their_result((shape, reduction) in reductions()) {
        let explanation = ReductionExplanation::new(&reduction, &shape).unwrap();
        let zeros = ArrayD::<i64>::zeros(IxDyn(&shape));
        let computed = lazy(&zeros).reduce(reduction.clone()).compute().unwrap();
        prop_assert_eq!(explanation.shape(), computed.shape());
        let shades = shades(&explanation.svg());
        let cells = shades.iter().filter(|((of, _), _)| of == "X");
        prop_assert_eq!(cells.clone().count(), shape.iter().product::<usize>());
        for ((_, index), shade) in cells {
            let result = folded_into(&reduction, &shape, index);
            prop_assert_eq!(Some(shade), shades.get(&("R".into(), result)));
        }
    }

    /// Text fits its width whatever is reduced.
    #[test]
    fn text_fits_the_width((shape, reduction) in reductions(), width in 24usize..160) {
        let text = ReductionExplanation::new(&reduction, &shape).unwrap().text(false, width);
        prop_assert!(text.lines().all(|line| line.chars().count() <= width), "{}", text);
    }
}

#[test]
fn text_of_a_sum_of_rows() {
    let explanation = ReductionExplanation::new(&Reduction::new(ReduceOp::Sum).axes(1), &[3, 4]).unwrap();
    assert_eq!(
        explanation.text(false, 80),
        "\
sum of 3x4 along axis 1 gives 3

Step 1 folds all elements along axis 1 into one: that dimension collapses to
size 1. Step 2 removes it.
The result has 3 elements, each computed from 4 elements.
Cells show the numbers of elements, not their values.

── X ───────────────────────────────────────────────────────────────────────────

X  3x4                          Y  3x1           R  3
     ^ collapses
┌────┬────┬────┬────┐           ┌───┐   step 2   ┌───┬───┬───┐
│  0 │  1 │  2 │  3 │           │ 0 │   ──────▶  │ 0 │ 1 │ 2 │
├────┼────┼────┼────┤  step 1   ├───┤            └───┴───┴───┘
│  4 │  5 │  6 │  7 │  ──────▶  │ 1 │
├────┼────┼────┼────┤           ├───┤
│  8 │  9 │ 10 │ 11 │           │ 2 │
└────┴────┴────┴────┘           └───┘

  dimension 0: 3, stays
  dimension 1: 4 → 1, its 4 elements are folded into one
  R[i] = Y[i,0] = sum(X[i,:])
  X has 12 elements, R has 3 elements: each of X is read once.
"
    );
}

#[test]
fn invalid_axes_are_errors() {
    let sum = || Reduction::new(ReduceOp::Sum);
    let message = |reduction: Reduction, shape: &[usize]| {
        ReductionExplanation::new(&reduction, shape).unwrap_err().to_string()
    };
    assert!(message(sum().axes(2), &[3, 4]).contains("axis 2"), "{}", message(sum().axes(2), &[3, 4]));
    assert!(message(sum().axes([0, -2]), &[3, 4]).contains("given twice"));
    assert!(message(sum().axes(0), &[]).contains("axis 0"));
}

#[test]
fn of_many_dimensions_the_first_and_last_are_shown() {
    let explain = |rank: usize| {
        ReductionExplanation::new(&Reduction::new(ReduceOp::Sum).axes(1), &vec![2; rank]).unwrap()
    };
    // The rows of the table: the number of the dimension comes first.
    let dimensions = |rank: usize| -> Vec<usize> {
        let text = explain(rank).text(false, 80);
        let (_, table) = text.split_once("  dimension  X").unwrap();
        table.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
    };
    assert_eq!(dimensions(16), (0..16).collect::<Vec<_>>());
    assert_eq!(dimensions(20), [0, 1, 2, 3, 4, 5, 14, 15, 16, 17, 18, 19]);
    assert!(explain(20).text(false, 80).contains("⋮  8 more\n"));
    // The page has a table of them.
    let cells = |rank: usize| -> Vec<String> {
        let page = explain(rank).html();
        let (_, table) = page.split_once("<table class=\"sizes\">").unwrap();
        let (table, _) = table.split_once("</table>").unwrap();
        let rows = table.lines().skip(1).filter(|line| !line.is_empty());
        rows.map(|row| row.replace("</td>", " ").replace("<td>", "").replace("<tr>", "").replace("</tr>", ""))
            .collect()
    };
    let rows = cells(20);
    assert_eq!(rows.len(), 14, "{rows:?}");
    let firsts: Vec<&str> = rows.iter().map(|row| row.split_whitespace().next().unwrap_or("")).collect();
    let expected = ["dimension", "0", "1", "2", "3", "4", "5", "⋮", "14", "15", "16", "17", "18", "19"];
    assert!(firsts[1..] == expected[1..], "{rows:?}");
    assert!(rows[7].trim_end().ends_with("8 more"), "{}", rows[7]);
    assert_eq!(rows[2].split_whitespace().collect::<Vec<_>>(), ["1", "2", "1", "–", "collapses"]);
}

#[test]
fn summaries_count_the_elements_of_a_result() {
    let text = |shape: &[usize], axis: i64| {
        let reduction = Reduction::new(ReduceOp::Sum).axes(axis);
        ReductionExplanation::new(&reduction, shape).unwrap().text(false, 80)
    };
    for (shape, axis, summary) in [
        (&[0, 3][..], 1, "The result is empty: a size of 0 leaves no element."),
        (&[0, 3], 0, "The result has 3 elements, each computed from no element."),
        (&[3, 1], 1, "The result has 3 elements, each computed from one element."),
        (&[3, 2], 1, "The result has 3 elements, each computed from 2 elements."),
    ] {
        let text = text(shape, axis);
        assert!(text.contains(summary), "{text}");
    }
}
