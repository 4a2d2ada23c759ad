//! Parses and evaluates expressions: any text gives a result or an error.
//!
//! Every parse error has a position in the text.

use crate::file::check_message;
use ndarray::{arr0, arr1, arr2};
use unishape::expr::{Expr, Typing, Value};

pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let expr = match Expr::parse(&text) {
        Ok(expr) => expr,
        Err(error) => {
            let span = error.span().expect("a parse error has a position");
            assert!(text.get(span).is_some(), "{error}");
            return check_message(&error);
        }
    };
    assert_eq!(expr.to_string(), text);
    assert!(expr.names().len() <= text.len());
    // The first letter of a name selects the dtype and shape of its array.
    let (bytes, wide) = (arr2(&[[1u8], [0], [255]]), arr1(&[i64::MIN, -1, 0, 7]));
    let (float, truth, double) = (arr1(&[0.0f32, -1.5, f32::NAN, f32::MAX]), arr0(true), arr0(0.5f64));
    let value = |name: &str| match name.bytes().next().unwrap_or(0) % 6 {
        0 => Value::from(&bytes),
        1 => Value::from(&wide),
        2 => Value::from(&float),
        3 => Value::from(&truth),
        4 => Value::from(&double),
        _ => Value::from(-3),
    };
    for typing in [Typing::Promote, Typing::Strict] {
        let given: Vec<_> = expr.names().iter().map(|name| (name.as_str(), value(name))).collect();
        match expr.clone().typed(typing).bind(given) {
            Err(error) => check_message(&error),
            Ok(bound) => {
                let result = bound.compute().expect("the result is small");
                assert_eq!((result.shape(), result.dtype()), (bound.shape(), bound.dtype()));
                assert!(bound.plan().ends_with('\n'));
            }
        }
    }
}
