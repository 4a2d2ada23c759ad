//! The contestants, and an adapter for each that gives it the same work.

use crate::timing::{Limits, Timed, Times, measure, time, timed};
use crate::workloads::Scale;
use candle_core::{Device, WithDType};
use ndarray::{Array, ArrayD, Dimension, IxDyn};
use rstsr_core::prelude::rstsr_structs::{DeviceFaer, IxD};
use rstsr_core::prelude::rstsr_traits::{DimAPI, DimIntoAPI};
use rstsr_core::prelude::rt;
use std::fmt::Debug;
use std::sync::LazyLock;
use unishape::expr::{Bound, Numeric};
use unishape::{Tensor, TensorView};

/// A contestant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contestant {
    /// unishape: a function over typed arrays.
    Map,
    /// unishape: an expression, whose dtypes are known at run time.
    Expr,
    /// ndarray's operators, on one thread, with a temporary array for each.
    Ndarray,
    /// ndarray's `Zip` over broadcast views, on all cores.
    Zip,
    /// Candle's tensors.
    Candle,
    /// RSTSR's tensors, on all cores.
    Rstsr,
    /// Hand-written loops for the shapes of the workload, on all cores.
    Loops,
    /// The limit: a copy that reads and writes as many bytes as the workload in total, on all cores.
    Copy,
}

impl Contestant {
    pub(crate) const UNISHAPE: [Contestant; 2] = [Contestant::Map, Contestant::Expr];
    pub(crate) const OTHERS: [Contestant; 5] =
        [Contestant::Ndarray, Contestant::Zip, Contestant::Candle, Contestant::Rstsr, Contestant::Loops];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Contestant::Map => "map",
            Contestant::Expr => "expr",
            Contestant::Ndarray => "ndarray",
            Contestant::Zip => "Zip",
            Contestant::Candle => "candle",
            Contestant::Rstsr => "rstsr",
            Contestant::Loops => "hand-written",
            Contestant::Copy => "memcpy",
        }
    }
}

/// An element type whose results can be compared.
pub(crate) trait Element: Copy + PartialEq + Debug + Send + Sync + 'static {
    /// Fills an output before it is written.
    const ZERO: Self;

    /// The relative difference of two elements.
    fn difference(self, other: Self) -> f64 {
        if self == other { 0.0 } else { f64::INFINITY }
    }
}

macro_rules! elements_that_compare_exactly {
    ($($type:ty, $zero:expr;)+) => { $(impl Element for $type { const ZERO: Self = $zero; })+ };
}
elements_that_compare_exactly! {
    i8, 0;
    u8, 0;
    i32, 0;
    bool, false;
    f64, 0.0;
    half::f16, half::f16::ZERO;
    num_complex::Complex<f32>, num_complex::Complex { re: 0.0, im: 0.0 };
}

impl Element for f32 {
    const ZERO: f32 = 0.0;

    fn difference(self, other: f32) -> f64 {
        f64::from((self - other).abs() / self.abs().max(other.abs()).max(f32::MIN_POSITIVE))
    }
}

/// What a runner does.
enum Request<'q, T> {
    /// Makes this number of calls and stores the nanoseconds per call.
    Time(usize, &'q mut f64),
    /// Stores the elements of the result, in row-major order.
    Elements(&'q mut Vec<T>),
}

/// A contestant on one workload, for one kind of output.
type Runner<'a, T> = Box<dyn FnMut(Request<'_, T>) + 'a>;

/// A runner that freshly allocates its output.
fn fresh<'a, T, R>(mut work: impl FnMut() -> R + 'a, show: impl Fn(&R) -> Vec<T> + 'a) -> Runner<'a, T> {
    Box::new(move |request| match request {
        Request::Time(calls, nanoseconds) => *nanoseconds = time(calls, &mut work),
        Request::Elements(elements) => *elements = show(&work()),
    })
}

/// A runner with a preallocated output.
fn preallocated<'a, T, O: 'a>(
    mut out: O,
    mut work: impl FnMut(&mut O) + 'a,
    show: impl Fn(&O) -> Vec<T> + 'a,
) -> Runner<'a, T> {
    Box::new(move |request| match request {
        Request::Time(calls, nanoseconds) => *nanoseconds = time(calls, &mut || work(&mut out)),
        Request::Elements(elements) => {
            work(&mut out);
            *elements = show(&out);
        }
    })
}

/// The elements of an array in row-major order.
fn elements<T: Copy, D: Dimension>(array: &Array<T, D>) -> Vec<T> {
    array.iter().copied().collect()
}

/// A workload, and the contestants that support it.
pub(crate) struct Work<'a, T> {
    shape: Vec<usize>,
    /// The shapes of the inputs.
    inputs: Vec<Vec<usize>>,
    /// The bytes of all inputs and of the result.
    bytes: usize,
    /// The relative difference up to which results count as equal.
    tolerance: f64,
    fresh: Vec<(Contestant, Runner<'a, T>)>,
    preallocated: Vec<(Contestant, Runner<'a, T>)>,
}

/// A workload and the times of its contestants.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// As in `4000x3000, 3000`.
    pub(crate) shapes: String,
    /// Bytes read and written.
    pub(crate) bytes: usize,
    pub(crate) fresh: Vec<(Contestant, Times)>,
    pub(crate) preallocated: Vec<(Contestant, Times)>,
}

/// The times of a contestant, if it was measured.
pub(crate) fn of(contestant: Contestant, times: &[(Contestant, Times)]) -> Option<Times> {
    times.iter().find(|(one, _)| *one == contestant).map(|(_, times)| *times)
}

impl<'a, T: Element> Work<'a, T> {
    /// A workload whose result has this shape.
    pub(crate) fn new(shape: &[usize]) -> Work<'a, T> {
        let bytes = shape.iter().product::<usize>() * size_of::<T>();
        let (inputs, fresh, preallocated) = (Vec::new(), Vec::new(), Vec::new());
        Work { shape: shape.to_vec(), inputs, bytes, tolerance: 0.0, fresh, preallocated }
    }

    /// Adds an input, for the shapes and bytes of the report.
    pub(crate) fn reads<A, D: Dimension>(mut self, array: &Array<A, D>) -> Self {
        self.inputs.push(array.shape().to_vec());
        self.bytes += array.len() * size_of::<A>();
        self
    }

    /// Sets the relative difference up to which results count as equal. Default: 0.
    pub(crate) fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    fn count(&self) -> usize {
        self.shape.iter().product()
    }

    fn zeros(&self) -> ArrayD<T> {
        ArrayD::from_elem(IxDyn(&self.shape), T::ZERO)
    }

    /// Adds `map` and `map_into`, or `Zip`; see `map_zip_expr!`.
    pub(crate) fn arrays<D: Dimension + 'a>(
        &mut self,
        contestant: Contestant,
        give: impl FnMut() -> Array<T, D> + 'a,
        write: impl FnMut(&mut Array<T, D>) + 'a,
    ) {
        let out = self.zeros().into_dimensionality::<D>().expect("the rank of the result");
        self.fresh.push((contestant, fresh(give, elements)));
        self.preallocated.push((contestant, preallocated(out, write, elements)));
    }

    /// Adds an expression: parsed before the timing, bound and computed inside.
    pub(crate) fn expr(&mut self, bind: impl Fn() -> Bound<'a> + Clone + 'a)
    where
        T: Numeric,
    {
        let show = |tensor: &Tensor| {
            let view = TensorView::from(tensor);
            view.typed::<T>().expect("the dtype of the result").iter().copied().collect()
        };
        let bind_again = bind.clone();
        self.fresh.push((Contestant::Expr, fresh(move || bind().compute().expect("memory"), show)));
        let write =
            move |out: &mut ArrayD<T>| bind_again().compute_into(out).expect("an output of the right shape");
        self.preallocated.push((Contestant::Expr, preallocated(self.zeros(), write, elements)));
    }

    /// Adds ndarray's operators.
    pub(crate) fn ndarray<D: Dimension + 'a>(&mut self, give: impl FnMut() -> Array<T, D> + 'a) {
        self.fresh.push((Contestant::Ndarray, fresh(give, elements)));
    }

    /// Adds Candle, which has no preallocated outputs.
    pub(crate) fn candle(&mut self, give: impl Fn() -> candle_core::Result<candle_core::Tensor> + 'a)
    where
        T: WithDType,
    {
        let give = move || give().expect("supported by Candle");
        let show = |tensor: &candle_core::Tensor| {
            tensor.flatten_all().and_then(|flat| flat.to_vec1()).expect("the dtype of the result")
        };
        self.fresh.push((Contestant::Candle, fresh(give, show)));
    }

    /// Adds RSTSR's operators, and its functions for preallocated outputs.
    pub(crate) fn rstsr<D: DimAPI + 'a>(
        &mut self,
        give: impl FnMut() -> Rstsr<T, D> + 'a,
        write: impl FnMut(&mut Rstsr<T, D>) + 'a,
    ) where
        IxD: DimIntoAPI<D>,
    {
        self.rstsr_fresh(give);
        let out = on_rstsr_device(&self.zeros()).into_dim::<D>();
        self.preallocated
            .push((Contestant::Rstsr, preallocated(out, write, |out| out.iter().copied().collect())));
    }

    /// Adds RSTSR's operators alone.
    pub(crate) fn rstsr_fresh<D: DimAPI + 'a>(&mut self, give: impl FnMut() -> Rstsr<T, D> + 'a) {
        self.fresh.push((Contestant::Rstsr, fresh(give, |tensor| tensor.iter().copied().collect())));
    }

    /// Adds hand-written loops. A freshly allocated output is zeroed memory, which the system provides page by page.
    pub(crate) fn hand_written(&mut self, fill: impl Fn(&mut [T]) + Clone + 'a) {
        let (count, fill_again) = (self.count(), fill.clone());
        let give = move || {
            let mut out = vec![T::ZERO; count];
            fill(&mut out);
            out
        };
        self.fresh.push((Contestant::Loops, fresh(give, Vec::clone)));
        self.preallocated.push((
            Contestant::Loops,
            preallocated(vec![T::ZERO; count], move |out| fill_again(out), Vec::clone),
        ));
    }

    /// Compares the results of all contestants, then times them. Candle and RSTSR do not take part in the sweep over
    /// sizes.
    pub(crate) fn measure(mut self, scale: Scale) -> Result<Measured, String> {
        let limits = scale.limits;
        if scale.elements.is_some() {
            let keep = |one: Contestant| !matches!(one, Contestant::Candle | Contestant::Rstsr);
            self.fresh.retain(|(one, _)| keep(*one));
            self.preallocated.retain(|(one, _)| keep(*one));
        }
        self.compare()?;
        let fresh = measured(limits, self.fresh, None);
        let preallocated = measured(limits, self.preallocated, Some(self.bytes));
        let mut shapes: Vec<String> = self.inputs.iter().map(|shape| shape_text(shape)).collect();
        shapes.dedup();
        if shapes.len() > 4 {
            shapes = vec![shapes[0].clone(), format!("… ({} arrays)", self.inputs.len())];
        }
        Ok(Measured { shapes: shapes.join(", "), bytes: self.bytes, fresh, preallocated })
    }

    fn compare(&mut self) -> Result<(), String> {
        let all = self.fresh.iter_mut().map(|(contestant, run)| (contestant, run, "freshly allocated"));
        let all = all
            .chain(self.preallocated.iter_mut().map(|(contestant, run)| (contestant, run, "preallocated")));
        let mut first: Option<Vec<T>> = None;
        for (contestant, run, output) in all {
            let mut elements = Vec::new();
            run(Request::Elements(&mut elements));
            let Some(first) = &first else {
                first = Some(elements);
                continue;
            };
            if first.len() != elements.len() {
                return Err(format!(
                    "{}, {output}: {} elements, not {}",
                    contestant.name(),
                    elements.len(),
                    first.len()
                ));
            }
            let tolerance = self.tolerance;
            let differs = |(a, b): (&T, &T)| a != b && (tolerance == 0.0 || a.difference(*b) > tolerance);
            if let Some(at) = first.iter().zip(&elements).position(differs) {
                let (expected, found) = (first[at], elements[at]);
                let name = contestant.name();
                return Err(format!("{name}, {output}: element {at} is {found:?}, expected {expected:?}"));
            }
        }
        Ok(())
    }
}

fn shape_text(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

fn measured<T>(
    limits: Limits,
    contestants: Vec<(Contestant, Runner<'_, T>)>,
    copy: Option<usize>,
) -> Vec<(Contestant, Times)> {
    let (mut names, mut blocks): (Vec<Contestant>, Vec<Timed<'_>>) = contestants
        .into_iter()
        .map(|(name, mut run)| {
            let block: Timed<'_> = Box::new(move |calls| {
                let mut nanoseconds = 0.0;
                run(Request::Time(calls, &mut nanoseconds));
                nanoseconds
            });
            (name, block)
        })
        .unzip();
    if let Some(bytes) = copy {
        names.push(Contestant::Copy);
        blocks.push(memcpy(bytes));
    }
    names.into_iter().zip(measure(limits, &mut blocks)).collect()
}

/// The limit: a parallel copy that moves this number of bytes, half of them read and half written.
pub(crate) fn memcpy<'a>(bytes: usize) -> Timed<'a> {
    let (from, mut to) = (vec![1u8; bytes / 2], vec![0u8; bytes / 2]);
    let part = from.len().div_ceil(rayon::current_num_threads()).max(1);
    timed(move || {
        if to.len() < 1 << 20 {
            return to.copy_from_slice(&from); // too small to share
        }
        rayon::scope(|scope| {
            for (to, from) in to.chunks_mut(part).zip(from.chunks(part)) {
                scope.spawn(move |_| to.copy_from_slice(from));
            }
        });
    })
}

/// An RSTSR tensor.
pub(crate) type Rstsr<T, D> = rt::Tensor<T, DeviceFaer, D>;

/// RSTSR's type for one of ndarray's ranks.
pub(crate) trait RstsrRank: Dimension {
    type Rank: DimAPI;
}

macro_rules! ranked {
    ($($rank:ident $theirs:ident),+) => { $(impl RstsrRank for ndarray::$rank { type Rank = rt::$theirs; })+ };
}
ranked!(Ix1 Ix1, Ix2 Ix2, Ix3 Ix3, Ix4 Ix4, IxDyn IxD);

/// An array as an RSTSR tensor of the same static rank, on its multi-threaded device.
pub(crate) fn rstsr<T: Element, D: RstsrRank>(array: &Array<T, D>) -> Rstsr<T, D::Rank>
where
    IxD: DimIntoAPI<D::Rank>,
{
    on_rstsr_device(array).into_dim()
}

fn on_rstsr_device<T: Element, D: Dimension>(array: &Array<T, D>) -> Rstsr<T, IxD> {
    static DEVICE: LazyLock<DeviceFaer> = LazyLock::new(DeviceFaer::default);
    rt::asarray((elements(array), array.shape().to_vec(), &*DEVICE))
}

/// An array as a Candle tensor.
pub(crate) fn candle<T: Element + WithDType, D: Dimension>(array: &Array<T, D>) -> candle_core::Tensor {
    let made = candle_core::Tensor::from_vec(elements(array), array.shape(), &Device::Cpu);
    made.expect("the shape matches the number of elements")
}

/// Results with fewer elements than this are computed on one thread by `Zip` and by hand-written loops.
pub(crate) const SERIAL: usize = 1 << 18;

/// Adds `map`, `Zip` and an expression to a workload: its arrays, the function of their elements, the expression.
#[macro_export]
macro_rules! map_zip_expr {
    ($work:ident, ($($x:ident),+), $function:expr, $text:expr) => {{
        $work.arrays(
            $crate::contestants::Contestant::Map,
            move || unishape::map(($($x,)+), $function).expect("compatible shapes"),
            move |out| unishape::map_into(out, ($($x,)+), $function).expect("compatible shapes"),
        );
        let shape = unishape::broadcast(($($x,)+)).expect("compatible shapes").0.raw_dim();
        let (same, serial) = (shape.clone(), ndarray::Dimension::size(&shape) < $crate::contestants::SERIAL);
        $work.arrays(
            $crate::contestants::Contestant::Zip,
            move || {
                $(let $x = $x.broadcast(shape.clone()).expect("compatible shapes");)+
                let zip = $crate::zip!($($x),+);
                match serial {
                    true => zip.map_collect(|$($x),+| $function($($x),+)),
                    false => zip.par_map_collect(|$($x),+| $function($($x),+)),
                }
            },
            move |out| {
                $(let $x = $x.broadcast(same.clone()).expect("compatible shapes");)+
                let zip = ndarray::Zip::from(out)$(.and($x))+;
                match serial {
                    true => zip.for_each(|out, $($x),+| *out = $function($($x),+)),
                    false => zip.par_for_each(|out, $($x),+| *out = $function($($x),+)),
                }
            },
        );
        let expr = unishape::expr::Expr::parse($text).expect("a valid expression");
        $work.expr(move || {
            expr.bind([$((stringify!($x), unishape::expr::Value::from($x))),+]).expect("compatible shapes")
        });
    }};
}

/// ndarray's `Zip` of these views.
#[macro_export]
macro_rules! zip {
    ($first:ident $(, $x:ident)*) => { ndarray::Zip::from($first)$(.and($x))* };
}
