//! Exact texts of the error messages for incompatible shapes.

use ndarray::arr1;
use unishape::Extent::{Known, Unknown};
use unishape::{
    CommonShape, Error, Rules, StretchError, broadcast_shapes, broadcast_shapes_with, broadcast_to,
};

fn e1<T: AsRef<[usize]>>(shapes: &[T]) -> String {
    broadcast_shapes(shapes).expect_err("incompatible shapes").to_string()
}

#[track_caller]
fn assert_text(ours: String, expected: &str) {
    let expected = expected.trim_matches('\n');
    assert!(ours == expected, "\n--- ours\n{ours}\n--- expected\n{expected}\n---");
}

#[test]
fn bc9_two_inputs() {
    assert_text(
        e1(&[&[2, 1][..], &[8, 4, 3]]),
        "
E1: incompatible shapes in dimension 1: input 0 has 2, input 1 has 4

  input 0      2 x 1
  input 1  8 x 4 x 3
               ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
",
    );
}

#[test]
fn bc9_five_inputs_with_two_incompatible_dimensions() {
    assert_text(
        e1(&[&[64, 1, 5][..], &[7, 1], &[64, 7, 6], &[], &[8, 1, 1]]),
        "
E1: incompatible shapes in dimension 2: input 0 has 5, input 2 has 6

  input 0  64 x 1 x  5
  input 1       7 x  1
  input 2  64 x 7 x  6
  input 3           ()
  input 4   8 x 1 x  1
            ^        ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
",
    );
}

#[test]
fn bc9_a_thousand_inputs_are_truncated() {
    let shapes: Vec<Vec<usize>> =
        (0..1000).map(|i| if i == 700 { vec![3, 5] } else { vec![1; i % 3] }).chain([vec![2, 1]]).collect();
    assert_text(
        e1(&shapes),
        "
E1: incompatible shapes in dimension 0: input 700 has 3, input 1000 has 2

  input 0         ()
  input 1          1
  input 2     1 x  1
              ⋮ 697 more
  input 700   3 x  5
              ⋮ 298 more
  input 999       ()
  input 1000  2 x  1
              ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
",
    );
}

#[test]
fn bc9_rank_zero_beside_others() {
    assert_text(
        e1(&[&[][..], &[3], &[4]]),
        "
E1: incompatible shapes in dimension 0: input 1 has 3, input 2 has 4

  input 0  ()
  input 1   3
  input 2   4
            ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
",
    );
}

#[test]
fn bc9_rank_forty_shows_the_dimensions_around_the_mismatch() {
    let shape =
        |size: usize| -> Vec<usize> { (0..40).map(|i| if i == 31 { size } else { 10 + i }).collect() };
    assert_text(
        e1(&[shape(2), shape(3), vec![50, 1], vec![]]),
        "
E1: incompatible shapes in dimension 31: input 0 has 2, input 1 has 3

  input 0  … x 33 x 34 x 35 x 36 x 37 x 38 x 39 x 40 x 2 x 42 x 43 x 44 x 45 x 46 x 47 x 48 x 49
  input 1  … x 33 x 34 x 35 x 36 x 37 x 38 x 39 x 40 x 3 x 42 x 43 x 44 x 45 x 46 x 47 x 48 x 49
  input 2                                                                                50 x  1
  input 3                                                                                     ()
                                                       ^                                  ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
",
    );
}

/// As many columns as fit are shown on both sides of the mismatch, the next one on its right first.
#[test]
fn columns_around_the_mismatch_fit_the_width() {
    let shape = |size: usize, far: usize| -> Vec<usize> {
        (0..50)
            .map(|i| {
                if i == 25 {
                    size
                } else if i == 15 {
                    far
                } else {
                    1 + i % 9
                }
            })
            .collect()
    };
    let columns = |from: usize, to: usize| {
        let sizes: Vec<String> = shape(2, 7)[from..to].iter().map(usize::to_string).collect();
        format!("\n  input 0  … x {} x …\n", sizes.join(" x "))
    };
    let text = e1(&[shape(2, 7), shape(3, 7), vec![1; 35], vec![1; 36]]);
    assert!(text.contains(&columns(15, 37)), "{text}");
    // An ellipsis stands for columns that are left out.
    assert!(text.contains("\n  input 2      1 x 1 x") && text.contains("\n  input 3  … x 1 x 1 x"), "{text}");
    let text = e1(&[shape(2, 7), shape(3, 7), vec![]]);
    let scalar = text.lines().find(|line| line.starts_with("  input 2 ")).unwrap();
    assert!(scalar.ends_with(" ()"), "{text}");
    // A column that is too wide is left out, and so are those beyond it.
    #[cfg(target_pointer_width = "64")]
    {
        let text = e1(&[shape(2, 123_456_789_012), shape(3, 123_456_789_012)]);
        assert!(text.contains(&columns(16, 38)), "{text}");
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
fn bc9_sizes_of_twelve_digits() {
    assert_text(
        e1(&[&[123_456_789_012, 1, 7][..], &[5, 7], &[999_999_999_999, 1, 1]]),
        "
E1: incompatible shapes in dimension 0: input 0 has 123456789012, input 2 has 999999999999

  input 0  123456789012 x 1 x 7
  input 1                 5 x 7
  input 2  999999999999 x 1 x 1
                      ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
",
    );
}

#[test]
fn bc9_a_shape_meant_to_be_aligned_on_the_left() {
    assert_text(
        e1(&[&[20_000, 1024][..], &[20_000]]),
        "
E1: incompatible shapes in dimension 1: input 0 has 1024, input 1 has 20000

  input 0  20000 x  1024
  input 1          20000
                       ^
Shapes are aligned on the right. Perhaps input 1 is meant to be 20000x1?
",
    );
}

#[test]
fn messages_mention_zeros_only_for_sizes_of_zero() {
    let text = broadcast_shapes_with(Rules::SONNX, &[[3], [4]]).unwrap_err().to_string();
    assert!(text.ends_with("; in each column every size must be 1 or the same."), "{text}");
    for shapes in [[[0], [4]], [[4], [0]]] {
        let text = broadcast_shapes_with(Rules::SONNX, &shapes).unwrap_err().to_string();
        assert!(text.ends_with("; under these rules a size of 0 is compatible only with 0."), "{text}");
    }
}

#[test]
fn up_to_twelve_shapes_are_all_shown() {
    for (count, all) in [(12, true), (13, false)] {
        let mut shapes = vec![[3]; count];
        shapes[1] = [4];
        let text = e1(&shapes);
        assert_eq!((0..count).all(|input| text.contains(&format!("\n  input {input} "))), all, "{text}");
        assert_eq!(!text.contains("more"), all, "{text}");
    }
}

#[test]
fn cannot_stretch_has_shape_target_and_reason() {
    let Err(Error::CannotStretch(error)) = broadcast_to(&arr1(&[1, 2, 3]), (2, 3, 4)) else {
        panic!("3 does not stretch to 4")
    };
    assert_eq!((error.shape(), error.target()), (&[3][..], &[2, 3, 4][..]));
    assert_eq!(error.reason(), StretchError::Size { dim: 2, size: 3, target: 4 });
    // Exactly the incompatible dimensions are marked.
    let error = broadcast_to(&ndarray::Array3::<u8>::zeros((2, 5, 2)), (3, 5, 1)).unwrap_err().to_string();
    assert!(error.contains("\n  to    3 x 5 x 1\n        ^       ^\n"), "{error}");
}

/// Among more shapes, the search for a suggestion would take long.
#[test]
fn a_shape_is_suggested_among_at_most_5000_shapes() {
    for (count, is_suggested) in [(5000, true), (5001, false), (20_000, false)] {
        let mut shapes: Vec<&[usize]> = vec![&[3, 4]; count];
        shapes[1] = &[3];
        assert_eq!(
            e1(&shapes).contains("Perhaps input 1 is meant to be 3x1?"),
            is_suggested,
            "{count} shapes"
        );
    }
}

#[test]
fn bc9_zero_under_both_rule_sets() {
    assert_text(
        e1(&[[0], [2]]),
        "
E1: incompatible shapes in dimension 0: input 0 has 0, input 1 has 2

  input 0  0
  input 1  2
           ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
",
    );
    assert_text(
        broadcast_shapes_with(Rules::SONNX, &[&[4, 1][..], &[0]]).unwrap_err().to_string(),
        "
E1: incompatible shapes in dimension 1: input 0 has 1, input 1 has 0

  input 0  4 x 1
  input 1      0
               ^
Shapes are aligned on the right; under these rules a size of 0 is compatible only with 0.
",
    );
}

#[test]
fn bc9_bc13_unknown_sizes() {
    assert_text(
        broadcast_shapes(&[&[Unknown, Known(3)][..], &[Known(4)]]).unwrap_err().to_string(),
        "
E1: incompatible shapes in dimension 1: input 0 has 3, input 1 has 4

  input 0  ? x 3
  input 1      4
               ^
Shapes are aligned on the right. Perhaps input 1 is meant to be 4x1?
",
    );
}

#[test]
fn bc9_streamed_shapes_show_their_common_shape() {
    let mut common = CommonShape::new(Rules::STANDARD);
    for i in 0..100_000 {
        common.push(&[1, 5, i % 2 + 1][i % 3..]).unwrap();
    }
    assert_text(
        common.push(&[8, 4, 2]).unwrap_err().to_string(),
        "
E1: incompatible shapes in dimension 1: input 0 has 5, input 100000 has 4

  inputs 0 to 99999 together  1 x 5 x 2
  input 100000                8 x 4 x 2
                                  ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
",
    );
}

#[test]
fn bc12_one_way_errors() {
    let array = arr1(&[1, 2, 3]);
    assert_text(
        broadcast_to(&array, (3, 4)).unwrap_err().to_string(),
        "
cannot broadcast 3 to 3x4: dimension 1 has 3, not 4

  from      3
  to    3 x 4
            ^
Only dimensions of size 1 can be stretched, and the target shape is fixed.
",
    );
    assert_text(
        broadcast_to(&array, ()).unwrap_err().to_string(),
        "
cannot broadcast 3 to (): it has 1 dimension, the target 0

  from   3
  to    ()
Only dimensions of size 1 can be stretched, and the target shape is fixed.
",
    );
}

#[test]
fn strict_rank_applies_to_arrays() {
    let rules = Rules::STANDARD.strict_rank();
    let (column, row) = (ndarray::arr2(&[[1], [2]]), ndarray::arr2(&[[3, 4, 5]]));
    let (column_view, row_view) = unishape::broadcast_with(rules, (&column, &row)).unwrap();
    assert_eq!((column_view.shape(), row_view.shape()), (&[2, 3][..], &[2, 3][..]));
    for error in [
        unishape::broadcast_with(rules, (&column, &arr1(&[3, 4, 5]))).map(drop).unwrap_err(),
        unishape::broadcast_with(rules, (&arr1(&[3, 4, 5]), &column)).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, Error::UnequalRank { first: _, input: 1, .. }), "{error}");
    }
}

#[test]
fn a_stream_has_its_common_shape_so_far() {
    let mut common = CommonShape::new(Rules::SONNX);
    assert_eq!((common.shape(), common.inputs()), (&[][..], 0));
    assert_eq!(common.clone().finish(), Err(Error::TooFewInputs { least: 1 }));
    for (shape, so_far) in [(&[3, 1][..], &[3, 1][..]), (&[4], &[3, 4]), (&[2, 1, 4], &[2, 3, 4])] {
        common.push(shape).unwrap();
        assert_eq!(common.shape(), so_far);
        assert_eq!(common.clone().finish().unwrap(), so_far);
    }
    assert!(common.push(&[5]).is_err());
    assert_eq!((common.shape(), common.inputs()), (&[2, 3, 4][..], 3));
}

#[test]
fn shapes_are_broadcastable_or_not() {
    assert!(unishape::is_broadcastable(&[&[5, 4][..], &[1], &[]]));
    assert!(!unishape::is_broadcastable(&[[3], [4]]));
}

#[test]
fn strict_rank_message_suggests_a_fix() {
    assert_text(
        broadcast_shapes_with(Rules::STANDARD.strict_rank(), &[&[3, 1][..], &[3]]).unwrap_err().to_string(),
        "
strict rank: input 0 has 2 dimensions, input 1 has 1 dimension; give them equal ranks with dimensions of size 1, or allow unequal ranks
",
    );
}

#[test]
fn bc9_messages_use_input_names() {
    let strict = broadcast_shapes_with(Rules::STANDARD.strict_rank(), &[&[3, 1][..], &[3]]).unwrap_err();
    let named = strict.clone().named(&["table", "row\u{1b}[31m"]).to_string();
    assert!(
        named.starts_with("strict rank: table has 2 dimensions, row\u{fffd}[31m has 1 dimension;"),
        "{named}"
    );
    assert_eq!(strict.clone().named(&["only one"]), strict);
    let e1 = broadcast_shapes(&[[3], [4]]).unwrap_err().named(&["prices"]).to_string();
    assert!(e1.contains("prices has 3, input 1 has 4"), "{e1}");
}

/// The input whose 1 makes an unknown size positive is named, also for streamed shapes.
#[test]
fn bc9_bc13_a_stream_names_the_input_with_the_1() {
    let mut common = CommonShape::new(Rules::SONNX);
    common.push(&[Unknown]).unwrap();
    common.push(&[Known(1)]).unwrap();
    let streamed = common.push(&[Known(0)]).unwrap_err().to_string();
    assert!(streamed.contains("dimension 0: input 1 has 1, input 2 has 0"), "{streamed}");
    let at_once = broadcast_shapes_with(Rules::SONNX, &[[Unknown], [Known(1)], [Known(0)]]);
    assert!(at_once.unwrap_err().to_string().contains("dimension 0: input 1 has 1, input 2 has 0"));
}

#[test]
fn bc12_long_shapes_are_shortened() {
    let long = vec![2; 1000];
    let tall = ndarray::ArrayD::<u8>::zeros(ndarray::IxDyn(&[3]));
    let error = broadcast_to(&tall, &long[..]).unwrap_err().to_string();
    assert!(error.len() < 1000, "{error}");
}

#[test]
fn sonnx_requires_an_input() {
    assert_text(
        broadcast_shapes_with::<usize, [usize; 0]>(Rules::SONNX, &[]).unwrap_err().to_string(),
        "too few inputs: this rule set requires at least 1",
    );
}
