//! Answers of the playground are those of the engine.

use proptest::prelude::*;
use serde_json::{Value, json};
use unishape::notation::shape_text;
use unishape::{Rules, broadcast_shapes};
use unishape_explain::{Explanation, ReductionExplanation};

fn ask(request: &Value) -> Value {
    serde_json::from_str(&unishape_playground::answer(&request.to_string())).unwrap()
}

fn expression(expression: &str, values: &str) -> Value {
    ask(&json!({"mode": "expression", "expression": expression, "values": values}))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Shapes are answered with the picture and the message of the engine.
    #[test]
    fn shapes_are_drawn_or_refused(shapes in prop::collection::vec(prop::collection::vec(0usize..4, 0..4), 1..4)) {
        let words: Vec<String> = shapes.iter().map(|shape| shape_text(shape)).collect();
        let answer = ask(&json!({"mode": "shapes", "shapes": words.join(" ")}));
        match broadcast_shapes(&shapes) {
            Ok(shape) => {
                prop_assert_eq!(&answer["shape"], &json!(shape_text(&shape)));
                let svg = Explanation::new(Rules::STANDARD, &shapes).unwrap().svg();
                prop_assert_eq!(&answer["svg"], &json!(svg));
            }
            Err(error) => {
                prop_assert_eq!(&answer["error"], "E1");
                prop_assert_eq!(&answer["message"], &json!(error.to_string()));
            }
        }
    }
}

#[test]
fn sizes_may_be_unknown() {
    let answer = ask(&json!({"mode": "shapes", "shapes": "?x3 5x1"}));
    assert_eq!(answer, json!({"shape": "5x3", "svg": null}));
}

#[test]
fn reductions_are_drawn() {
    use unishape::expr::{ReduceOp, Reduction};
    let answer =
        ask(&json!({"mode": "reduction", "op": "max", "shape": "2x3x4", "axis": "0, -1", "keepdims": true}));
    let reduction = Reduction::new(ReduceOp::Max).axes([0, -1]).keep_dims(true);
    let explanation = ReductionExplanation::new(&reduction, &[2, 3, 4]).unwrap();
    assert_eq!(answer, json!({"shape": "1x3x1", "svg": explanation.svg()}));
    let all = ask(&json!({"mode": "reduction", "op": "sum", "shape": "(2, 3)", "axis": " "}));
    assert_eq!(all["shape"], "()");
}

#[test]
fn expressions_have_results_stages_and_bytes() {
    let answer = expression("i * j", "i = 1:4x1 # a column\n\nj = 1:5\nunused = 3");
    assert_eq!(answer["result"], "[[ 1  2  3  4]\n [ 2  4  6  8]\n [ 3  6  9 12]]\n");
    assert_eq!((&answer["shape"], &answer["dtype"]), (&json!("3x4"), &json!("int64")));
    assert_eq!((&answer["read"], &answer["written"]), (&json!(7 * 8), &json!(12 * 8)));
    assert!(answer["plan"].as_str().unwrap().contains("multiply(i, j)"), "{answer}");
    // More than 8 elements are folded in a stage of their own.
    let staged = expression("x - mean(x)", "x = 0:20");
    assert!(staged["result"].as_str().unwrap().starts_with("[-9.5 -8.5"), "{staged}");
    assert!(staged["plan"].as_str().unwrap().contains("stage 2"), "{staged}");
    // Both stages read x.
    assert_eq!(staged["moved"], "Reads 320 bytes, writes 160 bytes", "{staged}");
    assert!(staged["memory"].as_str().unwrap().contains("intermediate results 8 bytes"), "{staged}");
}

#[test]
fn large_results_are_planned_only() {
    let answer = expression("a * b", "a = 0:100000x1\nb = 0:100000");
    assert_eq!((&answer["result"], &answer["written"]), (&Value::Null, &json!(80_000_000_000u64)));
    assert!(answer["plan"].as_str().unwrap().contains("multiply"), "{answer}");
}

#[test]
fn problems_say_what_to_do() {
    let message = |answer: Value| {
        assert!(answer["svg"].is_null() && answer["result"].is_null(), "{answer}");
        (answer["error"].as_str().unwrap().to_string(), answer["message"].as_str().unwrap().to_string())
    };
    let (kind, text) = message(expression("a + b", "a = [1, 2]\nb = [1, 2, 3]"));
    assert_eq!(kind, "E1");
    assert!(text.contains("a has 2, b has 3") && text.contains('^'), "{text}");
    for (answer, part) in [
        (expression("a +", ""), "a +"),
        (expression("a", "a"), "write NAME = VALUE"),
        (expression("a", "a = [1,"), "missing number"),
        (expression("a", "a = b.npy"), "write a number, a range"),
        (expression("a", "a = 1\na = 2"), "a has two values"),
        (expression("a", "a = 0:10000000"), "at most 1000000 elements"),
        (expression("a", ""), "a"),
        (ask(&json!({"mode": "shapes", "shapes": " "})), "Type shapes"),
        (ask(&json!({"mode": "shapes", "shapes": "3y"})), "3y"),
        (ask(&json!({"mode": "shapes", "shapes": "1 ".repeat(100)})), "takes 64"),
        (ask(&json!({"mode": "reduction", "op": "median", "shape": "3", "axis": ""})), "not a reduction"),
        (ask(&json!({"mode": "reduction", "op": "sum", "shape": "3", "axis": "x"})), "'x' is not an axis"),
        (ask(&json!({"mode": "reduction", "op": "sum", "shape": "3", "axis": "1"})), "axis 1"),
        (ask(&json!({"mode": "reduction", "op": "sum", "shape": "?", "axis": "0"})), "must be a number"),
    ] {
        let (kind, text) = message(answer);
        assert_eq!(kind, "input");
        assert!(text.contains(part), "{part}: {text}");
    }
    for request in [json!({}), json!({"mode": "other"}), json!({"mode": "shapes"})] {
        assert_eq!(message(ask(&request)).0, "request");
    }
    assert!(unishape_playground::answer("{").contains("\"error\":\"request\""));
}
