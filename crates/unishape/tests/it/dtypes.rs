//! The dtype and the elements of every function's result, for every dtype of its arguments.

use num_complex::Complex;
use unishape::expr::{Expr, Typing, Value};
use unishape::{DType, Tensor};

/// All dtypes but strings.
const DTYPES: [DType; 15] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];

/// How the dtype of a result follows from that of the arguments, as in NumPy.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// The same; booleans are int8.
    Number,
    /// The same.
    Same,
    /// The same; not for booleans.
    NotBool,
    /// The same; not for booleans and complex numbers.
    RealNotBool,
    /// The same; booleans are int8, complex numbers have none.
    RealNumber,
    /// The same; not for complex numbers.
    Real,
    /// Booleans and integers only.
    Bits,
    /// Integers only, to which booleans are converted.
    Shift,
    /// The dtype of the real part.
    RealPart,
    /// bool.
    Truth,
    /// bool; not for complex numbers.
    RealTruth,
    /// The same; booleans are float16.
    Rounded,
    /// The same; booleans and integers are float64.
    Quotient,
    /// The smallest floating-point dtype that holds the argument.
    Float,
    /// The same, for real arguments only.
    RealFloat,
    /// float64 or complex128.
    Widest,
}

impl Rule {
    fn result(self, dtype: DType) -> Option<DType> {
        use Rule::*;
        let (is_bool, is_complex) = (dtype == DType::Bool, matches!(dtype, DType::C64 | DType::C128));
        let is_float = is_real_float(dtype);
        let float = match dtype {
            DType::Bool | DType::I8 | DType::U8 => DType::F16,
            DType::I16 | DType::U16 => DType::F32,
            DType::I32 | DType::U32 | DType::I64 | DType::U64 => DType::F64,
            float => float,
        };
        let is_refused = match self {
            NotBool => is_bool,
            RealNotBool => is_bool || is_complex,
            RealNumber | Real | RealTruth | RealFloat => is_complex,
            Bits | Shift => is_float || is_complex,
            _ => false,
        };
        let result = match self {
            Number | RealNumber | Shift if is_bool => DType::I8,
            Rounded if is_bool => DType::F16,
            RealPart if dtype == DType::C64 => DType::F32,
            RealPart if dtype == DType::C128 => DType::F64,
            Truth | RealTruth => DType::Bool,
            Quotient if !is_float && !is_complex => DType::F64,
            Float | RealFloat => float,
            Widest if is_complex => DType::C128,
            Widest => DType::F64,
            _ => dtype,
        };
        (!is_refused).then_some(result)
    }

    /// The dtype of the result where arguments are not converted.
    fn strict_result(self, dtype: DType) -> Option<DType> {
        use Rule::*;
        let is_converted = match self {
            Number | RealNumber | Shift | RealTruth | Rounded | Quotient => dtype == DType::Bool,
            Float | RealFloat => dtype == DType::Bool || dtype.is_integer(),
            Widest => !matches!(dtype, DType::F64 | DType::C128),
            _ => false,
        };
        let result = match self {
            // Integers are divided as integers.
            Quotient => Some(dtype),
            _ => self.result(dtype),
        };
        result.filter(|_| !is_converted)
    }
}

fn is_real_float(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
}

fn is_unsigned(dtype: DType) -> bool {
    matches!(dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64)
}

/// A function of real arguments, and of complex ones without an imaginary part where these have the same result.
type Function = fn(f64, f64) -> f64;

fn truth(truth: bool) -> f64 {
    truth.into()
}

fn floor_divide(x: f64, y: f64) -> f64 {
    if y == 0.0 { 0.0 } else { (x / y).floor() }
}

fn bits(x: f64, y: f64, op: fn(i64, i64) -> i64) -> f64 {
    op(x as i64, y as i64) as f64
}

/// The error function of small numbers, by its series.
fn erf(x: f64) -> f64 {
    let (mut sum, mut power) = (0.0, x);
    for n in 0..30 {
        sum += power / f64::from(2 * n + 1);
        power *= -x * x / f64::from(n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

/// Functions of `x` and `y`.
const FUNCTIONS: [(&str, Rule, Function); 84] = [
    ("x + y", Rule::Same, |x, y| x + y),
    ("x - y", Rule::NotBool, |x, y| x - y),
    ("x * y", Rule::Same, |x, y| x * y),
    ("x / y", Rule::Quotient, |x, y| x / y),
    ("x // y", Rule::RealNumber, floor_divide),
    ("x % y", Rule::RealNumber, |x, y| if y == 0.0 { 0.0 } else { x - y * floor_divide(x, y) }),
    ("fmod(x, y)", Rule::RealNumber, |x, y| if y == 0.0 { 0.0 } else { x % y }),
    ("trunc_divide(x, y)", Rule::RealNumber, |x, y| if y == 0.0 { 0.0 } else { (x / y).trunc() }),
    ("x ** y", Rule::Number, f64::powf),
    ("float_power(x, y)", Rule::Widest, f64::powf),
    ("-x", Rule::NotBool, |x, _| -x),
    ("+x", Rule::NotBool, |x, _| x),
    ("sign(x)", Rule::NotBool, |x, _| if x == 0.0 { 0.0 } else { x.signum() }),
    ("abs(x)", Rule::RealPart, |x, _| x.abs()),
    ("real(x)", Rule::RealPart, |x, _| x),
    ("imag(x)", Rule::RealPart, |_, _| 0.0),
    ("conj(x)", Rule::Number, |x, _| x),
    ("square(x)", Rule::Number, |x, _| x * x),
    ("reciprocal(x)", Rule::Number, |x, _| 1.0 / x),
    ("x == y", Rule::Truth, |x, y| truth(x == y)),
    ("x != y", Rule::Truth, |x, y| truth(x != y)),
    ("x < y", Rule::Truth, |x, y| truth(x < y)),
    ("x <= y", Rule::Truth, |x, y| truth(x <= y)),
    ("x > y", Rule::Truth, |x, y| truth(x > y)),
    ("x >= y", Rule::Truth, |x, y| truth(x >= y)),
    ("x and y", Rule::Truth, |x, y| truth(x != 0.0 && y != 0.0)),
    ("x or y", Rule::Truth, |x, y| truth(x != 0.0 || y != 0.0)),
    ("logical_xor(x, y)", Rule::Truth, |x, y| truth((x != 0.0) != (y != 0.0))),
    ("not x", Rule::Truth, |x, _| truth(x == 0.0)),
    ("isnan(x)", Rule::Truth, |_, _| 0.0),
    ("isinf(x)", Rule::Truth, |_, _| 0.0),
    ("isfinite(x)", Rule::Truth, |_, _| 1.0),
    ("signbit(x)", Rule::RealTruth, |x, _| truth(x < 0.0)),
    ("x & y", Rule::Bits, |x, y| bits(x, y, |x, y| x & y)),
    ("x | y", Rule::Bits, |x, y| bits(x, y, |x, y| x | y)),
    ("x ^ y", Rule::Bits, |x, y| bits(x, y, |x, y| x ^ y)),
    ("x << y", Rule::Shift, |x, y| bits(x, y, |x, y| x << y)),
    ("x >> y", Rule::Shift, |x, y| bits(x, y, |x, y| x >> y)),
    ("minimum(x, y)", Rule::Same, f64::min),
    ("maximum(x, y)", Rule::Same, f64::max),
    ("fmin(x, y)", Rule::Same, f64::min),
    ("fmax(x, y)", Rule::Same, f64::max),
    ("clip(x, y, x)", Rule::Same, |x, _| x),
    ("clip(y, x, x)", Rule::Same, |x, _| x),
    ("where(x > y, x, y)", Rule::Same, f64::max),
    ("floor(x)", Rule::Real, |x, _| x),
    ("ceil(x)", Rule::Real, |x, _| x),
    ("trunc(x)", Rule::Real, |x, _| x),
    ("round(x)", Rule::Rounded, |x, _| x),
    ("rint(x)", Rule::Float, |x, _| x),
    ("around(x, 1)", Rule::RealNotBool, |x, _| x),
    ("leaky_relu(x, y)", Rule::RealNotBool, |x, y| if x < 0.0 { x * y } else { x }),
    ("atan2(x, y)", Rule::RealFloat, f64::atan2),
    ("hypot(x, y)", Rule::RealFloat, f64::hypot),
    ("logaddexp(x, y)", Rule::RealFloat, |x, y| (x.exp() + y.exp()).ln()),
    ("logaddexp2(x, y)", Rule::RealFloat, |x, y| (x.exp2() + y.exp2()).log2()),
    ("copysign(x, y)", Rule::RealFloat, f64::copysign),
    ("heaviside(x, y)", Rule::RealFloat, |x, y| if x == 0.0 { y } else { truth(x > 0.0) }),
    ("cbrt(x)", Rule::RealFloat, |x, _| x.cbrt()),
    ("erf(x / 4)", Rule::RealFloat, |x, _| erf(x / 4.0)),
    ("deg2rad(x)", Rule::RealFloat, |x, _| x.to_radians()),
    ("rad2deg(x)", Rule::RealFloat, |x, _| x.to_degrees()),
    ("sigmoid(x)", Rule::RealFloat, |x, _| 1.0 / (1.0 + (-x).exp())),
    ("sin(x)", Rule::Float, |x, _| x.sin()),
    ("cos(x)", Rule::Float, |x, _| x.cos()),
    ("tan(x)", Rule::Float, |x, _| x.tan()),
    ("sinh(x)", Rule::Float, |x, _| x.sinh()),
    ("cosh(x)", Rule::Float, |x, _| x.cosh()),
    ("tanh(x)", Rule::Float, |x, _| x.tanh()),
    ("asin(x)", Rule::Float, |x, _| x.asin()),
    ("acos(x)", Rule::Float, |x, _| x.acos()),
    ("atan(x)", Rule::Float, |x, _| x.atan()),
    ("asinh(x)", Rule::Float, |x, _| x.asinh()),
    ("acosh(x)", Rule::Float, |x, _| x.acosh()),
    ("atanh(x)", Rule::Float, |x, _| x.atanh()),
    ("exp(x)", Rule::Float, |x, _| x.exp()),
    ("exp2(x)", Rule::Float, |x, _| x.exp2()),
    ("expm1(x)", Rule::Float, |x, _| x.exp_m1()),
    ("log(x)", Rule::Float, |x, _| x.ln()),
    ("log2(x)", Rule::Float, |x, _| x.log2()),
    ("log10(x)", Rule::Float, |x, _| x.log10()),
    ("log1p(x)", Rule::Float, |x, _| x.ln_1p()),
    ("sqrt(x)", Rule::Float, |x, _| x.sqrt()),
    ("nextafter(x, y)", Rule::RealFloat, |x, _| x),
];

/// Numbers in another dtype.
fn cast(numbers: &Tensor, dtype: DType) -> Tensor {
    Expr::parse(&format!("{dtype}(x)")).unwrap().evaluate([("x", numbers)]).unwrap()
}

fn complex(numbers: &Tensor) -> Vec<Complex<f64>> {
    match cast(numbers, DType::C128) {
        Tensor::C128(numbers) => numbers.into_raw_vec_and_offset().0,
        other => panic!("{other:?}"),
    }
}

/// The arguments of functions in a dtype; not all are within the domain of all functions.
fn arguments(dtype: DType) -> [Vec<f64>; 2] {
    let (mut x, mut y) = match dtype {
        DType::Bool => (vec![0.0, 0.0, 1.0, 1.0], vec![0.0, 1.0, 0.0, 1.0]),
        _ => (vec![0.0, 3.0, 1.0, 2.0, 4.0, 1.0], vec![1.0, 2.0, 1.0, 2.0, 3.0, 3.0]),
    };
    if is_real_float(dtype) || dtype.is_integer() && !is_unsigned(dtype) {
        x.extend([-3.0, -4.0]);
        y.extend([2.0, 3.0]);
    }
    [x, y]
}

fn unit(dtype: DType) -> f64 {
    match dtype {
        DType::BF16 => 1.0 / 256.0,
        DType::F16 => 1.0 / 2048.0,
        DType::F32 | DType::C64 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

#[test]
fn every_function_of_every_dtype() {
    for (text, rule, function) in FUNCTIONS {
        let expr = Expr::parse(text).unwrap();
        for dtype in DTYPES {
            let [x, y] = arguments(dtype);
            let [xs, ys] = [&x, &y].map(|numbers| cast(&Tensor::from(ndarray::arr1(numbers)), dtype));
            let given = [("x", Value::from(&xs)), ("y", Value::from(&ys))];
            let given = given.into_iter().filter(|(name, _)| expr.names().iter().any(|own| own == name));
            // The quotient that the error function is of has a dtype of its own.
            let expected = rule.result(if text.starts_with("erf") { quotient(dtype) } else { dtype });
            let result = match (expr.evaluate(given), expected) {
                (Ok(result), Some(expected)) => {
                    assert_eq!(result.dtype(), expected, "{text} of {dtype}");
                    result
                }
                (Err(_), None) => continue,
                (result, expected) => panic!("{text} of {dtype}: {result:?}, not {expected:?}"),
            };
            let dtype = result.dtype();
            for ((result, &x), &y) in complex(&result).into_iter().zip(&x).zip(&y) {
                let mut expected = function(x, y);
                if matches!(dtype, DType::C64 | DType::C128) && expected.is_nan() {
                    continue;
                }
                if dtype.is_integer() {
                    expected = if expected.is_finite() { expected.trunc() } else { 0.0 };
                }
                if is_unsigned(dtype) {
                    expected = expected.rem_euclid(256f64.powi(dtype.item_size() as i32));
                }
                if dtype == DType::Bool {
                    expected = truth(expected != 0.0);
                }
                let is_near = match expected.is_finite() {
                    true => (result.re - expected).abs() <= 8.0 * unit(dtype) * expected.abs().max(0.01),
                    false => expected.is_nan() && result.re.is_nan() || result.re == expected,
                };
                assert!(is_near, "{text} of {x} and {y} in {dtype}: {result}, not {expected}");
            }
        }
    }
}

/// The dtype of a quotient.
fn quotient(dtype: DType) -> DType {
    if dtype == DType::Bool || dtype.is_integer() { DType::F64 } else { dtype }
}

/// The dtype of a function of `x`.
fn dtype_of(text: &str, dtype: DType, typing: Typing) -> Result<DType, String> {
    let x = cast(&Tensor::from(ndarray::arr1(&[1.0])), dtype);
    let bound = Expr::parse(text).unwrap().typed(typing).bind([("x", &x)]);
    bound.map(|bound| bound.dtype()).map_err(|error| error.to_string())
}

/// A number has the dtype of the array, or the smallest one that can hold numbers of its kind.
#[test]
fn numbers_beside_arrays() {
    use DType::{BF16, Bool, C64, C128, F16, F32, F64, I8, I32, I64, U8, U64};
    for (dtype, results) in [
        (Bool, [Bool, I64, F64, C128]),
        (U8, [U8, U8, F64, C128]),
        (I8, [I8, I8, F64, C128]),
        (I32, [I32, I32, F64, C128]),
        (U64, [U64, U64, F64, C128]),
        (F16, [F16, F16, F16, C64]),
        (BF16, [BF16, BF16, F32, C64]),
        (F32, [F32, F32, F32, C64]),
        (F64, [F64, F64, F64, C128]),
        (C64, [C64; 4]),
        (C128, [C128; 4]),
    ] {
        for (number, result) in ["True", "3", "2.5", "1j"].into_iter().zip(results) {
            for text in [format!("x + {number}"), format!("{number} * x")] {
                assert_eq!(dtype_of(&text, dtype, Typing::Promote), Ok(result), "{text} of {dtype}");
            }
            // Without conversions an array keeps its dtype, or has no such number.
            let strict = dtype_of(&format!("x + {number}"), dtype, Typing::Strict);
            match result == dtype || (dtype == BF16 && number == "2.5") {
                true => assert_eq!(strict, Ok(dtype), "{number}"),
                false => assert!(strict.is_err(), "{number}, {dtype}"),
            }
        }
    }
    for (text, result) in [
        ("where(x, True, False)", Bool),
        ("where(x, 9223372036854775807, 0)", I64),
        ("where(x, 18446744073709551615, 18446744073709551615)", U64),
        ("where(x, -9223372036854775808, 0)", I64),
        ("where(x, 1, 2.5)", F64),
        ("where(x, 1, 2j)", C128),
    ] {
        assert_eq!(dtype_of(text, Bool, Typing::Promote), Ok(result), "{text}");
    }
}

/// Strict typing refuses arguments that a function would convert.
#[test]
fn every_function_without_conversions() {
    for (text, rule, _) in FUNCTIONS {
        let expr = Expr::parse(text).unwrap().typed(Typing::Strict);
        let is_logical = matches!(text, "x and y" | "x or y" | "logical_xor(x, y)" | "not x");
        for dtype in DTYPES {
            let expected = rule.strict_result(dtype).filter(|_| !is_logical || dtype == DType::Bool);
            let x = cast(&Tensor::from(ndarray::arr1(&[1.0])), dtype);
            let result = expr.bind(expr.names().iter().map(|name| (name, &x))).map(|bound| bound.dtype());
            assert_eq!(result.as_ref().ok(), expected.as_ref(), "{text} of {dtype}: {result:?}");
        }
    }
}

/// Functions of two floating-point numbers convert each integer to one before they have a common dtype.
#[test]
fn functions_of_two_dtypes() {
    use DType::{BF16, Bool, F16, F32, F64, I8, I16, I32, U8, U16, U64};
    const NAMES: [&str; 7] =
        ["atan2", "hypot", "logaddexp", "logaddexp2", "copysign", "nextafter", "heaviside"];
    for name in NAMES {
        let expr = Expr::parse(&format!("{name}(x, y)")).unwrap();
        for (x, y, result) in [
            (I8, U8, F16),
            (Bool, U8, F16),
            (I16, U16, F32),
            (I8, U16, F32),
            (I32, U64, F64),
            (I8, BF16, BF16),
            (I8, F16, F16),
            (I16, F16, F32),
            (I32, F32, F64),
            (F16, BF16, F32),
        ] {
            let [x, y] = [x, y].map(|dtype| cast(&Tensor::from(ndarray::arr1(&[1.0])), dtype));
            for [x, y] in [[&x, &y], [&y, &x]] {
                let bound = expr.bind([("x", x), ("y", y)]).unwrap();
                assert_eq!(bound.dtype(), result, "{name} of {} and {}", x.dtype(), y.dtype());
            }
        }
        // Beside an integer, booleans are int64.
        for (dtype, number, result) in [
            (Bool, "2", F64),
            (Bool, "True", F16),
            (Bool, "2.5", F64),
            (I8, "2", F16),
            (I16, "True", F32),
            (I32, "2", F64),
            (I8, "2.5", F64),
            (F16, "2.5", F16),
        ] {
            for text in [format!("{name}(x, {number})"), format!("{name}({number}, x)")] {
                assert_eq!(dtype_of(&text, dtype, Typing::Promote), Ok(result), "{text} of {dtype}");
            }
        }
    }
}

/// Infinities, NaN and zeros of both signs.
#[test]
fn special_values_of_every_float() {
    const NAN: f64 = f64::NAN;
    const INF: f64 = f64::INFINITY;
    let x = [0.0, -0.0, INF, -INF, NAN, 1.5, -1.5];
    let truths = |ones: [u8; 7]| Tensor::from(ndarray::arr1(&ones.map(|one| one == 1)));
    let of = |text: &str, x: &Tensor| Expr::parse(text).unwrap().evaluate([("x", x)]).unwrap();
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let x = cast(&Tensor::from(ndarray::arr1(&x)), dtype);
        for (text, expected) in [
            ("isnan(x)", [0, 0, 0, 0, 1, 0, 0]),
            ("isinf(x)", [0, 0, 1, 1, 0, 0, 0]),
            ("isfinite(x)", [1, 1, 0, 0, 0, 1, 1]),
            ("signbit(where(isnan(x), 1, x))", [0, 1, 0, 1, 0, 0, 1]),
            ("signbit(-where(isnan(x), 1, x))", [1, 0, 1, 0, 1, 1, 0]),
            ("fmax(x, 1) == where(x > 1, x, 1)", [1; 7]),
            ("fmax(1, x) == where(x > 1, x, 1)", [1; 7]),
            ("fmin(x, 1) == where(x < 1, x, 1)", [1; 7]),
            ("fmin(1, x) == where(x < 1, x, 1)", [1; 7]),
            ("isnan(maximum(x, 1))", [0, 0, 0, 0, 1, 0, 0]),
            ("leaky_relu(x, 2) == where(x < 0, 2 * x, x)", [1, 1, 1, 1, 0, 1, 1]),
        ] {
            assert_eq!(of(text, &x), truths(expected), "{text} of {dtype}");
        }
    }
    let (re, im) = ([0.0, 1.0, INF, 0.0, NAN, 1.5, 2.0], [-0.0, 2.0, 0.0, -INF, 1.0, NAN, 0.0]);
    let z = Tensor::from(ndarray::Array1::from_iter(re.iter().zip(im).map(|(&re, im)| Complex::new(re, im))));
    for dtype in [DType::C64, DType::C128] {
        let z = cast(&z, dtype);
        for (text, expected) in [
            ("isnan(x)", [0, 0, 0, 0, 1, 1, 0]),
            ("isinf(x)", [0, 0, 1, 1, 0, 0, 0]),
            ("isfinite(x)", [1, 1, 0, 0, 0, 0, 1]),
            ("signbit(imag(x)) and imag(x) == 0", [1, 0, 0, 0, 0, 0, 0]),
            ("signbit(imag(conj(x))) and imag(x) == 0", [0, 0, 1, 0, 0, 0, 1]),
            ("real(x) == 1 and imag(x) == 2", [0, 1, 0, 0, 0, 0, 0]),
        ] {
            assert_eq!(of(text, &z), truths(expected), "{text} of {dtype}");
        }
    }
}

/// Functions that consist of several operations round half precision once, at the end.
#[test]
fn half_precision_is_rounded_once() {
    let numbers =
        |step: f64| Tensor::from(ndarray::Array1::from_iter((0..200).map(|n| f64::from(n) * step - 20.0)));
    for dtype in [DType::F16, DType::BF16] {
        let (x, y) = (cast(&numbers(0.37), dtype), cast(&numbers(0.29), dtype));
        for name in ["deg2rad", "rad2deg", "logaddexp2", "logaddexp", "hypot"] {
            let [narrow, wide] = match name {
                "deg2rad" | "rad2deg" => ["x", "float32(x)"],
                _ => ["x, y", "float32(x), float32(y)"],
            };
            let [result, expected] =
                [format!("{name}({narrow})"), format!("{dtype}({name}({wide}))")].map(|text| {
                    let given = [("x", &x), ("y", &y)].into_iter().filter(|(name, _)| narrow.contains(name));
                    Expr::parse(&text).unwrap().evaluate(given).unwrap()
                });
            assert_eq!(result, expected, "{name} of {dtype}");
        }
    }
}

/// Strict typing divides integers as integers.
#[test]
fn quotients_without_conversions() {
    for dtype in DTYPES.into_iter().filter(|&dtype| dtype != DType::Bool) {
        assert_eq!(dtype_of("x / x", dtype, Typing::Strict), Ok(dtype));
    }
    let x = ndarray::arr1(&[7i32, -7]);
    let quotient = Expr::parse("x / 2").unwrap().typed(Typing::Strict).evaluate([("x", &x)]).unwrap();
    assert_eq!(quotient, ndarray::arr1(&[3i32, -3]).into());
}

/// What a reduction of numbers is, of which the mask keeps some.
type Reduce = fn(&[f64]) -> f64;

fn variance(numbers: &[f64]) -> f64 {
    let mean = mean(numbers);
    numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / numbers.len() as f64
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// The dtype of a reduction's result, as in NumPy.
#[derive(Clone, Copy)]
enum ReducedTo {
    /// The same.
    Same,
    /// Booleans and integers are 64 bits wide.
    Sum,
    /// Booleans and integers are float64.
    Quotient,
    /// Also the dtype of the real part.
    RealQuotient,
    Truth,
    Index,
}

const REDUCTIONS: [(&str, ReducedTo, Reduce); 16] = [
    ("sum", ReducedTo::Sum, |x| x.iter().sum()),
    ("prod", ReducedTo::Sum, |x| x.iter().product()),
    ("min", ReducedTo::Same, |x| x.iter().copied().fold(f64::INFINITY, f64::min)),
    ("max", ReducedTo::Same, |x| x.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    ("mean", ReducedTo::Quotient, mean),
    ("var", ReducedTo::RealQuotient, variance),
    ("std", ReducedTo::RealQuotient, |x| variance(x).sqrt()),
    ("any", ReducedTo::Truth, |x| truth(x.iter().any(|&x| x != 0.0))),
    ("all", ReducedTo::Truth, |x| truth(x.iter().all(|&x| x != 0.0))),
    ("count_nonzero", ReducedTo::Index, |x| x.iter().filter(|&&x| x != 0.0).count() as f64),
    ("argmin", ReducedTo::Index, |x| {
        (0..x.len()).fold(0, |least, at| if x[at] < x[least] { at } else { least }) as f64
    }),
    ("argmax", ReducedTo::Index, |x| {
        (0..x.len()).fold(0, |most, at| if x[at] > x[most] { at } else { most }) as f64
    }),
    ("logsumexp", ReducedTo::Quotient, |x| x.iter().map(|x| x.exp()).sum::<f64>().ln()),
    ("norm", ReducedTo::RealQuotient, |x| x.iter().map(|x| x * x).sum::<f64>().sqrt()),
    ("norm1", ReducedTo::RealQuotient, |x| x.iter().map(|x| x.abs()).sum()),
    ("norminf", ReducedTo::RealQuotient, |x| x.iter().fold(0.0, |most, x| x.abs().max(most))),
];

impl ReducedTo {
    fn result(self, dtype: DType) -> DType {
        let is_integral = dtype == DType::Bool || dtype.is_integer();
        match self {
            ReducedTo::Sum if is_unsigned(dtype) => DType::U64,
            ReducedTo::Sum if is_integral => DType::I64,
            ReducedTo::Quotient | ReducedTo::RealQuotient if is_integral => DType::F64,
            ReducedTo::RealQuotient if dtype == DType::C64 => DType::F32,
            ReducedTo::RealQuotient if dtype == DType::C128 => DType::F64,
            ReducedTo::Truth => DType::Bool,
            ReducedTo::Index => DType::I64,
            _ => dtype,
        }
    }
}

#[test]
fn every_reduction_of_every_dtype() {
    for (name, to, reduce) in REDUCTIONS {
        // Three parameters of one function.
        let (name, before) = match name {
            "norm1" => ("norm", "1, "),
            "norminf" => ("norm", "inf, "),
            "norm" => ("norm", "2, "),
            name => (name, ""),
        };
        for dtype in DTYPES {
            let rows: [&[f64]; 3] = match dtype {
                DType::Bool => [&[0.0, 1.0, 1.0], &[1.0, 1.0, 1.0], &[0.0, 0.0, 0.0]],
                dtype if is_unsigned(dtype) => [&[3.0, 0.0, 2.0], &[1.0, 5.0, 5.0], &[0.0, 0.0, 0.0]],
                _ => [&[3.0, 0.0, 2.0], &[-1.0, -5.0, 5.0], &[0.0, 0.0, 0.0]],
            };
            let table = ndarray::Array2::from_shape_fn((3, 3), |(row, at)| rows[row][at]);
            let (x, mask) = (cast(&Tensor::from(table), dtype), ndarray::arr1(&[true, false, true]));
            let check = |text: &str, given: &[(&str, Value<'_>)], kept: &[usize]| {
                let result = Expr::parse(text).unwrap().evaluate(given.iter().cloned()).unwrap();
                assert_eq!(result.dtype(), to.result(dtype), "{text} of {dtype}");
                for (result, row) in complex(&result).into_iter().zip(rows) {
                    let row: Vec<f64> = kept.iter().map(|&at| row[at]).collect();
                    let expected = reduce(&row);
                    let is_near = (result.re - expected).abs() <= 8.0 * unit(dtype) * expected.abs().max(1.0);
                    assert!(
                        is_near && result.im.abs() < 1e-6,
                        "{text} of {row:?} in {dtype}: {result}, not {expected}"
                    );
                }
            };
            let all = [("x", Value::from(&x))];
            check(&format!("{name}(x, {before}axis=1)"), &all, &[0, 1, 2]);
            // Of columns, and of views that are computed.
            check(&format!("{name}(x.T, {before}axis=0)"), &all, &[0, 1, 2]);
            check(&format!("{name}(x[:, 1:], {before}axis=-1)"), &all, &[1, 2]);
            if matches!(name, "sum" | "prod" | "mean" | "var" | "std" | "any" | "all") {
                let masked = [("x", Value::from(&x)), ("mask", Value::from(&mask))];
                check(&format!("{name}(x, axis=1, where=mask)"), &masked, &[0, 2]);
                check(&format!("{name}(x.T, axis=0, where=mask[:, None])"), &masked, &[0, 2]);
            }
        }
    }
}

/// A requested dtype is that of the elements that are added, and of the result.
#[test]
fn reductions_in_another_dtype() {
    let x = ndarray::arr1(&[200u8, 100, 56]);
    let of = |text: &str| Expr::parse(text).unwrap().evaluate([("x", &x)]).unwrap();
    assert_eq!(of("sum(x, dtype=uint8)"), ndarray::arr0(100u8).into());
    assert_eq!(of("sum(x, dtype=int8)"), ndarray::arr0(100i8).into());
    assert_eq!(of("prod(x, dtype=uint16)"), ndarray::arr0((200u32 * 100 * 56 % 65536) as u16).into());
    assert_eq!(of("sum(x, dtype=float16)"), ndarray::arr0(half::f16::from_f32(356.0)).into());
    assert_eq!(of("mean(x, dtype=float32)"), ndarray::arr0(356.0f32 / 3.0).into());
    assert_eq!(of("mean(x, dtype=int32)"), ndarray::arr0(118i32).into());
    assert_eq!(of("var(x, dtype=complex64)").dtype(), DType::C64);
    assert_eq!(of("sum(x, dtype=bool)"), ndarray::arr0(true).into());
    // Fewer elements than are taken from their number: the variance is infinite, as in NumPy.
    assert_eq!(of("var(x[:2], ddof=1)"), ndarray::arr0(5000.0).into());
    assert_eq!(of("var(x[:2], ddof=2)"), ndarray::arr0(f64::INFINITY).into());
    assert_eq!(of("var(x[:2], ddof=5)"), ndarray::arr0(f64::INFINITY).into());
    assert_eq!(of("var(x[:2], ddof=0.5)"), ndarray::arr0(5000.0 / 1.5).into());
}

/// A mean of integers is a quotient of floating-point numbers, whose divisor the dtype need not hold.
#[test]
fn means_of_more_elements_than_their_dtype_holds() {
    let (x, mask) = (ndarray::Array1::from_elem(258, 1i16), ndarray::Array1::from_elem(258, true));
    for (text, expected) in [
        // The sum wraps, as in NumPy: 258 is 2, of which 2 / 258 is 0.
        ("mean(x, dtype=int8, where=mask)", 0),
        ("mean(x, dtype=int8)", 0),
        ("mean(30 * x, dtype=int16, where=mask)", 30),
    ] {
        let expr = Expr::parse(text).unwrap();
        let given = [("x", Value::from(&x)), ("mask", Value::from(&mask))];
        let given = given.into_iter().filter(|(name, _)| expr.names().iter().any(|own| own == name));
        assert_eq!(complex(&expr.evaluate(given).unwrap()), [Complex::from(f64::from(expected))], "{text}");
    }
}
