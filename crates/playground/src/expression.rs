//! An expression and its arrays: result, stages, bytes that are moved.

use crate::request::{Problem, Request};
use serde_json::{Value as Json, json};
use unishape::Tensor;
use unishape::expr::{Bound, Expr, Scalar, Value};
use unishape::notation::shape_text;
use unishape_array_text::{Literal, format_array};

/// Most elements of an array or a result, and most iterations of the loops of an expression.
const MAX_ELEMENTS: usize = 1_000_000;

/// A variable of the expression.
struct Variable {
    name: String,
    value: VariableValue,
}

enum VariableValue {
    Scalar(Scalar),
    Array(Tensor),
}

pub(crate) fn answer(request: &Request) -> Result<Json, Problem> {
    let expr = Expr::parse(request.text("expression")?)?;
    let variables = variables(request.text("values")?)?;
    // Values of names that the expression does not have are of an earlier one.
    let used = variables.iter().filter(|variable| expr.names().contains(&variable.name));
    let values: Vec<(&str, Value<'_>)> = used
        .map(|variable| {
            let value = match &variable.value {
                VariableValue::Scalar(scalar) => Value::Scalar(*scalar),
                VariableValue::Array(tensor) => Value::from(tensor),
            };
            (variable.name.as_str(), value)
        })
        .collect();
    let read = values.iter().map(|(_, value)| bytes_of(value)).sum::<usize>();
    let bound = expr.bind(values)?;
    let elements = bound.shape().iter().fold(1usize, |count, &size| count.saturating_mul(size));
    let written = elements.saturating_mul(bound.dtype().item_size());
    let is_small = elements.max(bound.iterations()) <= MAX_ELEMENTS;
    let result = if is_small { Json::from(result_text(&bound)?) } else { Json::Null };
    let plan = bound.plan();
    Ok(json!({
        "shape": shape_text(bound.shape()),
        "dtype": bound.dtype().name(),
        "result": result,
        "read": read,
        "written": written,
        "moved": moved(&plan, read, written),
        "memory": memory(&plan, read, written),
        "plan": plan,
    }))
}

/// The result as text, as the command prints it.
fn result_text(bound: &Bound<'_>) -> Result<String, Problem> {
    let result = bound.compute()?;
    let text = format_array(result.shape(), |region| result.view().slice(region).to_owned())?;
    text.ok_or_else(|| Problem::input("the result has too many dimensions to print"))
}

/// The bytes that are moved. The plan of stages ends with them: more than one stage may read an array.
fn moved(plan: &str, read: usize, written: usize) -> String {
    let last = plan.lines().last().and_then(|line| line.strip_prefix("reads "));
    match last.and_then(|line| line.split(';').next()) {
        Some(bytes) => format!("Reads {bytes}"),
        None => format!("Reads {read} bytes, writes {written} bytes"),
    }
}

/// What is in memory at a time. The plan of stages ends with their intermediate results.
fn memory(plan: &str, read: usize, written: usize) -> String {
    let intermediate = plan.lines().last().and_then(|line| line.split_once("; intermediate results take "));
    let all = format!("arrays {read} bytes, result {written} bytes");
    match intermediate {
        Some((_, size)) => format!("{all}, intermediate results {size}"),
        None => format!("{all}; intermediate results stay in blocks that fit the cache"),
    }
}

fn bytes_of(value: &Value<'_>) -> usize {
    match value {
        Value::Array(view) => view.shape().iter().product::<usize>().saturating_mul(view.dtype().item_size()),
        Value::Scalar(_) => 0,
    }
}

/// Parses lines such as `a = [1, 2, 3]`. `#` starts a comment.
fn variables(text: &str) -> Result<Vec<Variable>, Problem> {
    let mut variables: Vec<Variable> = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            return Err(Problem::input(format!("'{line}': write NAME = VALUE, as in a = [1, 2, 3]")));
        };
        let (name, value) = (name.trim(), value.trim());
        if variables.iter().any(|variable| variable.name == name) {
            return Err(Problem::input(format!("{name} has two values")));
        }
        let problem = |message: &str| Problem::input(format!("{name} = {value}: {message}"));
        let literal = Literal::parse(value)
            .map_err(|message| problem(&message))?
            .ok_or_else(|| problem("write a number, a range like 0:10 or a list like [1, 2]"))?;
        let value = match literal {
            Literal::Scalar(scalar) => VariableValue::Scalar(scalar),
            Literal::List(tensor) => VariableValue::Array(tensor),
            Literal::Range(range) => {
                let shape = range.shape();
                if shape[0] > MAX_ELEMENTS {
                    return Err(problem(&format!("the playground takes at most {MAX_ELEMENTS} elements")));
                }
                let whole: Vec<_> = shape.iter().map(|&size| 0..size).collect();
                VariableValue::Array(range.part(&whole))
            }
        };
        variables.push(Variable { name: name.into(), value });
    }
    Ok(variables)
}
