//! Encodes the x86-64 instructions that fused kernels are made of: AVX2 or AVX-512, and a few of the integer unit.
//!
//! AVX instructions differ in a few fields of their prefix and one opcode byte ([`VectorOp`]), so one function encodes
//! all of them: with a VEX prefix for AVX2, with an EVEX prefix for AVX-512. Tests decode every one with a
//! disassembler.

use crate::isa::Isa;

/// A general-purpose register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gpr(u8);

/// Offset of the current elements; the index of every indexed operand.
pub(crate) const INDEX: Gpr = Gpr(0);
/// Scratch: the address of a scalar, and the end of the next vectors.
pub(crate) const RCX: Gpr = Gpr(1);
const RSP: u8 = 4;

/// Registers that hold the addresses of operands.
pub(crate) const BASES: [Gpr; 11] =
    [Gpr(2), Gpr(8), Gpr(9), Gpr(10), Gpr(11), Gpr(3), Gpr(5), Gpr(12), Gpr(13), Gpr(14), Gpr(15)];
/// How many of these a function may change without saving them.
pub(crate) const VOLATILE_BASES: usize = 5;

/// A vector register: ymm0 to ymm15, or zmm0 to zmm31.
pub(crate) type VectorRegister = u8;

/// The mask register that comparisons and blends of AVX-512 use.
const SELECTED: u8 = 1;
/// The mask register of elements that are loaded and stored in a tail.
const TAIL: u8 = 7;

/// An instruction on vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct VectorOp {
    /// The implied prefix: 0 for none, 1 for 66, 2 for F3, 3 for F2.
    prefix: u8,
    /// The opcode map: 1 for 0F, 2 for 0F38, 3 for 0F3A.
    map: u8,
    opcode: u8,
    /// Whether its elements have 64 bits, which only an EVEX prefix says.
    is_long: bool,
}

impl VectorOp {
    const fn new(prefix: u8, map: u8, opcode: u8) -> VectorOp {
        VectorOp { prefix, map, opcode, is_long: false }
    }

    const fn long(prefix: u8, map: u8, opcode: u8) -> VectorOp {
        VectorOp { prefix, map, opcode, is_long: true }
    }

    /// An instruction of float32, or with another prefix the same of float64.
    pub(crate) const fn float(opcode: u8, is_double: bool) -> VectorOp {
        VectorOp { prefix: is_double as u8, map: 1, opcode, is_long: is_double }
    }

    /// Whether it is arithmetic, which sets the CPU's floating-point flags: square root, sum, product, difference or
    /// quotient.
    const fn is_arithmetic(self) -> bool {
        self.map == 1 && self.prefix <= 1 && matches!(self.opcode, 0x51 | 0x58 | 0x59 | 0x5C | 0x5E)
    }
}

/// Instructions by their names in the manuals, without the size of their floats.
pub(crate) mod op {
    use super::VectorOp;

    pub(crate) const VMOVUPS_LOAD: VectorOp = VectorOp::new(0, 1, 0x10);
    pub(crate) const VMOVUPS_STORE: VectorOp = VectorOp::new(0, 1, 0x11);
    pub(crate) const VMOVUPD_LOAD: VectorOp = VectorOp::long(1, 1, 0x10);
    pub(crate) const VMOVUPD_STORE: VectorOp = VectorOp::long(1, 1, 0x11);
    pub(crate) const VMOVQ_STORE: VectorOp = VectorOp::new(1, 1, 0xD6);
    pub(crate) const VMOVD_STORE: VectorOp = VectorOp::new(1, 1, 0x7E);
    pub(crate) const VBROADCASTSS: VectorOp = VectorOp::new(1, 2, 0x18);
    pub(crate) const VBROADCASTSD: VectorOp = VectorOp::long(1, 2, 0x19);
    pub(crate) const VPBROADCASTB: VectorOp = VectorOp::new(1, 2, 0x78);
    pub(crate) const VPBROADCASTW: VectorOp = VectorOp::new(1, 2, 0x79);

    pub(crate) const VPMOVSXBD: VectorOp = VectorOp::new(1, 2, 0x21);
    pub(crate) const VPMOVSXWD: VectorOp = VectorOp::new(1, 2, 0x23);
    pub(crate) const VPMOVZXBD: VectorOp = VectorOp::new(1, 2, 0x31);
    pub(crate) const VPMOVZXBQ: VectorOp = VectorOp::new(1, 2, 0x32);
    pub(crate) const VPMOVZXWD: VectorOp = VectorOp::new(1, 2, 0x33);
    pub(crate) const VCVTPH2PS: VectorOp = VectorOp::new(1, 2, 0x13);
    pub(crate) const VCVTPS2PH: VectorOp = VectorOp::new(1, 3, 0x1D);
    pub(crate) const VCVTPS2PD: VectorOp = VectorOp::new(0, 1, 0x5A);
    pub(crate) const VCVTPD2PS: VectorOp = VectorOp::long(1, 1, 0x5A);
    pub(crate) const VCVTDQ2PS: VectorOp = VectorOp::new(0, 1, 0x5B);
    pub(crate) const VCVTDQ2PD: VectorOp = VectorOp::new(2, 1, 0xE6);
    pub(crate) const VEXTRACTI128: VectorOp = VectorOp::new(1, 3, 0x39);
    pub(crate) const VPACKSSDW: VectorOp = VectorOp::new(1, 1, 0x6B);
    pub(crate) const VPACKUSDW: VectorOp = VectorOp::new(1, 2, 0x2B);
    pub(crate) const VPACKSSWB: VectorOp = VectorOp::new(1, 1, 0x63);
    pub(crate) const VPABSB: VectorOp = VectorOp::new(1, 2, 0x1C);

    pub(crate) const VPADDD: VectorOp = VectorOp::new(1, 1, 0xFE);
    pub(crate) const VPADDQ: VectorOp = VectorOp::long(1, 1, 0xD4);
    pub(crate) const VPSUBD: VectorOp = VectorOp::new(1, 1, 0xFA);
    pub(crate) const VPSUBQ: VectorOp = VectorOp::long(1, 1, 0xFB);
    pub(crate) const VPMULLD: VectorOp = VectorOp::new(1, 2, 0x40);
    pub(crate) const VPMINSD: VectorOp = VectorOp::new(1, 2, 0x39);
    pub(crate) const VPMINUD: VectorOp = VectorOp::new(1, 2, 0x3B);
    pub(crate) const VPMAXSD: VectorOp = VectorOp::new(1, 2, 0x3D);
    pub(crate) const VPMAXUD: VectorOp = VectorOp::new(1, 2, 0x3F);
    pub(crate) const VPABSD: VectorOp = VectorOp::new(1, 2, 0x1E);
    pub(crate) const VPAND: VectorOp = VectorOp::new(1, 1, 0xDB);
    pub(crate) const VPANDN: VectorOp = VectorOp::new(1, 1, 0xDF);
    pub(crate) const VPOR: VectorOp = VectorOp::new(1, 1, 0xEB);
    pub(crate) const VPXOR: VectorOp = VectorOp::new(1, 1, 0xEF);
    pub(crate) const VPCMPEQD: VectorOp = VectorOp::new(1, 1, 0x76);
    pub(crate) const VPCMPEQQ: VectorOp = VectorOp::long(1, 2, 0x29);
    pub(crate) const VPCMPGTD: VectorOp = VectorOp::new(1, 1, 0x66);
    pub(crate) const VPCMPGTQ: VectorOp = VectorOp::long(1, 2, 0x37);
    /// Shifts by an immediate: which one is in the register field.
    pub(crate) const VPSHIFTD: VectorOp = VectorOp::new(1, 1, 0x72);
    /// Selects bytes by the sign bit of each byte of a mask; AVX2 only.
    pub(crate) const VPBLENDVB: VectorOp = VectorOp::new(1, 3, 0x4C);

    // AVX-512 only: elements stored as narrower ones, selected by a mask register, and masks in both forms.
    pub(crate) const VPMOVDB: VectorOp = VectorOp::new(2, 2, 0x31);
    pub(crate) const VPMOVQB: VectorOp = VectorOp::new(2, 2, 0x32);
    pub(crate) const VPMOVDW: VectorOp = VectorOp::new(2, 2, 0x33);
    pub(crate) const VPBLENDMD: VectorOp = VectorOp::new(1, 2, 0x64);
    pub(crate) const VPBLENDMQ: VectorOp = VectorOp::long(1, 2, 0x64);
    pub(crate) const VPMOVM2D: VectorOp = VectorOp::new(2, 2, 0x38);
    pub(crate) const VPMOVM2Q: VectorOp = VectorOp::long(2, 2, 0x38);
    pub(crate) const VPMOVD2M: VectorOp = VectorOp::new(2, 2, 0x39);

    pub(crate) const fn sqrt(is_double: bool) -> VectorOp {
        VectorOp::float(0x51, is_double)
    }
    pub(crate) const fn add(is_double: bool) -> VectorOp {
        VectorOp::float(0x58, is_double)
    }
    pub(crate) const fn mul(is_double: bool) -> VectorOp {
        VectorOp::float(0x59, is_double)
    }
    pub(crate) const fn sub(is_double: bool) -> VectorOp {
        VectorOp::float(0x5C, is_double)
    }
    pub(crate) const fn div(is_double: bool) -> VectorOp {
        VectorOp::float(0x5E, is_double)
    }
    pub(crate) const fn cmp(is_double: bool) -> VectorOp {
        VectorOp::float(0xC2, is_double)
    }
    pub(crate) const fn round(is_double: bool) -> VectorOp {
        VectorOp { prefix: 1, map: 3, opcode: 0x08 + is_double as u8, is_long: is_double }
    }
}

/// A location in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Memory {
    /// The elements of an operand `offset` bytes after the current one, with this item size.
    Elements { base: Gpr, item: u8, offset: i32 },
    /// Where a register points to.
    At(Gpr),
    /// A vector of the stack frame.
    Slot(u32),
    /// A constant behind the code, by its offset there.
    Pool(u32),
}

/// A register or memory operand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    Register(VectorRegister),
    Memory(Memory),
}

/// Which elements of a result an instruction writes, by a mask register of AVX-512.
#[derive(Clone, Copy, Debug)]
enum Masking {
    /// All.
    None,
    /// Those that are set; the others become 0.
    Zeroing(u8),
    /// Those that are set.
    Merging(u8),
}

/// Instructions, and constants behind them.
#[derive(Debug)]
pub(crate) struct Assembler {
    isa: Isa,
    code: Vec<u8>,
    pool: Vec<u8>,
    /// Displacements of constants: where they are, the end of their instruction, and the offset of the constant.
    references: Vec<(usize, usize, u32)>,
    /// Where the size of the stack frame is.
    frame: usize,
    /// Whether only some elements of operands are loaded and stored: [`Assembler::load_tail_mask`] says which.
    is_tail: bool,
}

/// A jump whose target is not known yet.
pub(crate) struct Jump(usize);

impl Assembler {
    pub(crate) fn new(isa: Isa) -> Assembler {
        let (code, pool, references) = (Vec::new(), Vec::new(), Vec::new());
        Assembler { isa, code, pool, references, frame: 0, is_tail: false }
    }

    /// Encodes an instruction on whole vectors, or on half ones.
    ///
    /// `register` is the destination, `operand` the source. `second` is the first source of those with two.
    pub(crate) fn emit(
        &mut self,
        op: VectorOp,
        is_whole: bool,
        register: VectorRegister,
        second: Option<VectorRegister>,
        operand: Operand,
        immediate: Option<u8>,
    ) {
        // Elements that do not exist set no flags, either.
        let is_partial = self.is_tail
            && (op.is_arithmetic() || matches!(operand, Operand::Memory(Memory::Elements { .. })));
        let masking = if is_partial { Masking::Zeroing(TAIL) } else { Masking::None };
        self.encode(op, is_whole, register, second, operand, masking, immediate);
    }

    /// Encodes an instruction whose destination is the operand, in memory or a register.
    pub(crate) fn emit_store(
        &mut self,
        op: VectorOp,
        is_whole: bool,
        register: VectorRegister,
        operand: Operand,
        immediate: Option<u8>,
    ) {
        let is_partial = self.is_tail && matches!(operand, Operand::Memory(Memory::Elements { .. }));
        let masking = if is_partial { Masking::Merging(TAIL) } else { Masking::None };
        self.encode(op, is_whole, register, None, operand, masking, immediate);
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of an instruction")]
    fn encode(
        &mut self,
        VectorOp { prefix, map, opcode, is_long }: VectorOp,
        is_whole: bool,
        register: VectorRegister,
        second: Option<VectorRegister>,
        operand: Operand,
        masking: Masking,
        immediate: Option<u8>,
    ) {
        let base = match operand {
            Operand::Register(register) => register,
            Operand::Memory(Memory::Elements { base, .. } | Memory::At(base)) => base.0,
            Operand::Memory(Memory::Slot(_) | Memory::Pool(_)) => 0,
        };
        // All bits of register numbers beyond the third are inverted. The index register needs none of them.
        let inverted = |number: u8, bit: u8, to: u8| (number >> bit & 1 ^ 1) << to;
        let second = second.unwrap_or(0);
        let extensions = inverted(register, 3, 7) | inverted(base, 4, 6) | inverted(base, 3, 5);
        let second_fields = (!second & 15) << 3;
        match self.isa {
            Isa::Avx2 => {
                let fields = second_fields | u8::from(is_whole) << 2 | prefix;
                self.code.extend([0xC4, extensions | map, fields, opcode]);
            }
            Isa::Avx512 => {
                let extensions = extensions | inverted(register, 4, 4) | map;
                let fields = u8::from(is_long) << 7 | second_fields | 1 << 2 | prefix;
                let size = if is_whole { 2 } else { 1 };
                let mask = match masking {
                    Masking::None => 0,
                    Masking::Zeroing(mask) => 1 << 7 | mask,
                    Masking::Merging(mask) => mask,
                };
                self.code.extend([
                    0x62,
                    extensions,
                    fields,
                    size << 5 | inverted(second, 4, 3) | mask,
                    opcode,
                ]);
            }
        }
        let pool = self.operand(register & 7, operand);
        self.code.extend(immediate);
        if let Some((at, offset)) = pool {
            self.references.push((at, self.code.len(), offset));
        }
    }

    /// ModRM byte, SIB byte and displacement. Returns where the displacement of a constant is, and its offset.
    fn operand(&mut self, register: u8, operand: Operand) -> Option<(usize, u32)> {
        let modrm = |mode: u8, low: u8| mode << 6 | register << 3 | low;
        // With a SIB byte and a displacement of 32 bits, every register can be the base.
        let (with_sib, no_index) = (4, 4);
        let (base, index, scale, displacement) = match operand {
            Operand::Register(register) => {
                self.code.push(modrm(3, register & 7));
                return None;
            }
            Operand::Memory(Memory::Pool(offset)) => {
                self.code.push(modrm(0, 5));
                let at = self.code.len();
                self.code.extend([0; 4]);
                return Some((at, offset));
            }
            Operand::Memory(Memory::Elements { base, item, offset }) => {
                (base.0, INDEX.0, item.trailing_zeros() as u8, offset)
            }
            Operand::Memory(Memory::At(base)) => (base.0, no_index, 0, 0),
            Operand::Memory(Memory::Slot(slot)) => (RSP, no_index, 0, slot as i32 * self.isa.vector() as i32),
        };
        self.code.push(modrm(2, with_sib));
        self.code.push(scale << 6 | index << 3 | base & 7);
        self.code.extend(displacement.to_le_bytes());
        None
    }

    /// Offset of a constant behind the code, of 4 or 8 bytes.
    pub(crate) fn constant(&mut self, bytes: &[u8]) -> u32 {
        let mut known = self.pool.chunks_exact(8);
        let at = match known.position(|constant| constant.starts_with(bytes)) {
            Some(number) => number * 8,
            None => {
                self.pool.extend(bytes);
                self.pool.resize(self.pool.len().next_multiple_of(8), 0);
                self.pool.len() - 8
            }
        };
        at as u32
    }

    /// Shifts each 32-bit element left, or right without its sign.
    pub(crate) fn shift_d(&mut self, to: VectorRegister, from: VectorRegister, is_left: bool, bits: u8) {
        // The destination is where other instructions have their first source.
        let which = if is_left { 6 } else { 2 };
        self.emit(op::VPSHIFTD, true, which, Some(to), Operand::Register(from), Some(bits));
    }

    /// Compares two vectors: all bits of an element are set where the comparison holds.
    pub(crate) fn compare(
        &mut self,
        op: VectorOp,
        predicate: Option<u8>,
        to: VectorRegister,
        [a, b]: [VectorRegister; 2],
    ) {
        match self.isa {
            Isa::Avx2 => self.emit(op, true, to, Some(a), Operand::Register(b), predicate),
            Isa::Avx512 => {
                self.emit(op, true, SELECTED, Some(a), Operand::Register(b), predicate);
                let expand = if op.is_long { op::VPMOVM2Q } else { op::VPMOVM2D };
                self.emit(expand, true, to, None, Operand::Register(SELECTED), None);
            }
        }
    }

    /// Selects elements of `a` where a mask is set, else of `b`.
    pub(crate) fn blend(&mut self, to: VectorRegister, mask: VectorRegister, [a, b]: [VectorRegister; 2]) {
        match self.isa {
            Isa::Avx2 => {
                self.emit(op::VPBLENDVB, true, to, Some(b), Operand::Register(a), Some(mask << 4));
            }
            Isa::Avx512 => {
                self.emit(op::VPMOVD2M, true, SELECTED, None, Operand::Register(mask), None);
                self.blend_selected(op::VPBLENDMD, to, [a, b]);
            }
        }
    }

    /// Selects elements of `x` where a comparison of `a` and `b` holds, else of `y`; AVX-512 only.
    pub(crate) fn select(
        &mut self,
        op: VectorOp,
        predicate: Option<u8>,
        to: VectorRegister,
        [a, b, x, y]: [VectorRegister; 4],
    ) {
        self.emit(op, true, SELECTED, Some(a), Operand::Register(b), predicate);
        self.blend_selected(if op.is_long { op::VPBLENDMQ } else { op::VPBLENDMD }, to, [x, y]);
    }

    fn blend_selected(&mut self, op: VectorOp, to: VectorRegister, [x, y]: [VectorRegister; 2]) {
        self.encode(op, true, to, Some(y), Operand::Register(x), Masking::Merging(SELECTED), None);
    }

    /// Loads the mask of a tail from a field of the arguments; AVX-512 only.
    pub(crate) fn load_tail_mask(&mut self, offset: usize) {
        // kmovw k7, [rdi + offset]
        self.code.extend([0xC5, 0xF8]);
        self.field(0x90, TAIL, offset);
    }

    /// Between the two, only the elements of the tail mask are loaded and stored.
    pub(crate) fn set_tail(&mut self, is_tail: bool) {
        self.is_tail = is_tail;
    }

    /// Jumps to a later position if the tail mask is empty.
    pub(crate) fn jump_without_tail(&mut self) -> Jump {
        // kortestw k7, k7; je
        self.code.extend([0xC5, 0xF8, 0x98, 0xFF, 0x0F, 0x84]);
        self.code.extend([0; 4]);
        Jump(self.code.len())
    }

    /// Loads a field of the arguments, whose address is the first argument.
    pub(crate) fn load_field(&mut self, to: Gpr, offset: usize) {
        self.code.push(0x48 | (to.0 >> 3) << 2);
        self.field(0x8B, to.0 & 7, offset);
    }

    /// Adds a register to a field of the arguments.
    pub(crate) fn add_to_field(&mut self, offset: usize, from: Gpr) {
        self.code.push(0x48 | (from.0 >> 3) << 2);
        self.field(0x01, from.0 & 7, offset);
    }

    /// Opcode and operand `[rdi + offset]` of an instruction.
    fn field(&mut self, opcode: u8, register: u8, offset: usize) {
        self.code.extend([opcode, 2 << 6 | register << 3 | 7]);
        self.code.extend((offset as u32).to_le_bytes());
    }

    /// Subtracts one from a field of the arguments, and jumps to an earlier position unless that gave 0.
    pub(crate) fn jump_back_while_counted(&mut self, offset: usize, target: usize) {
        // sub qword ptr [rdi + offset], 1; jne target
        self.code.push(0x48);
        self.field(0x83, 5, offset);
        self.code.extend([1, 0x0F, 0x85]);
        let end = self.code.len() + 4;
        self.code.extend((target as i32 - end as i32).to_le_bytes());
    }

    /// Starts a function, which keeps these registers.
    pub(crate) fn enter(&mut self, saved: &[Gpr]) {
        for register in saved {
            self.code.extend((register.0 >= 8).then_some(0x41));
            self.code.push(0x50 + (register.0 & 7));
        }
        // sub rsp, the size of the frame, which is not known yet.
        self.code.extend([0x48, 0x81, 0xEC]);
        self.frame = self.code.len();
        self.code.extend([0; 4]);
    }

    /// Ends a function that was started with the same registers, and that has used some stack slots.
    pub(crate) fn leave(&mut self, saved: &[Gpr], slots: usize) {
        let size = ((slots * self.isa.vector()) as u32).to_le_bytes();
        self.code[self.frame..][..4].copy_from_slice(&size);
        // add rsp
        self.code.extend([0x48, 0x81, 0xC4]);
        self.code.extend(size);
        for register in saved.iter().rev() {
            self.code.extend((register.0 >= 8).then_some(0x41));
            self.code.push(0x58 + (register.0 & 7));
        }
        // vzeroupper; ret
        self.code.extend([0xC5, 0xF8, 0x77, 0xC3]);
    }

    /// The current position, as the target of a later jump.
    pub(crate) fn position(&self) -> usize {
        self.code.len()
    }

    /// Adds to the index.
    pub(crate) fn advance(&mut self, elements: usize) {
        self.code.extend([0x48, 0x05]);
        self.code.extend((elements as u32).to_le_bytes());
    }

    /// Jumps to an earlier position if at least this many elements are left before the end, the second argument.
    pub(crate) fn jump_back_while_left(&mut self, elements: usize, target: usize) {
        // lea rcx, [rax + elements]; cmp rcx, rsi; jbe target
        self.code.extend([0x48, 0x8D, 0x88]);
        self.code.extend((elements as u32).to_le_bytes());
        self.code.extend([0x48, 0x39, 0xF1, 0x0F, 0x86]);
        let end = self.code.len() + 4;
        self.code.extend((target as i32 - end as i32).to_le_bytes());
    }

    /// Jumps to a later position.
    pub(crate) fn jump(&mut self) -> Jump {
        self.code.push(0xE9);
        self.code.extend([0; 4]);
        Jump(self.code.len())
    }

    /// Makes the current position the target of a jump.
    pub(crate) fn set_target(&mut self, Jump(end): Jump) {
        let distance = (self.code.len() - end) as i32;
        self.code[end - 4..end].copy_from_slice(&distance.to_le_bytes());
    }

    /// The bytes of code and constants.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        // Beyond the code, so that data are not decoded as instructions.
        let pool = self.code.len().next_multiple_of(64);
        self.code.resize(pool, 0xCC);
        for (at, end, offset) in self.references {
            let displacement = (pool + offset as usize) as i32 - end as i32;
            self.code[at..at + 4].copy_from_slice(&displacement.to_le_bytes());
        }
        self.code.extend(self.pool);
        self.code
    }
}
