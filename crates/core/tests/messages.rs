//! The exact text of every error of the core.

use unishape_core::{Extent, FoldError, LayoutError, Mismatch, StretchError, TooLarge};

#[test]
fn bc9_errors_say_what_is_wrong() {
    let e1 = FoldError::Mismatch(Mismatch { dim: 1, rank: 3, inputs: [0, 1], sizes: [2, 4] });
    let texts = [
        (e1.to_string(), "E1: dimension 1: input 0 has 2, input 1 has 4"),
        (
            FoldError::<usize>::UnequalRank { first: 2, input: 3, rank: 1 }.to_string(),
            "strict rank: input 0 has rank 2, input 3 has rank 1",
        ),
        (
            FoldError::<usize>::TooFewInputs { least: 1 }.to_string(),
            "too few inputs: these rules require at least 1",
        ),
        (
            FoldError::<usize>::TooManyInputs { limit: 9 }.to_string(),
            "too many inputs: these rules allow at most 9",
        ),
        (
            FoldError::<usize>::BufferTooSmall { rank: 3, capacity: 2 }.to_string(),
            "a shape has 3 dimensions, but the buffers hold 2",
        ),
        (
            StretchError::Rank { rank: 2, target: 1 }.to_string(),
            "a shape of rank 2 cannot be stretched to rank 1",
        ),
        (StretchError::Length.to_string(), "shape and strides do not have the same rank"),
        (
            StretchError::Size { dim: 1, size: 4, target: 1 }.to_string(),
            "dimension 1: 4 cannot be stretched to 1",
        ),
        (LayoutError::Length.to_string(), "shape, strides and index do not have the same rank"),
        (
            LayoutError::Index { dim: 0, index: 5, size: 5 }.to_string(),
            "dimension 0: index 5 is out of bounds for size 5",
        ),
        (LayoutError::Overflow.to_string(), "the offset does not fit an isize"),
        (TooLarge.to_string(), "the number of elements or bytes does not fit a usize"),
    ];
    for (ours, expected) in texts {
        assert_eq!(ours, expected);
    }
}

#[test]
fn bc13_extents_are_written_as_numbers_or_as_question_marks() {
    let extents = [Extent::from(7), Extent::from(None), Extent::from(Some(0)), Extent::Positive];
    assert_eq!(extents.map(|extent| extent.to_string()), ["7", "?", "0", "?"]);
    assert_eq!(format!("{:>3}|{:<3}", Extent::Unknown, Extent::Known(4)), "  ?|4  ");
}
