//! Assigns vector registers to the virtual ones of a body, and encodes it.
//!
//! The body has no branches, so one pass is enough: a register is free after the last use of its value. If none is
//! free, the value whose next use is furthest is dropped, after a copy to the stack unless it can be loaded again.

use crate::arguments::address_field;
use crate::assembler::{Assembler, BASES, Gpr, Memory, Operand, RCX, REGISTERS, Vex, Ymm, vex};
use crate::chain::Lanes;
use crate::lower::{Body, Instruction, Operation, Origin, Virtual};
use unishape_kernels::DType;

/// Which general-purpose registers hold the addresses of block inputs; others are loaded when they are needed.
pub(crate) type Bases = Vec<Option<Gpr>>;

/// State while a body is encoded.
pub(crate) struct Allocator<'b> {
    body: &'b Body,
    lanes: Lanes,
    bases: &'b Bases,
    /// The instructions that use each virtual register, in order, one register after another; and where the uses of
    /// each begin.
    uses: Vec<u32>,
    first_uses: Vec<u32>,
    /// Virtual registers that keep theirs during the whole loop.
    pinned: Vec<(Virtual, Ymm)>,
    /// Register of each virtual one, while it has one.
    registers: Vec<Option<Ymm>>,
    owners: [Option<Virtual>; REGISTERS],
    /// Stack slot of each virtual one, if it was copied there.
    slots: Vec<Option<u32>>,
    next_slot: u32,
    slot_count: u32,
}

impl<'b> Allocator<'b> {
    /// An allocator that keeps up to `pins` scalars in registers during the loop, those that are used most.
    pub(crate) fn new(body: &'b Body, lanes: Lanes, bases: &'b Bases, pins: usize) -> Allocator<'b> {
        let count = body.origins.len();
        let taken = body.instructions.iter().enumerate().flat_map(|(number, instruction)| {
            instruction.from().iter().map(move |&value| (value as usize, number as u32))
        });
        let end = body.instructions.len();
        let stored =
            body.stores.iter().enumerate().map(|(store, each)| (each.from as usize, (end + store) as u32));
        let all = taken.chain(stored);
        // Counted, and then sorted into their places.
        let mut first_uses = vec![0u32; count + 1];
        all.clone().for_each(|(value, _)| first_uses[value + 1] += 1);
        (0..count).for_each(|value| first_uses[value + 1] += first_uses[value]);
        let (mut uses, mut next) = (vec![0; first_uses[count] as usize], first_uses.clone());
        for (value, number) in all {
            uses[next[value] as usize] = number;
            next[value] += 1;
        }
        let is_scalar = |value: &Virtual| body.origins[*value as usize].is_some_and(Origin::is_scalar);
        let mut scalars: Vec<Virtual> = (0..count as Virtual).filter(is_scalar).collect();
        let use_count = |value: &Virtual| first_uses[*value as usize + 1] - first_uses[*value as usize];
        scalars.sort_by_key(|value| std::cmp::Reverse(use_count(value)));
        // From the last register on, so that the others are numbered from 0.
        let pinned = scalars.into_iter().zip((0..REGISTERS as Ymm).rev()).take(pins).collect();
        Allocator {
            body,
            lanes,
            bases,
            uses,
            first_uses,
            pinned,
            registers: vec![None; count],
            owners: [None; REGISTERS],
            slots: vec![None; count],
            next_slot: 0,
            slot_count: 0,
        }
    }

    /// Loads the pinned scalars.
    pub(crate) fn load_pinned(&mut self, assembler: &mut Assembler) {
        for (value, register) in self.pinned.clone() {
            self.load(assembler, value, register);
        }
    }

    /// Stack slots that the body needs.
    pub(crate) fn slots(&self) -> usize {
        self.slot_count as usize
    }

    /// Encodes the body.
    pub(crate) fn encode(&mut self, assembler: &mut Assembler) {
        self.owners = [None; REGISTERS];
        self.registers.fill(None);
        self.slots.fill(None);
        self.next_slot = 0;
        for &(value, register) in &self.pinned {
            (self.owners[register as usize], self.registers[value as usize]) = (Some(value), Some(register));
        }
        let body = self.body;
        for (number, instruction) in body.instructions.iter().enumerate() {
            let (Instruction { operation, to, .. }, from) = (instruction, instruction.from());
            let mut sources = [0; 3];
            for (source, &value) in sources.iter_mut().zip(from) {
                *source = self.in_register(assembler, value, from, number);
            }
            from.iter().for_each(|&value| self.release(value, number));
            let target = self.free_register(assembler, from, number);
            self.assign(*to, target);
            encode(assembler, *operation, target, &sources[..from.len()]);
            // A result that nothing takes.
            self.release(*to, number);
        }
        for (vector, store) in body.stores.iter().enumerate() {
            let number = body.instructions.len() + vector;
            let from = self.in_register(assembler, store.from, &[store.from], number);
            self.release(store.from, number);
            let ahead = (vector * self.lanes.count() * store.item) as i32;
            let base = self.bases.last().copied().flatten().unwrap_or(BASES[0]);
            let to = Operand::Memory(Memory::Elements { base, item: store.item as u8, ahead });
            assembler.emit(store.vex, store.is_wide, from, None, to, None);
        }
    }

    fn assign(&mut self, value: Virtual, register: Ymm) {
        (self.owners[register as usize], self.registers[value as usize]) = (Some(value), Some(register));
    }

    fn is_pinned(&self, value: Virtual) -> bool {
        self.pinned.iter().any(|&(pinned, _)| pinned == value)
    }

    /// The next instruction after `number` that uses a value.
    fn next_use(&self, value: Virtual, number: usize) -> Option<usize> {
        let [first, end] = [0, 1].map(|next| self.first_uses[value as usize + next] as usize);
        self.uses[first..end].iter().map(|&each| each as usize).find(|&each| each > number)
    }

    /// Frees the register of a value that is not used after this instruction.
    fn release(&mut self, value: Virtual, number: usize) {
        if !self.is_pinned(value)
            && self.next_use(value, number).is_none()
            && let Some(register) = self.registers[value as usize].take()
        {
            self.owners[register as usize] = None;
        }
    }

    /// Loads a value into a register, unless it is in one. `needed` values keep theirs.
    fn in_register(
        &mut self,
        assembler: &mut Assembler,
        value: Virtual,
        needed: &[Virtual],
        number: usize,
    ) -> Ymm {
        if let Some(register) = self.registers[value as usize] {
            return register;
        }
        let register = self.free_register(assembler, needed, number);
        self.assign(value, register);
        match self.slots[value as usize] {
            Some(slot) => {
                let from = Operand::Memory(Memory::Slot(slot));
                assembler.emit(vex::VMOVUPS_LOAD, true, register, None, from, None);
            }
            None => self.load(assembler, value, register),
        }
        register
    }

    /// A register without an owner. If there is none, the value that is used last of all loses its own.
    fn free_register(&mut self, assembler: &mut Assembler, needed: &[Virtual], number: usize) -> Ymm {
        if let Some(free) = self.owners.iter().position(Option::is_none) {
            return free as Ymm;
        }
        // Values whose last use is this instruction, and that it does not take, are not in registers.
        let next = |value: Virtual| self.next_use(value, number).unwrap_or(usize::MAX);
        let can_drop = |&(_, value): &(usize, Virtual)| !needed.contains(&value) && !self.is_pinned(value);
        let owned =
            self.owners.iter().enumerate().filter_map(|(register, owner)| Some((register, (*owner)?)));
        // At most three values are needed and not all registers are pinned, so there is always one.
        let (register, dropped) =
            owned.filter(can_drop).max_by_key(|&(_, value)| next(value)).unwrap_or((0, 0));
        if self.body.origins[dropped as usize].is_none() && self.slots[dropped as usize].is_none() {
            let to = Operand::Memory(Memory::Slot(self.next_slot));
            assembler.emit(vex::VMOVUPS_STORE, true, register as Ymm, None, to, None);
            self.slots[dropped as usize] = Some(self.next_slot);
            self.next_slot += 1;
            self.slot_count = self.slot_count.max(self.next_slot);
        }
        self.registers[dropped as usize] = None;
        register as Ymm
    }

    /// Loads a value that is not computed.
    fn load(&self, assembler: &mut Assembler, value: Virtual, to: Ymm) {
        match self.body.origins[value as usize] {
            None => {}
            Some(Origin::Number(bits)) => {
                let (vex, bytes) =
                    if self.lanes == Lanes::Four { (vex::VBROADCASTSD, 8) } else { (vex::VBROADCASTSS, 4) };
                let offset = assembler.constant(&bits.to_le_bytes()[..bytes]);
                assembler.emit(vex, true, to, None, Operand::Memory(Memory::Pool(offset)), None);
            }
            Some(Origin::Scalar { input, dtype }) => {
                assembler.load_field(RCX, address_field(input));
                let broadcast = match dtype.item_size() {
                    1 => vex::VPBROADCASTB,
                    2 => vex::VPBROADCASTW,
                    4 => vex::VBROADCASTSS,
                    _ => vex::VBROADCASTSD,
                };
                assembler.emit(broadcast, true, to, None, Operand::Memory(Memory::At(RCX)), None);
                self.convert(assembler, dtype, to, Operand::Ymm(to));
            }
            Some(Origin::Block { input, dtype, vector }) => {
                let item = dtype.item_size();
                let ahead = (vector * self.lanes.count() * item) as i32;
                let base = self.bases[input].unwrap_or(BASES[0]);
                let from = Operand::Memory(Memory::Elements { base, item: item as u8, ahead });
                self.convert(assembler, dtype, to, from);
            }
        }
    }

    /// Loads or converts elements of a dtype as the vector holds them.
    fn convert(&self, assembler: &mut Assembler, dtype: DType, to: Ymm, from: Operand) {
        let Conversion { vex, is_wide, is_shifted } = conversion(dtype, self.lanes);
        if vex != vex::VMOVUPS_LOAD || matches!(from, Operand::Memory(_)) {
            assembler.emit(vex, is_wide, to, None, from, None);
        }
        if is_shifted {
            assembler.shift_d(to, to, true, 16);
        }
    }
}

/// How elements are loaded.
struct Conversion {
    /// A load that converts.
    vex: Vex,
    /// Whether it fills a whole vector.
    is_wide: bool,
    /// Whether the elements are shifted to the upper half of 32 bits then.
    is_shifted: bool,
}

/// How elements of a dtype become those of a vector; [`Lanes::can_hold`] says for which there is a way.
fn conversion(dtype: DType, lanes: Lanes) -> Conversion {
    use DType::*;
    let (vex, is_wide) = match (lanes, dtype) {
        (Lanes::Eight, Bool | U8) => (vex::VPMOVZXBD, true),
        (Lanes::Eight, I8) => (vex::VPMOVSXBD, true),
        (Lanes::Eight, U16 | BF16) => (vex::VPMOVZXWD, true),
        (Lanes::Eight, I16) => (vex::VPMOVSXWD, true),
        (Lanes::Eight, F16) => (vex::VCVTPH2PS, true),
        (Lanes::Four, Bool) => (vex::VPMOVZXBQ, true),
        (Lanes::Four, F32) => (vex::VCVTPS2PD, true),
        // Integers that are cast to float64, four in 128 bits.
        (Lanes::Four, U8) => (vex::VPMOVZXBD, false),
        (Lanes::Four, I8) => (vex::VPMOVSXBD, false),
        (Lanes::Four, U16) => (vex::VPMOVZXWD, false),
        (Lanes::Four, I16) => (vex::VPMOVSXWD, false),
        (Lanes::Four, I32) => (vex::VMOVUPS_LOAD, false),
        _ => (vex::VMOVUPS_LOAD, true),
    };
    Conversion { vex, is_wide, is_shifted: dtype == BF16 }
}

fn encode(assembler: &mut Assembler, operation: Operation, to: Ymm, from: &[Ymm]) {
    match (operation, from) {
        (Operation::Vector(vex, immediate), &[a]) => {
            assembler.emit(vex, true, to, None, Operand::Ymm(a), immediate)
        }
        (Operation::Vector(vex, immediate), &[a, b]) => {
            assembler.emit(vex, true, to, Some(a), Operand::Ymm(b), immediate)
        }
        (Operation::Reversed(vex, immediate), &[a]) => {
            assembler.emit(vex, true, a, None, Operand::Ymm(to), immediate)
        }
        (Operation::Narrow(vex), &[a]) => assembler.emit(vex, false, to, None, Operand::Ymm(a), None),
        (Operation::Narrow(vex), &[a, b]) => assembler.emit(vex, false, to, Some(a), Operand::Ymm(b), None),
        (Operation::ShiftLeft(bits), &[a]) => assembler.shift_d(to, a, true, bits),
        (Operation::ShiftRight(bits), &[a]) => assembler.shift_d(to, a, false, bits),
        (Operation::Blend, &[mask, a, b]) => assembler.blend(to, mask, a, b),
        _ => {}
    }
}
