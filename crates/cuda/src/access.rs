//! How the lanes of a thread access arrays.
//!
//! A thread computes several consecutive elements of a *tile*: some loops, numbered in row-major order. An array that
//! is contiguous along the tile is accessed by vectors; one that is the same everywhere in the tile is read once.
//! For all others, the thread finds the indices of its first element, and carries them along from lane to lane.

use crate::operand::Operand;
use crate::text::Text;
use crate::types::raw_type;
use std::fmt::Write;

/// How the lanes of a thread access an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The same element everywhere in the tile.
    Uniform,
    /// Contiguous along the tile, in vectors.
    Linear,
    /// Contiguous along the tile, but not aligned.
    LinearLanes,
    /// A vector at an offset that depends on the indices of the first lane.
    Row,
    /// One element for all lanes, at such an offset.
    Repeat,
    /// An offset for each lane.
    Lanes,
}

/// How results are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Store {
    /// As usual: results may stay in the cache. Where inputs are as large, that is faster.
    Cached,
    /// By streaming stores, which leave the cache to the inputs. Faster where these are read several times.
    Streaming,
}

impl Store {
    fn name(self) -> &'static str {
        match self {
            Store::Cached => "store",
            Store::Streaming => "store_streaming",
        }
    }
}

/// An array with its strides in a tile's loops.
#[derive(Clone, Debug)]
pub(crate) struct Accessed {
    pub(crate) class: Class,
    strides: Vec<isize>,
    item: usize,
    is_index: bool,
}

/// Some loops whose elements are numbered, and the arrays that are accessed in them.
#[derive(Debug)]
pub(crate) struct Tile {
    /// Distinguishes the names of several tiles of a kernel.
    prefix: &'static str,
    sizes: Vec<usize>,
    lanes: usize,
    /// Whether numbers or offsets within the tile do not fit 31 bits.
    is_wide: bool,
    pub(crate) arrays: Vec<Accessed>,
}

impl Tile {
    /// `arrays` have their strides in the tile's loops first, and then those in all other loops.
    pub(crate) fn new<'o>(
        prefix: &'static str,
        sizes: &[usize],
        lanes: usize,
        arrays: impl IntoIterator<Item = (&'o Operand, Vec<isize>, Vec<isize>)>,
    ) -> Tile {
        let is_narrow = |value: u128| value < 1 << 31;
        let count: u128 = sizes.iter().map(|&size| size as u128).product();
        let mut is_wide = !is_narrow(count + 2 * lanes as u128 * 1024);
        let mut accessed = Vec::new();
        for (operand, strides, outer) in arrays {
            let reach = strides.iter().zip(sizes).map(|(s, &n)| s.unsigned_abs() as u128 * n as u128);
            is_wide |= !is_narrow(reach.sum());
            let class = classify(operand, sizes, lanes, &strides, &outer);
            accessed.push(Accessed {
                class,
                strides,
                item: operand.item,
                is_index: operand.buffer.is_none(),
            });
        }
        Tile { prefix, sizes: sizes.to_vec(), lanes, is_wide, arrays: accessed }
    }

    /// The C type of numbers of elements.
    pub(crate) fn number_type(&self) -> &'static str {
        if self.is_wide { "u64" } else { "u32" }
    }

    fn offset_type(&self) -> &'static str {
        if self.is_wide { "i64" } else { "i32" }
    }

    /// Statements that find the offsets of the lanes, from the number `e` of the first one.
    pub(crate) fn offsets(&self, text: &mut Text, e: &str) -> String {
        let (prefix, number, offset) = (self.prefix, self.number_type(), self.offset_type());
        let innermost = self.sizes.len() - 1;
        let by_index =
            |array: &&(usize, &Accessed)| matches!(array.1.class, Class::Row | Class::Repeat | Class::Lanes);
        let arrays: Vec<(usize, &Accessed)> = self.arrays.iter().enumerate().collect();
        let arrays: Vec<&(usize, &Accessed)> = arrays.iter().filter(by_index).collect();
        if arrays.is_empty() {
            return String::new();
        }
        let mut code = format!("  {number} {prefix}r = {e};\n");
        for level in (0..=innermost).rev() {
            let name = format!("{prefix}{level}");
            if level == 0 {
                let _ = writeln!(code, "  const {offset} {name}i = ({offset}){prefix}r;");
            } else if self.is_wide {
                text.number(number, &format!("n{name}"), self.sizes[level] as i64);
                let _ =
                    writeln!(code, "  const {offset} {name}i = {prefix}r % n{name}; {prefix}r /= n{name};");
            } else {
                text.divisor(&name, self.sizes[level]);
                let _ = writeln!(
                    code,
                    "  const u32 {name}q = divide({prefix}r, m{name}, h{name});\n  \
                     const i32 {name}i = {prefix}r - {name}q * n{name}; {prefix}r = {name}q;"
                );
            }
        }
        let mut stride = |operand: usize, level: usize, stride: isize| {
            text.number(offset, &format!("t{prefix}{operand}_{level}"), stride as i64);
            format!("t{prefix}{operand}_{level}")
        };
        for (operand, array) in &arrays {
            let _ = writeln!(code, "  {offset} {prefix}f{operand} = 0;");
            for (level, &own) in array.strides.iter().enumerate().filter(|(_, own)| **own != 0) {
                let stride = stride(*operand, level, own);
                let _ = writeln!(code, "  {prefix}f{operand} += {prefix}{level}i * {stride};");
            }
        }
        let lanes: Vec<&(usize, &Accessed)> =
            arrays.into_iter().filter(|(_, array)| array.class == Class::Lanes).collect();
        if lanes.is_empty() {
            return code;
        }
        for (operand, _) in &lanes {
            let _ = writeln!(code, "  {offset} {prefix}l{operand}[{}];", self.lanes);
        }
        for level in 1..=innermost {
            let _ = writeln!(code, "  {offset} {prefix}{level}j = {prefix}{level}i;");
        }
        let _ = writeln!(code, "#pragma unroll\n  for (int l = 0; l < {}; l++) {{", self.lanes);
        for (operand, array) in &lanes {
            let _ = writeln!(code, "    {prefix}l{operand}[l] = {prefix}f{operand};");
            if array.strides[innermost] != 0 {
                let _ = writeln!(code, "    {prefix}f{operand} += t{prefix}{operand}_{innermost};");
            }
        }
        // From the end of a loop to the next iteration of the one around it.
        for level in (1..=innermost).rev() {
            let _ = writeln!(
                code,
                "    if (++{prefix}{level}j == ({offset})n{prefix}{level}) {{ {prefix}{level}j = 0;"
            );
            for (operand, array) in &lanes {
                let carry = array.strides[level - 1] - array.strides[level] * self.sizes[level] as isize;
                if carry != 0 {
                    text.number(offset, &format!("c{prefix}{operand}_{level}"), carry as i64);
                    let _ = writeln!(code, "    {prefix}f{operand} += c{prefix}{operand}_{level};");
                }
            }
        }
        for _ in 1..=innermost {
            code += "}";
        }
        code += "\n  }\n";
        code
    }

    /// The offset of lane `l`, or of all lanes.
    fn offset(&self, operand: usize, e: &str, lane: &str) -> String {
        let prefix = self.prefix;
        match self.arrays[operand].class {
            Class::Uniform => "0".into(),
            Class::Linear | Class::LinearLanes => format!("{e} + {lane}"),
            Class::Row => format!("{prefix}f{operand} + {lane}"),
            Class::Repeat => format!("{prefix}f{operand}"),
            Class::Lanes => format!("{prefix}l{operand}[{lane}]"),
        }
    }

    /// Statements that load operand `operand` from `address` into `x{operand}`.
    ///
    /// `count` is the number of lanes that there are, where that may be fewer than all.
    pub(crate) fn load(&self, operand: usize, address: &str, e: &str, count: Option<&str>) -> String {
        let Accessed { class, item, is_index, .. } = self.arrays[operand];
        if is_index {
            return String::new();
        }
        let (raw, lanes) = (raw_type(item), self.lanes);
        let at = |lane: &str| format!("{address} + ({})", self.offset(operand, e, lane));
        match class {
            Class::Uniform | Class::Repeat => {
                format!("  const {raw} x{operand} = load<1>({}).e[0];\n", at("0"))
            }
            Class::Linear | Class::Row => match count {
                None => {
                    format!("  const Vec<{raw}, {lanes}> x{operand} = load<{lanes}>({});\n", at("0"))
                }
                Some(count) => format!(
                    "  Vec<{raw}, {lanes}> x{operand};\n  \
                     if ({count} >= {lanes}) x{operand} = load<{lanes}>({});\n  \
                     else for (int l = 0; l < {lanes}; l++) if (l < {count}) x{operand}.e[l] = *({});\n",
                    at("0"),
                    at("l")
                ),
            },
            Class::LinearLanes | Class::Lanes => {
                let guard = count.map_or(String::new(), |count| format!("if (l < {count}) "));
                format!(
                    "  Vec<{raw}, {lanes}> x{operand};\n#pragma unroll\n  \
                     for (int l = 0; l < {lanes}; l++) {guard}x{operand}.e[l] = load<1>({}).e[0];\n",
                    at("l")
                )
            }
        }
    }

    /// The C expression of an operand's bits in lane `l`, after [`load`](Tile::load).
    ///
    /// `base` is the expression of an index at the tile's first element.
    pub(crate) fn lane(&self, operand: usize, base: &str, e: &str) -> String {
        let array = &self.arrays[operand];
        match array.class {
            _ if array.is_index => format!("(u64)({base} + (i64)({}))", self.offset(operand, e, "l")),
            Class::Uniform | Class::Repeat => format!("x{operand}"),
            _ => format!("x{operand}.e[l]"),
        }
    }

    /// Statements that store the vector `value` of lanes at `address` by a function of the prelude.
    pub(crate) fn store(
        &self,
        operand: usize,
        address: &str,
        e: &str,
        count: Option<&str>,
        (function, value): (Store, &str),
    ) -> String {
        let (lanes, function) = (self.lanes, function.name());
        let at = |lane: &str| format!("{address} + ({})", self.offset(operand, e, lane));
        match (self.arrays[operand].class, count) {
            (Class::Linear | Class::Row, None) => format!("  {function}<{lanes}>({}, {value});\n", at("0")),
            (Class::Linear | Class::Row, Some(count)) => format!(
                "  if ({count} >= {lanes}) {function}<{lanes}>({}, {value});\n  \
                 else for (int l = 0; l < {lanes}; l++) if (l < {count}) *({}) = {value}.e[l];\n",
                at("0"),
                at("l")
            ),
            (_, count) => {
                let guard = count.map_or(String::new(), |count| format!("if (l < {count}) "));
                format!(
                    "#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {guard}*({}) = {value}.e[l];\n",
                    at("l")
                )
            }
        }
    }
}

/// How an array with these strides in the tile's loops, and `outer` ones in others, is accessed.
fn classify(operand: &Operand, sizes: &[usize], lanes: usize, strides: &[isize], outer: &[isize]) -> Class {
    let moves = strides.iter().zip(sizes).any(|(&stride, &size)| stride != 0 && size > 1);
    if !moves {
        return Class::Uniform;
    }
    let mut expected = 1;
    let is_linear = strides.iter().zip(sizes).rev().all(|(&stride, &size)| {
        let is_next = size == 1 || stride == expected;
        expected *= size as isize;
        is_next
    });
    let is_index = operand.buffer.is_none();
    if is_linear {
        let is_vector = is_index || (lanes > 1 && operand.is_aligned(lanes, outer));
        return if is_vector { Class::Linear } else { Class::LinearLanes };
    }
    let innermost = strides.len() - 1;
    let is_whole = sizes[innermost].is_multiple_of(lanes);
    let other = || outer.iter().chain(&strides[..innermost]);
    match strides[innermost] {
        0 if is_whole => Class::Repeat,
        1 if is_whole && (is_index || (lanes > 1 && operand.is_aligned(lanes, other()))) => Class::Row,
        _ => Class::Lanes,
    }
}
