//! The playground of the site: the real engine, as a function of JSON.
//!
//! [`answer`] takes a request of the page and returns what it shows. On `wasm32` the module `wasm` exports it to
//! JavaScript; everywhere else it is an ordinary function, which the tests call.
//!
//! | module | contents |
//! |---|---|
//! | `request` | fields of requests; answers and errors |
//! | `shapes` | shapes that are broadcast, as a picture |
//! | `reduction` | a reduction, as a picture |
//! | `expression` | an expression and its arrays: result, stages, bytes |
//! | `wasm` | the functions that JavaScript calls |

mod expression;
mod reduction;
mod request;
mod shapes;
#[cfg(target_arch = "wasm32")]
mod wasm;

use request::{Problem, Request};

/// The answer to a request; both are JSON objects.
///
/// A request has a field `mode`: `shapes`, `reduction` or `expression`. An answer has a field `error` if there is
/// no result, with the message of the engine in `message`.
///
/// ```
/// let answer = unishape_playground::answer(r#"{"mode": "shapes", "shapes": "3x1 4"}"#);
/// assert!(answer.contains(r#""shape":"3x4""#) && answer.contains("<svg"));
/// let answer = unishape_playground::answer(r#"{"mode": "shapes", "shapes": "3 4"}"#);
/// assert!(answer.contains(r#""error":"E1""#));
/// ```
pub fn answer(request: &str) -> String {
    let result = Request::parse(request).and_then(|request| match request.text("mode")? {
        "shapes" => shapes::answer(&request),
        "reduction" => reduction::answer(&request),
        "expression" => expression::answer(&request),
        mode => Err(Problem::request(format!("unknown mode {mode}"))),
    });
    result.unwrap_or_else(Problem::into_json).to_string()
}
