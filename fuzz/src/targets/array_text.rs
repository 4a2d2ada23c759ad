//! Numbers, ranges and lists as people type them: what is parsed survives being printed.

use crate::file::{check_message, with_memory_limit};
use std::ops::Range;
use unishape::expr::Scalar;
use unishape::{DType, Tensor};
use unishape_array_text::{Arange, IndexRanges, Literal, format_array, is_small};

/// Bytes of memory per byte of text: two characters become a [`Scalar`] of 32 bytes, in a vector that grows.
const MEMORY_PER_BYTE: u64 = 100;

pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match with_memory_limit(MEMORY_PER_BYTE, bytes.len(), || Literal::parse(&text)) {
        Ok(Some(Literal::Scalar(number))) => check_number(number),
        Ok(Some(Literal::Range(range))) => check_range(&range),
        Ok(Some(Literal::List(list))) => check_printed(&list),
        Ok(None) => assert!(!text.trim().starts_with('['), "{text:?}"),
        Err(error) => check_message(&error),
    }
}

fn check_number(number: Scalar) {
    // Infinite imaginary parts have no notation.
    let has_notation = !matches!(number, Scalar::Complex(complex) if !complex.im.is_finite());
    if has_notation {
        let again = Literal::parse(&number.to_string());
        assert!(matches!(again, Ok(Some(Literal::Scalar(again))) if is_same(again, number)), "{number}");
    }
}

fn is_same(a: Scalar, b: Scalar) -> bool {
    a == b || matches!((a, b), (Scalar::Float(a), Scalar::Float(b)) if a.is_nan() && b.is_nan())
}

/// Checks the first and the last numbers of a range, and prints it.
fn check_range(range: &Arange) {
    let (&count, ones) = range.shape().split_first().expect("at least one dimension");
    assert!(ones.iter().all(|&size| size == 1));
    let part = |indices: Range<usize>| {
        let mut region = vec![indices];
        region.resize(range.shape().len(), 0..1);
        range.part(&region)
    };
    let ends = [part(0..count.min(2)), part(count.saturating_sub(2)..count)];
    for end in &ends {
        assert_eq!(end.dtype(), range.dtype());
        assert_eq!(end.shape()[0], count.min(2));
    }
    let printed = format_array(range.shape(), |region| Ok::<_, ()>(range.part(region))).expect("no errors");
    assert!(printed.is_some(), "at most 6 numbers of a large range are printed");
    if is_small(range.shape()) {
        check_printed(&part(0..count));
    }
}

/// Checks that the text of a small array is a list of the same numbers, once it has commas.
fn check_printed(array: &Tensor) {
    let Some(printed) = print(array) else { return };
    check_message(&printed.lines().next().unwrap_or_default());
    // Of an empty array the brackets do not tell the dtype; complex numbers are typed as sums.
    let is_parsed = array.dtype() != DType::C128 && !array.shape().contains(&0);
    if !is_parsed || !is_small(array.shape()) {
        return;
    }
    match Literal::parse(&with_commas(&printed)) {
        Ok(Some(Literal::List(again))) => {
            assert_eq!((again.dtype(), again.shape()), (array.dtype(), array.shape()), "{printed}");
            // NaN is not equal to itself, but its text is.
            assert_eq!(print(&again), Some(printed));
        }
        other => panic!("{printed} is parsed as {other:?}"),
    }
}

fn print(array: &Tensor) -> Option<String> {
    let region = |region: &IndexRanges| array.view().slice(region).to_owned();
    format_array(array.shape(), region).expect("few elements")
}

/// `[[1 2] [3 4]]` as `[[1,2],[3,4]]`.
fn with_commas(printed: &str) -> String {
    let words: Vec<&str> = printed.split_whitespace().collect();
    let joined = words.join(" ").replace("[ ", "[").replace(" ]", "]");
    joined.replace(' ', ",")
}
