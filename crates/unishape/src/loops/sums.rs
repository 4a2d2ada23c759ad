//! Elements added up, many to one place: the loops of `sum_to`.
//!
//! The loops of a plan are of two kinds here: in some each turn has a place of its own among the sums, in
//! the others all turns share one. Long loops are halved, and halves of halves, until what is left is short:
//! where the turns share a place, the second half is summed by itself and its sums are added to the first's.
//! So rounding errors grow with the logarithm of how many elements are added, and not with their number;
//! and since how the work is halved is decided by the shape alone, the result is the same on any number of
//! threads.

use super::pieces::WORTH_A_THREAD;
use super::plan::{Block, Plan};
use ndarray::{ArrayRef, Dimension};
use num_traits::Zero;
use smallvec::SmallVec;
use std::any::TypeId;
use std::num::Wrapping;
use std::ops::Add;
use unishape_simd::{SimdTask, run_widest};

/// Adds each element of an array to its place among the sums, which is found by `steps`: how far on it is
/// for each index.
///
/// # Panics
///
/// Where a place is not among the sums.
pub(crate) fn add_to<A, D>(array: &ArrayRef<A, D>, steps: &[isize], sums: &mut [A])
where
    A: Clone + Zero + Add<Output = A>,
    D: Dimension,
{
    let (shape, strides) = (array.shape(), array.strides());
    if shape.contains(&0) {
        return;
    }
    let last: usize = shape.iter().zip(steps).map(|(size, step)| (size - 1) * step.unsigned_abs()).sum();
    assert!(steps.len() == shape.len() && steps.iter().all(|&step| step >= 0) && last < sums.len());
    let plan = Plan::new(shape, 2, |operand, dim| if operand == 0 { strides[dim] } else { steps[dim] });
    let pair = Pair { from: array.as_ptr(), to: sums.as_mut_ptr() };
    // Safety: the plan walks the array, and places among the sums, as was checked above.
    unsafe { pair.add(plan, is_plain::<A>()) }
}

/// Whether these are numbers that any thread may read and write: all that is known of other types here is
/// that they can be added.
fn is_plain<A>() -> bool {
    macro_rules! one_of {
        ($($type:ty),+) => {
            [$(TypeId::of::<$type>()),+]
        };
    }
    let plain = one_of!(
        f32,
        f64,
        i8,
        i16,
        i32,
        i64,
        i128,
        isize,
        u8,
        u16,
        u32,
        u64,
        u128,
        usize,
        Wrapping<i8>,
        Wrapping<i16>,
        Wrapping<i32>,
        Wrapping<i64>,
        Wrapping<u8>,
        Wrapping<u16>,
        Wrapping<u32>,
        Wrapping<u64>,
        half::f16,
        half::bf16,
        num_complex::Complex<f32>,
        num_complex::Complex<f64>
    );
    // Of a type that may have lifetimes in it too, which are left out: none of these has any.
    plain.contains(&typeid::of::<A>())
}

/// Elements, and the sums that they are added to: operands 0 and 1 of a plan.
struct Pair<A> {
    from: *const A,
    to: *mut A,
}

impl<A> Clone for Pair<A> {
    fn clone(&self) -> Pair<A> {
        *self
    }
}

impl<A> Copy for Pair<A> {}

/// A pair on its way to another thread.
struct Sent<A>(Pair<A>);

// Safety: it is made for plain numbers only, see `is_plain`.
unsafe impl<A> Send for Sent<A> {}

impl<A> Sent<A> {
    fn pair(self) -> Pair<A> {
        self.0
    }
}

/// As many elements as this are added up as they come.
const FEW: usize = 1 << 14;

/// As many sums as this may be kept beside the result.
const BESIDE: usize = 1 << 14;

/// Halves whose sums are kept beside the result have so many elements for each of them.
const EACH: usize = 256;

impl<A: Clone + Zero + Add<Output = A>> Pair<A> {
    /// Adds the elements of a plan. `threads` says whether other threads may take part.
    ///
    /// # Safety
    ///
    /// All elements are there, and nobody else has to do with the sums. Where other threads may take part
    /// these are [plain](is_plain).
    unsafe fn add(self, plan: Plan, threads: bool) {
        let threads = threads && plan.len().saturating_mul(size_of::<A>()) > WORTH_A_THREAD;
        let at = if plan.len() > FEW { half_at(&plan, threads) } else { None };
        let Some(at) = at else {
            // Safety: the caller vouches for the plan.
            return plan.blocks(|block| unsafe { self.add_block(block) });
        };
        let (size, steps) = plan.loop_at(at);
        let middle = (size / 2).next_multiple_of(if size > 128 { 64 } else { 1 });
        let shared = steps[1] == 0;
        let (first, mut second) = plan.cut(at, middle);
        // Safety: the halves are the plan's, and have places of their own among the sums: those of the plan,
        // or where all turns share a place, new ones.
        unsafe {
            if !shared {
                return both(threads, self, first, self, second);
            }
            let kept = plan.moving(1);
            let mut beside: SmallVec<[A; 4]> = SmallVec::from_elem(A::zero(), kept.len());
            second.in_one_piece(1);
            both(threads, self, first, Pair { from: self.from, to: beside.as_mut_ptr() }, second);
            Pair { from: beside.as_ptr(), to: self.to }.add(kept, false);
        }
    }

    /// # Safety
    ///
    /// All elements of the block are there, and nobody else has to do with the sums.
    #[inline]
    unsafe fn add_block(self, block: &Block<2>) {
        // Safety: the block starts there.
        let (from, to) = unsafe { (self.from.offset(block.starts[0]), self.to.offset(block.starts[1])) };
        let rows = Rows { from, to, block };
        if block.rows * block.len >= LANES {
            run_widest(rows);
        } else {
            rows.run();
        }
    }
}

/// Adds two plans, whose sums are apart.
///
/// # Safety
///
/// As for [`Pair::add`], for both.
unsafe fn both<A>(threads: bool, a: Pair<A>, first: Plan, b: Pair<A>, second: Plan)
where
    A: Clone + Zero + Add<Output = A>,
{
    // Safety: the caller vouches for both.
    unsafe {
        if threads {
            let (a, b) = (Sent(a), Sent(b));
            rayon::join(move || a.pair().add(first, true), move || b.pair().add(second, true));
        } else {
            a.add(first, false);
            b.add(second, false);
        }
    }
}

/// The outermost loop that is worth halving, if there is one.
fn half_at(plan: &Plan, threads: bool) -> Option<usize> {
    let moving = (0..plan.loops()).map(|of| plan.loop_at(of)).filter(|(_, steps)| steps[1] != 0);
    let sums: usize = moving.map(|(size, _)| size).product();
    let beside = sums <= BESIDE && plan.len() / 2 >= sums * if threads { 16 } else { EACH };
    (0..plan.loops()).find(|&of| {
        let (size, steps) = plan.loop_at(of);
        size > 1
            && if steps[1] == 0 {
                beside
            } else {
                // For other threads, or so that there are few enough sums to be kept beside.
                (threads || sums > BESIDE) && (of + 1 < plan.loops() || size >= BESIDE)
            }
    })
}

/// The elements of a block, and where they are added.
struct Rows<'b, A> {
    from: *const A,
    to: *mut A,
    block: &'b Block<2>,
}

/// Sums that are made at a time, so that they need not wait for each other.
const LANES: usize = 64;

impl<A: Clone + Zero + Add<Output = A>> SimdTask for Rows<'_, A> {
    #[inline(always)]
    fn run(self) {
        let &Block { rows, row_steps, len, steps, .. } = self.block;
        // Safety: who made it vouches for the block, and rows and places in them are those of the block.
        unsafe {
            match (steps, len) {
                ([1, 0], 2) => self.to_one::<2>(),
                ([1, 0], 3) => self.to_one::<3>(),
                ([1, 0], 4) => self.to_one::<4>(),
                ([step, 0], _) => {
                    for row in 0..rows as isize {
                        let from = self.from.offset(row * row_steps[0]);
                        let sum = if step == 1 { sum(from, 1, len) } else { sum(from, step, len) };
                        add(self.to.offset(row * row_steps[1]), sum);
                    }
                }
                ([1, 1], _) if len < LANES / 2 && row_steps == [len as isize, 0] => self.short_rows(),
                _ => {
                    let fours = if row_steps[1] == 0 { rows / 4 * 4 } else { 0 };
                    for row in (0..fours).step_by(4) {
                        self.four_rows(row);
                    }
                    for row in fours..rows {
                        self.one_row(row);
                    }
                }
            }
        }
    }
}

/// # Safety
///
/// There is an element at `to`.
#[inline(always)]
unsafe fn add<A: Clone + Add<Output = A>>(to: *mut A, element: A) {
    // Safety: the caller vouches for it.
    unsafe { *to = (*to).clone() + element }
}

/// # Safety
///
/// There is an element so many steps on.
#[inline(always)]
unsafe fn at<A: Clone>(from: *const A, i: usize, step: isize) -> A {
    // Safety: the caller vouches for it.
    unsafe { (*from.offset(i as isize * step)).clone() }
}

/// The sum of so many elements.
///
/// # Safety
///
/// They are there.
#[inline(always)]
unsafe fn sum<A: Clone + Zero + Add<Output = A>>(from: *const A, step: isize, len: usize) -> A {
    let whole = if len < 2 * LANES { 0 } else { len / LANES * LANES };
    let mut total = A::zero();
    // Safety: i is below len.
    unsafe {
        if whole > 0 {
            let mut sums: [A; LANES] = std::array::from_fn(|i| at(from, i, step));
            for first in (LANES..whole).step_by(LANES) {
                for (i, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.clone() + at(from, first + i, step);
                }
            }
            let mut half = LANES / 2;
            while half > 0 {
                for i in 0..half {
                    sums[i] = sums[i].clone() + sums[half + i].clone();
                }
                half /= 2;
            }
            total = sums[0].clone();
        }
        for i in whole..len {
            total = total + at(from, i, step);
        }
    }
    total
}

impl<A: Clone + Zero + Add<Output = A>> Rows<'_, A> {
    /// Adds each row of so few elements to its sum.
    ///
    /// # Safety
    ///
    /// The block's rows have so many elements, which are neighbours.
    #[inline(always)]
    unsafe fn to_one<const LEN: usize>(&self) {
        let &Block { rows, row_steps, .. } = self.block;
        for row in 0..rows as isize {
            // Safety: rows and places in them are those of the block.
            unsafe {
                let from = self.from.offset(row * row_steps[0]);
                let mut sum = at(from, 0, 1);
                for i in 1..LEN {
                    sum = sum + at(from, i, 1);
                }
                add(self.to.offset(row * row_steps[1]), sum);
            }
        }
    }

    /// Adds a row to a row of sums.
    ///
    /// # Safety
    ///
    /// It is a row of the block.
    #[inline(always)]
    unsafe fn one_row(&self, row: usize) {
        let &Block { row_steps, len, steps, .. } = self.block;
        // Safety: rows and places in them are those of the block.
        unsafe {
            let from = self.from.offset(row as isize * row_steps[0]);
            let to = self.to.offset(row as isize * row_steps[1]);
            if steps == [1, 1] {
                for i in 0..len {
                    add(to.add(i), at(from, i, 1));
                }
            } else {
                for i in 0..len {
                    add(to.offset(i as isize * steps[1]), at(from, i, steps[0]));
                }
            }
        }
    }

    /// Adds four rows to the row of sums that they share.
    ///
    /// # Safety
    ///
    /// They are rows of the block.
    #[inline(always)]
    unsafe fn four_rows(&self, row: usize) {
        let &Block { row_steps, len, steps, .. } = self.block;
        // Safety: rows and places in them are those of the block.
        unsafe {
            let a = self.from.offset(row as isize * row_steps[0]);
            let (b, c, d) = (a.offset(row_steps[0]), a.offset(2 * row_steps[0]), a.offset(3 * row_steps[0]));
            if steps == [1, 1] {
                for i in 0..len {
                    add(self.to.add(i), (at(a, i, 1) + at(b, i, 1)) + (at(c, i, 1) + at(d, i, 1)));
                }
            } else {
                let step = steps[0];
                for i in 0..len {
                    let sum = (at(a, i, step) + at(b, i, step)) + (at(c, i, step) + at(d, i, step));
                    add(self.to.offset(i as isize * steps[1]), sum);
                }
            }
        }
    }

    /// Adds rows that lie one after another and are too short for a loop of their own to the row of sums
    /// that they share: several of them are added as if they were one.
    ///
    /// # Safety
    ///
    /// The block's rows are like that, and shorter than [`LANES`].
    #[inline(always)]
    unsafe fn short_rows(&self) {
        let &Block { rows, len, .. } = self.block;
        let (at_once, count) = (LANES / len * len, rows * len);
        let mut sums: [A; LANES] = std::array::from_fn(|_| A::zero());
        // Safety: all elements of the block lie one after another.
        unsafe {
            for first in (0..count).step_by(at_once) {
                for (i, sum) in sums.iter_mut().take(at_once.min(count - first)).enumerate() {
                    *sum = sum.clone() + at(self.from, first + i, 1);
                }
            }
            for (i, sum) in sums.into_iter().take(at_once).enumerate() {
                add(self.to.add(i % len), sum);
            }
        }
    }
}
