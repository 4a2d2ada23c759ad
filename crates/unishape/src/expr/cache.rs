//! Expressions read from text, and what has been made of them before.

use super::bind::{Bound, Value, Values, in_order};
use super::compile::{Compiled, Given, compile};
use super::error::{ExprError, Problem};
use super::graph::Graph;
use super::parse::parse;
use super::types::Typing;
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use unishape_kernels::Op;

/// An expression read from a text. A text that was read before, and types that it was computed with before,
/// cost next to nothing.
///
/// ```
/// use ndarray::arr1;
/// use unishape::expr::Expr;
///
/// let expr = Expr::parse("a * a + 1")?;
/// assert_eq!(expr.names(), ["a"]);
/// assert_eq!(expr.evaluate([("a", &arr1(&[1, 2, 3]))])?, arr1(&[2, 5, 10]).into());
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone)]
pub struct Expr {
    shared: Arc<Shared>,
    typing: Typing,
}

/// What copies of an expression have together.
struct Shared {
    graph: Graph,
    compiled: Mutex<Vec<Ready>>,
}

/// What the expression is for inputs of these types.
struct Ready {
    given: Vec<Given>,
    typing: Typing,
    compiled: Arc<Compiled>,
}

/// So many texts, and so many lists of types for each, are kept.
const TEXTS: usize = 256;
const TYPES: usize = 16;

/// Texts longer than this are not kept.
const LONGEST: usize = 1 << 14;

static SEEN: LazyLock<Mutex<HashMap<String, Arc<Shared>>>> = LazyLock::new(Mutex::default);

impl Expr {
    /// Reads an expression.
    ///
    /// ```
    /// use unishape::expr::Expr;
    ///
    /// assert!(Expr::parse("a +").unwrap_err().to_string().starts_with("the expression ends where"));
    /// ```
    ///
    /// # Errors
    ///
    /// Where the text is no expression: what is wrong, with the place marked.
    pub fn parse(text: &str) -> Result<Expr, ExprError> {
        // A thread that panicked while it had the lock has left nothing half done.
        let seen = || SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = seen().get(text) {
            return Ok(Expr { shared: shared.clone(), typing: Typing::Promote });
        }
        let shared = Arc::new(Shared { graph: parse(text)?, compiled: Mutex::default() });
        if text.len() <= LONGEST {
            let mut seen = seen();
            if seen.len() >= TEXTS {
                seen.clear();
            }
            seen.insert(text.into(), shared.clone());
        }
        Ok(Expr { shared, typing: Typing::Promote })
    }

    /// A function by itself: `op(x1)`, `op(x1, x2)` or `op(x1, x2, x3)`. It is there already, and no text is read.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use unishape::expr::{Expr, Op};
    ///
    /// let expr = Expr::call(Op::Hypot);
    /// assert_eq!(expr.to_string(), "hypot(x1, x2)");
    /// let result = expr.bind_positional([&arr1(&[3.0, 5.0]), &arr1(&[4.0, 12.0])])?.compute()?;
    /// assert_eq!(result, arr1(&[5.0, 13.0]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn call(op: Op) -> Expr {
        static CALLS: [OnceLock<Arc<Shared>>; Op::ALL.len()] = [const { OnceLock::new() }; Op::ALL.len()];
        let shared = CALLS[op as usize].get_or_init(|| {
            let names: Vec<String> = (1..=op.arity()).map(|number| format!("x{number}")).collect();
            let text = format!("{}({})", op.name(), names.join(", "));
            let graph = parse(&text).unwrap_or_else(|error| unreachable!("{error}"));
            Arc::new(Shared { graph, compiled: Mutex::default() })
        });
        Expr { shared: shared.clone(), typing: Typing::Promote }
    }

    /// The same with other rules for types.
    ///
    /// ```
    /// use unishape::expr::{Expr, Typing};
    ///
    /// let expr = Expr::parse("a / b")?.typed(Typing::Strict);
    /// let (a, b) = (ndarray::arr0(7), ndarray::arr0(-2));
    /// assert_eq!(expr.evaluate([("a", &a), ("b", &b)])?, ndarray::arr0(-3).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn typed(self, typing: Typing) -> Expr {
        Expr { typing, ..self }
    }

    /// The names in it, in the order in which they come. Those of numbers, such as `pi`, are among them:
    /// something may be given for them.
    ///
    /// ```
    /// assert_eq!(unishape::expr::Expr::parse("b + a * b")?.names(), ["b", "a"]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn names(&self) -> &[String] {
        &self.shared.graph.names
    }

    /// Gives arrays and numbers to the names, which settles the result's type and shape; nothing is computed
    /// yet.
    ///
    /// ```
    /// use ndarray::{arr1, arr2};
    /// use unishape::DType;
    /// use unishape::expr::{Expr, Value};
    ///
    /// let (x, g) = (arr2(&[[1.0], [2.0]]), arr1(&[1, 2, 3]));
    /// let bound = Expr::parse("x * g * k")?.bind([
    ///     ("x", Value::from(&x)),
    ///     ("g", Value::from(&g)),
    ///     ("k", Value::from(2)),
    /// ])?;
    /// assert_eq!((bound.shape(), bound.dtype()), (&[2, 3][..], DType::F64));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where a name is missing, unknown or given twice, where types or shapes are incompatible.
    pub fn bind<'a, N: AsRef<str>, V: Into<Value<'a>>>(
        &self,
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Bound<'a>, ExprError> {
        let values = values.into_iter().map(|(name, value)| (name, value.into()));
        self.bind_values(in_order(&self.shared.graph, values)?)
    }

    /// The same without names: a value for each of [`names`](Expr::names), in their order.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use unishape::expr::Expr;
    ///
    /// let expr = Expr::parse("b - a * b")?;
    /// let (a, b) = (arr1(&[1, 2]), arr1(&[10]));
    /// assert_eq!(expr.bind_positional([&b, &a])?.compute()?, arr1(&[0, -10]).into());
    ///
    /// let error = expr.bind_positional([&b]).unwrap_err();
    /// assert_eq!(error.to_string(), "1 value is given for 2 names: b and a");
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where there are more or fewer values than names, where types or shapes are incompatible.
    pub fn bind_positional<'a, V: Into<Value<'a>>>(
        &self,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Bound<'a>, ExprError> {
        let values: Values<'a> = values.into_iter().map(V::into).collect();
        if values.len() != self.names().len() {
            return Err(Problem::Values { given: values.len(), names: self.names().to_vec() }.into());
        }
        self.bind_values(values)
    }

    fn bind_values<'a>(&self, values: Values<'a>) -> Result<Bound<'a>, ExprError> {
        let given: SmallVec<[Given; 3]> = values.iter().map(Value::given).collect();
        Bound::new(&self.shared.graph, values, self.ready(&given)?)
    }

    /// Computes the result for these arrays and numbers.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use unishape::expr::Expr;
    ///
    /// let (a, b) = (arr1(&[1.0, 2.0]), arr1(&[0.5]));
    /// let result = Expr::parse("where(a > b, a, b)")?.evaluate([("a", &a), ("b", &b)])?;
    /// assert_eq!(result, a.clone().into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`bind`](Expr::bind), and where there is no memory for the result.
    pub fn evaluate<'a, N: AsRef<str>, V: Into<Value<'a>>>(
        &self,
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Tensor, ExprError> {
        self.bind(values)?.compute()
    }

    /// The chain of kernels for inputs of these types.
    fn ready(&self, given: &[Given]) -> Result<Arc<Compiled>, ExprError> {
        let all = || self.shared.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |ready: &Ready| ready.given == given && ready.typing == self.typing;
        if let Some(ready) = all().iter().find(|ready| known(ready)) {
            return Ok(ready.compiled.clone());
        }
        let compiled = Arc::new(compile(&self.shared.graph, given, self.typing)?);
        let mut all = all();
        if all.len() >= TYPES {
            all.remove(0);
        }
        all.push(Ready { given: given.into(), typing: self.typing, compiled: compiled.clone() });
        Ok(compiled)
    }
}

impl FromStr for Expr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Expr, ExprError> {
        Expr::parse(text)
    }
}

/// The text.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shared.graph.source.as_ref().map_or("", |source| &source.text))
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expr").field(&self.to_string()).finish()
    }
}
