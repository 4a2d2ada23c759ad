//! Parsed expressions, with caches of parsed texts and compiled programs.

use super::axes::Shape;
use super::bind::{Bound, order_by_name};
use super::compile::{CompiledExpr, InputType, compile};
use super::dag::Dag;
use super::error::{ExprError, ExprErrorKind};
use super::function::Function;
use super::graph::Graph;
use super::lower::{Sharing, StagedExpr, lower};
use super::parse::parse;
use super::typed::{InputInfo, Positions, TypedGraph};
use super::types::Typing;
use super::value::{Value, Values, infos};
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use unishape_core::Rules;
use unishape_kernels::Op;

/// An expression parsed from text.
///
/// Parsed texts, and the programs compiled for each combination of input types, are cached.
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
    shared: Arc<SharedExpr>,
    typing: Typing,
}

/// The part of an expression that its clones share.
struct SharedExpr {
    graph: Graph,
    /// Programs for the most recent combinations of input types, oldest first.
    compiled: Mutex<Vec<CacheEntry>>,
    /// Stages for the most recent combinations of input types and shapes, oldest first.
    staged: Mutex<Vec<StagedEntry>>,
    /// Whether there are neither views nor reductions.
    is_element_wise: bool,
    /// Kernels for GPUs.
    #[cfg(feature = "cuda")]
    plans: unishape_cuda::Recent<unishape_cuda::Plan>,
}

impl SharedExpr {
    fn new(graph: Graph) -> Arc<SharedExpr> {
        let is_element_wise = graph.is_element_wise();
        Arc::new(SharedExpr {
            graph,
            compiled: Mutex::default(),
            staged: Mutex::default(),
            is_element_wise,
            #[cfg(feature = "cuda")]
            plans: Default::default(),
        })
    }
}

/// An expression lowered for inputs of these types and shapes.
struct StagedEntry {
    inputs: Vec<(InputType, Shape)>,
    typing: Typing,
    sharing: Sharing,
    staged: Arc<StagedExpr>,
}

/// An expression compiled for inputs of these types.
struct CacheEntry {
    input_types: Vec<InputType>,
    typing: Typing,
    compiled: Arc<CompiledExpr>,
}

/// Largest number of parsed texts in the cache.
const MAX_TEXTS: usize = 256;

/// Largest number of compiled programs in the cache, for each text.
const MAX_COMPILED: usize = 16;

/// Longest text that is cached, in bytes.
const MAX_TEXT_LENGTH: usize = 1 << 14;

/// Locks a cache, unless that takes long.
///
/// A lock that another thread held during `fork` stays locked in the child. Such a child continues without
/// the cache. A panic cannot leave a cache in an invalid state, so a poisoned lock is usable.
fn lock_cache<T>(cache: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    const TRIES: usize = 1000;
    for _ in 0..TRIES {
        match cache.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

/// Cache of parsed texts. Not lazily initialized: a child forked meanwhile would wait for that forever.
static PARSED: Mutex<Option<HashMap<String, Arc<SharedExpr>>>> = Mutex::new(None);

/// The most recent expressions of graphs, oldest first.
static FROM_DAGS: Mutex<Vec<Arc<SharedExpr>>> = Mutex::new(Vec::new());

/// Expressions of single functions.
static CALLS: [OnceLock<Arc<SharedExpr>>; Op::ALL.len()] = [const { OnceLock::new() }; Op::ALL.len()];

/// Locked while one of [`CALLS`] is initialized.
static CALLS_INIT: Mutex<()> = Mutex::new(());

impl Expr {
    /// Parses an expression.
    ///
    /// ```
    /// use unishape::expr::Expr;
    ///
    /// assert!(Expr::parse("a +").unwrap_err().to_string().starts_with("unexpected end of expression"));
    /// ```
    ///
    /// # Errors
    ///
    /// Where the text is not an expression. The message marks the span.
    pub fn parse(text: &str) -> Result<Expr, ExprError> {
        if let Some(shared) = lock_cache(&PARSED).and_then(|parsed| parsed.as_ref()?.get(text).cloned()) {
            return Ok(Expr { shared, typing: Typing::Promote });
        }
        let shared = SharedExpr::new(parse(text)?);
        if text.len() <= MAX_TEXT_LENGTH
            && let Some(mut parsed) = lock_cache(&PARSED)
        {
            let parsed = parsed.get_or_insert_default();
            if parsed.len() >= MAX_TEXTS {
                parsed.clear();
            }
            parsed.insert(text.into(), shared.clone());
        }
        Ok(Expr { shared, typing: Typing::Promote })
    }

    /// The names of all functions and casts.
    ///
    /// ```
    /// use unishape::expr::Expr;
    ///
    /// assert!(Expr::function_names().any(|name| name == "softmax"));
    /// ```
    pub fn function_names() -> impl Iterator<Item = &'static str> {
        Function::names()
    }

    /// The expression of a single function.
    ///
    /// `op(x1)`, `op(x1, x2)` or `op(x1, x2, x3)`. Parsed at its first use only.
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
        let parsed = || {
            let names: Vec<String> = (1..=op.arity()).map(|number| format!("x{number}")).collect();
            let text = format!("{}({})", op.name(), names.join(", "));
            let graph = parse(&text).unwrap_or_else(|error| unreachable!("{error}"));
            SharedExpr::new(graph)
        };
        let call = &CALLS[op as usize];
        let shared = match call.get() {
            Some(shared) => shared.clone(),
            // Initialized under a lock that a forked child need not wait for.
            None => match lock_cache(&CALLS_INIT) {
                Some(_guard) => call.get_or_init(parsed).clone(),
                None => parsed(),
            },
        };
        Expr { shared, typing: Typing::Promote }
    }

    /// The expression of a graph.
    ///
    /// Its variables are the leaves of the graph, in topological order.
    ///
    /// The most recent ones are cached.
    ///
    /// ```
    /// use unishape::expr::{Dag, Expr, Op};
    ///
    /// let (a, b) = (Dag::leaf("a", ()), Dag::leaf("b", ()));
    /// let expr = Expr::from_dag(&Dag::call(Op::Add, [a, b], ()));
    /// let result = expr.bind_positional([&ndarray::arr1(&[1, 2]), &ndarray::arr1(&[10])])?.compute()?;
    /// assert_eq!(result, ndarray::arr1(&[11, 12]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn from_dag<L, M>(dag: &Dag<L, M>) -> Expr {
        let (graph, _) = Graph::from_dag(dag, |_| None);
        let find = |recent: &[Arc<SharedExpr>]| recent.iter().find(|shared| shared.graph == graph).cloned();
        if let Some(shared) = lock_cache(&FROM_DAGS).and_then(|recent| find(&recent)) {
            return Expr { shared, typing: Typing::Promote };
        }
        let shared = SharedExpr::new(graph);
        if let Some(mut recent) = lock_cache(&FROM_DAGS) {
            if recent.len() >= MAX_COMPILED {
                recent.remove(0);
            }
            recent.push(shared.clone());
        }
        Expr { shared, typing: Typing::Promote }
    }

    /// Sets the rules of type promotion.
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

    /// Names of the variables, in the order of their first use.
    ///
    /// Named constants such as `pi` are among them: a value for them replaces the constant.
    ///
    /// ```
    /// assert_eq!(unishape::expr::Expr::parse("b + a * b")?.names(), ["b", "a"]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn names(&self) -> &[String] {
        &self.shared.graph.names
    }

    /// Whether the expression has neither views nor reductions.
    ///
    /// Then each element of the result depends only on the elements at the same index of the broadcast inputs, so
    /// that the expression can be computed from parts of them. A result with views or reductions is computed part
    /// by part with [`Bound::slice_axis`].
    ///
    /// ```
    /// use unishape::expr::Expr;
    ///
    /// assert!(Expr::parse("a * b + 1")?.is_element_wise());
    /// assert!(!Expr::parse("a[:, None] * b")?.is_element_wise());
    /// assert!(!Expr::parse("sum(a, axis=1)")?.is_element_wise());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn is_element_wise(&self) -> bool {
        self.shared.is_element_wise
    }

    /// The expression as a graph, whose leaves are the names of the variables.
    ///
    /// Libraries use it to compute a part of an expression in another way, for example chunk by chunk.
    ///
    /// ```
    /// use unishape::expr::{Expr, Term};
    ///
    /// let sum = Expr::parse("sum(a * a, axis=0)")?.to_dag();
    /// let Term::Reduce(reduction, inputs) = sum.term() else { panic!() };
    /// assert_eq!((&reduction.axes, inputs.len()), (&Some(vec![0]), 1));
    /// assert!(sum.topological().iter().any(|node| matches!(node.term(), Term::Leaf(name) if name == "a")));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn to_dag(&self) -> Dag<String> {
        self.shared.graph.to_dag()
    }

    /// Binds the variables to values.
    ///
    /// This determines the dtype and shape of the result. Nothing is computed yet.
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
    /// Where a variable has no value or two, a value has no variable, or dtypes or shapes are incompatible.
    pub fn bind<'a, N: AsRef<str>, V: Into<Value<'a>>>(
        &self,
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Bound<'a>, ExprError> {
        let values = values.into_iter().map(|(name, value)| (name, value.into()));
        self.bind_values(order_by_name(&self.shared.graph, values, false)?)
    }

    /// Checks that the operands of every operator are compatible under other rules.
    ///
    /// [`bind`](Expr::bind) broadcasts under the standard rules. Numbers are compatible with arrays of any rank.
    ///
    /// ```
    /// use ndarray::{arr1, arr2};
    /// use unishape::Rules;
    /// use unishape::expr::{Expr, Value};
    ///
    /// let (x, g) = (arr2(&[[1.0], [2.0]]), arr1(&[1.0, 2.0, 3.0]));
    /// let values = [("x", Value::from(&x)), ("g", Value::from(&g))];
    /// let error = Expr::parse("2 * x + g")?.check_rules(Rules::STANDARD.strict_rank(), values).unwrap_err();
    /// assert!(error.to_string().starts_with("strict rank: "));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`bind`](Expr::bind), under these rules.
    pub fn check_rules<'a, N: AsRef<str>, V: Into<Value<'a>>>(
        &self,
        rules: Rules,
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Result<(), ExprError> {
        let values = values.into_iter().map(|(name, value)| (name, value.into()));
        let values = order_by_name(&self.shared.graph, values, false)?;
        let inputs: Vec<InputInfo<'_>> = values.iter().map(Value::info).collect();
        TypedGraph::new(&self.shared.graph, &inputs, self.typing, rules, Positions::InOnePass).map(drop)
    }

    /// Binds the variables by position, in the order of [`names`](Expr::names).
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
    /// Where the number of values is not that of the variables, or dtypes or shapes are incompatible.
    pub fn bind_positional<'a, V: Into<Value<'a>>>(
        &self,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Bound<'a>, ExprError> {
        let values: Values<'a> = values.into_iter().map(V::into).collect();
        self.check_count(values.len())?;
        self.bind_values(values)
    }

    /// Checks that there are as many values as variables.
    pub(super) fn check_count(&self, given: usize) -> Result<(), ExprError> {
        match given == self.names().len() {
            true => Ok(()),
            false => Err(ExprErrorKind::Values { given, names: self.names().to_vec() }.into()),
        }
    }

    /// Plans for GPUs.
    #[cfg(feature = "cuda")]
    pub(super) fn recent_plans(&self) -> &unishape_cuda::Recent<unishape_cuda::Plan> {
        &self.shared.plans
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.shared.graph
    }

    pub(super) fn bind_values<'a>(&self, values: Values<'a>) -> Result<Bound<'a>, ExprError> {
        let graph = &self.shared.graph;
        if !self.shared.is_element_wise {
            let staged = self.staged(&infos(&values), Sharing::WithinGroups)?;
            return Ok(Bound::staged(staged, Vec::new(), values));
        }
        let input_types: SmallVec<[InputType; 3]> = values.iter().map(Value::input_type).collect();
        Bound::new(graph, values, self.compiled(&input_types)?)
    }

    /// Binds the variables to values and computes the result.
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
    /// As [`bind`](Expr::bind), and where the result cannot be allocated.
    pub fn evaluate<'a, N: AsRef<str>, V: Into<Value<'a>>>(
        &self,
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Tensor, ExprError> {
        self.bind(values)?.compute()
    }

    /// The stages for inputs of these types and shapes, from the cache if it has them.
    pub(super) fn staged(
        &self,
        inputs: &[InputInfo<'_>],
        sharing: Sharing,
    ) -> Result<Arc<StagedExpr>, ExprError> {
        let cache = &self.shared.staged;
        let is_match = |entry: &&StagedEntry| {
            let mut known = entry.inputs.iter().zip(inputs);
            (entry.typing, entry.sharing) == (self.typing, sharing)
                && known.all(|((input_type, shape), input)| {
                    *input_type == input.input_type && shape[..] == *input.shape
                })
        };
        let find = |entries: &[StagedEntry]| Some(entries.iter().find(is_match)?.staged.clone());
        if let Some(staged) = lock_cache(cache).and_then(|entries| find(&entries)) {
            return Ok(staged);
        }
        let staged = Arc::new(lower(&self.shared.graph, inputs, self.typing, sharing)?);
        if let Some(mut entries) = lock_cache(cache) {
            if entries.len() >= MAX_COMPILED {
                entries.remove(0);
            }
            let inputs = inputs.iter().map(|input| (input.input_type, Shape::from_slice(input.shape)));
            let (typing, inputs) = (self.typing, inputs.collect());
            entries.push(StagedEntry { inputs, typing, sharing, staged: staged.clone() });
        }
        Ok(staged)
    }

    /// The program for inputs of these types, from the cache if it has it.
    pub(super) fn compiled(&self, input_types: &[InputType]) -> Result<Arc<CompiledExpr>, ExprError> {
        let cache = &self.shared.compiled;
        let is_match = |entry: &&CacheEntry| entry.input_types == input_types && entry.typing == self.typing;
        let find = |entries: &[CacheEntry]| Some(entries.iter().find(is_match)?.compiled.clone());
        if let Some(compiled) = lock_cache(cache).and_then(|entries| find(&entries)) {
            return Ok(compiled);
        }
        let compiled = Arc::new(compile(&self.shared.graph, input_types, self.typing)?);
        if let Some(mut entries) = lock_cache(cache) {
            if entries.len() >= MAX_COMPILED {
                entries.remove(0);
            }
            entries.push(CacheEntry {
                input_types: input_types.into(),
                typing: self.typing,
                compiled: compiled.clone(),
            });
        }
        Ok(compiled)
    }
}

impl FromStr for Expr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Expr, ExprError> {
        Expr::parse(text)
    }
}

/// The text of the expression.
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

#[cfg(test)]
mod tests {
    use super::{CALLS_INIT, Expr, PARSED};
    use crate::Rules;
    use crate::expr::Value;
    use unishape_kernels::Op;

    #[test]
    fn names_are_those_of_functions_and_casts() {
        let names: Vec<_> = Expr::function_names().collect();
        assert!(["softmax", "add", "sum", "float32"].iter().all(|name| names.contains(name)), "{names:?}");
    }

    #[test]
    fn other_rules_apply_to_the_operands_of_every_operator() {
        let (x, g) = (ndarray::arr2(&[[1.0], [2.0]]), ndarray::arr1(&[1.0, 2.0, 3.0]));
        let values = || [("x", Value::from(&x)), ("g", Value::from(&g))];
        let expr = Expr::parse("2 * x + g").unwrap();
        assert!(expr.check_rules(Rules::STANDARD, values()).is_ok());
        let error = expr.check_rules(Rules::STANDARD.strict_rank(), values()).unwrap_err();
        assert!(error.to_string().starts_with("strict rank: "), "{error}");
    }

    /// As in a child that was forked while another thread of its parent used the caches.
    #[test]
    fn a_cache_that_stays_locked_is_done_without() {
        let a = ndarray::arr1(&[1, 2]);
        let known = Expr::parse("a + 40").unwrap();
        let (parsed, compiled) = (PARSED.lock().unwrap(), known.shared.compiled.lock().unwrap());
        for expr in [&known, &Expr::parse("a + 40").unwrap()] {
            assert_eq!(expr.evaluate([("a", &a)]).unwrap(), ndarray::arr1(&[41, 42]).into());
        }
        drop((parsed, compiled));
    }

    /// As in a child that was forked while another thread of its parent called a function for the first time.
    #[test]
    fn a_function_whose_initialization_never_ends_is_parsed_again() {
        let initializing = CALLS_INIT.lock().unwrap();
        let expr = Expr::call(Op::Negative);
        assert_eq!(expr.evaluate([("x1", &ndarray::arr1(&[1]))]).unwrap(), ndarray::arr1(&[-1]).into());
        drop(initializing);
    }
}
