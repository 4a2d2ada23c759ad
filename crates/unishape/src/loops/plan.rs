//! The loops that walk several arrays of one shape at once, chosen before any element is touched.
//!
//! Arrays seldom lie in memory the way their shape reads. A plan is the same walk in an order that suits
//! the memory: dimensions of size 1 are dropped; the others are ordered so that the first operand, the
//! one written to, takes its smallest steps innermost, and where it does not care the next one decides;
//! dimensions that all operands walk backwards are walked forwards; and neighbours that every operand
//! walks as one become one loop. Where operands do not agree on what is innermost, both their loops are
//! cut into tiles, so that what one of them fetches by the line is used before it is gone.

use smallvec::SmallVec;

/// Loops, outermost first, with each operand's step in each; there is always an innermost one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    operands: usize,
    sizes: SmallVec<[usize; 6]>,
    /// Loop by loop, one step for each operand, in elements.
    steps: SmallVec<[isize; 24]>,
    /// Where each operand begins, from its element at index 0.
    starts: SmallVec<[isize; 4]>,
}

/// How often the two innermost loops of a tile run. Whoever walks along the innermost one reads and writes
/// stretches that memory is quick at, one after another; of whom goes along the other one, there are lines
/// that the first cache has room for, and what follows on each waits in the second one.
const TILE: [usize; 2] = [64, 256];

/// Loops that run no more often than this need no tiles.
const FEW: usize = 32;

impl Plan {
    /// The plan for so many operands of this shape. `stride` tells the stride of an operand in a dimension,
    /// 0 where it is stretched.
    ///
    /// The strides are of arrays in memory, so that no offset of an element overflows.
    #[inline]
    pub(crate) fn new(shape: &[usize], operands: usize, stride: impl Fn(usize, usize) -> isize) -> Plan {
        let mut plan = Plan {
            operands,
            sizes: SmallVec::new(),
            steps: SmallVec::new(),
            starts: SmallVec::from_elem(0, operands),
        };
        if shape.contains(&0) {
            plan.push(0, |_| 1);
            return plan;
        }
        for (dim, &size) in shape.iter().enumerate() {
            if size > 1 {
                plan.push(size, |operand| stride(operand, dim));
            }
        }
        plan.walk_forwards();
        plan.order();
        plan.coalesce();
        if plan.sizes.is_empty() {
            plan.push(1, |_| 1);
        }
        plan
    }

    fn push(&mut self, size: usize, step: impl Fn(usize) -> isize) {
        self.sizes.push(size);
        self.steps.extend((0..self.operands).map(step));
    }

    /// Each operand's step in one of the loops.
    #[inline]
    fn steps(&self, of: usize) -> &[isize] {
        &self.steps[of * self.operands..][..self.operands]
    }

    /// How many elements are walked.
    pub(crate) fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Dimensions that no operand walks forwards are begun at their other end.
    fn walk_forwards(&mut self) {
        for (size, steps) in self.sizes.iter().zip(self.steps.chunks_exact_mut(self.operands.max(1))) {
            if steps.iter().all(|&step| step <= 0) {
                for (step, start) in steps.iter_mut().zip(&mut self.starts) {
                    *start += (*size as isize - 1) * *step;
                    *step = -*step;
                }
            }
        }
    }

    /// Smaller steps go further in. An insertion sort, since there are few loops, mostly in order
    /// already, and the order is not one that any sort may rely on: operands that are stretched in one
    /// of two loops have no say about these.
    fn order(&mut self) {
        for sorted in 1..self.sizes.len() {
            let mut at = sorted;
            while at > 0 && self.belongs_further_in(at - 1, at) {
                self.swap(at - 1, at);
                at -= 1;
            }
        }
    }

    /// Whether the outer one of two loops takes smaller steps than the inner one.
    fn belongs_further_in(&self, outer: usize, inner: usize) -> bool {
        let decided = self.steps(outer).iter().zip(self.steps(inner)).find_map(|(&outer, &inner)| {
            let (outer, inner) = (outer.unsigned_abs(), inner.unsigned_abs());
            (outer != 0 && inner != 0 && outer != inner).then_some(outer < inner)
        });
        decided.unwrap_or(false)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.sizes.swap(a, b);
        for operand in 0..self.operands {
            self.steps.swap(a * self.operands + operand, b * self.operands + operand);
        }
    }

    /// Neighbours that every operand walks as one become one.
    fn coalesce(&mut self) {
        let mut outer = 0;
        while outer + 1 < self.sizes.len() {
            let inner = outer + 1;
            let size = self.sizes[inner] as isize;
            let as_one =
                self.steps(outer).iter().zip(self.steps(inner)).all(|(&outer, &inner)| outer == inner * size);
            if as_one {
                self.sizes[inner] *= self.sizes[outer];
                self.sizes.remove(outer);
                self.steps.drain(outer * self.operands..inner * self.operands);
                // What was joined may go with what is outside of it.
                outer = outer.saturating_sub(1);
            } else {
                outer = inner;
            }
        }
    }

    /// The two halves of the outermost loop that can be halved, if there is one. `grain` is what the
    /// innermost loop is cut to multiples of, so that no half begins amid a line of memory.
    pub(crate) fn halves(&self, grain: usize) -> Option<(Plan, Plan)> {
        let innermost = self.sizes.len() - 1;
        let at = self.sizes.iter().position(|&size| size > 1)?;
        let grain = if at == innermost { grain } else { 1 };
        let middle = (self.sizes[at] / 2).next_multiple_of(grain);
        if middle == 0 || middle >= self.sizes[at] {
            return None;
        }
        Some(self.cut(at, middle))
    }

    /// How many loops there are.
    pub(crate) fn loops(&self) -> usize {
        self.sizes.len()
    }

    /// How often a loop runs, and each operand's step in it.
    pub(crate) fn loop_at(&self, of: usize) -> (usize, &[isize]) {
        (self.sizes[of], self.steps(of))
    }

    /// The loops in which an operand moves, for two operands: one that lies in one piece, and that one.
    pub(crate) fn moving(&self, operand: usize) -> Plan {
        let mut moving =
            Plan { operands: 2, sizes: SmallVec::new(), steps: SmallVec::new(), starts: SmallVec::new() };
        let mut alike = self.clone();
        alike.in_one_piece(operand);
        moving.starts.extend([0, self.starts[operand]]);
        for of in (0..self.sizes.len()).filter(|&of| self.steps(of)[operand] != 0) {
            let steps = [alike.steps(of)[operand], self.steps(of)[operand]];
            moving.push(self.sizes[of], |operand| steps[operand]);
        }
        if moving.sizes.is_empty() {
            moving.push(1, |_| 1);
        }
        moving
    }

    /// Has an operand walk through memory in one piece, from its begin.
    pub(crate) fn in_one_piece(&mut self, operand: usize) {
        let mut next = 1;
        self.starts[operand] = 0;
        for of in (0..self.sizes.len()).rev() {
            let step = &mut self.steps[of * self.operands + operand];
            if *step != 0 {
                *step = next;
                next *= self.sizes[of] as isize;
            }
        }
    }

    /// The first `middle` turns of a loop, and the others.
    pub(crate) fn cut(&self, at: usize, middle: usize) -> (Plan, Plan) {
        let (mut first, mut second) = (self.clone(), self.clone());
        first.sizes[at] = middle;
        second.sizes[at] -= middle;
        for (start, step) in second.starts.iter_mut().zip(self.steps(at)) {
            *start += middle as isize * step;
        }
        (first, second)
    }

    /// Whether no two turns of the loops lead an operand to one element. It looks at how far the loops with
    /// smaller steps go: that is what ndarray asks of arrays that can be written to.
    pub(crate) fn is_apart(&self, operand: usize) -> bool {
        let mut loops: SmallVec<[(usize, usize); 6]> = self
            .sizes
            .iter()
            .enumerate()
            .filter(|&(_, &size)| size > 1)
            .map(|(of, &size)| (self.steps(of)[operand].unsigned_abs(), size))
            .collect();
        loops.sort_unstable();
        let mut reach = 0;
        loops.iter().all(|&(step, size)| {
            let beyond = step > reach;
            reach = step.saturating_mul(size - 1).saturating_add(reach);
            beyond
        })
    }

    /// The loop other than the innermost one in which some operand takes its small steps, if that operand
    /// jumps in the innermost one: the two are to be tiled together.
    fn disagreement(&self) -> Option<usize> {
        let innermost = self.sizes.len() - 1;
        let jumps = |operand: usize| self.steps(innermost)[operand].unsigned_abs() > 1;
        let small = |at: usize, operand: usize| {
            let step = self.steps(at)[operand].unsigned_abs();
            step != 0 && step < self.steps(innermost)[operand].unsigned_abs()
        };
        (0..innermost)
            .rev()
            .find(|&at| (0..self.operands).any(|operand| jumps(operand) && small(at, operand)))
            .filter(|&at| self.sizes[at] > FEW && self.sizes[innermost] > FEW)
    }

    /// The same walk in tiles, where operands disagree about the innermost loop; in up to four plans, the
    /// later ones for what is left over at the ends.
    pub(crate) fn tiled(self) -> SmallVec<[Plan; 4]> {
        let Some(at) = self.disagreement() else {
            return SmallVec::from_iter([self]);
        };
        let innermost = self.sizes.len() - 1;
        let mut plans = SmallVec::new();
        for half in self.whole_tiles(at, TILE[0]) {
            for quarter in half.whole_tiles(innermost, TILE[1]) {
                plans.push(quarter.in_tiles(at));
            }
        }
        plans
    }

    /// As many turns of a loop as make whole tiles, and what is left over.
    fn whole_tiles(&self, at: usize, tile: usize) -> SmallVec<[Plan; 2]> {
        let whole = self.sizes[at] / tile * tile;
        if whole == 0 || whole == self.sizes[at] {
            return SmallVec::from_iter([self.clone()]);
        }
        let (first, second) = self.cut(at, whole);
        SmallVec::from_iter([first, second])
    }

    /// Loop `at` and the innermost one, each of whole tiles or less than one, as loops over tiles and within one.
    fn in_tiles(&self, at: usize) -> Plan {
        let innermost = self.sizes.len() - 1;
        let tile = [TILE[0].min(self.sizes[at]), TILE[1].min(self.sizes[innermost])];
        let mut tiled = Plan {
            operands: self.operands,
            sizes: SmallVec::new(),
            steps: SmallVec::new(),
            starts: self.starts.clone(),
        };
        for of in 0..=innermost {
            let whole = match of {
                _ if of == at => tile[0],
                _ if of == innermost => tile[1],
                _ => 1,
            };
            tiled.push(self.sizes[of] / whole, |operand| self.steps(of)[operand] * whole as isize);
        }
        tiled.push(tile[0], |operand| self.steps(at)[operand]);
        tiled.push(tile[1], |operand| self.steps(innermost)[operand]);
        tiled
    }
}

/// The two innermost loops at one place of the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<const N: usize> {
    /// Where each operand begins.
    pub(crate) starts: [isize; N],
    /// How often the outer one of the two runs, and the steps in it.
    pub(crate) rows: usize,
    pub(crate) row_steps: [isize; N],
    /// How often the inner one runs, and the steps in it.
    pub(crate) len: usize,
    pub(crate) steps: [isize; N],
}

impl Plan {
    /// Calls `work` for every turn of the loops but the two innermost ones.
    ///
    /// `N` is the number of operands.
    pub(crate) fn blocks<const N: usize>(&self, mut work: impl FnMut(&Block<N>)) {
        let row = |of: usize| -> [isize; N] { std::array::from_fn(|operand| self.steps(of)[operand]) };
        let innermost = self.sizes.len() - 1;
        if self.sizes[innermost] == 0 {
            return;
        }
        let mut block = Block {
            starts: std::array::from_fn(|operand| self.starts[operand]),
            rows: 1,
            row_steps: [0; N],
            len: self.sizes[innermost],
            steps: row(innermost),
        };
        if innermost > 0 {
            (block.rows, block.row_steps) = (self.sizes[innermost - 1], row(innermost - 1));
        }
        self.turns(innermost.saturating_sub(1), block.starts, |starts| {
            block.starts = *starts;
            work(&block);
        });
    }

    /// Calls `work` with where each operand begins, for every turn of so many of the outermost loops.
    /// `starts` is [`starts`](Plan::starts), as an array or in whatever else has room for it.
    pub(crate) fn turns<S: AsMut<[isize]>>(&self, outer: usize, mut starts: S, mut work: impl FnMut(&S)) {
        let inner = outer.saturating_sub(1);
        let (size, steps) = if outer == 0 { (1, &[][..]) } else { self.loop_at(inner) };
        let mut turns: SmallVec<[usize; 6]> = SmallVec::from_elem(0, inner);
        // (Steps beyond the last turn lead nowhere, and are taken back.)
        let go = |starts: &mut S, steps: &[isize], turns: isize| {
            for (start, step) in starts.as_mut().iter_mut().zip(steps) {
                *start = start.wrapping_add(step.wrapping_mul(turns));
            }
        };
        loop {
            for _ in 0..size {
                work(&starts);
                for (start, step) in starts.as_mut().iter_mut().zip(steps) {
                    *start = start.wrapping_add(*step);
                }
            }
            go(&mut starts, steps, (size as isize).wrapping_neg());
            // The innermost one of the others that has a turn left takes it; those within begin anew.
            let mut of = inner;
            loop {
                let Some(next) = of.checked_sub(1) else { return };
                of = next;
                turns[of] += 1;
                go(&mut starts, self.steps(of), 1);
                if turns[of] < self.sizes[of] {
                    break;
                }
                go(&mut starts, self.steps(of), (std::mem::take(&mut turns[of]) as isize).wrapping_neg());
            }
        }
    }

    /// How often each loop runs, the outermost first.
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Where each operand begins.
    pub(crate) fn starts(&self) -> &[isize] {
        &self.starts
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW, Plan, TILE};
    use proptest::prelude::*;
    use unishape_oracle::Indices;

    /// Three operands of a shape, with these strides.
    fn plan(shape: &[usize], strides: &[Vec<isize>]) -> Plan {
        Plan::new(shape, strides.len(), |operand, dim| strides[operand][dim])
    }

    /// Where the operands are at each element that a plan walks, in any order.
    fn walked(plans: impl IntoIterator<Item = Plan>) -> Vec<[isize; 3]> {
        let mut places = Vec::new();
        for plan in plans {
            let before = places.len();
            plan.blocks::<3>(|block| {
                for (row, i) in (0..block.rows).flat_map(|row| (0..block.len).map(move |i| (row, i))) {
                    places.push(std::array::from_fn(|operand| {
                        block.starts[operand]
                            + row as isize * block.row_steps[operand]
                            + i as isize * block.steps[operand]
                    }));
                }
            });
            assert_eq!(places.len() - before, plan.len());
        }
        places.sort_unstable();
        places
    }

    /// The same, index by index.
    fn expected(shape: &[usize], strides: &[Vec<isize>]) -> Vec<[isize; 3]> {
        let mut places: Vec<[isize; 3]> = Indices::of(shape)
            .map(|index| {
                std::array::from_fn(|operand| {
                    index.iter().zip(&strides[operand]).map(|(&i, &stride)| i as isize * stride).sum()
                })
            })
            .collect();
        places.sort_unstable();
        places
    }

    /// Halves of halves, down to single elements where the grain allows it.
    fn pieces(plan: Plan, grain: usize) -> Vec<Plan> {
        match plan.halves(grain) {
            None => vec![plan],
            Some((first, second)) => {
                assert_eq!(first.len() + second.len(), plan.len());
                let mut all = pieces(first, grain);
                all.extend(pieces(second, grain));
                all
            }
        }
    }

    fn shape_and_strides() -> impl Strategy<Value = (Vec<usize>, Vec<Vec<isize>>)> {
        let size = prop_oneof![4 => 0usize..5, 1 => Just(1), 1 => FEW - 1..2 * TILE[0] + 2, 1 => TILE[1] - 1..TILE[1] + 9];
        prop::collection::vec(size, 0..5)
            .prop_filter("few elements", |shape| shape.iter().product::<usize>() < 20_000)
            .prop_flat_map(|shape| {
                let strides = prop::collection::vec(-40isize..40, shape.len());
                let contiguous = Just(crate::loops::row_major(&shape));
                let reversed = Just(crate::loops::column_major(&shape));
                let backwards =
                    Just(crate::loops::row_major(&shape).into_iter().map(|stride| -stride).collect());
                let stretched = Just(vec![0; shape.len()]);
                let one = prop_oneof![strides, contiguous, reversed, backwards, stretched];
                (Just(shape), prop::collection::vec(one, 3))
            })
    }

    proptest! {
        #[test]
        fn every_index_is_walked_once((shape, strides) in shape_and_strides(), grain in 1usize..70) {
            let expected = expected(&shape, &strides);
            let plan = plan(&shape, &strides);
            prop_assert_eq!(&walked([plan.clone()]), &expected);
            prop_assert_eq!(&walked(plan.clone().tiled()), &expected);
            let pieces = pieces(plan, grain).into_iter().flat_map(Plan::tiled);
            prop_assert_eq!(&walked(pieces), &expected);
        }
    }

    proptest! {
        /// What is called apart is; and what ndarray lets be written to is called so.
        #[test]
        fn apart_means_no_element_twice((shape, strides) in shape_and_strides()) {
            let plan = plan(&shape, &strides);
            for operand in 0..3 {
                let mut places: Vec<isize> =
                    walked([plan.clone()]).into_iter().map(|place| place[operand]).collect();
                let count = places.len();
                places.sort_unstable();
                places.dedup();
                prop_assert!(!plan.is_apart(operand) || places.len() == count);
                let unsigned: Vec<usize> = strides[operand].iter().map(|stride| stride.unsigned_abs()).collect();
                let mut memory = vec![0u8; 1 + shape.iter().zip(&unsigned).map(|(size, stride)| size * stride).sum::<usize>()];
                let layout = ndarray::ShapeBuilder::strides(ndarray::IxDyn(&shape), ndarray::IxDyn(&unsigned));
                let view = ndarray::ArrayViewMut::from_shape(layout, &mut memory);
                prop_assert!(count == 0 || plan.is_apart(operand) == view.is_ok());
            }
        }
    }

    #[test]
    fn arrays_in_one_piece_are_one_loop() {
        for strides in [vec![12, 4, 1], vec![-12, -4, -1], vec![1, 2, 6]] {
            let plan = plan(&[2, 3, 4], &[strides.clone(), strides.clone(), strides]);
            assert_eq!((&plan.sizes[..], plan.steps(0)), (&[24][..], &[1, 1, 1][..]));
        }
    }

    #[test]
    fn what_cannot_be_one_loop_is_not() {
        // A column with a row: the row's operand is stretched in one loop, the column's in the other.
        let plan = plan(&[5, 1, 7], &[vec![7, 7, 1], vec![1, 0, 0], vec![0, 9, 1]]);
        assert_eq!(&plan.sizes[..], [5, 7]);
        assert_eq!((plan.steps(0), plan.steps(1)), (&[7, 1, 0][..], &[1, 0, 1][..]));
    }

    #[test]
    fn the_output_decides_the_order() {
        let plan = plan(&[5, 7], &[vec![1, 5], vec![7, 1], vec![7, 1]]);
        assert_eq!(&plan.sizes[..], [7, 5]);
        assert_eq!(plan.steps(1), [1, 7, 7]);
    }

    #[test]
    fn a_transposed_operand_is_walked_in_tiles() {
        let side = 3 * TILE[1] + 5;
        let (own, other) = (vec![side as isize, 1], vec![1, side as isize]);
        let tiles = plan(&[side, side], &[own.clone(), own.clone(), other]).tiled();
        let sizes: Vec<&[usize]> = tiles.iter().map(|tile| &tile.sizes[..]).collect();
        assert_eq!(sizes, [[12, 3, 64, 256], [12, 1, 64, 5], [1, 3, 5, 256], [1, 1, 5, 5]]);
        assert_eq!(plan(&[side, side], &[own.clone(), own.clone(), own]).tiled().len(), 1);
    }
}
