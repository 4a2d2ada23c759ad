//! Rows of numbers as text: `.csv`, `.tsv` and `.txt` files.

use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use std::io::{BufRead, Read};
use unishape::Tensor;
use unishape::text::truncate;

/// The longest line, in bytes.
const MAX_LINE: u64 = 1 << 24;

/// The largest file, in bytes: text is for small arrays.
const MAX_FILE: u64 = 1 << 28;

/// Parses rows of numbers, separated by commas, semicolons, tabs or spaces.
///
/// As `numpy.loadtxt`: `#` starts a comment, empty lines are skipped, and a single row or column gives rank 1, a
/// single number rank 0. A first line without any number is a heading. The dtype is the first of `int64`, `float64`
/// and `complex128` that represents all numbers.
///
/// ```
/// use unishape::Tensor;
/// use unishape_files::parse_table;
///
/// let table = parse_table(&b"height,width\n1,2.5\n3,4\n"[..])?;
/// assert_eq!(table, Tensor::from(ndarray::arr2(&[[1.0, 2.5], [3.0, 4.0]])));
/// # Ok::<(), unishape_files::FileError>(())
/// ```
///
/// # Errors
///
/// A field is not a number, rows have different lengths, there is no row, or the text is longer than 256 MiB.
pub fn parse_table(reader: impl BufRead) -> Result<Tensor, crate::FileError> {
    use crate::FileError::{Content, Io};
    let mut reader = reader.take(MAX_FILE + 1);
    let mut table = Table { numbers: Numbers::Int(Vec::new()), rows: 0, columns: 0 };
    let (mut line, mut total, mut is_first, mut is_quoted) = (Vec::new(), 0, true, false);
    for number in 1u64.. {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        let read = read.map_err(|error| Io(format!("line {number}: {error}")))? as u64;
        if read == 0 {
            break;
        }
        total += read;
        if read == MAX_LINE || total > MAX_FILE {
            return Err(Content(format!(
                "line {number}: too long for text; lines have up to 16 MiB, files up to 256 MiB: use an .npy file"
            )));
        }
        let text = std::str::from_utf8(&line).map_err(|_| Content(format!("line {number}: not UTF-8")))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        match table.push_row(text) {
            Ok(()) => {}
            Err(Problem::NoNumber(_)) if is_first && is_heading(text) => {
                is_quoted = fields(text).all(is_quoted_number)
            }
            Err(Problem::NoNumber(problem) | Problem::Other(problem)) => {
                return Err(Content(format!("line {number}: {problem}")));
            }
        }
        is_first = false;
    }
    if table.rows == 0 && is_quoted {
        return Err(Content("there are no numbers but in quotes; write them without quotes".into()));
    }
    table.tensor().map_err(Content)
}

enum Problem {
    NoNumber(String),
    Other(String),
}

/// The fields of a row: separated by commas, semicolons or tabs if there are any, else by spaces.
fn fields(text: &str) -> impl Iterator<Item = &str> {
    let separator = [',', ';', '\t'].into_iter().find(|separator| text.contains(*separator));
    let split = text.split(move |c: char| separator.map_or(c.is_whitespace(), |separator| c == separator));
    split.map(str::trim).filter(move |field| separator.is_some() || !field.is_empty())
}

/// Whether no field of a row is a number.
fn is_heading(text: &str) -> bool {
    fields(text).all(|field| Number::parse(field).is_none())
}

fn is_quoted_number(field: &str) -> bool {
    let unquoted = ['"', '\''].iter().find_map(|quote| field.strip_prefix(*quote)?.strip_suffix(*quote));
    unquoted.is_some_and(|number| Number::parse(number).is_some())
}

#[derive(Clone, Copy)]
enum Number {
    Int(i64),
    Float(f64),
    Complex(Complex<f64>),
}

impl Number {
    fn parse(field: &str) -> Option<Number> {
        let text = field.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(field).trim();
        if let Ok(int) = text.parse() {
            return Some(Number::Int(int));
        }
        if let Ok(float) = text.parse() {
            return Some(Number::Float(float));
        }
        let text = text.strip_suffix(['j', 'J'])?;
        // The sign between the parts: not the first character, and not that of an exponent.
        let sign = text
            .char_indices()
            .rev()
            .find(|&(at, c)| matches!(c, '+' | '-') && at > 0 && !text[..at].ends_with(['e', 'E']));
        let (re, im) = sign.map_or(("0", text), |(at, _)| text.split_at(at));
        Some(Number::Complex(Complex::new(re.trim().parse().ok()?, im.trim().parse().ok()?)))
    }
}

/// All numbers so far, in one dtype.
enum Numbers {
    Int(Vec<i64>),
    Float(Vec<f64>),
    Complex(Vec<Complex<f64>>),
}

struct Table {
    numbers: Numbers,
    rows: usize,
    columns: usize,
}

impl Table {
    fn push_row(&mut self, text: &str) -> Result<(), Problem> {
        let mut columns = 0;
        for field in fields(text) {
            columns += 1;
            let number = Number::parse(field).ok_or_else(|| {
                Problem::NoNumber(match field {
                    "" => format!("the number in column {columns} is missing; write nan"),
                    field => {
                        let problem = match is_quoted_number(field) {
                            true => "in quotes; write numbers without quotes",
                            false => "not a number",
                        };
                        format!("'{}' in column {columns} is {problem}", truncate(field, 40))
                    }
                })
            })?;
            self.push(number);
        }
        if self.rows > 0 && columns != self.columns {
            let expected = self.columns;
            return Err(Problem::Other(format!("{columns} numbers, but the rows before have {expected}")));
        }
        (self.rows, self.columns) = (self.rows + 1, columns);
        Ok(())
    }

    fn push(&mut self, number: Number) {
        match (&self.numbers, number) {
            (Numbers::Int(ints), Number::Float(_)) => {
                self.numbers = Numbers::Float(ints.iter().map(|&int| int as f64).collect());
            }
            (Numbers::Int(ints), Number::Complex(_)) => {
                self.numbers = Numbers::Complex(ints.iter().map(|&int| (int as f64).into()).collect());
            }
            (Numbers::Float(floats), Number::Complex(_)) => {
                self.numbers = Numbers::Complex(floats.iter().map(|&float| float.into()).collect());
            }
            _ => {}
        }
        let complex = match number {
            Number::Int(int) => Complex::from(int as f64),
            Number::Float(float) => float.into(),
            Number::Complex(complex) => complex,
        };
        match (&mut self.numbers, number) {
            (Numbers::Int(ints), Number::Int(int)) => ints.push(int),
            // Converted above, where the number is not an integer.
            (Numbers::Int(ints), _) => ints.push(complex.re as i64),
            (Numbers::Float(floats), _) => floats.push(complex.re),
            (Numbers::Complex(numbers), _) => numbers.push(complex),
        }
    }

    fn tensor(self) -> Result<Tensor, String> {
        let shape = match (self.rows, self.columns) {
            (0, _) => return Err("there are no numbers".into()),
            (1, 1) => vec![],
            (1, columns) => vec![columns],
            (rows, 1) => vec![rows],
            (rows, columns) => vec![rows, columns],
        };
        fn array<T>(shape: &[usize], numbers: Vec<T>) -> Result<ArrayD<T>, String> {
            ArrayD::from_shape_vec(IxDyn(shape), numbers).map_err(|error| error.to_string())
        }
        Ok(match self.numbers {
            Numbers::Int(ints) => array(&shape, ints)?.into(),
            Numbers::Float(floats) => array(&shape, floats)?.into(),
            Numbers::Complex(numbers) => array(&shape, numbers)?.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::parse_table;
    use ndarray::{arr0, arr1, arr2};
    use num_complex::Complex;
    use std::io::{self, BufRead, Read};
    use unishape::Tensor;

    fn table(text: &str) -> Result<Tensor, String> {
        parse_table(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn every_separator_is_accepted() {
        let expected = Ok(Tensor::from(arr2(&[[1i64, -2], [3, 4]])));
        for text in
            ["1,-2\n3,4", "1; -2\r\n3; 4\r\n", "1\t-2\n3\t4\n", "  1   -2 \n\n3 4 # c\n", "a,b\n1,-2\n3,4"]
        {
            assert_eq!(table(text), expected, "{text}");
        }
    }

    #[test]
    fn the_dtype_represents_all_numbers() {
        assert_eq!(table("1\n2\n2.5"), Ok(arr1(&[1.0, 2.0, 2.5]).into()));
        assert_eq!(table("1,2e3,+inf"), Ok(arr1(&[1.0, 2000.0, f64::INFINITY]).into()));
        assert_eq!(table("9223372036854775808"), Ok(arr0(9223372036854775808.0).into()));
        let complex = [Complex::new(1.0, 0.0), Complex::new(0.5, -2e-3), Complex::new(0.0, 3.0)];
        assert_eq!(table("1\n (5e-1-2e-3j)\n3j"), Ok(arr1(&complex).into()));
    }

    #[test]
    fn tables_have_the_rank_of_numpys_loadtxt() {
        for (text, shape) in
            [("7", &[][..]), ("1 2 3", &[3]), ("1\n2\n3\n", &[3]), ("1 2\n3 4\n5 6", &[3, 2])]
        {
            assert_eq!(table(text).map(|table| table.shape().to_vec()), Ok(shape.to_vec()), "{text}");
        }
    }

    #[test]
    fn numbers_of_a_row_decide_about_those_before() {
        let real = |re| Complex::new(re, 0.0);
        assert_eq!(table("1.5,2j"), Ok(arr1(&[real(1.5), Complex::new(0.0, 2.0)]).into()));
        assert_eq!(table("2j,1.5,3"), Ok(arr1(&[Complex::new(0.0, 2.0), real(1.5), real(3.0)]).into()));
        assert_eq!(table("2.5,3"), Ok(arr1(&[2.5, 3.0]).into()));
    }

    #[test]
    fn signs_of_exponents_do_not_separate_the_parts_of_a_complex_number() {
        for (text, re, im) in [
            ("-3j", 0.0, -3.0),
            ("-1-3J", -1.0, -3.0),
            ("1e+2j", 0.0, 100.0),
            ("1E-2+3E-1j", 0.01, 0.3),
            ("+1+2e+1j", 1.0, 20.0),
        ] {
            assert_eq!(table(text), Ok(arr0(Complex::new(re, im)).into()), "{text}");
        }
    }

    #[test]
    fn a_heading_is_a_first_line_without_numbers() {
        assert_eq!(table("# c\n\na b\n1 2\n"), Ok(arr1(&[1i64, 2]).into()));
        assert_eq!(table("\u{feff}1,2\n"), Ok(arr1(&[1i64, 2]).into()));
        // A number in it: it is a row.
        assert_eq!(table("a,1\n1,2\n"), Err("line 1: 'a' in column 1 is not a number".into()));
    }

    /// Rows of these many bytes, most of them a comment.
    fn rows(lens: impl IntoIterator<Item = u64>) -> impl BufRead {
        let none: Box<dyn Read> = Box::new(io::empty());
        let all = lens.into_iter().fold(none, |all, len| {
            Box::new(all.chain(&b"1#"[..]).chain(io::repeat(b' ').take(len - 3)).chain(&b"\n"[..]))
        });
        io::BufReader::new(all)
    }

    #[test]
    fn lines_and_files_are_limited() {
        let longest = (1 << 24) - 1;
        assert_eq!(parse_table(rows([longest])).unwrap(), arr0(1i64).into());
        let error = parse_table(rows([longest + 1])).unwrap_err().to_string();
        assert!(error.starts_with("line 1: too long for text"), "{error}");
        // Files of 256 MiB, and of a byte more.
        let file = |last| parse_table(rows([1 << 23; 31].into_iter().chain([(1 << 23) - 4, last])));
        assert_eq!(file(4).unwrap().shape(), [33]);
        let error = file(5).unwrap_err().to_string();
        assert!(error.starts_with("line 33: too long for text"), "{error}");
    }

    #[test]
    fn invalid_tables_are_errors_with_a_line() {
        for (text, problem) in [
            ("", "there are no numbers"),
            ("a,b\n", "there are no numbers"),
            ("1,2\n3\n", "line 2: 1 numbers, but the rows before have 2"),
            ("1,2\nx,4\n", "line 2: 'x' in column 1 is not a number"),
            ("1,x\n", "line 1: 'x' in column 2 is not a number"),
            ("1,,2\n", "line 1: the number in column 2 is missing; write nan"),
            ("a\nb\n", "line 2: 'b' in column 1 is not a number"),
            ("\"1\",\"2\"\n", "there are no numbers but in quotes; write them without quotes"),
            ("a,b\n1,\"2\"\n", "line 2: '\"2\"' in column 2 is in quotes; write numbers without quotes"),
            ("a,b\n1,\"x\"\n", "line 2: '\"x\"' in column 2 is not a number"),
        ] {
            assert_eq!(table(text), Err(problem.into()), "{text}");
        }
        assert!(parse_table(&b"1\n\xff\n"[..]).is_err());
    }
}
