//! Who takes part, and how each is asked for the same work: one small adapter each.

use crate::timing::{Patience, Times, Turn, in_turns, time, turn};
use candle_core::{Device, WithDType};
use ndarray::{Array, ArrayD, Dimension, IxDyn};
use rstsr_core::prelude::rstsr_structs::{DeviceFaer, IxD};
use rstsr_core::prelude::rstsr_traits::{DimAPI, DimIntoAPI};
use rstsr_core::prelude::rt;
use std::fmt::Debug;
use std::sync::LazyLock;
use unishape::expr::{Bound, Numeric};
use unishape::{Tensor, TensorView};

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// Ours: a function over typed arrays.
    Map,
    /// Ours: an expression, whose types are known at run time.
    Expr,
    /// ndarray's operators, on one thread, an array for each of them.
    Ndarray,
    /// ndarray's `Zip` over broadcast views, on all cores.
    Zip,
    /// Candle's tensors.
    Candle,
    /// RSTSR's tensors, on all cores.
    Rstsr,
    /// Loops by hand for these very shapes, on all cores.
    Loops,
    /// The limit: a copy of as many bytes as the work moves, half read and half written, on all cores.
    Copy,
}

impl Who {
    pub(crate) const OURS: [Who; 2] = [Who::Map, Who::Expr];
    pub(crate) const RIVALS: [Who; 5] = [Who::Ndarray, Who::Zip, Who::Candle, Who::Rstsr, Who::Loops];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Who::Map => "map",
            Who::Expr => "expr",
            Who::Ndarray => "ndarray",
            Who::Zip => "Zip",
            Who::Candle => "candle",
            Who::Rstsr => "rstsr",
            Who::Loops => "by hand",
            Who::Copy => "memcpy",
        }
    }
}

/// An element whose results can be compared.
pub(crate) trait Scalar: Copy + PartialEq + Debug + Send + Sync + 'static {
    /// Something to fill an output with before it is written.
    const ZERO: Self;

    /// How far two are apart, as a part of their size.
    fn apart(self, other: Self) -> f64 {
        if self == other { 0.0 } else { f64::INFINITY }
    }
}

macro_rules! scalars {
    ($($type:ty, $zero:expr;)+) => { $(impl Scalar for $type { const ZERO: Self = $zero; })+ };
}
scalars! {
    i8, 0;
    u8, 0;
    i32, 0;
    bool, false;
    f64, 0.0;
    half::f16, half::f16::ZERO;
    num_complex::Complex<f32>, num_complex::Complex { re: 0.0, im: 0.0 };
}

impl Scalar for f32 {
    const ZERO: f32 = 0.0;

    fn apart(self, other: f32) -> f64 {
        f64::from((self - other).abs() / self.abs().max(other.abs()).max(f32::MIN_POSITIVE))
    }
}

/// What a contestant is asked for.
enum Ask<'q, T> {
    /// So many calls, and how many nanoseconds each took.
    Time(usize, &'q mut f64),
    /// The elements of the result, in row-major order.
    Show(&'q mut Vec<T>),
}

type Contestant<'a, T> = Box<dyn FnMut(Ask<'_, T>) + 'a>;

/// Work that gives its result.
fn fresh<'a, T, R>(mut work: impl FnMut() -> R + 'a, show: impl Fn(&R) -> Vec<T> + 'a) -> Contestant<'a, T> {
    Box::new(move |ask| match ask {
        Ask::Time(calls, nanoseconds) => *nanoseconds = time(calls, &mut work),
        Ask::Show(elements) => *elements = show(&work()),
    })
}

/// Work that writes its result into an output of its own, made before.
fn into<'a, T, O: 'a>(
    mut out: O,
    mut work: impl FnMut(&mut O) + 'a,
    show: impl Fn(&O) -> Vec<T> + 'a,
) -> Contestant<'a, T> {
    Box::new(move |ask| match ask {
        Ask::Time(calls, nanoseconds) => *nanoseconds = time(calls, &mut || work(&mut out)),
        Ask::Show(elements) => {
            work(&mut out);
            *elements = show(&out);
        }
    })
}

/// The elements of an array in row-major order.
fn elements<T: Copy, D: Dimension>(array: &Array<T, D>) -> Vec<T> {
    array.iter().copied().collect()
}

/// One piece of work, and all who can do it.
pub(crate) struct Work<'a, T> {
    shape: Vec<usize>,
    /// The shapes of the inputs, and the bytes that are in all of them and the result.
    inputs: Vec<Vec<usize>>,
    bytes: usize,
    /// How far results may be apart, as a part of their size.
    tolerance: f64,
    fresh: Vec<(Who, Contestant<'a, T>)>,
    into: Vec<(Who, Contestant<'a, T>)>,
}

/// The work, and what all of them took.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// As in `4000x3000 with 3000`.
    pub(crate) shapes: String,
    /// Read and written.
    pub(crate) bytes: usize,
    pub(crate) fresh: Vec<(Who, Times)>,
    pub(crate) into: Vec<(Who, Times)>,
}

/// What one took, if it took part.
pub(crate) fn of(who: Who, times: &[(Who, Times)]) -> Option<Times> {
    times.iter().find(|(one, _)| *one == who).map(|(_, times)| *times)
}

impl<'a, T: Scalar> Work<'a, T> {
    /// Work whose result has this shape.
    pub(crate) fn new(shape: &[usize]) -> Work<'a, T> {
        let bytes = shape.iter().product::<usize>() * size_of::<T>();
        let (inputs, fresh, into) = (Vec::new(), Vec::new(), Vec::new());
        Work { shape: shape.to_vec(), inputs, bytes, tolerance: 0.0, fresh, into }
    }

    /// Takes note of an input, whose bytes are moved too.
    pub(crate) fn reads<A, D: Dimension>(mut self, array: &Array<A, D>) -> Self {
        self.inputs.push(array.shape().to_vec());
        self.bytes += array.len() * size_of::<A>();
        self
    }

    /// Results may be apart by so much, as a part of their size; not at all unless told.
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

    /// `map` and `map_into`, or `Zip`; `ours!` writes both.
    pub(crate) fn arrays<D: Dimension + 'a>(
        &mut self,
        who: Who,
        give: impl FnMut() -> Array<T, D> + 'a,
        write: impl FnMut(&mut Array<T, D>) + 'a,
    ) {
        let out = self.zeros().into_dimensionality::<D>().expect("the rank is that of the result");
        self.fresh.push((who, fresh(give, elements)));
        self.into.push((who, into(out, write, elements)));
    }

    /// An expression: parsed before, given its arrays and computed inside the timing.
    pub(crate) fn expr(&mut self, bind: impl Fn() -> Bound<'a> + Clone + 'a)
    where
        T: Numeric,
    {
        let show = |tensor: &Tensor| {
            let view = TensorView::from(tensor);
            view.typed::<T>().expect("the type is that of the result").iter().copied().collect()
        };
        let again = bind.clone();
        self.fresh.push((Who::Expr, fresh(move || bind().compute().expect("memory"), show)));
        let write = move |out: &mut ArrayD<T>| again().compute_into(out).expect("an output that fits");
        self.into.push((Who::Expr, into(self.zeros(), write, elements)));
    }

    /// ndarray's operators.
    pub(crate) fn ndarray<D: Dimension + 'a>(&mut self, give: impl FnMut() -> Array<T, D> + 'a) {
        self.fresh.push((Who::Ndarray, fresh(give, elements)));
    }

    /// Candle, which has no way to write into an output that is there.
    pub(crate) fn candle(&mut self, give: impl Fn() -> candle_core::Result<candle_core::Tensor> + 'a)
    where
        T: WithDType,
    {
        let give = move || give().expect("candle has this");
        let show = |tensor: &candle_core::Tensor| {
            tensor.flatten_all().and_then(|flat| flat.to_vec1()).expect("the type is that of the result")
        };
        self.fresh.push((Who::Candle, fresh(give, show)));
    }

    /// RSTSR's operators, and into an output that is there.
    pub(crate) fn rstsr<D: DimAPI + 'a>(
        &mut self,
        give: impl FnMut() -> Rstsr<T, D> + 'a,
        write: impl FnMut(&mut Rstsr<T, D>) + 'a,
    ) where
        IxD: DimIntoAPI<D>,
    {
        self.rstsr_fresh(give);
        let out = on_rstsrs_device(&self.zeros()).into_dim::<D>();
        self.into.push((Who::Rstsr, into(out, write, |out| out.iter().copied().collect())));
    }

    /// RSTSR where it has only the operators.
    pub(crate) fn rstsr_fresh<D: DimAPI + 'a>(&mut self, give: impl FnMut() -> Rstsr<T, D> + 'a) {
        self.fresh.push((Who::Rstsr, fresh(give, |tensor| tensor.iter().copied().collect())));
    }

    /// Loops that fill an output. For a fresh one they get zeros, which the system makes as they are touched.
    pub(crate) fn by_hand(&mut self, fill: impl Fn(&mut [T]) + Clone + 'a) {
        let (count, again) = (self.count(), fill.clone());
        let give = move || {
            let mut out = vec![T::ZERO; count];
            fill(&mut out);
            out
        };
        self.fresh.push((Who::Loops, fresh(give, Vec::clone)));
        self.into.push((Who::Loops, into(vec![T::ZERO; count], move |out| again(out), Vec::clone)));
    }

    /// Compares everybody's results, then times them.
    pub(crate) fn measure(mut self, patience: Patience) -> Result<Measured, String> {
        self.compare()?;
        let fresh = measured(patience, self.fresh, None);
        let into = measured(patience, self.into, Some(self.bytes));
        let mut shapes: Vec<String> = self.inputs.iter().map(|shape| shape_text(shape)).collect();
        shapes.dedup();
        if shapes.len() > 4 {
            shapes = vec![shapes[0].clone(), format!("… ({} arrays)", self.inputs.len())];
        }
        Ok(Measured { shapes: shapes.join(", "), bytes: self.bytes, fresh, into })
    }

    fn compare(&mut self) -> Result<(), String> {
        let all = self.fresh.iter_mut().map(|(who, run)| (who, run, "fresh"));
        let all = all.chain(self.into.iter_mut().map(|(who, run)| (who, run, "into")));
        let mut first: Option<Vec<T>> = None;
        for (who, run, way) in all {
            let mut elements = Vec::new();
            run(Ask::Show(&mut elements));
            let Some(first) = &first else {
                first = Some(elements);
                continue;
            };
            if first.len() != elements.len() {
                return Err(format!(
                    "{}, {way}: {} elements, not {}",
                    who.name(),
                    elements.len(),
                    first.len()
                ));
            }
            let tolerance = self.tolerance;
            let differs = |(a, b): (&T, &T)| a != b && (tolerance == 0.0 || a.apart(*b) > tolerance);
            if let Some(at) = first.iter().zip(&elements).position(differs) {
                let (ours, theirs) = (first[at], elements[at]);
                return Err(format!("{}, {way}: {theirs:?} where map has {ours:?}, at {at}", who.name()));
            }
        }
        Ok(())
    }
}

fn shape_text(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

fn measured<T>(
    patience: Patience,
    contestants: Vec<(Who, Contestant<'_, T>)>,
    copy: Option<usize>,
) -> Vec<(Who, Times)> {
    let (mut who, mut turns): (Vec<Who>, Vec<Turn<'_>>) = contestants
        .into_iter()
        .map(|(who, mut run)| {
            let turn: Turn<'_> = Box::new(move |calls| {
                let mut nanoseconds = 0.0;
                run(Ask::Time(calls, &mut nanoseconds));
                nanoseconds
            });
            (who, turn)
        })
        .unzip();
    if let Some(bytes) = copy {
        who.push(Who::Copy);
        turns.push(copied(bytes));
    }
    who.into_iter().zip(in_turns(patience, &mut turns)).collect()
}

/// The limit: a copy that moves so many bytes, half read and half written, a part for each thread.
pub(crate) fn copied<'a>(bytes: usize) -> Turn<'a> {
    let (from, mut to) = (vec![1u8; bytes / 2], vec![0u8; bytes / 2]);
    let part = from.len().div_ceil(rayon::current_num_threads()).max(1);
    turn(move || {
        if to.len() < 1 << 20 {
            return to.copy_from_slice(&from); // as little as this is no work for two
        }
        rayon::scope(|scope| {
            for (to, from) in to.chunks_mut(part).zip(from.chunks(part)) {
                scope.spawn(move |_| to.copy_from_slice(from));
            }
        });
    })
}

/// A tensor of RSTSR.
pub(crate) type Rstsr<T, D> = rt::Tensor<T, DeviceFaer, D>;

/// What RSTSR calls a rank of ndarray's.
pub(crate) trait Ranked: Dimension {
    type Rank: DimAPI;
}

macro_rules! ranked {
    ($($rank:ident $theirs:ident),+) => { $(impl Ranked for ndarray::$rank { type Rank = rt::$theirs; })+ };
}
ranked!(Ix1 Ix1, Ix2 Ix2, Ix3 Ix3, Ix4 Ix4, IxDyn IxD);

/// The same elements as a tensor of RSTSR, of the same static rank, on its device with threads.
pub(crate) fn rstsr<T: Scalar, D: Ranked>(array: &Array<T, D>) -> Rstsr<T, D::Rank>
where
    IxD: DimIntoAPI<D::Rank>,
{
    on_rstsrs_device(array).into_dim()
}

fn on_rstsrs_device<T: Scalar, D: Dimension>(array: &Array<T, D>) -> Rstsr<T, IxD> {
    static DEVICE: LazyLock<DeviceFaer> = LazyLock::new(DeviceFaer::default);
    rt::asarray((elements(array), array.shape().to_vec(), &*DEVICE))
}

/// The same elements as a tensor of Candle.
pub(crate) fn candle<T: Scalar + WithDType, D: Dimension>(array: &Array<T, D>) -> candle_core::Tensor {
    let made = candle_core::Tensor::from_vec(elements(array), array.shape(), &Device::Cpu);
    made.expect("as many elements as the shape has")
}

/// Lets `map`, `Zip` and an expression take part: the arrays, a function of their elements, its text.
#[macro_export]
macro_rules! ours {
    ($work:ident, ($($x:ident),+), $function:expr, $text:expr) => {
        $crate::ours!($work, ($($x),+), $function, $text, par_map_collect, par_for_each)
    };
    // Other ways to run `Zip`: `par_map_collect` and `par_for_each` are for large arrays.
    ($work:ident, ($($x:ident),+), $function:expr, $text:expr, $collect:ident, $each:ident) => {{
        $work.arrays(
            $crate::rivals::Who::Map,
            move || unishape::map(($($x,)+), $function).expect("arrays that fit"),
            move |out| unishape::map_into(out, ($($x,)+), $function).expect("arrays that fit"),
        );
        let shape = unishape::broadcast(($($x,)+)).expect("arrays that fit").0.raw_dim();
        let same = shape.clone();
        $work.arrays(
            $crate::rivals::Who::Zip,
            move || {
                $(let $x = $x.broadcast(shape.clone()).expect("arrays that fit");)+
                $crate::zip!($($x),+).$collect(|$($x),+| $function($($x),+))
            },
            move |out| {
                $(let $x = $x.broadcast(same.clone()).expect("arrays that fit");)+
                let zip = ndarray::Zip::from(out)$(.and($x))+;
                zip.$each(|out, $($x),+| *out = $function($($x),+));
            },
        );
        let expr = unishape::expr::Expr::parse($text).expect("an expression");
        $work.expr(move || {
            expr.bind([$((stringify!($x), unishape::expr::Value::from($x))),+]).expect("arrays that fit")
        });
    }};
}

/// ndarray's `Zip` of these views.
#[macro_export]
macro_rules! zip {
    ($first:ident $(, $x:ident)*) => { ndarray::Zip::from($first)$(.and($x))* };
}
