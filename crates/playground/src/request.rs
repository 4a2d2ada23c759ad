//! Fields of requests, and errors as answers.

use serde_json::{Value, json};
use unishape::Error;
use unishape::expr::{ExprError, ExprErrorKind};

/// A request: a JSON object.
pub(crate) struct Request(Value);

impl Request {
    pub(crate) fn parse(text: &str) -> Result<Request, Problem> {
        serde_json::from_str(text).map(Request).map_err(|error| Problem::request(error.to_string()))
    }

    /// A field that is text.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Problem> {
        self.0[name].as_str().ok_or_else(|| Problem::request(format!("the request has no text {name}")))
    }

    /// A field that is a boolean; false if it is missing.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.0[name].as_bool().unwrap_or(false)
    }
}

/// Why there is no result.
pub(crate) struct Problem {
    kind: &'static str,
    message: String,
}

impl Problem {
    /// Invalid text of a user.
    pub(crate) fn input(message: impl Into<String>) -> Problem {
        Problem { kind: "input", message: message.into() }
    }

    /// A request that no page sends.
    pub(crate) fn request(message: impl Into<String>) -> Problem {
        Problem { kind: "request", message: message.into() }
    }

    pub(crate) fn into_json(self) -> Value {
        json!({"error": self.kind, "message": self.message})
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let kind = if matches!(error, Error::Incompatible(_)) { "E1" } else { "input" };
        Problem { kind, message: error.to_string() }
    }
}

impl From<ExprError> for Problem {
    fn from(error: ExprError) -> Problem {
        let is_e1 = matches!(error.kind(), ExprErrorKind::Shapes(Error::Incompatible(_)));
        Problem { kind: if is_e1 { "E1" } else { "input" }, message: error.to_string() }
    }
}
