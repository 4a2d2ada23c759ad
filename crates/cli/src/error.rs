//! Errors of the command, their exit codes, and their JSON.

use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::io::{self, Write};
use unishape::notation::shape_text;
use unishape::{Error, Extent};
use unishape_files::FileError;

/// The exit codes of all subcommands, for help texts.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    incompatible shapes (E1); onnx --check: a node broadcasts
  2    invalid command line or expression
  3    onnx --check: could not tell whether a node broadcasts
  4    a file is missing, unreadable or cannot be written; onnx: is not a model
  5    invalid input: a damaged file, an unsupported dtype, an axis out of range,
       arrays that --memory is too small for
  70   internal error: please report it
  129, 130, 143  stopped by SIGHUP, Ctrl-C, SIGTERM";

/// The most shapes in a link.
const MAX_LINKED: usize = 64;

/// Exit code of a defect of the command itself.
pub(crate) const INTERNAL: u8 = 70;

/// Why a command ends without its result.
#[derive(Debug)]
pub(crate) enum CliError {
    /// An error with a message.
    Failure(Box<Failure>),
    /// Stopped by a signal of this number: exit code 128 + number, as in shells.
    Interrupted(u8),
    /// Standard output was closed by its reader, as by `| head`: not an error.
    BrokenPipe,
}

/// An error with its message, its exit code and the fields of its JSON.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    /// The field `error` of the JSON.
    kind: &'static str,
    message: String,
    /// Further fields of the JSON.
    fields: Map<String, Value>,
    /// The JSON of the result has the error already.
    is_in_result: bool,
    /// The shapes, as the playground of the site reads them.
    fragment: Option<String>,
}

impl CliError {
    fn new(code: u8, kind: &'static str, message: impl Display) -> CliError {
        CliError::with_fields(code, kind, message, Map::new())
    }

    fn with_fields(
        code: u8,
        kind: &'static str,
        message: impl Display,
        fields: Map<String, Value>,
    ) -> CliError {
        CliError::Failure(Box::new(Failure {
            code,
            kind,
            message: message.to_string(),
            fields,
            is_in_result: false,
            fragment: None,
        }))
    }

    /// An invalid command line: exit code 2.
    pub(crate) fn usage(message: impl Display) -> CliError {
        CliError::new(2, "usage", message)
    }

    /// An error of the system about a file: exit code 4.
    pub(crate) fn io(message: impl Display) -> CliError {
        CliError::new(4, "io", message)
    }

    /// An input that cannot be used: exit code 5.
    pub(crate) fn input(message: impl Display) -> CliError {
        CliError::new(5, "input", message)
    }

    /// A defect of the command itself: exit code 70.
    pub(crate) fn internal(message: impl Display) -> CliError {
        CliError::new(INTERNAL, "internal", format!("internal error: {message}; please report it"))
    }

    /// What a check has found: exit code 1.
    pub(crate) fn finding(message: impl Display) -> CliError {
        CliError::new(1, "finding", message)
    }

    /// A check without a verdict: exit code 3.
    pub(crate) fn could_not_tell(message: impl Display) -> CliError {
        CliError::new(3, "unknown", message)
    }

    /// An error of broadcasting, with `message` instead of its own: exit code 1 if the shapes are the reason.
    pub(crate) fn broadcast(error: &Error, message: impl Display) -> CliError {
        let (mut fields, mut fragment) = (Map::new(), None);
        let (code, kind) = match error {
            Error::Incompatible(e1) => {
                let shapes = e1.shapes().iter().map(|(inputs, shape)| {
                    json!({"first": inputs.start, "last": inputs.end.saturating_sub(1), "shape": sizes_json(shape)})
                });
                fields.insert("dimension".into(), e1.dim().into());
                fields.insert("inputs".into(), e1.inputs().to_vec().into());
                fields.insert("sizes".into(), sizes_json(&e1.sizes()));
                fields.insert("shapes".into(), shapes.collect());
                let at_fault =
                    |inputs: &std::ops::Range<usize>| e1.inputs().iter().any(|input| inputs.contains(input));
                fragment = Some(shapes_fragment(
                    e1.shapes().iter().map(|(inputs, shape)| (inputs.len(), &shape[..], at_fault(inputs))),
                ));
                (1, "E1")
            }
            Error::UnequalRank { first, input, rank, .. } => {
                fields.insert("inputs".into(), vec![0, *input].into());
                fields.insert("ranks".into(), vec![*first, *rank].into());
                (1, "unequal rank")
            }
            Error::CannotStretch(_) => (1, "cannot broadcast"),
            Error::TooFewInputs { .. } | Error::TooManyInputs { .. } => (1, "inputs"),
            Error::OutOfMemory { .. } => (4, "io"),
            _ => (5, "input"),
        };
        let mut failure = CliError::with_fields(code, kind, message, fields);
        if let CliError::Failure(failure) = &mut failure {
            failure.fragment = fragment;
        }
        failure
    }

    /// The same error, whose JSON is not printed: that of the result has it already.
    pub(crate) fn in_result(mut self) -> CliError {
        if let CliError::Failure(failure) = &mut self {
            failure.is_in_result = true;
        }
        self
    }

    /// Prints the message on standard error, with `json` also an object on standard output. Returns the exit code.
    ///
    /// `site` is the address of the site that a link below an error E1 leads to.
    pub(crate) fn report(self, json: bool, site: Option<&str>) -> u8 {
        let failure = match self {
            CliError::Failure(failure) => *failure,
            CliError::Interrupted(signal) => Failure {
                code: 128 + signal,
                kind: "interrupted",
                message: "stopped; nothing was written".into(),
                fields: Map::new(),
                is_in_result: false,
                fragment: None,
            },
            CliError::BrokenPipe => return 0,
        };
        let Failure { code, kind, mut message, mut fields, is_in_result, fragment } = failure;
        if let Some((site, fragment)) = site.zip(fragment) {
            let link = format!("{}/playground/index.html#{fragment}", site.trim_end_matches('/'));
            message += &format!("\nSee it drawn: {link}");
            fields.insert("link".into(), link.into());
        }
        if json && !is_in_result {
            fields.insert("error".into(), kind.into());
            fields.insert("message".into(), message.clone().into());
            // Standard output may be what has failed.
            let _ = writeln!(io::stdout(), "{}", Value::from(fields));
        }
        let _ = writeln!(io::stderr(), "unishape: {message}");
        code
    }
}

impl From<FileError> for CliError {
    fn from(error: FileError) -> CliError {
        match error {
            FileError::Usage(message) => CliError::usage(message),
            FileError::Io(message) => CliError::io(message),
            error => CliError::input(error),
        }
    }
}

impl From<unishape_npy::NpyError> for CliError {
    fn from(error: unishape_npy::NpyError) -> CliError {
        FileError::from(error).into()
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> CliError {
        CliError::broadcast(&error, &error)
    }
}

/// Shapes as the fragment of a link to the playground, of which equal ones are given by their number.
///
/// The playground draws few inputs: of many equal ones, two are enough. Shapes that are at fault are always in the link.
fn shapes_fragment<'s>(shapes: impl Iterator<Item = (usize, &'s [Extent], bool)>) -> String {
    let words = shapes.flat_map(|(count, shape, at_fault)| {
        std::iter::repeat_n((shape_text(shape), at_fault), count.min(2))
    });
    let words: Vec<(String, bool)> = words.collect();
    let mut others = MAX_LINKED.saturating_sub(words.iter().filter(|word| word.1).count());
    let mut is_kept = |at_fault: bool| {
        let kept = at_fault || others > 0;
        others = others.saturating_sub(usize::from(!at_fault));
        kept
    };
    let kept: Vec<String> =
        words.into_iter().filter(|&(_, at_fault)| is_kept(at_fault)).map(|word| word.0).collect();
    format!("shapes={}", kept.join(";"))
}

/// The sizes of a shape, `null` where unknown.
pub(crate) fn sizes_json(shape: &[Extent]) -> Value {
    let size = |extent: &Extent| match extent {
        Extent::Known(size) => Value::from(*size),
        Extent::Unknown | Extent::Positive => Value::Null,
    };
    shape.iter().map(size).collect()
}
