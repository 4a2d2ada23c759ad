//! Tiling: two loops cut into tiles where operands disagree about the innermost one.

use super::LoopNest;
use crate::tuning::{MIN_TILED_SIZE, TILE};
use smallvec::SmallVec;

impl LoopNest {
    /// The loop to tile together with the innermost one, if an operand has its small stride there and jumps
    /// in the innermost loop.
    fn tiled_level(&self) -> Option<usize> {
        let innermost = self.innermost();
        let jumps = |operand: usize| self.strides(innermost)[operand].unsigned_abs() > 1;
        let is_smaller = |level: usize, operand: usize| {
            let stride = self.strides(level)[operand].unsigned_abs();
            stride != 0 && stride < self.strides(innermost)[operand].unsigned_abs()
        };
        (0..innermost)
            .rev()
            .find(|&level| (0..self.operands).any(|operand| jumps(operand) && is_smaller(level, operand)))
            .filter(|&level| self.sizes[level] > MIN_TILED_SIZE && self.sizes[innermost] > MIN_TILED_SIZE)
    }

    /// The same iteration space in tiles.
    ///
    /// Up to four nests: whole tiles, and the remainders at the ends of both loops. Only the nest itself where
    /// operands agree about the innermost loop.
    pub fn tiles(&self) -> SmallVec<[LoopNest; 1]> {
        let Some(level) = self.tiled_level() else {
            return SmallVec::from_iter([self.clone()]);
        };
        let innermost = self.innermost();
        let mut nests = SmallVec::new();
        for half in self.split_whole_tiles(level, TILE[0]) {
            for quarter in half.split_whole_tiles(innermost, TILE[1]) {
                nests.push(quarter.tiled(level));
            }
        }
        nests
    }

    /// The iterations of a loop that make whole tiles, and the remainder.
    fn split_whole_tiles(&self, level: usize, tile: usize) -> SmallVec<[LoopNest; 2]> {
        let whole = self.sizes[level] / tile * tile;
        if whole == 0 || whole == self.sizes[level] {
            return SmallVec::from_iter([self.clone()]);
        }
        let (first, second) = self.split_at(level, whole);
        SmallVec::from_iter([first, second])
    }

    /// Two loops of whole tiles, or of less than one, as loops over tiles and loops within a tile.
    fn tiled(&self, level: usize) -> LoopNest {
        let innermost = self.innermost();
        let tile = [TILE[0].min(self.sizes[level]), TILE[1].min(self.sizes[innermost])];
        let mut tiled = LoopNest {
            operands: self.operands,
            sizes: SmallVec::new(),
            strides: SmallVec::new(),
            starts: self.starts.clone(),
        };
        for at in 0..=innermost {
            let whole = match at {
                _ if at == level => tile[0],
                _ if at == innermost => tile[1],
                _ => 1,
            };
            tiled.push(self.sizes[at] / whole, |operand| self.strides(at)[operand] * whole as isize);
        }
        tiled.push(tile[0], |operand| self.strides(level)[operand]);
        tiled.push(tile[1], |operand| self.strides(innermost)[operand]);
        tiled
    }
}
