//! Ranges on the command line: numbers counted out, `START:END` or `START:END:STEP`.

use ndarray::{Array, IxDyn};
use std::ops::Range;
use unishape::expr::Scalar;
use unishape::{DType, Tensor};

/// Numbers from a first one on, in steps, while they are before an end. They are counted out when they are
/// wanted, so that a range takes no memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counted {
    numbers: Numbers,
    /// Its own length, and 1 as often as it was asked to be a column.
    shape: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Numbers {
    Int { start: i64, step: i64 },
    Float { start: f64, step: f64 },
}

/// Up to here every whole number is a `float64`.
const MOST_FLOATS: f64 = (1u64 << 53) as f64;

impl Counted {
    /// Reads a range; `None` where the text does not look like one.
    ///
    /// `0:10` are integers; with a point or an exponent anywhere, as in `0:1:0.1`, they are floats. `x1` behind
    /// it makes it a column.
    pub(crate) fn parse(text: &str) -> Option<Result<Counted, String>> {
        let mut text = text;
        let mut columns = 0;
        let numbers = loop {
            match numbers(text) {
                Some(numbers) => break numbers,
                None => text = text.strip_suffix("x1")?,
            }
            columns += 1;
        };
        Some(counted(&numbers).map(|(numbers, count)| {
            let mut shape = vec![count];
            shape.resize(1 + columns, 1);
            Counted { numbers, shape }
        }))
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn dtype(&self) -> DType {
        match self.numbers {
            Numbers::Int { .. } => DType::I64,
            Numbers::Float { .. } => DType::F64,
        }
    }

    /// Some of the numbers.
    pub(crate) fn part(&self, part: &[Range<usize>]) -> Tensor {
        let shape: Vec<usize> = part.iter().map(Range::len).collect();
        let mut at = part.first().map_or(0, |range| range.start);
        let mut next = || {
            at += 1;
            at - 1
        };
        let shape = IxDyn(&shape);
        match self.numbers {
            Numbers::Int { start, step } => {
                // The last one is within the type, and so all before it are.
                Array::from_shape_simple_fn(shape, || start.wrapping_add(step.wrapping_mul(next() as i64)))
                    .into()
            }
            Numbers::Float { start, step } => {
                Array::from_shape_simple_fn(shape, || float(start, step, next() as f64)).into()
            }
        }
    }
}

/// The numbers between colons, two or three.
fn numbers(text: &str) -> Option<Vec<Scalar>> {
    let numbers: Vec<Scalar> =
        text.split(':').map(|part| Scalar::parse(part.trim())).collect::<Option<_>>()?;
    matches!(numbers.len(), 2 | 3).then_some(numbers)
}

fn counted(numbers: &[Scalar]) -> Result<(Numbers, usize), String> {
    let int = |number: &Scalar| match number {
        Scalar::Int(int) => i64::try_from(*int).ok(),
        _ => None,
    };
    let float = |number: &Scalar| match number {
        Scalar::Int(int) => Some(*int as f64),
        Scalar::Float(float) => float.is_finite().then_some(*float),
        _ => None,
    };
    let one = Scalar::Int(1);
    let [start, end, step] = [&numbers[0], &numbers[1], numbers.get(2).unwrap_or(&one)];
    if [start, end, step].into_iter().all(|number| matches!(number, Scalar::Int(_))) {
        let (Some(start), Some(end), Some(step)) = (int(start), int(end), int(step)) else {
            return Err("a range of integers has them in int64".into());
        };
        return Ok((Numbers::Int { start, step }, count_ints(start, end, step)?));
    }
    let (Some(start), Some(end), Some(step)) = (float(start), float(end), float(step)) else {
        return Err("a range has finite real numbers, as in 0:10 or 0:1:0.1".into());
    };
    Ok((Numbers::Float { start, step }, count_floats(start, end, step)?))
}

const NO_STEP: &str = "a range does not get anywhere by steps of 0";
const TOO_LONG: &str = "a range of more numbers than can be counted";

fn count_ints(start: i64, end: i64, step: i64) -> Result<usize, String> {
    if step == 0 {
        return Err(NO_STEP.into());
    }
    let (way, step) = (i128::from(end) - i128::from(start), i128::from(step));
    let count = if (way > 0) == (step > 0) { (way.abs() + step.abs() - 1) / step.abs() } else { 0 };
    isize::try_from(count).ok().and_then(|count| usize::try_from(count).ok()).ok_or_else(|| TOO_LONG.into())
}

fn count_floats(start: f64, end: f64, step: f64) -> Result<usize, String> {
    if step == 0.0 {
        return Err(NO_STEP.into());
    }
    let guess = ((end - start) / step).ceil().max(0.0);
    if guess >= MOST_FLOATS {
        return Err(TOO_LONG.into());
    }
    // What was rounded may have made it one too many or too few: what counts is that the end is not reached.
    let is_before =
        |at: f64| if step > 0.0 { float(start, step, at) < end } else { float(start, step, at) > end };
    let mut count = guess;
    while count > 0.0 && !is_before(count - 1.0) {
        count -= 1.0;
    }
    while count <= guess && is_before(count) {
        count += 1.0;
    }
    Ok(count as usize)
}

fn float(start: f64, step: f64, at: f64) -> f64 {
    start + step * at
}

#[cfg(test)]
mod tests {
    use super::Counted;
    use ndarray::{arr1, arr2};
    use unishape::Tensor;

    fn all(text: &str) -> Tensor {
        let counted = Counted::parse(text).expect("a range").expect("a good one");
        counted.part(&counted.shape().iter().map(|&size| 0..size).collect::<Vec<_>>())
    }

    #[test]
    fn integers_are_counted_as_pythons_range_does() {
        assert_eq!(all("0:4"), arr1(&[0i64, 1, 2, 3]).into());
        assert_eq!(all("5:-5:-3"), arr1(&[5i64, 2, -1, -4]).into());
        assert_eq!(all("1:8:7"), arr1(&[1i64]).into());
        assert_eq!(all("1:9:7"), arr1(&[1i64, 8]).into());
        assert_eq!(all("4:0"), arr1::<i64>(&[]).into());
        assert_eq!(all("0:0x3"), arr1(&[0i64, 1, 2]).into());
        let (most, before) = (i64::MAX, i64::MAX - 2);
        assert_eq!(all(&format!("{before}:{most}")), arr1(&[before, before + 1]).into());
    }

    #[test]
    fn floats_stop_before_the_end() {
        assert_eq!(all("0:1:0.25"), arr1(&[0.0, 0.25, 0.5, 0.75]).into());
        // (1.3 - 1) / 0.1 is a little more than 3.
        assert_eq!(all("1:1.3:0.1"), arr1(&[1.0, 1.1, 1.2]).into());
        assert_eq!(all("1:0:-0.5"), arr1(&[1.0, 0.5]).into());
        assert_eq!(all("0.:3"), arr1(&[0.0, 1.0, 2.0]).into());
        assert_eq!(all("0:-1:0.5"), arr1::<f64>(&[]).into());
    }

    #[test]
    fn columns_have_sizes_of_1_behind() {
        assert_eq!(all("0:2x1"), arr2(&[[0i64], [1]]).into());
        assert_eq!(all("0:2x1x1").shape(), [2, 1, 1]);
    }

    #[test]
    fn a_part_is_counted_from_where_it_begins() {
        let counted = Counted::parse("10:1000000000000:10x1").expect("a range").expect("a good one");
        assert_eq!(counted.part(&[5..7, 0..1]), arr2(&[[60i64], [70]]).into());
    }

    #[test]
    fn what_is_no_range_is_left_to_others() {
        for text in ["", "3", ":", "1:", ":1", "a:b", "a.npz:b", "1:2:3:4", "x1", "C:\\a.npy"] {
            assert_eq!(Counted::parse(text), None, "{text}");
        }
        for text in
            ["0:1:0", "0:1:0.0", "0:inf", "0:nan:1", "0:2j", "false:3", "0:1e300", "0:99999999999999999999"]
        {
            assert!(matches!(Counted::parse(text), Some(Err(_))), "{text}");
        }
    }
}
