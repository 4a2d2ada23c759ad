//! Assigns vector registers to the virtual ones of a body, and encodes it.
//!
//! The body has no branches, so one pass is enough: a register is free after the last use of its value. If none is
//! free, the value whose next use is furthest is dropped, after a copy to the stack unless it can be loaded again.

use crate::arguments::address_field;
use crate::assembler::{Assembler, BASES, Gpr, Memory, Operand, RCX, VectorOp, VectorRegister, op};
use crate::chain::ElementWidth;
use crate::isa::{Isa, MAX_REGISTERS};
use crate::lower::{Body, Instruction, MAX_FROM, Operation, Origin, Virtual};
use unishape_kernels::DType;

/// Which general-purpose registers hold the addresses of block inputs; others are loaded when they are needed.
pub(crate) type Bases = Vec<Option<Gpr>>;

/// State while a body is encoded.
pub(crate) struct Allocator<'b> {
    body: &'b Body,
    isa: Isa,
    width: ElementWidth,
    bases: &'b Bases,
    /// The instructions that use each virtual register, in order, one register after another; and where the uses of
    /// each begin.
    uses: Vec<u32>,
    first_uses: Vec<u32>,
    /// Virtual registers that keep theirs during the whole loop.
    pinned: Vec<(Virtual, VectorRegister)>,
    /// Register of each virtual one, while it has one.
    registers: Vec<Option<VectorRegister>>,
    owners: [Option<Virtual>; MAX_REGISTERS],
    /// Stack slot of each virtual one, if it was copied there, and slots that are not needed any more.
    slots: Vec<Option<u32>>,
    free_slots: Vec<u32>,
    slot_count: u32,
}

impl<'b> Allocator<'b> {
    /// An allocator that keeps up to `pins` scalars in registers during the loop, those that are used most.
    pub(crate) fn new(
        body: &'b Body,
        (isa, width): (Isa, ElementWidth),
        bases: &'b Bases,
        pins: usize,
    ) -> Allocator<'b> {
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
        let pinned =
            scalars.into_iter().zip((0..isa.registers() as VectorRegister).rev()).take(pins).collect();
        Allocator {
            body,
            isa,
            width,
            bases,
            uses,
            first_uses,
            pinned,
            registers: vec![None; count],
            owners: [None; MAX_REGISTERS],
            slots: vec![None; count],
            free_slots: Vec::new(),
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
        self.owners = [None; MAX_REGISTERS];
        self.registers.fill(None);
        self.slots.fill(None);
        self.free_slots = (0..self.slot_count).collect();
        for &(value, register) in &self.pinned {
            (self.owners[register as usize], self.registers[value as usize]) = (Some(value), Some(register));
        }
        let body = self.body;
        for (number, instruction) in body.instructions.iter().enumerate() {
            let (Instruction { operation, to, .. }, from) = (instruction, instruction.from());
            let mut sources = [0; MAX_FROM];
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
            let offset = (vector * self.isa.lanes(self.width) * store.item) as i32;
            let base = self.bases.last().copied().flatten().unwrap_or(BASES[0]);
            let to = Operand::Memory(Memory::Elements { base, item: store.item as u8, offset });
            assembler.emit_store(store.op, store.is_whole, from, to, store.immediate);
        }
    }

    fn assign(&mut self, value: Virtual, register: VectorRegister) {
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

    /// Frees register and stack slot of a value that is not used after this instruction.
    fn release(&mut self, value: Virtual, number: usize) {
        if self.is_pinned(value) || self.next_use(value, number).is_some() {
            return;
        }
        if let Some(register) = self.registers[value as usize].take() {
            self.owners[register as usize] = None;
        }
        self.free_slots.extend(self.slots[value as usize].take());
    }

    /// Loads a value into a register, unless it is in one. `needed` values keep theirs.
    fn in_register(
        &mut self,
        assembler: &mut Assembler,
        value: Virtual,
        needed: &[Virtual],
        number: usize,
    ) -> VectorRegister {
        if let Some(register) = self.registers[value as usize] {
            return register;
        }
        let register = self.free_register(assembler, needed, number);
        self.assign(value, register);
        match self.slots[value as usize] {
            Some(slot) => {
                let from = Operand::Memory(Memory::Slot(slot));
                assembler.emit(op::VMOVUPS_LOAD, true, register, None, from, None);
            }
            None => self.load(assembler, value, register),
        }
        register
    }

    /// A register without an owner. If there is none, the value that is used last of all loses its own.
    fn free_register(
        &mut self,
        assembler: &mut Assembler,
        needed: &[Virtual],
        number: usize,
    ) -> VectorRegister {
        if let Some(free) = self.owners[..self.isa.registers()].iter().position(Option::is_none) {
            return free as VectorRegister;
        }
        // Values whose last use is this instruction, and that it does not take, are not in registers.
        let next = |value: Virtual| self.next_use(value, number).unwrap_or(usize::MAX);
        let can_drop = |&(_, value): &(usize, Virtual)| !needed.contains(&value) && !self.is_pinned(value);
        let owned =
            self.owners.iter().enumerate().filter_map(|(register, owner)| Some((register, (*owner)?)));
        // At most four values are needed and not all registers are pinned, so there is always one.
        let (register, dropped) =
            owned.filter(can_drop).max_by_key(|&(_, value)| next(value)).unwrap_or((0, 0));
        if self.body.origins[dropped as usize].is_none() && self.slots[dropped as usize].is_none() {
            let slot = self.free_slots.pop().unwrap_or_else(|| {
                self.slot_count += 1;
                self.slot_count - 1
            });
            let to = Operand::Memory(Memory::Slot(slot));
            assembler.emit_store(op::VMOVUPS_STORE, true, register as VectorRegister, to, None);
            self.slots[dropped as usize] = Some(slot);
        }
        self.registers[dropped as usize] = None;
        register as VectorRegister
    }

    /// Loads a value that is not computed.
    fn load(&self, assembler: &mut Assembler, value: Virtual, to: VectorRegister) {
        match self.body.origins[value as usize] {
            None => {}
            Some(Origin::Number(bits)) => {
                let broadcast = match self.width {
                    ElementWidth::Bits32 => op::VBROADCASTSS,
                    ElementWidth::Bits64 => op::VBROADCASTSD,
                };
                let offset = assembler.constant(&bits.to_le_bytes()[..self.width.bytes()]);
                assembler.emit(broadcast, true, to, None, Operand::Memory(Memory::Pool(offset)), None);
            }
            Some(Origin::Scalar { input, dtype }) => {
                assembler.load_field(RCX, address_field(input));
                let broadcast = match dtype.item_size() {
                    1 => op::VPBROADCASTB,
                    2 => op::VPBROADCASTW,
                    4 => op::VBROADCASTSS,
                    _ => op::VBROADCASTSD,
                };
                assembler.emit(broadcast, true, to, None, Operand::Memory(Memory::At(RCX)), None);
                self.convert(assembler, dtype, to, Operand::Register(to));
            }
            Some(Origin::Block { input, dtype, vector }) => {
                let item = dtype.item_size();
                let offset = (vector * self.isa.lanes(self.width) * item) as i32;
                let base = self.bases[input].unwrap_or(BASES[0]);
                let from = Operand::Memory(Memory::Elements { base, item: item as u8, offset });
                self.convert(assembler, dtype, to, from);
            }
        }
    }

    /// Loads or converts elements of a dtype as the vector holds them.
    fn convert(&self, assembler: &mut Assembler, dtype: DType, to: VectorRegister, from: Operand) {
        let Conversion { op, is_whole, is_shifted } = conversion(dtype, self.width);
        let is_load = matches!(op, op::VMOVUPS_LOAD | op::VMOVUPD_LOAD);
        if !is_load || matches!(from, Operand::Memory(_)) {
            assembler.emit(op, is_whole, to, None, from, None);
        }
        if is_shifted {
            assembler.shift_d(to, to, true, 16);
        }
    }
}

/// How elements are loaded.
struct Conversion {
    /// A load that converts.
    op: VectorOp,
    /// Whether it is an instruction on whole vectors.
    is_whole: bool,
    /// Whether the elements are shifted to the upper half of 32 bits then.
    is_shifted: bool,
}

/// How elements of a dtype become those of a vector; [`ElementWidth::can_hold`] says for which there is a way.
fn conversion(dtype: DType, width: ElementWidth) -> Conversion {
    use DType::*;
    use ElementWidth::{Bits32, Bits64};
    let (op, is_whole) = match (width, dtype) {
        (Bits32, Bool | U8) => (op::VPMOVZXBD, true),
        (Bits32, I8) => (op::VPMOVSXBD, true),
        (Bits32, U16 | BF16) => (op::VPMOVZXWD, true),
        (Bits32, I16) => (op::VPMOVSXWD, true),
        (Bits32, F16) => (op::VCVTPH2PS, true),
        (Bits32, _) => (op::VMOVUPS_LOAD, true),
        (Bits64, Bool) => (op::VPMOVZXBQ, true),
        (Bits64, F32) => (op::VCVTPS2PD, true),
        // Integers that are cast to float64, of 32 bits in half a vector.
        (Bits64, U8) => (op::VPMOVZXBD, false),
        (Bits64, I8) => (op::VPMOVSXBD, false),
        (Bits64, U16) => (op::VPMOVZXWD, false),
        (Bits64, I16) => (op::VPMOVSXWD, false),
        (Bits64, I32) => (op::VMOVUPS_LOAD, false),
        (Bits64, _) => (op::VMOVUPD_LOAD, true),
    };
    Conversion { op, is_whole, is_shifted: dtype == BF16 }
}

fn encode(assembler: &mut Assembler, operation: Operation, to: VectorRegister, from: &[VectorRegister]) {
    match (operation, from) {
        (Operation::Vector(op, immediate), &[a]) => {
            assembler.emit(op, true, to, None, Operand::Register(a), immediate)
        }
        (Operation::Vector(op, immediate), &[a, b]) => {
            assembler.emit(op, true, to, Some(a), Operand::Register(b), immediate)
        }
        (Operation::Reversed(op, immediate), &[a]) => {
            assembler.emit_store(op, true, a, Operand::Register(to), immediate)
        }
        (Operation::Narrow(op), &[a]) => assembler.emit(op, false, to, None, Operand::Register(a), None),
        (Operation::Narrow(op), &[a, b]) => {
            assembler.emit(op, false, to, Some(a), Operand::Register(b), None)
        }
        (Operation::ShiftLeft(bits), &[a]) => assembler.shift_d(to, a, true, bits),
        (Operation::ShiftRight(bits), &[a]) => assembler.shift_d(to, a, false, bits),
        (Operation::Compare(op, predicate), &[a, b]) => assembler.compare(op, predicate, to, [a, b]),
        (Operation::Blend, &[mask, a, b]) => assembler.blend(to, mask, [a, b]),
        (Operation::Select(op, predicate), &[a, b, x, y]) => {
            assembler.select(op, predicate, to, [a, b, x, y])
        }
        _ => {}
    }
}
