//! Several expressions in one pass over memory.
//!
//! The loops of element-wise expressions are cut into chunks whose arrays fit the L2 cache. All expressions are computed
//! for a chunk before the next one, so that an array that several of them read comes from memory once. Expressions with
//! stages share a [`JointPlan`].

use super::axes::DimMaps;
use super::bind::Bound;
use super::error::{ExprError, ExprErrorKind};
use super::joint_plan::JointPlan;
use super::staged::for_each_part;
use crate::DType;
use crate::alloc::{checked_len, out_of_memory};
use crate::dim_map::DimMap;
use crate::numeric::Numeric;
use crate::program_arrays::{RawOutput, StageArray};
use crate::tensor::Tensor;
use crate::tuning::{PASS_CHUNK_BYTES, PASS_MAX_MEMBERS, PASS_MIN_BYTES, PASS_MIN_ELEMENTS};
use ndarray::{Array, ArrayRef, Dimension, IxDyn};
use smallvec::SmallVec;
use unishape_engine::fused::{self, Input, Options, Program};
use unishape_engine::memory::{is_zeroed_by_system, zeroed};
use unishape_kernels::for_each_dtype;

/// An array of any dtype that a result is written to.
///
/// ```
/// # use unishape::expr::{Bound, Expr, OutputMut};
/// let (a, mut sum, mut is_small) = (ndarray::arr1(&[1, 2]), ndarray::arr1(&[0, 0]), ndarray::arr1(&[false; 2]));
/// let bound = Expr::bind_all(&[Expr::parse("a + a")?, Expr::parse("a < 2")?], [("a", &a)])?;
/// Bound::compute_all_into(&bound, vec![OutputMut::new(&mut sum), OutputMut::new(&mut is_small)], |_| true)?;
/// assert_eq!((sum, is_small), (ndarray::arr1(&[2, 4]), ndarray::arr1(&[true, false])));
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Debug)]
pub struct OutputMut<'a> {
    raw: RawOutput<'a>,
    dtype: DType,
}

impl<'a> OutputMut<'a> {
    /// An array that is written.
    ///
    /// ```
    /// # use unishape::expr::{Bound, Expr, OutputMut};
    /// let (a, mut out) = (ndarray::arr1(&[1, 2]), ndarray::arr1(&[0, 0]));
    /// let bound = Expr::parse("a * 3")?.bind([("a", &a)])?;
    /// Bound::compute_all_into(&[bound], vec![OutputMut::new(&mut out)], |_| true)?;
    /// assert_eq!(out, ndarray::arr1(&[3, 6]));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn new<T: Numeric, D: Dimension>(array: &'a mut ArrayRef<T, D>) -> OutputMut<'a> {
        OutputMut { raw: RawOutput::of_array(array), dtype: T::DTYPE }
    }

    /// The elements of a tensor; `None` for strings.
    ///
    /// ```
    /// # use unishape::expr::{Bound, Expr, OutputMut};
    /// let a = ndarray::arr1(&[1, 2]);
    /// let bound = [Expr::parse("a * 3")?.bind([("a", &a)])?];
    /// let mut out = bound[0].zeros()?;
    /// Bound::compute_all_into(&bound, OutputMut::of_tensor(&mut out).into_iter().collect(), |_| true)?;
    /// assert_eq!(out, ndarray::arr1(&[3, 6]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn of_tensor(tensor: &'a mut Tensor) -> Option<OutputMut<'a>> {
        macro_rules! by_type {
            ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
                match tensor {
                    $(Tensor::$variant(array) => by_type!(@ $type array),)+
                }
            };
            (@ String $array:ident) => {{
                let _ = $array;
                None
            }};
            (@ $type:ident $array:ident) => { Some(OutputMut::new(&mut **$array)) };
        }
        for_each_dtype!(by_type)
    }
}

impl<'a> Bound<'a> {
    /// The expressions that are computed in one pass over memory.
    ///
    /// Each list has the numbers of those that share a pass.
    ///
    /// Large element-wise expressions of the same shape that read the same array share a pass. So do expressions with
    /// reductions that have a reduction in common, or that run row by row on the same rows of an array: an example is
    /// the mean and the variance of each row. Results have the same bits as those of each expression alone.
    ///
    /// ```
    /// # use unishape::expr::{Bound, Expr, ExprError};
    /// let exprs = [Expr::parse("a + 1")?, Expr::parse("sqrt(b)")?, Expr::parse("a * b")?];
    /// let passes = |size: usize| -> Result<Vec<Vec<usize>>, ExprError> {
    ///     let (a, b) = (ndarray::Array1::<f32>::ones(size), ndarray::Array1::<f32>::ones(size));
    ///     Ok(Bound::passes(&Expr::bind_all(&exprs, [("a", &a), ("b", &b)])?))
    /// };
    /// assert_eq!(passes(1_000)?, [vec![0], vec![1], vec![2]]);
    /// assert_eq!(passes(4_000_000)?, [vec![0, 2], vec![1]]);
    /// # Ok::<(), ExprError>(())
    /// ```
    pub fn passes(bounds: &[Bound<'a>]) -> Vec<Vec<usize>> {
        let members: Vec<Option<Member<'_>>> = bounds.iter().map(Member::new).collect();
        let mut joint = joint_passes(bounds);
        let mut passes: Vec<Vec<usize>> = Vec::new();
        let mut is_taken = vec![false; bounds.len()];
        for first in 0..bounds.len() {
            if is_taken[first] {
                continue;
            }
            let mut pass = match joint.iter().position(|pass| pass[0] == first) {
                Some(at) => joint.swap_remove(at),
                None => vec![first],
            };
            if let Some(member) = &members[first] {
                for other in first + 1..bounds.len() {
                    let is_partner = |other: &Member<'_>| member.can_share(other);
                    if !is_taken[other]
                        && pass.len() < PASS_MAX_MEMBERS
                        && members[other].as_ref().is_some_and(is_partner)
                    {
                        pass.push(other);
                    }
                }
                let found: SmallVec<[&Member<'_>; 4]> =
                    pass.iter().filter_map(|&number| members[number].as_ref()).collect();
                if bytes_per_element(&found).saturating_mul(count(member.shape)) < PASS_MIN_BYTES {
                    pass.truncate(1);
                }
            }
            pass.iter().for_each(|&number| is_taken[number] = true);
            passes.push(pass);
        }
        passes
    }

    /// Describes how each of several expressions is computed.
    ///
    /// As [`plan`](Bound::plan), and which of them share a pass.
    ///
    /// ```
    /// # use unishape::expr::{Bound, Expr};
    /// let x = ndarray::Array2::<f32>::zeros((3, 4));
    /// let exprs = [Expr::parse("mean(x, 1)")?, Expr::parse("var(x, 1)")?];
    /// let plans = Bound::plans(&Expr::bind_all(&exprs, [("x", &x)])?);
    /// assert!(plans[0].ends_with("in one pass with result 2\n"), "{}", plans[0]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    pub fn plans(bounds: &[Bound<'a>]) -> Vec<String> {
        let mut plans: Vec<String> = bounds.iter().map(Bound::plan).collect();
        for pass in Bound::passes(bounds).iter().filter(|pass| pass.len() > 1) {
            for &own in pass {
                let others: Vec<String> =
                    pass.iter().filter(|&&other| other != own).map(|other| (other + 1).to_string()).collect();
                let plural = if others.len() == 1 { "" } else { "s" };
                plans[own] += &format!("in one pass with result{plural} {}\n", others.join(", "));
            }
        }
        plans
    }

    /// Computes the results of several expressions.
    ///
    /// They run in the [passes](Bound::passes) that they share.
    ///
    /// ```
    /// # use unishape::expr::{Bound, Expr};
    /// let a = ndarray::arr1(&[1, 2]);
    /// let bound = Expr::bind_all(&[Expr::parse("a + a")?, Expr::parse("a * 5")?], [("a", &a)])?;
    /// assert_eq!(Bound::compute_all(&bound)?, [ndarray::arr1(&[2, 4]).into(), ndarray::arr1(&[5, 10]).into()]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where a result cannot be allocated.
    pub fn compute_all(bounds: &[Bound<'a>]) -> Result<Vec<Tensor>, ExprError> {
        let mut results: Vec<Option<Tensor>> = bounds.iter().map(|_| None).collect();
        for pass in Bound::passes(bounds) {
            let members: SmallVec<[&Bound<'a>; 4]> = pass.iter().map(|&number| &bounds[number]).collect();
            let computed: Vec<Tensor> = match members[..] {
                [first, _, ..]
                    if !first.is_element_wise()
                        || members.iter().all(|member| member.is_zeroed_by_system()) =>
                {
                    let mut computed =
                        members.iter().map(|member| member.zeros()).collect::<Result<Vec<_>, _>>()?;
                    let outs = computed.iter_mut().filter_map(OutputMut::of_tensor).map(|out| out.raw);
                    let options = Options { is_output_fresh: true, ..first.options(&|_| true) };
                    run_pass(&members, outs.collect(), options)?;
                    computed
                }
                _ => members.iter().map(|member| member.compute()).collect::<Result<_, _>>()?,
            };
            pass.into_iter().zip(computed).for_each(|(number, result)| results[number] = Some(result));
        }
        Ok(results.into_iter().flatten().collect())
    }

    /// Computes several expressions into preallocated arrays.
    ///
    /// The work ends early when a function returns `false`.
    ///
    /// [`compute_while`](Bound::compute_while) for several expressions, in [passes](Bound::passes) that they share.
    ///
    /// ```
    /// # use unishape::expr::{Bound, Expr, OutputMut};
    /// let (a, mut sum, mut product) = (ndarray::arr1(&[1, 5]), ndarray::arr1(&[0, 0]), ndarray::arr1(&[0, 0]));
    /// let bound = Expr::bind_all(&[Expr::parse("a + a")?, Expr::parse("a * a")?], [("a", &a)])?;
    /// let outputs = vec![OutputMut::new(&mut sum), OutputMut::new(&mut product)];
    /// Bound::compute_all_into(&bound, outputs, |_elements| true)?;
    /// assert_eq!((sum, product), (ndarray::arr1(&[2, 10]), ndarray::arr1(&[1, 25])));
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`compute_while`](Bound::compute_while).
    ///
    /// # Panics
    ///
    /// Where there are not as many outputs as expressions, or the function panics.
    pub fn compute_all_into(
        bounds: &[Bound<'a>],
        outs: Vec<OutputMut<'_>>,
        should_continue: impl Fn(usize) -> bool + Sync,
    ) -> Result<(), ExprError> {
        assert_eq!(bounds.len(), outs.len(), "an output for each expression");
        for (bound, out) in bounds.iter().zip(&outs) {
            bound.check_output(out.dtype, out.raw.shape())?;
        }
        let mut outs: Vec<Option<RawOutput<'_>>> = outs.into_iter().map(|out| Some(out.raw)).collect();
        for pass in Bound::passes(bounds) {
            let members: SmallVec<[&Bound<'a>; 4]> = pass.iter().map(|&number| &bounds[number]).collect();
            let outs: Vec<RawOutput<'_>> = pass.iter().filter_map(|&number| outs[number].take()).collect();
            if members.len() > 1 && (!members[0].is_element_wise() || outs.iter().all(RawOutput::is_ordered))
            {
                run_pass(&members, outs, members[0].options(&should_continue))?;
                continue;
            }
            for (member, out) in members.iter().zip(outs) {
                member.run(out, member.options(&should_continue))?;
            }
        }
        Ok(())
    }

    /// Whether an array of zeros for the result costs nothing.
    fn is_zeroed_by_system(&self) -> bool {
        is_zeroed_by_system(count(self.shape()).saturating_mul(self.dtype().item_size()))
    }

    /// An array of zeros of the result's dtype and shape.
    ///
    /// ```
    /// # use unishape::expr::Expr;
    /// let a = ndarray::arr1(&[1.5, 2.0]);
    /// assert_eq!(Expr::parse("a > 1")?.bind([("a", &a)])?.zeros()?, ndarray::arr1(&[false, false]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Where it cannot be allocated.
    pub fn zeros(&self) -> Result<Tensor, ExprError> {
        use half::{bf16, f16};
        use num_complex::Complex;
        fn zeros<T: Numeric>(shape: &[usize]) -> Result<Array<T, IxDyn>, ExprError> {
            let elements = zeroed::<T>(checked_len::<T>(shape)?).map_err(out_of_memory)?;
            Ok(Array::from_shape_vec(IxDyn(shape), elements)
                .map_err(|_| crate::Error::too_large(shape, None))?)
        }
        macro_rules! by_type {
            ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
                match self.dtype() {
                    $(DType::$variant => by_type!(@ $type $(<$part>)?),)+
                }
            };
            (@ String) => { Err(ExprErrorKind::Strings.into()) };
            (@ $type:ident $(<$part:ident>)?) => { zeros::<$type $(<$part>)?>(self.shape()).map(Tensor::from) };
        }
        for_each_dtype!(by_type)
    }
}

/// Number of elements.
fn count(shape: &[usize]) -> usize {
    shape.iter().copied().fold(1, usize::saturating_mul)
}

/// An expression that may share a pass: a single program whose arrays have their loops in order.
struct Member<'b> {
    program: &'b Program,
    arrays: SmallVec<[StageArray<'b>; 4]>,
    shape: &'b [usize],
    /// Bytes of an element of the result.
    item: usize,
    threads: Option<usize>,
}

impl<'b> Member<'b> {
    /// `None` where the expression is small or has stages, or an array is transposed: chunks of its rows would read
    /// parts of cache lines.
    fn new(bound: &'b Bound<'_>) -> Option<Member<'b>> {
        if count(bound.shape()) < PASS_MIN_ELEMENTS {
            return None;
        }
        let (program, arrays) = bound.program()?;
        let (item, threads) = (bound.dtype().item_size(), bound.options(&|_| true).threads);
        let is_ordered = arrays.iter().all(StageArray::is_ordered);
        is_ordered.then_some(Member { program, arrays, shape: bound.shape(), item, threads })
    }

    /// Whether both have the same loops and read the same array, a different element at each index.
    fn can_share(&self, other: &Member<'_>) -> bool {
        let is_shared = |array: &StageArray<'_>| {
            !array.is_stretched() && other.arrays.iter().any(|other| array.is_same(other))
        };
        self.shape == other.shape && self.threads == other.threads && self.arrays.iter().any(is_shared)
    }
}

/// Bytes of all arrays of a pass for an element of the result, without those of arrays that are stretched.
fn bytes_per_element(members: &[&Member<'_>]) -> usize {
    let mut arrays: SmallVec<[&StageArray<'_>; 8]> = SmallVec::new();
    for array in members.iter().flat_map(|member| &member.arrays) {
        if !array.is_stretched() && !arrays.iter().any(|other| other.is_same(array)) {
            arrays.push(array);
        }
    }
    let outputs = members.iter().map(|member| member.item);
    outputs.chain(arrays.iter().map(|array| array.item())).sum()
}

/// The passes of expressions with stages: lists of their numbers, each of at least two.
fn joint_passes(bounds: &[Bound<'_>]) -> Vec<Vec<usize>> {
    let has_stages = |&number: &usize| bounds[number].stages().is_some() && count(bounds[number].shape()) > 0;
    let mut left: Vec<usize> = (0..bounds.len()).filter(has_stages).collect();
    let mut passes = Vec::new();
    while let Some(&first) = left.first() {
        let threads = |number: usize| bounds[number].options(&|_| true).threads;
        let (own, others): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|&number| threads(number) == threads(first));
        left = others;
        if own.len() > 1 {
            let exprs: Vec<_> = own.iter().filter_map(|&number| bounds[number].stages()).collect();
            let shared = JointPlan::new(&exprs).shared().into_iter().filter(|pass| pass.len() > 1);
            passes.extend(shared.map(|pass| pass.into_iter().map(|at| own[at]).collect::<Vec<_>>()));
        }
    }
    passes
}

/// Computes expressions that share a pass.
fn run_pass(bounds: &[&Bound<'_>], outs: Vec<RawOutput<'_>>, options: Options<'_>) -> Result<(), ExprError> {
    let exprs: SmallVec<[_; 4]> = bounds.iter().filter_map(|bound| bound.stages()).collect();
    match exprs.is_empty() {
        true => run_element_wise_pass(bounds, outs, options),
        false => JointPlan::new(&exprs).run(outs, options),
    }
}

/// Computes element-wise expressions that share a pass, chunk by chunk.
fn run_element_wise_pass(
    bounds: &[&Bound<'_>],
    outs: Vec<RawOutput<'_>>,
    options: Options<'_>,
) -> Result<(), ExprError> {
    let members: SmallVec<[Member<'_>; 4]> = bounds.iter().filter_map(|bound| Member::new(bound)).collect();
    let chunks = {
        let members: SmallVec<[&Member<'_>; 4]> = members.iter().collect();
        Chunks::new(members[0].shape, PASS_CHUNK_BYTES / bytes_per_element(&members).max(1))
    };
    let mut parts: Vec<SmallVec<[RawOutput<'_>; 2]>> = Vec::new();
    parts.resize_with(chunks.count(), SmallVec::new);
    for out in outs {
        for (part, out) in parts.iter_mut().zip(chunks.split(out)) {
            part.push(out);
        }
    }
    // Other threads run other chunks.
    let own_options = Options { threads: Some(1), ..options };
    for_each_part(parts, options.threads, &|number, outs| {
        let maps = chunks.maps(number);
        for (member, mut out) in members.iter().zip(outs) {
            let arrays: SmallVec<[StageArray<'_>; 4]> =
                member.arrays.iter().map(|array| array.mapped(&maps, out.shape())).collect();
            let inputs: SmallVec<[Input<'_>; 4]> = arrays.iter().map(StageArray::input).collect();
            if !fused::run(member.program, &inputs, &mut out.output(), own_options) {
                return Err(ExprErrorKind::Stopped.into());
            }
        }
        Ok(())
    })
}

/// A shape that is cut into chunks, in row-major order.
struct Chunks<'s> {
    shape: &'s [usize],
    /// Indices of a chunk in each of the outermost dimensions; a chunk has all of the others.
    steps: SmallVec<[usize; 4]>,
}

impl<'s> Chunks<'s> {
    /// Chunks of about `elements` elements, not more.
    fn new(shape: &'s [usize], elements: usize) -> Chunks<'s> {
        let mut steps = SmallVec::new();
        for (dim, &size) in shape.iter().enumerate() {
            let inner: usize = shape[dim + 1..].iter().product();
            let step = (elements / inner.max(1)).clamp(1, size.max(1));
            // All of about the same size.
            steps.push(size.div_ceil(size.div_ceil(step).max(1)).max(1));
            if inner <= elements {
                break;
            }
        }
        Chunks { shape, steps }
    }

    fn count(&self) -> usize {
        self.steps.iter().zip(self.shape).map(|(&step, size)| size.div_ceil(step)).product()
    }

    /// The chunks of an array.
    fn split<'o>(&self, out: RawOutput<'o>) -> Vec<RawOutput<'o>> {
        self.steps.iter().enumerate().fold(vec![out], |parts, (dim, &step)| {
            parts.into_iter().flat_map(|part| part.split(dim, step)).collect()
        })
    }

    /// Where a chunk begins in each dimension.
    fn maps(&self, mut number: usize) -> DimMaps {
        let mut maps: DimMaps = (0..self.shape.len()).map(DimMap::same).collect();
        for (dim, &step) in self.steps.iter().enumerate().rev() {
            let count = self.shape[dim].div_ceil(step);
            maps[dim].start = (number % count * step) as isize;
            number /= count;
        }
        maps
    }
}

#[cfg(test)]
mod tests {
    use super::Chunks;
    use crate::program_arrays::RawOutput;
    use ndarray::{ArrayD, IxDyn};

    #[test]
    fn chunks_are_the_whole_array() {
        let shapes: [&[usize]; 8] =
            [&[], &[1], &[100], &[7, 9], &[3, 40, 2], &[2, 3, 50], &[1000, 1, 1], &[4, 1, 33]];
        for shape in shapes {
            for elements in [1, 7, 32, 100_000] {
                let chunks = Chunks::new(shape, elements);
                let mut array = ArrayD::<u8>::zeros(IxDyn(shape));
                let parts = chunks.split(RawOutput::of_array(&mut *array));
                assert_eq!(parts.len(), chunks.count(), "{shape:?}");
                let len = |part: &RawOutput<'_>| part.shape().iter().product::<usize>();
                assert_eq!(parts.iter().map(len).sum::<usize>(), shape.iter().product());
                assert!(parts.iter().all(|part| len(part) <= elements), "{shape:?} {elements}");
                for (number, part) in parts.iter().enumerate() {
                    let fits = |((map, &size), &len): ((&super::DimMap, &usize), &usize)| {
                        map.start >= 0 && map.start as usize + len <= size
                    };
                    assert!(chunks.maps(number).iter().zip(shape).zip(part.shape()).all(fits), "{shape:?}");
                }
            }
        }
    }
}
