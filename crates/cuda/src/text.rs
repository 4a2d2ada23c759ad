//! The text of a kernel, and the words of its argument.

use crate::body::{Body, Needs};
use crate::divide::magic;
use crate::launch::{Buffer, ENTRY, Kernel, Launch, Word};
use crate::operand::Operand;
use crate::types::raw_type;
use crate::value::Numerics;
use std::fmt::Write;

/// Collects declarations of a kernel's arguments.
#[derive(Debug, Default)]
pub(crate) struct Text {
    words: Vec<Word>,
    declarations: String,
}

impl Text {
    fn declare(&mut self, c_type: &str, name: &str, word: Word) {
        let _ = writeln!(self.declarations, "  {c_type} const {name} = ({c_type})A.w[{}];", self.words.len());
        self.words.push(word);
    }

    /// Declares a number.
    pub(crate) fn number(&mut self, c_type: &str, name: &str, value: i64) {
        self.declare(c_type, name, Word::Value(value as u64));
    }

    /// Declares a size `n…`, with the multiplier `m…` and shift `h…` to divide by it.
    pub(crate) fn divisor(&mut self, name: &str, size: usize) {
        let (multiplier, shift) = magic(u32::try_from(size).unwrap_or(1).max(1));
        self.number("u32", &format!("n{name}"), size as i64);
        self.number("u32", &format!("m{name}"), multiplier.into());
        self.number("u32", &format!("h{name}"), shift.into());
    }

    /// Declares the address `p…` of what is read, or the value of an index.
    pub(crate) fn source(&mut self, number: usize, operand: &Operand) {
        let name = format!("p{number}");
        match operand.buffer {
            Some(buffer) => {
                let offset = operand.start as i64 * operand.item as i64;
                let c_type = format!("const {}*", raw_type(operand.item));
                self.declare(&c_type, &name, Word::Address { buffer, offset });
            }
            None => self.number("i64", &name, operand.start as i64),
        }
    }

    /// Declares the address `o…` of what is written.
    pub(crate) fn target(&mut self, number: usize, buffer: Buffer, item: usize, start: isize) {
        let word = Word::Address { buffer, offset: start as i64 * item as i64 };
        self.declare(&format!("{}*", raw_type(item)), &format!("o{number}"), word);
    }

    /// Declares the constants `{prefix}…` of a program.
    pub(crate) fn constants(&mut self, body: &Body, prefix: &str) {
        for (number, constant) in body.constants.iter().enumerate() {
            let bytes = constant.bytes();
            let word = |bytes: &[u8]| {
                let mut all = [0; 8];
                all[..bytes.len()].copy_from_slice(bytes);
                i64::from_le_bytes(all)
            };
            let name = format!("{prefix}{number}");
            match bytes.len() {
                16 => {
                    self.number("u64", &format!("{name}_low"), word(&bytes[..8]));
                    self.number("u64", &format!("{name}_high"), word(&bytes[8..]));
                    let _ =
                        writeln!(self.declarations, "  const bits128 {name} = {{{name}_low, {name}_high}};");
                }
                item => self.number(raw_type(item), &name, word(bytes)),
            }
        }
    }

    /// The kernel with this code after the declarations.
    pub(crate) fn launch(self, needs: Needs, code: &str, blocks: u32, threads: u32) -> Launch {
        self.launch_resident(needs, code, blocks, threads, None)
    }

    /// The same, where a multiprocessor shall have registers for this number of blocks at least.
    pub(crate) fn launch_resident(
        self,
        needs: Needs,
        code: &str,
        blocks: u32,
        threads: u32,
        resident: Option<u32>,
    ) -> Launch {
        let mut source = needs.prelude();
        let resident = resident.map_or(String::new(), |count| format!(", {count}"));
        let _ = write!(
            source,
            "\nstruct Args {{ u64 w[{}]; }};\n\
             extern \"C\" __global__ void __launch_bounds__({threads}{resident}) {ENTRY}(const Args A) {{\n{}{code}}}\n",
            self.words.len().max(1),
            self.declarations
        );
        let has_barriers = needs.threads;
        let kernel = Kernel { source: source.into(), threads, has_barriers, numerics: Numerics::Exact };
        Launch { kernel, blocks, words: self.words }
    }
}

/// Statements that find the index of each of several loops from a number, and add up the offsets of operands.
///
/// `number` is the C expression of a `u32`. Loops have the sizes `n{prefix}{loop}`, which are declared here. Adds
/// `index * stride` to the `i64` variables `{base}{operand}`, for operands whose stride is not 0.
pub(crate) fn decompose(
    text: &mut Text,
    prefix: &str,
    number: &str,
    sizes: &[usize],
    operands: &[(String, Vec<isize>)],
) -> String {
    let mut code = format!("  u32 {prefix}rest = {number};\n");
    for level in (0..sizes.len()).rev() {
        let name = format!("{prefix}{level}");
        if level > 0 {
            text.divisor(&name, sizes[level]);
            let _ = writeln!(
                code,
                "  const u32 {name}q = divide({prefix}rest, m{name}, h{name}), {name}i = {prefix}rest - {name}q * n{name};\n  \
                 {prefix}rest = {name}q;"
            );
        } else {
            let _ = writeln!(code, "  const u32 {name}i = {prefix}rest;");
        }
        for (base, strides) in operands {
            if strides[level] != 0 {
                // The product of two numbers of 32 bits is one instruction. Indices are less than 2^31.
                let c_type = if i32::try_from(strides[level]).is_ok() { "i32" } else { "i64" };
                text.number(c_type, &format!("s{name}_{base}"), strides[level] as i64);
                let _ = writeln!(code, "  {base} += (i64)(i32){name}i * s{name}_{base};");
            }
        }
    }
    code
}
