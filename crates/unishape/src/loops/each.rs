//! The loops that call a function with an element of each of several operands.

use super::fetch::{fetch, fetch_lines};
use super::past::{self, Room, Writer};
use super::pieces::{in_pieces, is_worth_a_thread};
use super::plan::{Block, Plan};
use super::walk::{Along, Base, Kind, Lends, Same, Steps, Walk};
use unishape_simd::{SimdTask, run_avx2, run_widest};

/// One way through each operand, and the function that takes an element of each.
trait Lanes<F>: Copy {
    /// # Safety
    ///
    /// As for [`Walk::at`] and [`Kind::lend`], in each of them.
    unsafe fn call(self, function: &F, i: usize);

    /// The lanes of row number `row`.
    ///
    /// # Safety
    ///
    /// As for [`Walk::from`], in each of them.
    unsafe fn row(self, row: usize, steps: &[isize]) -> Self;

    /// Has `count` elements of each input fetched that are neighbours and go on in the next row, from some way
    /// ahead on.
    fn fetch(self, count: usize, steps: &[isize], row_steps: &[isize]);
}

/// The work of one block, with the ways through it picked.
struct Rows<'b, F, L, const N: usize> {
    function: &'b F,
    lanes: L,
    block: &'b Block<N>,
}

impl<F, L: Lanes<F>, const N: usize> Rows<'_, F, L, N> {
    /// Rows of `len` elements. That is the block's own, given once more so that a caller who knows it lets
    /// the compiler know.
    ///
    /// # Safety
    ///
    /// All elements of the block are there, and nobody else has to do with those that are written.
    #[inline(always)]
    unsafe fn run(&self, len: usize) {
        // Copies, which nothing written to can change, as far as the compiler can tell.
        let Block { rows, row_steps, .. } = *self.block;
        for row in 0..rows {
            // Safety: row and i are below the numbers of the block.
            unsafe {
                let lanes = self.lanes.row(row, &row_steps);
                for i in 0..len {
                    lanes.call(self.function, i);
                }
            }
        }
    }

    /// Any rows at all, short ones without a loop inside the loop. (There are many of these functions. Inlined, tiny
    /// arrays would take a tenth less, and callers half as long again to compile.)
    ///
    /// # Safety
    ///
    /// As for [`run`](Rows::run).
    #[inline(never)]
    unsafe fn run_any(&self) {
        // Safety: the caller vouches for the block.
        unsafe {
            match self.block.len {
                2 => self.run(2),
                3 => self.run(3),
                4 => self.run(4),
                5 => self.run(5),
                6 => self.run(6),
                7 => self.run(7),
                8 => self.run(8),
                len => self.run(len),
            }
        }
    }
}

/// Rows of neighbours, for [`run_widest`].
impl<F, L: Lanes<F>, const N: usize> SimdTask for Rows<'_, F, L, N> {
    #[inline(always)]
    fn run(self) {
        // Safety: who made the job vouches for the block.
        unsafe { Rows::run(&self, self.block.len) }
    }
}

/// Rows of neighbours whose first operand, the output, is written past the cache. Its lane is the writer's room.
struct RowsPast<'b, 'r, F, L, T, const N: usize> {
    function: &'b F,
    lanes: L,
    out: *mut T,
    writer: &'b mut Writer<'r>,
    block: &'b Block<N>,
}

impl<F, L: Lanes<F>, T, const N: usize> SimdTask for RowsPast<'_, '_, F, L, T, N> {
    #[inline(always)]
    fn run(self) {
        let Block { rows, row_steps, len, steps, .. } = self.block;
        for row in 0..*rows {
            // Safety: who made the job vouches for the block, and row and done are below its numbers; no more than there
            // is room for is written to where the writer has it.
            unsafe {
                self.writer.go_to(self.out.offset(row as isize * row_steps[0]));
                let mut done = 0;
                while done < *len {
                    let mut places: [isize; N] =
                        std::array::from_fn(|n| row as isize * row_steps[n] + done as isize * steps[n]);
                    places[0] = self.writer.filled::<T>() as isize;
                    let count = self.writer.room::<T>().min(len - done);
                    let lanes = self.lanes.row(1, &places);
                    lanes.fetch(count, steps, if *rows == 1 { steps } else { row_steps });
                    for i in 0..count {
                        lanes.call(self.function, i);
                    }
                    self.writer.wrote::<T>(count);
                    done += count;
                }
            }
        }
    }
}

/// Rows shorter than this gain nothing from wide vectors.
const LONG: usize = 16;

/// Rows of this length and shorter are compiled each by itself.
const SHORT: usize = 8;

/// A tuple of operands, each given by its element at index 0, and a function of an element of each.
pub(crate) trait Operands<F, const N: usize> {
    /// Calls the function for each element of a block.
    ///
    /// # Safety
    ///
    /// All elements of the block are there, and as [`Kind::lend`] asks for the operand's kind.
    unsafe fn run(&self, function: &F, block: &Block<N>);

    /// Calls the function for each element of a plan, on several threads where that pays.
    ///
    /// # Safety
    ///
    /// As for [`run`](Operands::run), for the whole plan.
    unsafe fn run_all(&self, function: &F, plan: Plan)
    where
        Self: Sync,
        F: Sync;

    /// Calls the function for each element of a block, and what it gives the first operand goes past the cache.
    ///
    /// # Safety
    ///
    /// As for [`run`](Operands::run), and until the writer has come to its [end](Writer::end); the function does
    /// nothing with the first operand but write to it, and the others are only read. To write it so
    /// [pays](past::pays), and the elements in a row are neighbours, or but for the first operand one and the same.
    unsafe fn run_past(&self, function: &F, block: &Block<N>, writer: &mut Writer<'_>);

    /// The same for each element of a plan that has such rows; others are run as they would be.
    ///
    /// # Safety
    ///
    /// As for [`run_past`](Operands::run_past), for the whole plan, but for how the elements in a row lie.
    unsafe fn run_all_past(&self, function: &F, plan: Plan)
    where
        Self: Sync,
        F: Sync;
}

/// Picks the way through each operand by its step, which is 1 or 0, and 1 where it is written.
macro_rules! pick {
    (@ ($($picked:expr,)*) [] $steps:ident, $lanes:ident => $run:expr) => {{
        let $lanes = ($($picked,)*);
        $run
    }};
    (@ ($($picked:expr,)*) [$K:ident $x:ident $n:tt $($rest:tt)*] $steps:ident, $lanes:ident => $run:expr) => {
        if $K::WRITES || $steps[$n] == 1 {
            pick!(@ ($($picked,)* Along::<$K>($x),) [$($rest)*] $steps, $lanes => $run)
        } else {
            pick!(@ ($($picked,)* Same::<$K>($x),) [$($rest)*] $steps, $lanes => $run)
        }
    };
}

/// A tuple of this length. Each combination of ways is compiled by itself for up to six operands, with five and six
/// at the usual width only, since there are many; beyond that, only the one in which all elements are neighbours. For
/// up to three it is compiled for each length of short rows too.
macro_rules! operands {
    ($operands:literal, $few:literal, $short:literal, $width:ident: $($K:ident $x:ident $n:tt $W:ident)+) => {
        impl<$($W: Walk,)+ F> Lanes<F> for ($($W,)+)
        where
            F: for<'x> Fn($(<$W::Kind as Lends<'x>>::Item),+),
        {
            #[inline(always)]
            unsafe fn call(self, function: &F, i: usize) {
                let ($($x,)+) = self;
                // Safety: the caller vouches for the elements.
                unsafe { function($($W::Kind::lend($x.at(i))),+) }
            }

            #[inline(always)]
            unsafe fn row(self, row: usize, steps: &[isize]) -> Self {
                let ($($x,)+) = self;
                // Safety: the caller vouches for the places.
                unsafe { ($($x.from(row as isize * steps[$n]),)+) }
            }

            #[inline(always)]
            fn fetch(self, count: usize, steps: &[isize], row_steps: &[isize]) {
                let ($($x,)+) = self;
                $(if $n > 0 && steps[$n] == 1 && row_steps[$n] != 0 {
                    // Safety: the place where a way begins is one that it leads to.
                    let next = unsafe { $x.at(0) }.wrapping_byte_add(past::AHEAD);
                    fetch(next.cast(), count * size_of::<<$W::Kind as Kind>::Elem>());
                })+
            }
        }

        impl<$($K: Kind,)+ F> Operands<F, $operands> for ($(Base<$K>,)+)
        where
            F: for<'x> Fn($(<$K as Lends<'x>>::Item),+),
        {
            #[inline]
            unsafe fn run(&self, function: &F, block: &Block<$operands>) {
                let ($($x,)+) = self;
                let steps = &block.steps;
                // Safety: the caller vouches for the elements.
                unsafe {
                    $(let $x = $x.0.offset(block.starts[$n]);)+
                    let long = block.len >= LONG;
                    let has_ways = $((steps[$n] == 1 || !$K::WRITES && steps[$n] == 0))&&+;
                    if $few && long && has_ways {
                        pick!(@ () [$($K $x $n)+] steps, lanes => $width(Rows { function, lanes, block }))
                    } else if $short && block.len <= SHORT && has_ways {
                        pick!(@ () [$($K $x $n)+] steps, lanes => Rows { function, lanes, block }.run_any())
                    } else if long && $(steps[$n] == 1)&&+ {
                        let lanes = ($(Along::<$K>($x),)+);
                        run_widest(Rows { function, lanes, block });
                    } else {
                        $(if !$K::WRITES {
                            let (outer, inner) = ((block.rows, block.row_steps[$n]), (block.len, steps[$n]));
                            fetch_lines($x.cast(), size_of::<$K::Elem>(), outer, inner);
                        })+
                        let lanes = ($(Steps::<$K>($x, steps[$n]),)+);
                        Rows { function, lanes, block }.run_any();
                    }
                }
            }

            unsafe fn run_all(&self, function: &F, plan: Plan)
            where
                Self: Sync,
                F: Sync,
            {
                let bytes = 0usize$( + size_of::<$K::Elem>())+;
                let work = |piece: &Plan| {
                    // Safety: the pieces are the plan's, and the caller vouches for it.
                    piece.blocks(|block| unsafe { self.run(function, block) });
                };
                // ndarray's arrays have no element at two indices where they can be written to. One whose
                // maker broke that promise would have two threads write to it: it stays on this one.
                if !is_worth_a_thread(plan.len(), bytes) $(|| $K::WRITES && !plan.is_apart($n))+ {
                    work(&plan);
                } else {
                    in_pieces(plan, bytes, None, &work);
                }
            }

            #[inline]
            unsafe fn run_past(&self, function: &F, block: &Block<$operands>, writer: &mut Writer<'_>) {
                let Block { starts, steps, .. } = block;
                let ($($x,)+) = self;
                // Safety: the caller vouches for the elements.
                unsafe {
                    let out = self.0.0.offset(starts[0]);
                    $(let $x: *mut $K::Elem = if $n == 0 { writer.buffer() } else { $x.0.offset(starts[$n]) };)+
                    if $few {
                        pick!(@ () [$($K $x $n)+] steps, lanes =>
                            run_avx2(RowsPast { function, lanes, out, writer, block }))
                    } else {
                        let lanes = ($(Along::<$K>($x),)+);
                        run_avx2(RowsPast { function, lanes, out, writer, block });
                    }
                }
            }

            unsafe fn run_all_past(&self, function: &F, plan: Plan)
            where
                Self: Sync,
                F: Sync,
            {
                let (len, steps) = plan.loop_at(plan.loops() - 1);
                let neighbours = $((steps[$n] == 1 || $few && $n > 0 && steps[$n] == 0))&&+;
                if len < LONG || !neighbours || !plan.is_apart(0) {
                    // Safety: the caller vouches for the plan.
                    return unsafe { self.run_all(function, plan) };
                }
                let work = |piece: &Plan| {
                    let mut room = Room::new();
                    let mut writer = Writer::new(&mut room);
                    // Safety: the pieces are the plan's, and the caller vouches for it.
                    unsafe {
                        piece.blocks(|block| self.run_past(function, block, &mut writer));
                        writer.end();
                    }
                };
                in_pieces(plan, 0usize$( + size_of::<$K::Elem>())+, None, &work);
            }
        }
    };
}
operands!(1, true, true, run_widest: A a 0 V0);
operands!(2, true, true, run_widest: A a 0 V0 B b 1 V1);
operands!(3, true, true, run_widest: A a 0 V0 B b 1 V1 C c 2 V2);
operands!(4, true, false, run_widest: A a 0 V0 B b 1 V1 C c 2 V2 D d 3 V3);
operands!(5, true, false, run_avx2: A a 0 V0 B b 1 V1 C c 2 V2 D d 3 V3 E e 4 V4);
operands!(6, true, false, run_avx2: A a 0 V0 B b 1 V1 C c 2 V2 D d 3 V3 E e 4 V4 G g 5 V5);
operands!(7, false, false, run_widest: A a 0 V0 B b 1 V1 C c 2 V2 D d 3 V3 E e 4 V4 G g 5 V5 H h 6 V6);
operands!(8, false, false, run_widest: A a 0 V0 B b 1 V1 C c 2 V2 D d 3 V3 E e 4 V4 G g 5 V5 H h 6 V6 I i 7 V7);
operands!(9, false, false, run_widest: A a 0 V0 B b 1 V1 C c 2 V2 D d 3 V3 E e 4 V4 G g 5 V5 H h 6 V6 I i 7 V7 J j 8 V8);

#[cfg(test)]
mod tests {
    use super::super::pieces::WORTH_A_THREAD;
    use super::super::plan::Plan;
    use super::super::walk::{Base, Read, Write};
    use super::Operands;

    /// Such an array cannot be made without breaking a promise to ndarray; then no two threads write to one
    /// element, or some of these additions would be lost.
    #[test]
    fn an_element_at_many_indices_has_one_thread() {
        let (rows, columns) = (4, WORTH_A_THREAD);
        for strides in [[0, 0], [0, 1], [1, 1]] {
            let mut sums = vec![0u32; rows + columns];
            let one = 1u32;
            let operands =
                (Base::<Write<u32>>(sums.as_mut_ptr()), Base::<Read<u32>>((&raw const one).cast_mut()));
            let plan =
                Plan::new(&[rows, columns], 2, |operand, dim| if operand == 0 { strides[dim] } else { 0 });
            // Safety: the strides lead to elements of the vector, and no further than rows + columns.
            unsafe { operands.run_all(&|sum: &mut u32, one: &u32| *sum += one, plan) };
            assert_eq!(sums.iter().map(|&sum| sum as usize).sum::<usize>(), rows * columns);
        }
    }
}
