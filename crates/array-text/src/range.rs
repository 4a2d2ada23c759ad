//! Ranges: `START:END` or `START:END:STEP`.

use ndarray::{Array, IxDyn};
use std::ops::Range;
use unishape::expr::Scalar;
use unishape::{DType, Tensor};

/// Evenly spaced numbers, as NumPy's `arange`.
///
/// They go from a start up to, not including, an end.
///
/// They are generated on demand and take no memory.
///
/// ```
/// use unishape_array_text::Arange;
///
/// let column = Arange::parse("0:4x1").unwrap()?;
/// assert_eq!(column.shape(), [4, 1]);
/// assert_eq!(column.part(&[1..3, 0..1]), ndarray::arr2(&[[1i64], [2]]).into());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Arange {
    numbers: Progression,
    /// The length, and a 1 for each `x1`.
    shape: Vec<usize>,
}

/// Numbers of equal distance.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Progression {
    Int { start: i64, step: i64 },
    Float { start: f64, step: f64 },
}

/// The most dimensions of a range, as of a list.
const MAX_RANK: usize = 64;

/// Up to here `float64` represents every integer.
const MAX_EXACT: f64 = (1u64 << 53) as f64;

impl Arange {
    /// Parses a range; `None` if the text does not look like one.
    ///
    /// `0:10` is `int64`; with a point or an exponent, as in `0:1:0.1`, it is `float64`. Each `x1` at the end
    /// adds a dimension of size 1.
    ///
    /// ```
    /// # use unishape_array_text::Arange;
    /// assert_eq!(Arange::parse("0:10:3").unwrap()?.shape(), [4]);
    /// assert_eq!(Arange::parse("a.npz:b"), None);
    /// assert!(Arange::parse("0:1:0").unwrap().is_err());
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the numbers do not make a range, or it is too long.
    pub fn parse(text: &str) -> Option<Result<Arange, String>> {
        let mut text = text;
        let mut trailing_ones = 0;
        let numbers = loop {
            match parse_numbers(text) {
                Some(numbers) => break numbers,
                None => text = text.strip_suffix("x1")?,
            }
            trailing_ones += 1;
            if trailing_ones == MAX_RANK {
                return Some(Err(format!("a range has at most {MAX_RANK} dimensions")));
            }
        };
        Some(range(&numbers).map(|(numbers, count)| {
            let mut shape = vec![count];
            shape.resize(1 + trailing_ones, 1);
            Arange { numbers, shape }
        }))
    }

    /// Its shape: the length, and a 1 for each `x1`.
    ///
    /// ```
    /// # use unishape_array_text::Arange;
    /// assert_eq!(Arange::parse("0:10x1x1").unwrap()?.shape(), [10, 1, 1]);
    /// # Ok::<(), String>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// `int64` or `float64`.
    ///
    /// ```
    /// # use unishape_array_text::Arange;
    /// assert_eq!(Arange::parse("0:1:0.5").unwrap()?.dtype(), unishape::DType::F64);
    /// # Ok::<(), String>(())
    /// ```
    pub fn dtype(&self) -> DType {
        match self.numbers {
            Progression::Int { .. } => DType::I64,
            Progression::Float { .. } => DType::F64,
        }
    }

    /// The numbers of a region.
    ///
    /// ```
    /// # use unishape_array_text::Arange;
    /// assert_eq!(Arange::parse("0:10").unwrap()?.part(&[8..10]), ndarray::arr1(&[8i64, 9]).into());
    /// # Ok::<(), String>(())
    /// ```
    pub fn part(&self, region: &[Range<usize>]) -> Tensor {
        let shape: Vec<usize> = region.iter().map(Range::len).collect();
        let mut index = region.first().map_or(0, |range| range.start);
        let mut next = || {
            index += 1;
            index - 1
        };
        let shape = IxDyn(&shape);
        match self.numbers {
            Progression::Int { start, step } => {
                // Never wraps: the last number is an `int64`.
                Array::from_shape_simple_fn(shape, || start.wrapping_add(step.wrapping_mul(next() as i64)))
                    .into()
            }
            Progression::Float { start, step } => {
                Array::from_shape_simple_fn(shape, || float(start, step, next() as f64)).into()
            }
        }
    }
}

/// Two or three numbers, separated by colons.
fn parse_numbers(text: &str) -> Option<Vec<Scalar>> {
    let numbers: Vec<Scalar> =
        text.split(':').map(|part| Scalar::parse(part.trim())).collect::<Option<_>>()?;
    matches!(numbers.len(), 2 | 3).then_some(numbers)
}

/// The numbers and the length of a range.
fn range(numbers: &[Scalar]) -> Result<(Progression, usize), String> {
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
            return Err("the integers of a range must fit int64".into());
        };
        return Ok((Progression::Int { start, step }, count_ints(start, end, step)?));
    }
    let (Some(start), Some(end), Some(step)) = (float(start), float(end), float(step)) else {
        return Err("the numbers of a range must be finite and real, as in 0:10 or 0:1:0.1".into());
    };
    Ok((Progression::Float { start, step }, count_floats(start, end, step)?))
}

const ZERO_STEP: &str = "the step of a range must not be 0";
const TOO_LONG: &str = "the range has too many elements";

fn count_ints(start: i64, end: i64, step: i64) -> Result<usize, String> {
    if step == 0 {
        return Err(ZERO_STEP.into());
    }
    let (distance, step) = (i128::from(end) - i128::from(start), i128::from(step));
    let is_toward_end = (distance > 0) == (step > 0);
    let count = if is_toward_end { (distance.abs() + step.abs() - 1) / step.abs() } else { 0 };
    isize::try_from(count).ok().and_then(|count| usize::try_from(count).ok()).ok_or_else(|| TOO_LONG.into())
}

fn count_floats(start: f64, end: f64, step: f64) -> Result<usize, String> {
    if step == 0.0 {
        return Err(ZERO_STEP.into());
    }
    let guess = ((end - start) / step).ceil().max(0.0);
    if guess >= MAX_EXACT {
        return Err(TOO_LONG.into());
    }
    // Rounding may have made it one too many or too few: the last number must be before the end.
    let is_before = |index: f64| {
        if step > 0.0 { float(start, step, index) < end } else { float(start, step, index) > end }
    };
    // Where steps are smaller than rounding errors, the guess is wrong by up to half of it: bisect.
    let (mut least, mut most) = (0, guess as u64 + 1);
    while least < most {
        let middle = least + (most - least) / 2;
        if is_before(middle as f64) { least = middle + 1 } else { most = middle }
    }
    usize::try_from(least).map_err(|_| TOO_LONG.into())
}

fn float(start: f64, step: f64, index: f64) -> f64 {
    start + step * index
}

#[cfg(test)]
mod tests {
    use super::Arange;
    use ndarray::{arr1, arr2};
    use unishape::{DType, Tensor};

    fn all(text: &str) -> Tensor {
        let range = Arange::parse(text).expect("a range").expect("a valid range");
        range.part(&range.shape().iter().map(|&size| 0..size).collect::<Vec<_>>())
    }

    #[test]
    fn integers_are_those_of_pythons_range() {
        assert_eq!(all("0:4"), arr1(&[0i64, 1, 2, 3]).into());
        assert_eq!(all("5:-5:-3"), arr1(&[5i64, 2, -1, -4]).into());
        assert_eq!(all("1:8:7"), arr1(&[1i64]).into());
        assert_eq!(all("1:9:7"), arr1(&[1i64, 8]).into());
        assert_eq!(all("4:0"), arr1::<i64>(&[]).into());
        assert_eq!(all("0:0x3"), arr1(&[0i64, 1, 2]).into());
        let (max, start) = (i64::MAX, i64::MAX - 2);
        assert_eq!(all(&format!("{start}:{max}")), arr1(&[start, start + 1]).into());
    }

    #[test]
    fn floats_stop_before_the_end() {
        assert_eq!(all("0:1:0.25"), arr1(&[0.0, 0.25, 0.5, 0.75]).into());
        // (1.3 - 1) / 0.1 is a little more than 3.
        assert_eq!(all("1:1.3:0.1"), arr1(&[1.0, 1.1, 1.2]).into());
        assert_eq!(all("1:0:-0.5"), arr1(&[1.0, 0.5]).into());
        assert_eq!(all("0.:3"), arr1(&[0.0, 1.0, 2.0]).into());
        assert_eq!(all("0:-1:0.5"), arr1::<f64>(&[]).into());
        // 0.9 / 0.3 is 3, but 3 * 0.3 is less than 0.9; 2.1 / 0.3 is a little more than 7.
        assert_eq!(all("0:0.9:0.3"), arr1(&[0.0, 0.3, 0.6, 0.3 * 3.0]).into());
        assert_eq!(all("0:2.1:0.3").shape(), [7]);
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn steps_may_be_smaller_than_rounding_errors() {
        // The numbers from the middle of the last step on are rounded to the end.
        let range = Arange::parse("1:1.0000000000000002:1e-31").expect("a range").expect("a valid range");
        let count = range.shape()[0];
        assert!((1_100_000_000_000_000..1_120_000_000_000_000).contains(&count), "{count}");
        let index = (count - 1) as f64;
        assert!(1.0 + index * 1e-31 < 1.0000000000000002 && 1.0 + (index + 1.0) * 1e-31 > 1.0);
    }

    #[test]
    fn ranges_are_of_int64_unless_a_number_is_a_float() {
        let dtype = |text| Arange::parse(text).expect("a range").expect("a valid range").dtype();
        assert_eq!(["0:4", "0:4:2", "4:0:-1x1"].map(dtype), [DType::I64; 3]);
        assert_eq!(["0.:4", "0:4.0", "0:1:0.5", "1e1:20x1"].map(dtype), [DType::F64; 4]);
    }

    #[test]
    fn suffixes_x1_add_dimensions_of_size_1() {
        assert_eq!(all("0:2x1"), arr2(&[[0i64], [1]]).into());
        assert_eq!(all("0:2x1x1").shape(), [2, 1, 1]);
    }

    #[test]
    fn a_part_starts_at_its_first_index() {
        let range = Arange::parse("10:1000000000000:10x1").expect("a range").expect("a valid range");
        assert_eq!(range.part(&[5..7, 0..1]), arr2(&[[60i64], [70]]).into());
    }

    #[test]
    fn other_texts_are_not_ranges() {
        for text in ["", "3", ":", "1:", ":1", "a:b", "a.npz:b", "1:2:3:4", "x1", "C:\\a.npy"] {
            assert_eq!(Arange::parse(text), None, "{text}");
        }
        for text in
            ["0:1:0", "0:1:0.0", "0:inf", "0:nan:1", "0:2j", "false:3", "0:1e300", "0:99999999999999999999"]
        {
            assert!(matches!(Arange::parse(text), Some(Err(_))), "{text}");
        }
        let with_ones = |count| Arange::parse(&format!("0:2{}", "x1".repeat(count)));
        assert_eq!(with_ones(63).expect("a range").expect("a valid range").shape().len(), 64);
        assert_eq!(with_ones(64), Some(Err("a range has at most 64 dimensions".into())));
    }
}
