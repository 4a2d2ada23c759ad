//! Expressions as graphs with shared parts, generic over their leaves.

use super::float_cast::FloatCast;
use super::reduction::Reduction;
use super::view::View;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use unishape_kernels::{DType, Op, Scalar};

/// An expression over leaves of type `L`, as a directed acyclic graph.
///
/// Shared subexpressions exist once. `M` is metadata of each node, such as its shape. Nothing recurses: a
/// chain of a hundred thousand operators needs no deep stack.
///
/// [`Lazy`](super::Lazy) is a `Dag` over arrays. Bindings to other languages have other leaves, and turn them
/// into arrays with [`try_map_leaves`](Dag::try_map_leaves).
///
/// ```
/// use unishape::expr::{Dag, Lazy, Op, Value};
///
/// let x = Dag::leaf("x", ());
/// let doubled = Dag::call(Op::Add, [x.clone(), x], ());
/// assert_eq!(doubled.topological().len(), 2);
///
/// let array = ndarray::arr1(&[1, 2]);
/// let bound = doubled.try_map_leaves(|_| Ok::<_, ()>(Value::from(&array))).unwrap();
/// assert_eq!(Lazy::from(bound).compute()?, ndarray::arr1(&[2, 4]).into());
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
pub struct Dag<L, M = ()>(Arc<Node<L, M>>);

struct Node<L, M> {
    term: Owned<L, M>,
    meta: M,
}

enum Owned<L, M> {
    Leaf(L),
    Scalar(Scalar),
    Call(Op, SmallVec<[Dag<L, M>; 3]>),
    Cast(DType, Dag<L, M>),
    CastLike(FloatCast, [Dag<L, M>; 2]),
    View(Box<View>, Dag<L, M>),
    /// The second input, if any, is the mask.
    Reduce(Box<Reduction>, SmallVec<[Dag<L, M>; 2]>),
}

/// What a node of a [`Dag`] is.
///
/// ```
/// use unishape::expr::{Dag, Scalar, Term};
///
/// let node: Dag<()> = Dag::scalar(Scalar::Int(2), ());
/// assert!(matches!(node.term(), Term::Scalar(Scalar::Int(2))));
/// ```
#[derive(Debug)]
pub enum Term<'d, L, M = ()> {
    /// A leaf.
    Leaf(&'d L),
    /// A number without a dtype.
    Scalar(Scalar),
    /// A function of other nodes.
    Call(Op, &'d [Dag<L, M>]),
    /// Another node cast to a dtype.
    Cast(DType, &'d Dag<L, M>),
    /// The first node cast to a dtype that depends on that of the second.
    CastLike(FloatCast, &'d [Dag<L, M>; 2]),
    /// A view of another node.
    View(&'d View, &'d Dag<L, M>),
    /// A reduction of the first node.
    ///
    /// The second node, if any, selects the elements that take part.
    Reduce(&'d Reduction, &'d [Dag<L, M>]),
}

impl<L, M> Dag<L, M> {
    fn new(term: Owned<L, M>, meta: M) -> Dag<L, M> {
        Dag(Arc::new(Node { term, meta }))
    }

    /// A leaf.
    ///
    /// ```
    /// # use unishape::expr::Dag;
    /// assert_eq!(*Dag::leaf("x", 7).meta(), 7);
    /// ```
    pub fn leaf(leaf: L, meta: M) -> Dag<L, M> {
        Dag::new(Owned::Leaf(leaf), meta)
    }

    /// A number without a dtype.
    ///
    /// ```
    /// # use unishape::expr::{Dag, Scalar};
    /// assert_eq!(Dag::<()>::scalar(Scalar::Int(2), ()).topological().len(), 1);
    /// ```
    pub fn scalar(scalar: Scalar, meta: M) -> Dag<L, M> {
        Dag::new(Owned::Scalar(scalar), meta)
    }

    /// A function of other nodes.
    ///
    /// ```
    /// # use unishape::expr::{Dag, Op};
    /// let negative = Dag::call(Op::Negative, [Dag::leaf("x", ())], ());
    /// assert_eq!(negative.inputs().len(), 1);
    /// ```
    ///
    /// # Panics
    ///
    /// Where the function takes another number of arguments.
    pub fn call(op: Op, inputs: impl IntoIterator<Item = Dag<L, M>>, meta: M) -> Dag<L, M> {
        let inputs: SmallVec<[Dag<L, M>; 3]> = inputs.into_iter().collect();
        assert!(inputs.len() == op.arity(), "{} takes {} arguments", op.name(), op.arity());
        Dag::new(Owned::Call(op, inputs), meta)
    }

    /// Another node cast to a dtype.
    ///
    /// ```
    /// # use unishape::{DType, expr::Dag};
    /// assert_eq!(Dag::cast(DType::F32, Dag::leaf("x", ()), ()).inputs().len(), 1);
    /// ```
    pub fn cast(dtype: DType, input: Dag<L, M>, meta: M) -> Dag<L, M> {
        Dag::new(Owned::Cast(dtype, input), meta)
    }

    /// A node cast to a dtype that depends on that of `like`.
    ///
    /// ```
    /// # use unishape::expr::{Dag, FloatCast};
    /// let x = Dag::leaf("x", ());
    /// assert_eq!(Dag::cast_like(FloatCast::WidenToExp, x.clone(), x, ()).inputs().len(), 2);
    /// ```
    pub fn cast_like(cast: FloatCast, input: Dag<L, M>, like: Dag<L, M>, meta: M) -> Dag<L, M> {
        Dag::new(Owned::CastLike(cast, [input, like]), meta)
    }

    /// A view of another node.
    ///
    /// ```
    /// # use unishape::expr::{Dag, View};
    /// assert_eq!(Dag::view(View::SwapAxes(0, 1), Dag::leaf("x", ()), ()).inputs().len(), 1);
    /// ```
    pub fn view(view: View, input: Dag<L, M>, meta: M) -> Dag<L, M> {
        Dag::new(Owned::View(Box::new(view), input), meta)
    }

    /// A reduction of another node.
    ///
    /// If there is a mask, of those elements for which it is true.
    ///
    /// ```
    /// # use unishape::expr::{Dag, ReduceOp, Reduction};
    /// let sum = Dag::reduce(Reduction::new(ReduceOp::Sum), Dag::leaf("x", ()), None, ());
    /// assert_eq!(sum.inputs().len(), 1);
    /// ```
    pub fn reduce(reduction: Reduction, input: Dag<L, M>, mask: Option<Dag<L, M>>, meta: M) -> Dag<L, M> {
        let inputs = std::iter::once(input).chain(mask).collect();
        Dag::new(Owned::Reduce(Box::new(reduction), inputs), meta)
    }

    /// What this node is.
    ///
    /// ```
    /// # use unishape::expr::{Dag, Term};
    /// assert!(matches!(Dag::leaf("x", ()).term(), Term::Leaf(&"x")));
    /// ```
    pub fn term(&self) -> Term<'_, L, M> {
        match &self.0.term {
            Owned::Leaf(leaf) => Term::Leaf(leaf),
            Owned::Scalar(scalar) => Term::Scalar(*scalar),
            Owned::Call(op, inputs) => Term::Call(*op, inputs),
            Owned::Cast(dtype, input) => Term::Cast(*dtype, input),
            Owned::CastLike(cast, inputs) => Term::CastLike(*cast, inputs),
            Owned::View(view, input) => Term::View(view, input),
            Owned::Reduce(reduction, inputs) => Term::Reduce(reduction, inputs),
        }
    }

    /// The metadata of this node.
    ///
    /// ```
    /// # use unishape::expr::Dag;
    /// assert_eq!(*Dag::leaf("x", [2, 3]).meta(), [2, 3]);
    /// ```
    pub fn meta(&self) -> &M {
        &self.0.meta
    }

    /// The nodes that this one depends on directly.
    ///
    /// ```
    /// # use unishape::expr::Dag;
    /// assert!(Dag::leaf("x", ()).inputs().is_empty());
    /// ```
    pub fn inputs(&self) -> &[Dag<L, M>] {
        match &self.0.term {
            Owned::Call(_, inputs) => inputs,
            Owned::Reduce(_, inputs) => inputs,
            Owned::CastLike(_, inputs) => inputs,
            Owned::Cast(_, input) | Owned::View(_, input) => std::slice::from_ref(input),
            Owned::Leaf(_) | Owned::Scalar(_) => &[],
        }
    }

    fn key(&self) -> *const () {
        Arc::as_ptr(&self.0).cast()
    }

    /// All nodes, each once and after its inputs. The last one is this node.
    ///
    /// ```
    /// # use unishape::expr::{Dag, Op};
    /// let x = Dag::leaf("x", ());
    /// let square = Dag::call(Op::Multiply, [x.clone(), x], ());
    /// let nodes = square.topological();
    /// assert_eq!(nodes.len(), 2);
    /// assert_eq!(nodes.position(&square.inputs()[0]), 0);
    /// ```
    pub fn topological(&self) -> Topological<'_, L, M> {
        let mut order = Topological { nodes: Vec::new(), positions: HashMap::new() };
        let mut open = vec![(self, false)];
        while let Some((node, is_ready)) = open.pop() {
            if order.positions.contains_key(&node.key()) {
                continue;
            }
            if is_ready {
                order.positions.insert(node.key(), order.nodes.len());
                order.nodes.push(node);
            } else {
                open.push((node, true));
                open.extend(node.inputs().iter().rev().map(|input| (input, false)));
            }
        }
        order
    }

    /// The same expression over other leaves. Leaves are visited in topological order.
    ///
    /// ```
    /// # use unishape::expr::{Dag, Op};
    /// let names = Dag::call(Op::Sqrt, [Dag::leaf("4", ())], ());
    /// assert!(names.try_map_leaves(|text| text.parse::<i32>()).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// The first one of `map`.
    pub fn try_map_leaves<T, E>(&self, mut map: impl FnMut(&L) -> Result<T, E>) -> Result<Dag<T>, E> {
        let order = self.topological();
        let mut mapped: Vec<Dag<T>> = Vec::with_capacity(order.len());
        for node in order.iter() {
            let input = |input: &Dag<L, M>| mapped[order.position(input)].clone();
            let term = match &node.0.term {
                Owned::Leaf(leaf) => Owned::Leaf(map(leaf)?),
                Owned::Scalar(scalar) => Owned::Scalar(*scalar),
                Owned::Call(op, inputs) => Owned::Call(*op, inputs.iter().map(input).collect()),
                Owned::Cast(dtype, from) => Owned::Cast(*dtype, input(from)),
                Owned::CastLike(cast, inputs) => Owned::CastLike(*cast, inputs.each_ref().map(input)),
                Owned::View(view, of) => Owned::View(view.clone(), input(of)),
                Owned::Reduce(reduction, inputs) => {
                    Owned::Reduce(reduction.clone(), inputs.iter().map(input).collect())
                }
            };
            mapped.push(Dag::new(term, ()));
        }
        match mapped.pop() {
            Some(root) => Ok(root),
            None => unreachable!("at least the node itself"),
        }
    }
}

/// The nodes of a [`Dag`], each after its inputs.
///
/// ```
/// # use unishape::expr::Dag;
/// assert_eq!(Dag::leaf("x", ()).topological().iter().count(), 1);
/// ```
pub struct Topological<'d, L, M> {
    nodes: Vec<&'d Dag<L, M>>,
    positions: HashMap<*const (), usize>,
}

impl<'d, L, M> Topological<'d, L, M> {
    /// The nodes in order.
    ///
    /// ```
    /// # use unishape::expr::Dag;
    /// assert_eq!(Dag::leaf("x", ()).topological().iter().count(), 1);
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = &'d Dag<L, M>> {
        self.nodes.iter().copied()
    }

    /// Number of nodes, at least 1.
    ///
    /// ```
    /// # use unishape::expr::Dag;
    /// assert_eq!(Dag::leaf("x", ()).topological().len(), 1);
    /// ```
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Position of a node in the order.
    ///
    /// ```
    /// # use unishape::expr::Dag;
    /// let x = Dag::leaf("x", ());
    /// assert_eq!(x.topological().position(&x), 0);
    /// ```
    ///
    /// # Panics
    ///
    /// Where it is not a node of the graph.
    pub fn position(&self, node: &Dag<L, M>) -> usize {
        self.positions[&node.key()]
    }
}

impl<L, M> fmt::Debug for Topological<'_, L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topological").field("len", &self.len()).finish()
    }
}

impl<L, M> Clone for Dag<L, M> {
    fn clone(&self) -> Dag<L, M> {
        Dag(self.0.clone())
    }
}

impl<L, M> fmt::Debug for Dag<L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dag").field("nodes", &self.topological().len()).finish()
    }
}

/// Without recursion: inputs are taken out of a node before it is dropped.
impl<L, M> Drop for Node<L, M> {
    fn drop(&mut self) {
        fn take<L, M>(term: &mut Owned<L, M>, open: &mut Vec<Dag<L, M>>) {
            match std::mem::replace(term, Owned::Scalar(Scalar::Int(0))) {
                Owned::Call(_, inputs) => open.extend(inputs),
                Owned::Reduce(_, inputs) => open.extend(inputs),
                Owned::CastLike(_, inputs) => open.extend(inputs),
                Owned::Cast(_, input) | Owned::View(_, input) => open.push(input),
                leaf => *term = leaf,
            }
        }
        let mut open = Vec::new();
        take(&mut self.term, &mut open);
        while let Some(Dag(node)) = open.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                take(&mut node.term, &mut open);
            }
        }
    }
}
