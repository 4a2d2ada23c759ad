//! Functions that are computed by others, arithmetic of scalars, initial values of reductions, and messages.

use ndarray::{Array1, arr0, arr1};
use num_complex::Complex;
use unishape::expr::{Axes, Expr, ExprError, ReduceOp, Reduction, Scalar, lazy};
use unishape::{DType, Error, Extent, Tensor, alignment, for_each};

/// The value of an expression of `x`.
fn of<T>(text: &str, x: &Array1<T>) -> Result<Tensor, ExprError>
where
    for<'a> unishape::expr::Value<'a>: From<&'a Array1<T>>,
{
    Expr::parse(text)?.evaluate([("x", x)])
}

fn message<T>(text: &str, x: &Array1<T>) -> String
where
    for<'a> unishape::expr::Value<'a>: From<&'a Array1<T>>,
{
    of(text, x).unwrap_err().to_string()
}

#[test]
fn rounding_to_decimals() {
    let x = arr1(&[1234.5678, -0.125]);
    assert_eq!(of("round(x, 2)", &x).unwrap(), arr1(&[1234.57, -0.12]).into());
    assert_eq!(of("round(x, -2)", &x).unwrap(), arr1(&[1200.0, -0.0]).into());
    assert_eq!(of("round(x, 0)", &x).unwrap(), arr1(&[1235.0, -0.0]).into());
    let int = arr1(&[149i32, -151]);
    assert_eq!(of("round(x, 1)", &int).unwrap(), int.clone().into());
    assert_eq!(of("round(x, -2)", &int).unwrap(), arr1(&[100i32, -200]).into());
    // 10⁴⁰⁰ is infinite: all decimals.
    assert!(of("isnan(round(x, 500))", &x).unwrap() == arr1(&[true, true]).into());
}

#[test]
fn degrees_and_radians() {
    let (x, x32) = (arr1(&[180.0, 90.0]), arr1(&[180.0f32, 1.0]));
    let half_turn = std::f64::consts::PI;
    assert_eq!(of("deg2rad(x)", &x).unwrap(), x.mapv(|x| x * (half_turn / 180.0)).into());
    assert_eq!(of("rad2deg(x)", &x).unwrap(), x.mapv(|x| x * (180.0 / half_turn)).into());
    let half_turn = std::f32::consts::PI;
    assert_eq!(of("deg2rad(x)", &x32).unwrap(), x32.mapv(|x| x * (half_turn / 180.0)).into());
    assert_eq!(of("rad2deg(x)", &x32).unwrap(), x32.mapv(|x| x * (180.0 / half_turn)).into());
}

#[test]
fn heaviside_and_logaddexp2() {
    let x = arr1(&[-2.0, -0.0, 3.0]);
    assert_eq!(of("heaviside(x, 0.5)", &x).unwrap(), arr1(&[0.0, 0.5, 1.0]).into());
    assert_eq!(of("logaddexp2(x, x)", &x).unwrap(), arr1(&[-1.0, 1.0, 4.0]).into());
    let nan = arr1(&[f64::NAN]);
    assert_eq!(of("isnan(heaviside(x, 0.5))", &nan).unwrap(), arr1(&[true]).into());
}

/// Integers that only 128 bits hold in between fit the result.
#[test]
fn arithmetic_of_scalars_is_exact() {
    let x = arr1(&[0u64]);
    let large = u64::MAX;
    for (text, expected) in [
        ("x + -(-18446744073709551615)", large),
        ("x + abs(-18446744073709551615)", large),
        ("x + square(4294967295)", 4294967295 * 4294967295),
        ("x + (+18446744073709551615)", large),
        ("x + (20000000000000000000 - 10000000000000000000)", 10_000_000_000_000_000_000),
    ] {
        assert_eq!(of(text, &x).unwrap(), arr1(&[expected]).into(), "{text}");
    }
    // Functions of scalars have no dtype of their own: float32 remains float32.
    let x = arr1(&[1.0f32]);
    for text in ["x * sqrt(4)", "x * (1 < 2)", "x * sign(7)", "x * (7 // 3)", "x * -True", "x * sin(True)"] {
        assert_eq!(of(text, &x).unwrap().dtype(), DType::F32, "{text}");
    }
    assert_eq!(of("x * sqrt(2j)", &x).unwrap().dtype(), DType::C64);
}

/// As in NumPy, limits beyond the dtype change nothing; a lower limit above it is an error.
#[test]
fn clip_with_limits_beyond_the_dtype() {
    let x = arr1(&[0u8, 7, 255]);
    assert_eq!(of("clip(x, -1, 300)", &x).unwrap(), x.clone().into());
    assert_eq!(of("clip(x, 0, 255)", &x).unwrap(), x.clone().into());
    assert_eq!(of("clip(x, 1, 254)", &x).unwrap(), arr1(&[1u8, 7, 254]).into());
    assert!(message("clip(x, 256, 300)", &x).contains("256"));
    assert!(message("clip(x, -2, -1)", &x).contains("-1"));
}

#[test]
fn initial_values_take_the_dtype_of_the_result() {
    let (ints, truths) = (arr1(&[1i32, 2]), arr1(&[false, false]));
    let sum = |initial: Scalar| lazy(&ints).reduce(Reduction::new(ReduceOp::Sum).initial(initial)).compute();
    assert_eq!(sum(Scalar::Float(2.75)).unwrap(), arr0(5i64).into());
    assert_eq!(sum(Scalar::Int(-3)).unwrap(), arr0(0i64).into());
    assert!(sum(Scalar::Float(f64::INFINITY)).unwrap_err().to_string().contains("inf"));
    assert!(sum(Scalar::Complex(Complex::new(1.0, 1.0))).is_err());
    let floats = arr1(&[1.5, 2.0]);
    let sum =
        |initial: Scalar| lazy(&floats).reduce(Reduction::new(ReduceOp::Sum).initial(initial)).compute();
    assert_eq!(sum(Scalar::Float(0.25)).unwrap(), arr0(3.75).into());
    assert!(sum(Scalar::Complex(Complex::new(1.0, 1.0))).is_err());
    let max =
        |initial: Scalar| lazy(&truths).reduce(Reduction::new(ReduceOp::Max).initial(initial)).compute();
    for (initial, expected) in [
        (Scalar::Bool(true), true),
        (Scalar::Int(2), true),
        (Scalar::Int(0), false),
        (Scalar::Float(0.5), true),
        (Scalar::Float(0.0), false),
        (Scalar::Complex(Complex::new(0.0, 1.0)), true),
        (Scalar::Complex(Complex::new(1.0, 0.0)), true),
        (Scalar::Complex(Complex::new(0.0, 0.0)), false),
    ] {
        assert_eq!(max(initial).unwrap(), arr0(expected).into(), "{initial:?}");
    }
    let complex = arr1(&[Complex::new(1.0, 0.0)]);
    let sum = lazy(&complex)
        .reduce(Reduction::new(ReduceOp::Sum).initial(Scalar::Complex(Complex::new(0.0, 2.0))))
        .compute();
    assert_eq!(sum.unwrap(), arr0(Complex::new(1.0, 2.0)).into());
}

#[test]
fn options_of_reductions() {
    let reduction = Reduction::new(ReduceOp::Var).ddof(1).dtype(DType::F32).initial(3);
    assert_eq!(reduction.ddof, Scalar::Int(1));
    assert_eq!(reduction.dtype, Some(DType::F32));
    assert_eq!(reduction.initial, Some(Scalar::Int(3)));
    assert_eq!(Axes::from(vec![0]), Axes::from([0]));
    assert_eq!(Axes::from(&[1, 2][..]), Axes::from([1, 2]));
    let a = arr1(&[true, false]);
    assert_eq!((!&lazy(&a)).compute().unwrap(), arr1(&[false, true]).into());
}

#[test]
fn messages_suggest_the_sign() {
    let x = arr1(&[1.0]);
    for (text, advice) in [
        ("!x", "; write not, or != for unequal"),
        ("x × x", "; multiply with *"),
        ("x · x", "; multiply with *"),
        ("x ÷ x", "; divide with /"),
        ("x − x", "; subtract with -"),
        ("x – x", "; subtract with -"),
        ("x ≤ x", "; write <="),
        ("x ≥ x", "; write >="),
        ("x ≠ x", "; write !="),
    ] {
        let message = message(text, &x);
        assert!(message.lines().next().unwrap().ends_with(advice), "{message}");
    }
    for (text, advice) in [
        ("x & x", "; for booleans write and"),
        ("x | x", "; for booleans write or"),
        ("~x", "; for booleans write not"),
        ("x ^ x", "; the power is written **"),
    ] {
        let message = message(text, &x);
        assert!(message.lines().next().unwrap().ends_with(advice), "{message}");
    }
    let truths = arr1(&[true]);
    assert!(message("x - x", &truths).lines().next().unwrap().ends_with("; use ^ for exclusive or"));
    assert!(message("-x", &truths).lines().next().unwrap().ends_with("; use not or ~"));
}

/// The line of the text is shown, with a mark under the place.
#[test]
fn messages_show_the_line() {
    let error = Expr::parse("a +\nbc $ d\n+ e").unwrap_err();
    assert!(error.to_string().ends_with("\n  bc $ d\n     ^"), "{error}");
    assert_eq!(error.text(), Some("a +\nbc $ d\n+ e"));
    assert!(std::error::Error::source(&error).is_none());
    let (x, y) = (arr1(&[1.0, 2.0]), arr1(&[1.0, 2.0, 3.0]));
    let error = Expr::parse("x + y").unwrap().evaluate([("x", &x), ("y", &y)]).unwrap_err();
    assert!(std::error::Error::source(&error).is_some());
    let expr = Expr::parse("x + 1").unwrap();
    assert_eq!(expr.to_string(), "x + 1");
    assert_eq!(format!("{expr:?}"), "Expr(\"x + 1\")");
}

#[test]
fn messages_list_names() {
    let x = arr1(&[1.0]);
    let names: Vec<String> = (0..14).map(|number| format!("n{number:04}")).collect();
    let expr = Expr::parse("unlike").unwrap();
    let error = expr.evaluate(names.iter().map(|name| (name.as_str(), &x))).unwrap_err().to_string();
    assert!(error.contains("n0011 and 2 more"), "{error}");
    let error = expr.evaluate(names[..3].iter().map(|name| (name.as_str(), &x))).unwrap_err().to_string();
    assert!(error.contains("n0000, n0001 and n0002"), "{error}");
}

#[test]
fn outputs_that_cannot_be_written() {
    let (mut row, table) = (ndarray::arr2(&[[1, 2]]), ndarray::arr2(&[[1, 2], [3, 4]]));
    let Err(Error::CannotWrite(error)) = for_each((&table, &table, &mut row), |_, _, _| ()) else { panic!() };
    assert_eq!((error.input(), error.shape(), error.common()), (2, &[1, 2][..], &[2, 2][..]));
}

#[test]
fn alignment_marks_dimensions_that_differ() {
    let [a, b] = [[4, 1].map(Extent::Known), [4, 3].map(Extent::Known)];
    assert_eq!(alignment(&[("a", &a), ("b", &b)]), "  a  4 x 1\n  b  4 x 3\n         ^\n");
    let error = Tensor::from(arr1(&[1.0])).typed::<f32>().unwrap_err().to_string();
    assert_eq!(error, "expected a tensor of dtype float32, got float64; cast it first");
}
