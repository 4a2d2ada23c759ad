//! Encodes the x86-64 instructions that fused kernels are made of: AVX2 and a few of the integer unit.
//!
//! AVX instructions differ in four fields of their VEX prefix and one opcode byte ([`Vex`]), so one function encodes
//! all of them. Tests decode every one with a disassembler.

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

/// A vector register, ymm0 to ymm15.
pub(crate) type Ymm = u8;

/// How many vector registers there are.
pub(crate) const REGISTERS: usize = 16;

/// A VEX-encoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Vex {
    /// The implied prefix: 0 for none, 1 for 66, 2 for F3, 3 for F2.
    prefix: u8,
    /// The opcode map: 1 for 0F, 2 for 0F38, 3 for 0F3A.
    map: u8,
    opcode: u8,
}

impl Vex {
    const fn new(prefix: u8, map: u8, opcode: u8) -> Vex {
        Vex { prefix, map, opcode }
    }

    /// An instruction of float32, or with another prefix the same of float64.
    pub(crate) const fn float(opcode: u8, is_double: bool) -> Vex {
        Vex::new(is_double as u8, 1, opcode)
    }
}

/// Instructions by their names in the manuals, without the size of their floats.
pub(crate) mod vex {
    use super::Vex;

    pub(crate) const VMOVUPS_LOAD: Vex = Vex::new(0, 1, 0x10);
    pub(crate) const VMOVUPS_STORE: Vex = Vex::new(0, 1, 0x11);
    pub(crate) const VMOVQ_STORE: Vex = Vex::new(1, 1, 0xD6);
    pub(crate) const VMOVD_STORE: Vex = Vex::new(1, 1, 0x7E);
    pub(crate) const VBROADCASTSS: Vex = Vex::new(1, 2, 0x18);
    pub(crate) const VBROADCASTSD: Vex = Vex::new(1, 2, 0x19);
    pub(crate) const VPBROADCASTB: Vex = Vex::new(1, 2, 0x78);
    pub(crate) const VPBROADCASTW: Vex = Vex::new(1, 2, 0x79);

    pub(crate) const VPMOVSXBD: Vex = Vex::new(1, 2, 0x21);
    pub(crate) const VPMOVSXWD: Vex = Vex::new(1, 2, 0x23);
    pub(crate) const VPMOVZXBD: Vex = Vex::new(1, 2, 0x31);
    pub(crate) const VPMOVZXBQ: Vex = Vex::new(1, 2, 0x32);
    pub(crate) const VPMOVZXWD: Vex = Vex::new(1, 2, 0x33);
    pub(crate) const VCVTPH2PS: Vex = Vex::new(1, 2, 0x13);
    pub(crate) const VCVTPS2PH: Vex = Vex::new(1, 3, 0x1D);
    pub(crate) const VCVTPS2PD: Vex = Vex::new(0, 1, 0x5A);
    pub(crate) const VCVTPD2PS: Vex = Vex::new(1, 1, 0x5A);
    pub(crate) const VCVTDQ2PS: Vex = Vex::new(0, 1, 0x5B);
    pub(crate) const VCVTDQ2PD: Vex = Vex::new(2, 1, 0xE6);
    pub(crate) const VEXTRACTI128: Vex = Vex::new(1, 3, 0x39);
    pub(crate) const VPACKSSDW: Vex = Vex::new(1, 1, 0x6B);
    pub(crate) const VPACKUSDW: Vex = Vex::new(1, 2, 0x2B);
    pub(crate) const VPACKSSWB: Vex = Vex::new(1, 1, 0x63);
    pub(crate) const VPABSB: Vex = Vex::new(1, 2, 0x1C);

    pub(crate) const VPADDD: Vex = Vex::new(1, 1, 0xFE);
    pub(crate) const VPADDQ: Vex = Vex::new(1, 1, 0xD4);
    pub(crate) const VPSUBD: Vex = Vex::new(1, 1, 0xFA);
    pub(crate) const VPSUBQ: Vex = Vex::new(1, 1, 0xFB);
    pub(crate) const VPMULLD: Vex = Vex::new(1, 2, 0x40);
    pub(crate) const VPMINSD: Vex = Vex::new(1, 2, 0x39);
    pub(crate) const VPMINUD: Vex = Vex::new(1, 2, 0x3B);
    pub(crate) const VPMAXSD: Vex = Vex::new(1, 2, 0x3D);
    pub(crate) const VPMAXUD: Vex = Vex::new(1, 2, 0x3F);
    pub(crate) const VPABSD: Vex = Vex::new(1, 2, 0x1E);
    pub(crate) const VPAND: Vex = Vex::new(1, 1, 0xDB);
    pub(crate) const VPANDN: Vex = Vex::new(1, 1, 0xDF);
    pub(crate) const VPOR: Vex = Vex::new(1, 1, 0xEB);
    pub(crate) const VPXOR: Vex = Vex::new(1, 1, 0xEF);
    pub(crate) const VPCMPEQD: Vex = Vex::new(1, 1, 0x76);
    pub(crate) const VPCMPEQQ: Vex = Vex::new(1, 2, 0x29);
    pub(crate) const VPCMPGTD: Vex = Vex::new(1, 1, 0x66);
    pub(crate) const VPCMPGTQ: Vex = Vex::new(1, 2, 0x37);
    /// Shifts by an immediate: which one is in the register field.
    pub(crate) const VPSHIFTD: Vex = Vex::new(1, 1, 0x72);
    /// Selects bytes by the sign bit of each byte of a mask.
    pub(crate) const VPBLENDVB: Vex = Vex::new(1, 3, 0x4C);

    pub(crate) const fn sqrt(is_double: bool) -> Vex {
        Vex::float(0x51, is_double)
    }
    pub(crate) const fn add(is_double: bool) -> Vex {
        Vex::float(0x58, is_double)
    }
    pub(crate) const fn mul(is_double: bool) -> Vex {
        Vex::float(0x59, is_double)
    }
    pub(crate) const fn sub(is_double: bool) -> Vex {
        Vex::float(0x5C, is_double)
    }
    pub(crate) const fn min(is_double: bool) -> Vex {
        Vex::float(0x5D, is_double)
    }
    pub(crate) const fn div(is_double: bool) -> Vex {
        Vex::float(0x5E, is_double)
    }
    pub(crate) const fn max(is_double: bool) -> Vex {
        Vex::float(0x5F, is_double)
    }
    pub(crate) const fn cmp(is_double: bool) -> Vex {
        Vex::float(0xC2, is_double)
    }
    pub(crate) const fn round(is_double: bool) -> Vex {
        Vex::new(1, 3, 0x08 + is_double as u8)
    }
}

/// A location in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Memory {
    /// The current elements of an operand, `ahead` bytes later, with this item size.
    Elements { base: Gpr, item: u8, ahead: i32 },
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
    Ymm(Ymm),
    Memory(Memory),
}

/// Size of a vector register in bytes.
pub(crate) const VECTOR: usize = 32;

/// Instructions, and constants behind them.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<u8>,
    pool: Vec<u8>,
    /// Displacements of constants: where they are, the end of their instruction, and the offset of the constant.
    references: Vec<(usize, usize, u32)>,
    /// Where the size of the stack frame is.
    frame: usize,
}

/// A jump whose target is not known yet.
pub(crate) struct Jump(usize);

impl Assembler {
    /// Encodes an AVX instruction; `is_wide` for 256 bits.
    ///
    /// `register` and `operand` are destination and source, or source and destination of a store. `second` is the
    /// first source of those with two.
    pub(crate) fn emit(
        &mut self,
        Vex { prefix, map, opcode }: Vex,
        is_wide: bool,
        register: Ymm,
        second: Option<Ymm>,
        operand: Operand,
        immediate: Option<u8>,
    ) {
        let base = match operand {
            Operand::Ymm(ymm) => ymm,
            Operand::Memory(Memory::Elements { base, .. } | Memory::At(base)) => base.0,
            Operand::Memory(Memory::Slot(_) | Memory::Pool(_)) => 0,
        };
        // Inverted, as the second register is. The index register needs no extension.
        let extensions = (register >> 3 ^ 1) << 7 | 1 << 6 | (base >> 3 ^ 1) << 5;
        let second = !second.unwrap_or(0) & 15;
        let fields = second << 3 | u8::from(is_wide) << 2 | prefix;
        self.code.extend([0xC4, extensions | map, fields, opcode]);
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
            Operand::Ymm(ymm) => {
                self.code.push(modrm(3, ymm & 7));
                return None;
            }
            Operand::Memory(Memory::Pool(offset)) => {
                self.code.push(modrm(0, 5));
                let at = self.code.len();
                self.code.extend([0; 4]);
                return Some((at, offset));
            }
            Operand::Memory(Memory::Elements { base, item, ahead }) => {
                (base.0, INDEX.0, item.trailing_zeros() as u8, ahead)
            }
            Operand::Memory(Memory::At(base)) => (base.0, no_index, 0, 0),
            Operand::Memory(Memory::Slot(slot)) => (RSP, no_index, 0, slot as i32 * VECTOR as i32),
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
    pub(crate) fn shift_d(&mut self, to: Ymm, from: Ymm, is_left: bool, bits: u8) {
        let which = if is_left { 6 } else { 2 };
        self.emit(vex::VPSHIFTD, true, which, Some(to), Operand::Ymm(from), Some(bits));
    }

    /// Selects elements of `a` where a mask is set, else of `b`.
    pub(crate) fn blend(&mut self, to: Ymm, mask: Ymm, a: Ymm, b: Ymm) {
        self.emit(vex::VPBLENDVB, true, to, Some(b), Operand::Ymm(a), Some(mask << 4));
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
        let size = ((slots * VECTOR) as u32).to_le_bytes();
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
    pub(crate) fn land(&mut self, Jump(end): Jump) {
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
