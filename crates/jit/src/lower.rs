//! Lowers a chain of operations to vector instructions on virtual registers.
//!
//! A value is held as it is computed: float16 and bfloat16 as float32, booleans as masks with all bits of an element
//! set or clear, 8- and 16-bit integers as 32-bit ones. Every instruction rounds as the kernel of its operation does,
//! so results have the same bits.

use crate::assembler::{VectorOp, op};
use crate::chain::{Chain, ChainInput, ElementWidth};
use crate::isa::Isa;
use std::collections::HashMap;
use unishape_kernels::{DType, KernelKey, Op};

/// A virtual register.
pub(crate) type Virtual = u32;

/// Where a virtual register's value comes from if it is not computed. It can be loaded again at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// Elements of an input in one of the vectors of a body.
    Block { input: usize, dtype: DType, vector: usize },
    /// Copies of the only element of an input.
    Scalar { input: usize, dtype: DType },
    /// Copies of the low bytes of a number.
    Number(u64),
}

impl Origin {
    /// Whether all elements are the same, in every vector.
    pub(crate) fn is_scalar(self) -> bool {
        !matches!(self, Origin::Block { .. })
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    /// Of whole vectors, with one or two sources.
    Vector(VectorOp, Option<u8>),
    /// As `Vector`, with the destination as the instruction's operand and the source as its register.
    Reversed(VectorOp, Option<u8>),
    /// Of the low halves of vectors.
    Narrow(VectorOp),
    /// Shifts 32-bit elements.
    ShiftLeft(u8),
    ShiftRight(u8),
    /// A mask: where a comparison of two sources holds.
    Compare(VectorOp, Option<u8>),
    /// Elements of the second source where the first is set, else of the third.
    Blend,
    /// Elements of the third source where a comparison of the first two holds, else of the fourth; AVX-512 only.
    Select(VectorOp, Option<u8>),
}

/// The most sources of an operation.
pub(crate) const MAX_FROM: usize = 4;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) operation: Operation,
    pub(crate) to: Virtual,
    from: [Virtual; MAX_FROM],
    from_len: u8,
}

impl Instruction {
    fn new(operation: Operation, to: Virtual, from: &[Virtual]) -> Instruction {
        let mut instruction = Instruction { operation, to, from: [0; MAX_FROM], from_len: from.len() as u8 };
        instruction.from[..from.len()].copy_from_slice(from);
        instruction
    }

    /// The virtual registers that it takes.
    pub(crate) fn from(&self) -> &[Virtual] {
        &self.from[..usize::from(self.from_len)]
    }
}

/// How results are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Store {
    pub(crate) op: VectorOp,
    pub(crate) immediate: Option<u8>,
    pub(crate) is_whole: bool,
    pub(crate) item: usize,
    pub(crate) from: Virtual,
}

/// The instructions for some vectors of elements.
#[derive(Debug)]
pub(crate) struct Body {
    /// Of each virtual register; `None` if an instruction computes it.
    pub(crate) origins: Vec<Option<Origin>>,
    pub(crate) instructions: Vec<Instruction>,
    /// One for each vector.
    pub(crate) stores: Vec<Store>,
}

impl Body {
    /// The same for more vectors, each instruction for one after another: they do not wait for each other's results.
    pub(crate) fn interleaved(&self, vectors: usize) -> Body {
        let count = self.origins.len();
        let mut origins = self.origins.clone();
        // The virtual registers of each vector, one vector after another; scalars are shared.
        let mut registers: Vec<Virtual> = (0..count as Virtual).collect();
        registers.reserve(count * (vectors - 1));
        for vector in 1..vectors {
            for (own, &origin) in self.origins.iter().enumerate() {
                let origin = match origin {
                    Some(Origin::Block { input, dtype, .. }) => Some(Origin::Block { input, dtype, vector }),
                    Some(_) => {
                        registers.push(own as Virtual);
                        continue;
                    }
                    None => None,
                };
                registers.push(origins.len() as Virtual);
                origins.push(origin);
            }
        }
        let renamed = |value: Virtual, vector: usize| registers[vector * count + value as usize];
        let mut instructions = Vec::with_capacity(self.instructions.len() * vectors);
        for instruction in &self.instructions {
            instructions.extend((0..vectors).map(|vector| {
                let (from, to) = (instruction.from, instruction.to);
                Instruction {
                    from: from.map(|value| renamed(value, vector)),
                    to: renamed(to, vector),
                    ..*instruction
                }
            }));
        }
        let stores = self.stores.iter().flat_map(|store| {
            (0..vectors).map(|vector| Store { from: renamed(store.from, vector), ..*store })
        });
        let stores = stores.collect();
        Body { origins, instructions, stores }
    }

    /// Removes instructions whose results nothing takes.
    fn remove_unused(&mut self) {
        let mut is_used = vec![false; self.origins.len()];
        self.stores.iter().for_each(|store| is_used[store.from as usize] = true);
        for instruction in self.instructions.iter().rev() {
            if is_used[instruction.to as usize] {
                instruction.from().iter().for_each(|&value| is_used[value as usize] = true);
            }
        }
        self.instructions.retain(|instruction| is_used[instruction.to as usize]);
    }

    /// Number of values that are the same in every vector.
    pub(crate) fn scalars(&self) -> usize {
        self.origins.iter().filter(|origin| origin.is_some_and(Origin::is_scalar)).count()
    }

    /// The most registers that values other than scalars take at a time.
    pub(crate) fn pressure(&self) -> usize {
        let is_counted = |value: Virtual| !self.origins[value as usize].is_some_and(Origin::is_scalar);
        let mut last_use = vec![0; self.origins.len()];
        for (number, instruction) in self.instructions.iter().enumerate() {
            instruction.from().iter().for_each(|&value| last_use[value as usize] = number);
        }
        self.stores.iter().for_each(|store| last_use[store.from as usize] = usize::MAX);
        let mut is_live = vec![false; self.origins.len()];
        let (mut live, mut most) = (0usize, 0);
        for (number, instruction) in self.instructions.iter().enumerate() {
            for &value in instruction.from() {
                if is_counted(value) && !std::mem::replace(&mut is_live[value as usize], true) {
                    live += 1;
                }
            }
            most = most.max(live);
            for &value in instruction.from() {
                if last_use[value as usize] == number && std::mem::take(&mut is_live[value as usize]) {
                    live -= 1;
                }
            }
            is_live[instruction.to as usize] = true;
            live += 1;
            most = most.max(live);
        }
        most
    }
}

/// Predicates of comparisons: false for NaN but for `UNEQUAL` and `UNORDERED`, and without exceptions.
mod predicate {
    pub(super) const EQUAL: u8 = 0x00;
    pub(super) const UNORDERED: u8 = 0x03;
    pub(super) const UNEQUAL: u8 = 0x04;
    pub(super) const LESS: u8 = 0x11;
    pub(super) const LESS_EQUAL: u8 = 0x12;
}

/// Roundings of `vround`, without an exception for inexact results.
mod rounding {
    pub(super) const NEAREST: u8 = 0x8;
    pub(super) const DOWN: u8 = 0x9;
    pub(super) const UP: u8 = 0xA;
    pub(super) const TO_ZERO: u8 = 0xB;
}

/// The sign bit of bfloat16's and float32's encodings, and others.
const SIGN_F32: u64 = 1 << 31;
const SIGN_F64: u64 = 1 << 63;

/// Whether elements of two dtypes have the same bits in a vector: casts between these have no kernel.
fn is_held_alike(a: DType, b: DType) -> bool {
    use DType::{I32, I64, U32, U64};
    a == b || matches!((a, b), (I32, U32) | (U32, I32) | (I64, U64) | (U64, I64))
}

/// Lowers a chain; `None` if it has an operation, or an operation of a dtype, that has no instructions here.
pub(crate) fn lower(chain: &Chain<'_>, isa: Isa) -> Option<Body> {
    let width = chain.width()?;
    let mut lowering = Lowering {
        isa,
        width,
        chain,
        origins: Vec::new(),
        known: HashMap::new(),
        instructions: Vec::new(),
        values: Vec::new(),
    };
    for call in chain.calls {
        let value = lowering.call(call.key, call.inputs)?;
        lowering.values.push((value, call.key.result_dtype()));
    }
    let (result, dtype) = *lowering.values.last()?;
    let store = lowering.store(result, dtype)?;
    let mut body =
        Body { origins: lowering.origins, instructions: lowering.instructions, stores: vec![store] };
    body.remove_unused();
    Some(body)
}

struct Lowering<'c> {
    isa: Isa,
    width: ElementWidth,
    chain: &'c Chain<'c>,
    origins: Vec<Option<Origin>>,
    known: HashMap<Origin, Virtual>,
    instructions: Vec<Instruction>,
    /// Results of the calls so far, and their dtypes.
    values: Vec<(Virtual, DType)>,
}

impl Lowering<'_> {
    fn is_double(&self) -> bool {
        self.width == ElementWidth::Bits64
    }

    fn origin(&mut self, origin: Origin) -> Virtual {
        *self.known.entry(origin).or_insert_with(|| {
            self.origins.push(Some(origin));
            self.origins.len() as Virtual - 1
        })
    }

    /// Copies of a number, of which each element has the low bits.
    fn number(&mut self, number: u64) -> Virtual {
        self.origin(Origin::Number(if self.is_double() { number } else { number & u64::from(u32::MAX) }))
    }

    fn push(&mut self, operation: Operation, from: &[Virtual]) -> Virtual {
        self.origins.push(None);
        let to = self.origins.len() as Virtual - 1;
        self.instructions.push(Instruction::new(operation, to, from));
        to
    }

    fn vector(&mut self, op: VectorOp, from: &[Virtual]) -> Virtual {
        self.push(Operation::Vector(op, None), from)
    }

    fn with_immediate(&mut self, op: VectorOp, immediate: u8, from: &[Virtual]) -> Virtual {
        self.push(Operation::Vector(op, Some(immediate)), from)
    }

    /// Elements of `a` where a mask is set, else of `b`.
    fn blend(&mut self, mask: Virtual, a: Virtual, b: Virtual) -> Virtual {
        let compared = self.instructions.iter().rfind(|instruction| instruction.to == mask);
        match compared.map(|compared| (compared.operation, compared.from)) {
            // The comparison's result need not become a vector.
            Some((Operation::Compare(op, predicate), [first, second, ..])) if self.isa == Isa::Avx512 => {
                self.push(Operation::Select(op, predicate), &[first, second, a, b])
            }
            _ => self.push(Operation::Blend, &[mask, a, b]),
        }
    }

    fn compare(&mut self, predicate: u8, a: Virtual, b: Virtual) -> Virtual {
        self.push(Operation::Compare(op::cmp(self.is_double()), Some(predicate)), &[a, b])
    }

    fn compare_integers(&mut self, op: VectorOp, a: Virtual, b: Virtual) -> Virtual {
        self.push(Operation::Compare(op, None), &[a, b])
    }

    fn not(&mut self, mask: Virtual) -> Virtual {
        let ones = self.number(u64::MAX);
        self.vector(op::VPXOR, &[mask, ones])
    }

    /// The result of a call with its dtype; `None` for inputs.
    fn computed(&self, value: usize) -> Option<(Virtual, DType)> {
        self.values.get(value.checked_sub(self.chain.inputs.len())?).copied()
    }

    /// A value of the chain, which is of this dtype.
    fn value(&mut self, value: usize, dtype: DType) -> Option<Virtual> {
        if let Some((computed, own)) = self.computed(value) {
            return is_held_alike(own, dtype).then_some(computed);
        }
        if !self.width.can_hold(dtype) {
            return None;
        }
        let loaded = self.origin(match self.chain.inputs[value] {
            ChainInput::Block => Origin::Block { input: value, dtype, vector: 0 },
            ChainInput::Scalar | ChainInput::Constant(_) => Origin::Scalar { input: value, dtype },
        });
        if dtype != DType::Bool {
            return Some(loaded);
        }
        // A byte becomes a mask.
        let zero = self.number(0);
        let greater = if self.is_double() { op::VPCMPGTQ } else { op::VPCMPGTD };
        Some(self.compare_integers(greater, loaded, zero))
    }

    /// The value of a constant, if an input is one and a number.
    fn constant(&self, value: usize, dtype: DType) -> Option<f64> {
        let Some(ChainInput::Constant(constant)) = self.chain.inputs.get(value) else {
            return None;
        };
        match dtype {
            DType::F32 => constant.get::<f32>().map(f64::from),
            _ => constant.get::<f64>(),
        }
    }

    fn call(&mut self, function: KernelKey, inputs: &[usize]) -> Option<Virtual> {
        match function {
            KernelKey::Cast(from, to) => {
                let &[input] = inputs else { return None };
                match self.computed(input) {
                    // Booleans are 0 or 1 as 8-bit integers in memory, so there is no cast to these; but masks are not.
                    Some((mask, DType::Bool)) if matches!(from, DType::U8 | DType::I8) => {
                        self.cast(mask, DType::Bool, to)
                    }
                    _ => {
                        let value = self.value(input, from)?;
                        self.cast(value, from, to)
                    }
                }
            }
            KernelKey::Call(Op::Where, dtype) => {
                let &[condition, a, b] = inputs else { return None };
                let mask = self.value(condition, DType::Bool)?;
                let (a, b) = (self.value(a, dtype)?, self.value(b, dtype)?);
                Some(self.blend(mask, a, b))
            }
            KernelKey::Call(op, dtype) => {
                let values: Option<Vec<Virtual>> =
                    inputs.iter().map(|&input| self.value(input, dtype)).collect();
                match (dtype, &values?[..]) {
                    (DType::Bool, values) => self.logical(op, values),
                    (DType::F32 | DType::F64, values) => self.float(op, dtype, values, inputs),
                    (DType::I32 | DType::U32 | DType::I64 | DType::U64, &[a, b]) => {
                        self.integer(op, dtype, a, b)
                    }
                    (DType::I32, &[a]) if op == Op::Abs => Some(self.vector(op::VPABSD, &[a])),
                    _ => None,
                }
            }
            KernelKey::CompareMixed(..) => None,
        }
    }

    fn float(&mut self, op: Op, dtype: DType, values: &[Virtual], inputs: &[usize]) -> Option<Virtual> {
        let is_double = self.is_double();
        let sign = if is_double { SIGN_F64 } else { SIGN_F32 };
        Some(match (op, values) {
            (Op::Add, values) => self.vector(op::add(is_double), values),
            (Op::Subtract, values) => self.vector(op::sub(is_double), values),
            (Op::Multiply, values) => self.vector(op::mul(is_double), values),
            (Op::Divide, values) => self.vector(op::div(is_double), values),
            (Op::Sqrt, values) => self.vector(op::sqrt(is_double), values),
            (Op::Floor, values) => self.with_immediate(op::round(is_double), rounding::DOWN, values),
            (Op::Ceil, values) => self.with_immediate(op::round(is_double), rounding::UP, values),
            (Op::Trunc, values) => self.with_immediate(op::round(is_double), rounding::TO_ZERO, values),
            (Op::Round, values) => self.with_immediate(op::round(is_double), rounding::NEAREST, values),
            (Op::TruncDivide, values) => {
                let quotient = self.vector(op::div(is_double), values);
                self.with_immediate(op::round(is_double), rounding::TO_ZERO, &[quotient])
            }
            (Op::Negative, &[a]) => {
                let sign = self.number(sign);
                self.vector(op::VPXOR, &[a, sign])
            }
            (Op::Abs, &[a]) => {
                let sign = self.number(sign);
                self.vector(op::VPANDN, &[sign, a])
            }
            (Op::Copysign, &[a, b]) => {
                let sign = self.number(sign);
                let (size, sign) = (self.vector(op::VPANDN, &[sign, a]), self.vector(op::VPAND, &[sign, b]));
                self.vector(op::VPOR, &[size, sign])
            }
            (Op::LeakyRelu, &[a, b]) => {
                let zero = self.number(0);
                let (is_negative, product) =
                    (self.compare(predicate::LESS, a, zero), self.vector(op::mul(is_double), &[a, b]));
                self.blend(is_negative, product, a)
            }
            (Op::Equal, &[a, b]) => self.compare(predicate::EQUAL, a, b),
            (Op::NotEqual, &[a, b]) => self.compare(predicate::UNEQUAL, a, b),
            (Op::Less, &[a, b]) => self.compare(predicate::LESS, a, b),
            (Op::LessEqual, &[a, b]) => self.compare(predicate::LESS_EQUAL, a, b),
            (Op::Min | Op::Max, &[a, b]) => {
                // Not the instruction for it, which sets the flag of invalid operations for NaN.
                let (less, than) = if op == Op::Min { (b, a) } else { (a, b) };
                let is_b = self.compare(predicate::LESS, less, than);
                // `a` for equal elements or NaN, as it should be, but for NaN in `b`.
                let selected = self.blend(is_b, b, a);
                if self.constant(inputs[1], dtype).is_some_and(|bound| !bound.is_nan()) {
                    return Some(selected);
                }
                let is_nan = self.compare(predicate::UNORDERED, b, b);
                self.blend(is_nan, b, selected)
            }
            _ => return None,
        })
    }

    fn integer(&mut self, op: Op, dtype: DType, a: Virtual, b: Virtual) -> Option<Virtual> {
        let (is_long, is_signed) = (self.is_double(), matches!(dtype, DType::I32 | DType::I64));
        let by_size = |short, long| if is_long { long } else { short };
        let greater = by_size(op::VPCMPGTD, op::VPCMPGTQ);
        let equal = by_size(op::VPCMPEQD, op::VPCMPEQQ);
        Some(match op {
            Op::Add => self.vector(by_size(op::VPADDD, op::VPADDQ), &[a, b]),
            Op::Subtract => self.vector(by_size(op::VPSUBD, op::VPSUBQ), &[a, b]),
            Op::And => self.vector(op::VPAND, &[a, b]),
            Op::Or => self.vector(op::VPOR, &[a, b]),
            Op::Xor => self.vector(op::VPXOR, &[a, b]),
            Op::Equal => self.compare_integers(equal, a, b),
            Op::NotEqual => {
                let is_equal = self.compare_integers(equal, a, b);
                self.not(is_equal)
            }
            Op::Less if is_signed => self.compare_integers(greater, b, a),
            Op::LessEqual if is_signed => {
                let is_greater = self.compare_integers(greater, a, b);
                self.not(is_greater)
            }
            Op::Multiply if !is_long => self.vector(op::VPMULLD, &[a, b]),
            Op::Min if !is_long => self.vector(if is_signed { op::VPMINSD } else { op::VPMINUD }, &[a, b]),
            Op::Max if !is_long => self.vector(if is_signed { op::VPMAXSD } else { op::VPMAXUD }, &[a, b]),
            _ => return None,
        })
    }

    fn logical(&mut self, op: Op, values: &[Virtual]) -> Option<Virtual> {
        Some(match (op, values) {
            (Op::Invert | Op::LogicalNot, &[a]) => self.not(a),
            (Op::And | Op::Multiply | Op::LogicalAnd | Op::Min, _) => self.vector(op::VPAND, values),
            (Op::Or | Op::Add | Op::LogicalOr | Op::Max, _) => self.vector(op::VPOR, values),
            (Op::Xor | Op::NotEqual | Op::LogicalXor, _) => self.vector(op::VPXOR, values),
            (Op::Equal, &[a, b]) => self.compare_integers(op::VPCMPEQD, a, b),
            _ => return None,
        })
    }

    fn cast(&mut self, value: Virtual, from: DType, to: DType) -> Option<Virtual> {
        use DType::*;
        let is_double = self.is_double();
        Some(match (from, to) {
            (Bool, F32 | F64) => {
                let one = self.number(if is_double { 1f64.to_bits() } else { 1f32.to_bits().into() });
                self.vector(op::VPAND, &[value, one])
            }
            (F32 | F64, Bool) => {
                let zero = self.number(0);
                self.compare(predicate::UNEQUAL, value, zero)
            }
            (U8 | I8 | U16 | I16 | I32, F32) => self.vector(op::VCVTDQ2PS, &[value]),
            (U8 | I8 | U16 | I16 | I32, F64) => self.vector(op::VCVTDQ2PD, &[value]),
            // Held as the wider type.
            (F16 | BF16, F32) | (F32, F64) => value,
            (F32, F16) => {
                let half = self.push(Operation::Reversed(op::VCVTPS2PH, Some(0)), &[value]);
                self.vector(op::VCVTPH2PS, &[half])
            }
            (F32, BF16) => {
                let bits = self.round_to_bf16(value);
                self.push(Operation::ShiftLeft(16), &[bits])
            }
            (F64, F32) => {
                let single = self.vector(op::VCVTPD2PS, &[value]);
                self.vector(op::VCVTPS2PD, &[single])
            }
            _ => return None,
        })
    }

    /// The bits of the nearest bfloat16, ties to even, in the low half of each element; NaN stays NaN.
    fn round_to_bf16(&mut self, value: Virtual) -> Virtual {
        let upper = self.push(Operation::ShiftRight(16), &[value]);
        let (one, below_half) = (self.number(1), self.number(0x7FFF));
        let is_odd = self.vector(op::VPAND, &[upper, one]);
        let sum = self.vector(op::VPADDD, &[value, below_half]);
        let sum = self.vector(op::VPADDD, &[sum, is_odd]);
        let rounded = self.push(Operation::ShiftRight(16), &[sum]);
        let quiet = self.number(0x40);
        let nan = self.vector(op::VPOR, &[upper, quiet]);
        let is_nan = self.compare(predicate::UNORDERED, value, value);
        self.blend(is_nan, nan, rounded)
    }

    /// Packs elements as they are in memory.
    fn store(&mut self, value: Virtual, dtype: DType) -> Option<Store> {
        use DType::*;
        use ElementWidth::{Bits32, Bits64};
        let item = dtype.item_size();
        let store = |op, from| Store { op, immediate: None, is_whole: true, item, from };
        let half = |from| Store { is_whole: false, ..store(op::VMOVUPS_STORE, from) };
        Some(match (self.width, dtype) {
            (Bits32, F32 | I32 | U32) => store(op::VMOVUPS_STORE, value),
            (Bits64, F64 | I64 | U64) => store(op::VMOVUPD_STORE, value),
            (Bits64, F32) => half(self.vector(op::VCVTPD2PS, &[value])),
            (Bits32, F16) => Store { immediate: Some(0), ..store(op::VCVTPS2PH, value) },
            (Bits32, BF16) => {
                // A bfloat16 already, held as float32.
                let bits = self.push(Operation::ShiftRight(16), &[value]);
                match self.isa {
                    Isa::Avx2 => half(self.pack(op::VPACKUSDW, bits)),
                    Isa::Avx512 => store(op::VPMOVDW, bits),
                }
            }
            (width, Bool) => match self.isa {
                Isa::Avx2 => {
                    // The masks become bytes 0 or -1, whose absolute values are 0 or 1.
                    let mut packed = self.pack(op::VPACKSSDW, value);
                    if width == Bits64 {
                        packed = self.push(Operation::Narrow(op::VPACKSSDW), &[packed, packed]);
                    }
                    packed = self.push(Operation::Narrow(op::VPACKSSWB), &[packed, packed]);
                    let bytes = self.push(Operation::Narrow(op::VPABSB), &[packed]);
                    let op = if width == Bits64 { op::VMOVD_STORE } else { op::VMOVQ_STORE };
                    Store { is_whole: false, ..store(op, bytes) }
                }
                Isa::Avx512 => {
                    let one = self.number(1);
                    let bytes = self.vector(op::VPAND, &[value, one]);
                    store(if width == Bits64 { op::VPMOVQB } else { op::VPMOVDB }, bytes)
                }
            },
            _ => return None,
        })
    }

    /// Packs both halves of a vector of AVX2 into one.
    fn pack(&mut self, op: VectorOp, value: Virtual) -> Virtual {
        let upper = self.push(Operation::Reversed(op::VEXTRACTI128, Some(1)), &[value]);
        self.push(Operation::Narrow(op), &[value, upper])
    }
}
