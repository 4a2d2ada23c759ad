//! Arrays formatted as text, much as NumPy prints them; of a large array only the edges.

use ndarray::ArrayViewD;
use num_complex::Complex;
use std::ops::Range;
use unicode_width::UnicodeWidthStr;
use unishape::{Tensor, element_count, text};

/// Arrays of up to this many elements are printed in full.
const MAX_ELEMENTS: usize = 1000;

/// Of a larger array, the number of indices printed at each end of a dimension.
const EDGE: usize = 3;

/// The most elements that are printed at all: in many dimensions even the edges are many.
const MAX_EDGE_ELEMENTS: usize = 10_000;

/// The longest line, in columns.
const WIDTH: usize = 80;

/// A part of an array: a range of indices in each dimension.
///
/// ```
/// let corner: unishape_array_text::IndexRanges = vec![0..2, 0..2];
/// assert_eq!(corner.len(), 2);
/// ```
pub type IndexRanges = Vec<Range<usize>>;

/// Whether an array of this shape is printed in full.
///
/// ```
/// assert!(unishape_array_text::is_small(&[10, 10]) && !unishape_array_text::is_small(&[100, 100]));
/// ```
pub fn is_small(shape: &[usize]) -> bool {
    element_count(shape).is_ok_and(|count| count <= MAX_ELEMENTS)
}

/// Formats an array of this shape; `None` if it has too many dimensions.
///
/// `region` returns the elements of a region; only printed ones are requested.
///
/// ```
/// use ndarray::arr2;
/// use unishape_array_text::format_array;
///
/// let text = format_array(&[2, 2], |_| Ok::<_, ()>(arr2(&[[1, 20], [3, 4]]).into()));
/// assert_eq!(text, Ok(Some("[[ 1 20]\n [ 3  4]]\n".into())));
/// ```
///
/// # Errors
///
/// Those of `region`.
pub fn format_array<E>(
    shape: &[usize],
    region: impl Fn(&IndexRanges) -> Result<Tensor, E>,
) -> Result<Option<String>, E> {
    let is_small = is_small(shape);
    let is_abbreviated = |&size: &usize| !is_small && size > 2 * EDGE;
    // The printed indices of each dimension.
    let shown: Vec<Vec<Range<usize>>> = shape
        .iter()
        .map(|size| match is_abbreviated(size) {
            true => vec![0..EDGE, size - EDGE..*size],
            false => std::iter::once(0..*size).collect(),
        })
        .collect();
    let sizes: Vec<usize> = shown.iter().map(|ranges| ranges.iter().map(Range::len).sum()).collect();
    if !element_count(&sizes).is_ok_and(|count| count <= MAX_EDGE_ELEMENTS) {
        return Ok(None);
    }
    let mut cells = Cells::new(&sizes);
    for corner in corners(&shown) {
        let origin =
            corner.iter().zip(&shown).map(|(range, shown)| if *range == shown[0] { 0 } else { EDGE });
        cells.fill(&origin.collect::<Vec<_>>(), &region(&corner)?);
    }
    cells.align();
    let gaps: Vec<bool> = shape.iter().map(is_abbreviated).collect();
    Ok(Some(cells.text(0, 0, &gaps) + "\n"))
}

/// The Cartesian product of the ranges of all dimensions.
fn corners(shown: &[Vec<Range<usize>>]) -> Vec<IndexRanges> {
    let mut corners = vec![IndexRanges::new()];
    for ranges in shown {
        let longer =
            |corner: &IndexRanges, range: &Range<usize>| corner.iter().chain([range]).cloned().collect();
        corners =
            corners.iter().flat_map(|corner| ranges.iter().map(move |range| longer(corner, range))).collect();
    }
    corners
}

/// Terminal columns of a text.
fn width(text: &str) -> usize {
    text.width()
}

/// The printed elements, as text, in row-major order.
struct Cells {
    sizes: Vec<usize>,
    texts: Vec<String>,
}

impl Cells {
    fn new(sizes: &[usize]) -> Cells {
        Cells { sizes: sizes.to_vec(), texts: vec![String::new(); sizes.iter().product()] }
    }

    /// Fills the region that begins at `origin` with the elements of a tensor.
    fn fill(&mut self, origin: &[usize], tensor: &Tensor) {
        let mut index = vec![0; origin.len()];
        for text in element_texts(tensor) {
            let offset = index
                .iter()
                .zip(origin)
                .zip(&self.sizes)
                .fold(0, |offset, ((i, first), size)| offset * size + first + i);
            self.texts[offset] = text;
            for (index, &size) in index.iter_mut().zip(tensor.shape()).rev() {
                *index += 1;
                if *index < size {
                    break;
                }
                *index = 0;
            }
        }
    }

    /// Pads all texts to one width and aligns their decimal points.
    fn align(&mut self) {
        if self.sizes.is_empty() {
            return;
        }
        // Complex numbers have two points and strings none: they are aligned at the end.
        let split = |text: &str| match text.ends_with(['j', '\'']) {
            true => text.len(),
            false => text.find(['.', 'e']).unwrap_or(text.len()),
        };
        let widest = |part: fn((&str, &str)) -> usize| {
            self.texts.iter().map(|text| part(text.split_at(split(text)))).max().unwrap_or(0)
        };
        let (before, after) = (widest(|(before, _)| width(before)), widest(|(_, after)| width(after)));
        for text in &mut self.texts {
            let (left, right) = text.split_at(split(text));
            *text = format!("{}{left}{right:<after$}", " ".repeat(before - width(left)));
        }
    }

    /// The elements of dimension `dim` and those after it, from the offset `first` on.
    fn text(&self, dim: usize, first: usize, gaps: &[bool]) -> String {
        let Some(&size) = self.sizes.get(dim) else {
            return self.texts.get(first).cloned().unwrap_or_default();
        };
        let step: usize = self.sizes[dim + 1..].iter().product();
        let mut entries: Vec<String> =
            (0..size).map(|i| self.text(dim + 1, first + i * step, gaps)).collect();
        if gaps[dim] {
            entries.insert(EDGE, "…".into());
        }
        let indent = " ".repeat(dim + 1);
        let rank = self.sizes.len();
        let body = if dim + 1 == rank {
            wrap(&entries, WIDTH.saturating_sub(2 * rank).max(1)).join(&format!("\n{indent}"))
        } else {
            entries.join(&format!("{}{indent}", "\n".repeat(rank - dim - 1)))
        };
        format!("[{body}]")
    }
}

/// Joins entries to lines of at most `width` columns.
fn wrap(entries: &[String], limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for entry in entries {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(entry) <= limit => {
                line.push(' ');
                line.push_str(entry);
            }
            _ => lines.push(entry.clone()),
        }
    }
    // Padding is only needed before a further entry.
    let last = lines.len().saturating_sub(1);
    lines[..last].iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines
}

/// Formats each element with the fewest digits that identify it.
fn element_texts(tensor: &Tensor) -> Vec<String> {
    fn all<T>(array: ArrayViewD<'_, T>, text: impl Fn(&T) -> String) -> Vec<String> {
        array.iter().map(text).collect()
    }
    match tensor {
        Tensor::F16(array) => {
            all(array.view(), |x| half(x.to_f32(), |short| half::f16::from_f32(short) == *x))
        }
        Tensor::BF16(array) => {
            all(array.view(), |x| half(x.to_f32(), |short| half::bf16::from_f32(short) == *x))
        }
        Tensor::F32(array) => all(array.view(), |x| float(format!("{x:?}"))),
        Tensor::F64(array) => all(array.view(), |x| float(format!("{x:?}"))),
        Tensor::I8(array) => all(array.view(), i8::to_string),
        Tensor::I16(array) => all(array.view(), i16::to_string),
        Tensor::I32(array) => all(array.view(), i32::to_string),
        Tensor::I64(array) => all(array.view(), i64::to_string),
        Tensor::U8(array) => all(array.view(), u8::to_string),
        Tensor::U16(array) => all(array.view(), u16::to_string),
        Tensor::U32(array) => all(array.view(), u32::to_string),
        Tensor::U64(array) => all(array.view(), u64::to_string),
        Tensor::Bool(array) => all(array.view(), |&x| if x { "True".into() } else { "False".into() }),
        Tensor::Str(array) => all(array.view(), |text| format!("'{}'", text::sanitize(text))),
        Tensor::C64(array) => {
            all(array.view(), |Complex { re, im }| complex(format!("{re:?}"), format!("{im:+?}")))
        }
        Tensor::C128(array) => {
            all(array.view(), |Complex { re, im }| complex(format!("{re:?}"), format!("{im:+?}")))
        }
    }
}

/// Spells NaN as Python does.
fn float(text: String) -> String {
    text.replace("NaN", "nan")
}

fn complex(re: String, im: String) -> String {
    let sign = if im.starts_with(['+', '-']) { "" } else { "+" };
    float(format!("{re}{sign}{im}j"))
}

/// Formats a 16-bit float with the fewest digits that parse to the same value.
fn half(x: f32, is_same: impl Fn(f32) -> bool) -> String {
    let short = (0..9).map(|digits| format!("{x:.digits$e}")).find(|text| text.parse().is_ok_and(&is_same));
    let short = short.and_then(|text| text.parse::<f32>().ok()).unwrap_or(x);
    float(format!("{short:?}"))
}

#[cfg(test)]
mod tests {
    use super::{IndexRanges, element_texts, format_array, is_small};
    use half::{bf16, f16};
    use ndarray::{ArrayD, Dimension, IxDyn, arr1};
    use num_complex::Complex;
    use std::ops::Range;

    #[test]
    fn floats_have_the_fewest_digits_that_identify_them() {
        let floats = [1.0, -0.0, 0.1, 1e-7, 1e16, 1e15, f64::NAN, f64::INFINITY];
        let expected = ["1.0", "-0.0", "0.1", "1e-7", "1e16", "1000000000000000.0", "nan", "inf"];
        assert_eq!(element_texts(&arr1(&floats).into()), expected);
        assert_eq!(element_texts(&arr1(&[0.1f32, 16_777_216.0]).into()), ["0.1", "16777216.0"]);
        let halves =
            [0.1, 65504.0, std::f32::consts::PI, f32::NAN, f32::NEG_INFINITY, 6e-8].map(f16::from_f32);
        assert_eq!(element_texts(&arr1(&halves).into()), ["0.1", "65500.0", "3.14", "nan", "-inf", "6e-8"]);
        assert_eq!(
            element_texts(&arr1(&[bf16::from_f32(0.1), bf16::from_f32(1e30)]).into()),
            ["0.1", "1e30"]
        );
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            let text = &element_texts(&arr1(&[half]).into())[0];
            let read = f16::from_f32(text.parse().expect("a number"));
            assert!(read == half || (read.is_nan() && half.is_nan()), "{half} {text}");
        }
    }

    #[test]
    fn complex_numbers_and_booleans_are_formatted_as_in_python() {
        let complex =
            [Complex::new(1.0, -2.5), Complex::new(-0.0, f64::NAN), Complex::new(0.0, f64::INFINITY)];
        assert_eq!(element_texts(&arr1(&complex).into()), ["1.0-2.5j", "-0.0+nanj", "0.0+infj"]);
        assert_eq!(element_texts(&arr1(&[true, false]).into()), ["True", "False"]);
    }

    /// The text of an array whose elements are counted in row-major order.
    fn counted(shape: &[usize]) -> Option<String> {
        let region = |region: &IndexRanges| {
            let sizes: Vec<usize> = region.iter().map(Range::len).collect();
            let number = |index: IxDyn| {
                let index = index.slice().iter().zip(region).map(|(i, range)| range.start + i);
                index.zip(shape).fold(0, |offset, (i, size)| offset * size + i) as i64
            };
            Ok::<_, ()>(ArrayD::from_shape_fn(IxDyn(&sizes), number).into())
        };
        format_array(shape, region).unwrap()
    }

    #[test]
    fn arrays_of_more_than_a_thousand_elements_are_abbreviated() {
        assert!(is_small(&[1000]) && is_small(&[10, 10, 10]) && !is_small(&[1001]) && !is_small(&[7, 143]));
        assert_eq!(counted(&[1000]).unwrap().replace(['[', ']'], "").split_whitespace().count(), 1000);
        assert_eq!(counted(&[1001]).unwrap(), "[   0    1    2 …  998  999 1000]\n");
        let expected = "\
[[   0    1    2 …   47   48   49]
 [  50   51   52 …   97   98   99]
 [ 100  101  102 …  147  148  149]
 …
 [4850 4851 4852 … 4897 4898 4899]
 [4900 4901 4902 … 4947 4948 4949]
 [4950 4951 4952 … 4997 4998 4999]]
";
        assert_eq!(counted(&[100, 50]).unwrap(), expected);
    }

    #[test]
    fn dimensions_of_six_are_never_abbreviated() {
        let expected = "\
[[   0    1    2 …  197  198  199]
 [ 200  201  202 …  397  398  399]
 [ 400  401  402 …  597  598  599]
 [ 600  601  602 …  797  798  799]
 [ 800  801  802 …  997  998  999]
 [1000 1001 1002 … 1197 1198 1199]]
";
        assert_eq!(counted(&[6, 200]).unwrap(), expected);
        let text = counted(&[7, 200]).unwrap().replace(['[', ']'], "");
        let firsts: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(firsts, ["0", "200", "400", "…", "800", "1000", "1200"]);
    }

    #[test]
    fn blank_lines_separate_matrices() {
        assert_eq!(counted(&[2, 2, 2]).unwrap(), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]\n");
        assert_eq!(counted(&[2, 1, 1, 1]).unwrap(), "[[[[0]]]\n\n\n [[[1]]]]\n");
        assert_eq!(counted(&[]).unwrap(), "0\n");
        assert_eq!(counted(&[0]).unwrap(), "[]\n");
        assert_eq!(counted(&[2, 0]).unwrap(), "[[]\n []]\n");
        // The edges of six dimensions are too many.
        assert!(counted(&[9; 5]).is_some() && counted(&[9; 6]).is_none());
    }

    #[test]
    fn lines_have_at_most_80_columns() {
        // 26 numbers of 2 columns and a blank are 78 with brackets, 27 would be 81.
        let text = counted(&[60]).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("[ 0  1  2") && lines[0].ends_with(" 24 25"), "{text}");
        assert!(lines[1].starts_with(" 26 27") && lines[1].ends_with(" 50 51"), "{text}");
        assert_eq!(lines[2], " 52 53 54 55 56 57 58 59]");
        // A line may be filled: 39 numbers, their blanks and two brackets are 79 columns.
        let digits = |len: usize| format_array(&[len], |_| Ok::<_, ()>(vec_of(len).into())).unwrap().unwrap();
        assert_eq!(digits(39).lines().map(str::len).collect::<Vec<_>>(), [79]);
        assert_eq!(digits(40).lines().map(str::len).collect::<Vec<_>>(), [78, 3]);
        // As many columns as there are opening brackets are left for the closing ones.
        let nested = |len| {
            let ones = ArrayD::<u8>::from_elem(IxDyn(&[1, 1, len]), 1);
            let text = format_array(ones.shape(), |_| Ok::<_, ()>(ones.clone().into())).unwrap().unwrap();
            text.lines().map(str::len).collect::<Vec<_>>()
        };
        assert_eq!(nested(37), [79]);
        assert_eq!(nested(38), [76, 7]);
    }

    fn vec_of(len: usize) -> ArrayD<u8> {
        ArrayD::from_elem(IxDyn(&[len]), 1)
    }

    #[test]
    fn decimal_points_are_aligned() {
        let floats = arr1(&[1.5, -10.25, 100.0, f64::NAN]);
        let text = format_array(&[4], |_| Ok::<_, ()>(floats.clone().into()));
        assert_eq!(text.unwrap().unwrap(), "[  1.5  -10.25 100.0  nan   ]\n");
        // Complex numbers have two points, and are aligned at the end.
        let complex = arr1(&[Complex::new(1.0, 2.5), Complex::new(-10.25, 0.0)]);
        let text = format_array(&[2], |_| Ok::<_, ()>(complex.clone().into()));
        assert_eq!(text.unwrap().unwrap(), "[   1.0+2.5j -10.25+0.0j]\n");
    }

    #[test]
    fn errors_of_a_region_are_returned() {
        assert_eq!(format_array(&[2], |_| Err("unreadable")), Err("unreadable"));
    }

    #[test]
    fn wide_characters_take_two_columns() {
        let strings = ndarray::arr2(&[["宽".to_owned(), "a".into()], ["abc".into(), "b".into()]]);
        let text = format_array(&[2, 2], |_| Ok::<_, ()>(strings.clone().into_dyn().into()));
        assert_eq!(text.unwrap().unwrap(), "[[ '宽'   'a']\n ['abc'   'b']]\n");
    }
}
