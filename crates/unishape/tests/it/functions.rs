//! Functions that are computed by others, comparisons, arithmetic of scalars, initial values of reductions, plans, and
//! messages.

use ndarray::{Array1, Array2, Array3, IxDyn, arr0, arr1, arr2};
use num_complex::Complex;
use unishape::expr::{
    Axes, Expr, ExprError, ExprErrorKind, FloatCast, IndexItem, Op, ReduceOp, Reduction, Scalar, Typing,
    Value, lazy,
};
use unishape::{DType, Error, Extent, Rules, Tensor, alignment, broadcast_to, for_each};

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
    // Exactly, also where no floating-point number holds the integer or the power of 10.
    let large = arr1(&[(1i64 << 53) + 1]);
    assert_eq!(of("round(x, 1)", &large).unwrap(), large.clone().into());
    assert_eq!(of("round(x, 500)", &large).unwrap(), large.clone().into());
    // Of a number.
    assert_eq!(of("x * 0 + round(2.567, 1)", &arr1(&[1.0])).unwrap(), arr1(&[2.6]).into());
    assert_eq!(of("x * 0 + round(1234, -2)", &large).unwrap(), arr1(&[1200i64]).into());
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

/// A comparison, and what it is of integers.
type Comparison = (&'static str, fn(&i128, &i128) -> bool);

/// Integers are compared exactly: also with a number beyond their dtype, and where no dtype holds both.
#[test]
fn comparisons_of_integers_are_exact() {
    const COMPARISONS: [Comparison; 6] = [
        ("==", |a, b| a == b),
        ("!=", |a, b| a != b),
        ("<", |a, b| a < b),
        ("<=", |a, b| a <= b),
        (">", |a, b| a > b),
        (">=", |a, b| a >= b),
    ];
    let bytes = arr1(&[0u8, 7, 255]);
    let signed = arr1(&[-1, 0, 5, 5, (1 << 53) + 1, i64::MAX, i64::MIN]);
    let small = arr1(&[-1i8, 0, 5, 6, 127, 0, -128]);
    let unsigned = arr1(&[u64::MAX, 0, 5, 6, 1 << 53, 1 << 63, 1 << 63]);
    for (sign, holds) in COMPARISONS {
        for number in [-1, 0, 7, 255, 256, i128::from(u64::MAX) + 1] {
            let expected = |reverse: bool| -> Tensor {
                let compare = |&byte: &u8| {
                    if reverse { holds(&number, &byte.into()) } else { holds(&byte.into(), &number) }
                };
                bytes.map(compare).into()
            };
            assert_eq!(
                of(&format!("x {sign} {number}"), &bytes).unwrap(),
                expected(false),
                "x {sign} {number}"
            );
            assert_eq!(
                of(&format!("{number} {sign} x"), &bytes).unwrap(),
                expected(true),
                "{number} {sign} x"
            );
        }
        let expr = Expr::parse(&format!("a {sign} b")).unwrap();
        let wide = |array: &Array1<i64>| array.mapv(i128::from);
        let unsigned_wide = unsigned.mapv(i128::from);
        for (value, wide) in
            [(Value::from(&signed), wide(&signed)), (Value::from(&small), wide(&small.mapv(i64::from)))]
        {
            let expected: Array1<bool> = wide.iter().zip(&unsigned_wide).map(|(a, b)| holds(a, b)).collect();
            let result = expr.evaluate([("a", value.clone()), ("b", Value::from(&unsigned))]);
            assert_eq!(result.unwrap(), expected.into(), "{wide:?} {sign} {unsigned_wide:?}");
            let expected: Array1<bool> = unsigned_wide.iter().zip(&wide).map(|(a, b)| holds(a, b)).collect();
            let result = expr.evaluate([("a", Value::from(&unsigned)), ("b", value)]);
            assert_eq!(result.unwrap(), expected.into(), "{unsigned_wide:?} {sign} {wide:?}");
        }
        let error =
            expr.typed(Typing::Strict).evaluate([("a", Value::from(&signed)), ("b", Value::from(&unsigned))]);
        assert!(error.unwrap_err().to_string().starts_with("int64 and uint64 differ"), "{sign}");
    }
}

/// A function of numbers is a number, also where it is computed in a dtype: it takes the dtype of an array.
#[test]
fn functions_of_booleans_are_numbers() {
    let x = arr1(&[10u8]);
    for text in ["x * (True // True)", "x * (True << False)", "x * sign(True)", "x * reciprocal(True)"] {
        assert_eq!(of(text, &x).unwrap(), x.clone().into(), "{text}");
    }
    // Booleans are added as in Python.
    assert_eq!(of("x + ((1 < 2) + (1 < 2))", &x).unwrap(), arr1(&[12u8]).into());
    assert_eq!(of("x * sqrt(True)", &x).unwrap(), arr1(&[10.0]).into());
    assert_eq!(of("x * round(True, 1)", &x).unwrap(), x.clone().into());
    let x = arr1(&[1.5f32]);
    let product = Expr::parse("x * (1 < 2)").unwrap().typed(Typing::Strict).evaluate([("x", &x)]);
    assert_eq!(product.unwrap(), x.into());
}

/// Programs are cached by the values of numbers, each of which has its own.
#[test]
fn programs_of_other_numbers_are_not_used() {
    let (m, z) = (arr1(&[true]), arr1(&[Complex::new(7.0, 7.0)]));
    let expr = Expr::parse("where(m, k, z)").unwrap();
    let parts = [(0.0, 0.0), (-0.0, 0.0), (0.0, -0.0), (1.0, 2.0), (1.0, 3.0), (2.0, 3.0), (f64::NAN, 3.0)];
    for (re, im) in parts.into_iter().chain(parts) {
        let k = Scalar::Complex(Complex::new(re, im));
        let given = [("m", Value::from(&m)), ("k", Value::from(k)), ("z", Value::from(&z))];
        let Ok(Tensor::C128(result)) = expr.evaluate(given) else { panic!("{re} and {im}") };
        let bits = |number: &Complex<f64>| [number.re.to_bits(), number.im.to_bits()];
        assert_eq!(bits(&result[0]), bits(&Complex::new(re, im)));
    }
    let (expr, x) = (Expr::parse("x + k").unwrap(), arr1(&[10u8]));
    let sums: [(Scalar, Tensor); 5] = [
        (Scalar::Int(1), arr1(&[11u8]).into()),
        (Scalar::Int(2), arr1(&[12u8]).into()),
        (Scalar::Bool(false), arr1(&[10u8]).into()),
        (Scalar::Bool(true), arr1(&[11u8]).into()),
        (Scalar::Float(2.0), arr1(&[12.0]).into()),
    ];
    for (k, sum) in sums.iter().chain(&sums) {
        let result = expr.evaluate([("x", Value::from(&x)), ("k", Value::from(*k))]).unwrap();
        assert_eq!(&result, sum, "{k:?}");
    }
}

/// Numbers are compatible with arrays of any rank, and with each other, under every rule set.
#[test]
fn numbers_under_every_rule_set() {
    let (x, row) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), arr1(&[1.0, 2.0]));
    for rules in [Rules::STANDARD, Rules::STANDARD.strict_rank(), Rules::SONNX, Rules::SONNX.strict_rank()] {
        for text in
            ["2 * x + 1", "x * sqrt(2 + 3)", "where(x > 1, x, 0)", "where(1 < 2, 1, x)", "sum(x, where=True)"]
        {
            let result = Expr::parse(text).unwrap().check_rules(rules, [("x", &x)]);
            assert_eq!(result, Ok(()), "{text} under {rules:?}");
        }
        let given = [("x", Value::from(&x)), ("row", Value::from(&row))];
        let result = Expr::parse("x + row").unwrap().check_rules(rules, given);
        let is_strict = [Rules::STANDARD.strict_rank(), Rules::SONNX.strict_rank()].contains(&rules);
        assert_eq!(result.is_err(), is_strict, "{rules:?}");
    }
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
    // Without a conversion of the result.
    for op in [ReduceOp::Max, ReduceOp::Min] {
        let error = lazy(&floats).reduce(Reduction::new(op).initial(Complex::new(1.0, 1.0))).compute();
        assert_eq!(error.unwrap_err().to_string(), "cannot cast complex128 to float64");
    }
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
fn messages_show_long_names() {
    let x = arr1(&[1.0]);
    let [short, long] = [39, 200].map(|length| "sea_surface_temperature_".repeat(9)[..length].to_owned());
    for (name, shown) in
        [(&short, format!("; did you mean {short}?")), (&long, format!("; did you mean {}…", &long[..64]))]
    {
        let misspelt = name.replace("sea", "see");
        let error = Expr::parse(&misspelt).unwrap().evaluate([(name.as_str(), &x)]).unwrap_err().to_string();
        assert!(error.lines().next().unwrap().ends_with(&shown), "{error}");
        let error = Expr::parse(name).unwrap().evaluate([(name.as_str(), &x), (misspelt.as_str(), &x)]);
        let error = error.unwrap_err().to_string();
        assert!(error.lines().next().unwrap().ends_with(&shown), "{error}");
    }
}

#[test]
fn messages_count_values_and_arguments() {
    let x = arr1(&[1.0]);
    let none = Expr::parse("x").unwrap().evaluate::<&str, Value<'_>>([]).unwrap_err().to_string();
    assert_eq!(none.lines().next(), Some("no value for x"));
    for (text, values, expected) in [
        ("x", 0, "0 values are given for 1 name: x"),
        ("x", 2, "2 values are given for 1 name: x"),
        ("x + y", 1, "1 value is given for 2 names: x and y"),
        ("1", 1, "1 value is given for 0 names"),
    ] {
        let error = Expr::parse(text).unwrap().bind_positional(vec![&x; values]).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    for (text, expected) in [
        ("cast(x)", "cast needs the argument dtype"),
        ("x.astype()", "astype needs the argument dtype"),
        ("broadcast_to(x)", "broadcast_to needs the argument shape"),
        ("swapaxes(x, 0)", "swapaxes needs the argument axis2"),
        ("expand_dims(x)", "expand_dims needs the argument axis"),
    ] {
        assert_eq!(message(text, &x).lines().next(), Some(expected));
    }
    // Advice for booleans is given for booleans only.
    let wrong_type = |op| ExprErrorKind::WrongType { op, types: vec![DType::F32] }.to_string();
    assert_eq!(wrong_type(Op::Subtract), "- does not support float32");
    assert_eq!(wrong_type(Op::Negative), "- does not support float32");
}

#[test]
fn an_index_has_one_ellipsis() {
    let x = arr1(&[1.0, 2.0]);
    for at in [None, Some(IndexItem::At(0))] {
        let items = [IndexItem::Ellipsis, IndexItem::Ellipsis].into_iter().chain(at);
        let error = lazy(&x).index(items).compute().unwrap_err();
        assert_eq!(error.to_string(), "an index has at most one ...");
    }
}

#[test]
fn casts_have_names() {
    for (cast, name) in [
        (FloatCast::WidenToExp, "widen_to_exp"),
        (FloatCast::ToExp, "to_exp"),
        (FloatCast::WidenToMean, "widen_to_mean"),
        (FloatCast::ToMean, "to_mean"),
    ] {
        assert_eq!((cast.name(), FloatCast::from_name(name)), (name, Some(cast)));
    }
    assert_eq!(FloatCast::from_name("float32"), None);
}

/// How an expression is computed.
fn plan<'a>(text: &str, values: impl IntoIterator<Item = (&'static str, Value<'a>)>) -> String {
    Expr::parse(text).unwrap().bind(values).unwrap().plan()
}

/// Integers and booleans are computed by the simplest function, floating-point numbers by their own.
#[test]
fn plans_have_the_function_of_the_dtype() {
    let (bytes, ints, floats) = (arr1(&[1u8, 2]), arr1(&[1i32, 2]), arr1(&[1.5f32, 2.0]));
    let [bytes, ints, floats] = [Value::from(&bytes), Value::from(&ints), Value::from(&floats)];
    for (text, value, result) in [
        ("signbit(x)", &bytes, "false"),
        ("signbit(x)", &ints, "less(x, 0)"),
        ("signbit(x)", &floats, "signbit(x)"),
        ("leaky_relu(x, 2)", &bytes, "x"),
        ("leaky_relu(x, 2)", &floats, "leaky_relu(x, 2)"),
        ("fmax(x, 2)", &ints, "maximum(x, 2)"),
        ("fmin(x, 2)", &ints, "minimum(x, 2)"),
        ("abs(x)", &bytes, "x"),
        ("abs(x)", &ints, "abs(x)"),
    ] {
        let plan = plan(text, [("x", value.clone())]);
        assert!(plan.ends_with(&format!("\nfor each block:\n  result = {result}\n")), "{text}: {plan}");
    }
}

/// Sizes in plans are rounded, and have a unit.
#[test]
fn plans_have_sizes() {
    for (bytes, text) in [
        (1u64, "1 byte"),
        (7, "7 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (99_940, "99.9 kB"),
        (99_950, "100 kB"),
        (99_960, "100 kB"),
        (100_000, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (2_560_000, "2.6 MB"),
        (99_000_000_000, "99.0 GB"),
        (123_000_000_000_000, "123 TB"),
        (500_000_000_000_000_000, "500 PB"),
    ] {
        // As many as the machine can address.
        let Ok(bytes) = usize::try_from(bytes) else { continue };
        let byte = arr0(1u8);
        let x = broadcast_to(&byte, IxDyn(&[bytes])).unwrap();
        let plan = plan("sum(x)", [("x", Value::from(x))]);
        assert!(plan.ends_with(&format!("\nreads {text}, writes 8 bytes\n")), "{plan}");
    }
}

/// Intermediate results are kept for the whole computation, or for some rows of each thread.
#[test]
fn plans_have_intermediate_results() {
    let (x, rows) = (Array2::<f32>::zeros((4, 10)), Array2::<f32>::zeros((600, 700)));
    assert_eq!(
        plan("sum(x) * 2", [("x", Value::from(&x))]),
        "\
stage 1: 4 x 10 elements of float32
  sum of x along axes 0, 1
stage 2: 1 element of float32
  t1 = multiply(stage 1, 2)
  write t1
reads 160 bytes, writes 4 bytes; intermediate results take 4 bytes
"
    );
    // Views of views of the result are no stage.
    for text in ["sum(x, 0)", "sum(x, 0)[::-1][::-1]", "sum(x, 0, keepdims=True)[0]"] {
        assert_eq!(
            plan(text, [("x", Value::from(&x))]),
            "stage 1: 4 x 10 elements of float32\n  sum of x along axis 0\nreads 160 bytes, writes 40 bytes\n"
        );
    }
    // Maxima, exponentials and sums of some rows at a time; the quotients are the result.
    let local = plan("softmax(x, 1)", [("x", Value::from(&rows))]);
    let at_a_time = local.strip_prefix("4 stages together, ").and_then(|rest| rest.split(' ').next());
    let at_a_time: usize = at_a_time.and_then(|rows| rows.parse().ok()).unwrap();
    let size = (at_a_time * (1 + 700 + 1) * size_of::<f32>()) as f64 / 1e3;
    let size = format!("{size:.*} kB for each thread\n", usize::from(size < 100.0));
    let expected = format!("\nreads 1.7 MB, writes 1.7 MB; intermediate results take {size}");
    assert!(local.ends_with(&expected), "{local}");
    let both = plan("softmax(x, 1) + sum(x)", [("x", Value::from(&rows))]);
    assert!(both.ends_with(&format!("; intermediate results take 4 bytes, and {size}")), "{both}");
}

/// GPUs compare elements with the smallest or largest one to find its index. A NaN is found as it differs from itself.
#[cfg(feature = "cuda")]
#[test]
fn stages_for_gpus_find_nan() {
    use unishape::cuda::{ArrayType, Expression, Variable};
    for dtype in [DType::I32, DType::U64, DType::F16, DType::F32, DType::C128] {
        let x = Variable::Array(ArrayType { dtype, shape: &[40, 50], strides: &[50, 1], alignment: 16 });
        for text in ["argmin(x, 1)", "argmax(x)"] {
            let stages = Expr::parse(text).unwrap().stages(&[x]).unwrap();
            let steps = stages.stages.iter().flat_map(|stage| &stage.steps).map(|(key, _)| key.name());
            let steps: Vec<&str> = steps.collect();
            assert!(steps.contains(&"equal"), "{text} of {dtype}: {steps:?}");
            assert_eq!(steps.contains(&"not_equal"), !dtype.is_integer(), "{text} of {dtype}: {steps:?}");
        }
    }
}

/// Views of a result.
#[test]
fn views_of_a_sum() {
    let x = Array3::from_shape_fn((2, 3, 3), |(i, j, k)| (i * 100 + j * 10 + k) as i64);
    for sum in ["sum(x, 0)", "sum(x, 0, keepdims=True)[0]", "sum(x, 0, keepdims=True)[..., :][0]"] {
        let all = Expr::parse(sum).unwrap().evaluate([("x", &x)]).unwrap();
        assert_eq!(all, (&x.slice(ndarray::s![0, .., ..]) + &x.slice(ndarray::s![1, .., ..])).into());
        for view in [
            "y[::-1]",
            "y[:, ::-1]",
            "y[1:]",
            "y[:2]",
            "y[:, ::2]",
            "y.T",
            "y[1]",
            "y[:, 1]",
            "y[None]",
            "y[:, None]",
            "y[..., None]",
            "broadcast_to(y, (2, 3, 3))",
            "broadcast_to(y[:, None], (3, 2, 3))",
            "broadcast_to(y[..., None], (3, 3, 2))",
        ] {
            let expected = Expr::parse(view).unwrap().evaluate([("y", &all)]).unwrap();
            let text = view.replace('y', sum);
            assert_eq!(Expr::parse(&text).unwrap().evaluate([("x", &x)]).unwrap(), expected, "{text}");
        }
    }
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
