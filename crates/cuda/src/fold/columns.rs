//! Kernels whose threads fold several neighbouring results each.
//!
//! In reductions over pairs, all threads of a block read the same elements along the reduced loops. They read them together,
//! into shared memory, a tile at a time; what a thread has of its own stays in registers.

use super::reduction::{FoldLoops, MANY_BLOCKS, SecondPass, Split, THREADS, VECTOR};
use crate::access::{Class, Store, Tile};
use crate::body::Computed;
use crate::error::Error;
use crate::launch::{Buffer, Launch};
use crate::operand::Operand;
use crate::text::{Text, decompose};
use crate::types::{c_type, raw_type};
use std::fmt::Write;

/// Iterations of each thread at least, where loops are split.
const MIN_ITERATIONS: usize = 16;

/// Iterations whose elements are in shared memory at a time, where all threads of a block read the same ones.
const TILE: usize = 512;

/// Bytes of these elements, at most.
const MAX_TILE_BYTES: usize = 16 << 10;

pub(super) fn columns(
    fold: &FoldLoops<'_>,
    allocate: &mut dyn FnMut(usize) -> Buffer,
) -> Result<(Launch, Option<SecondPass>), Error> {
    let (iterations, results) = (fold.reduced.len(), fold.kept.len());
    let innermost = fold.kept.depth() - 1;
    let width = fold.kept.sizes()[innermost];
    let inputs = 0..fold.inputs.len();
    let is_along = |input: usize| fold.kept_stride(innermost, input) != 0;
    // Where nothing that is read changes along both, what is read once is used for more results.
    let is_of_pairs = !inputs.clone().any(|input| is_along(input) && fold.is_reduced(input));
    let moving = || inputs.clone().filter(|&input| fold.is_reduced(input));
    let is_array = |input: usize| fold.inputs[input].buffer.is_some();
    let tile_bytes: usize =
        moving().filter(|&input| is_array(input)).map(|input| TILE * fold.inputs[input].item).sum();
    let is_tiled = is_of_pairs && (TILE..1 << 31).contains(&iterations) && tile_bytes <= MAX_TILE_BYTES;
    let shared = if is_tiled { tile_bytes } else { 0 };
    let vector = (VECTOR / fold.largest_item(is_along)).max(1);
    let full = fold.limited(vector * if is_of_pairs { 2 } else { 1 }, shared);
    // Inputs first, then outputs.
    let tile = |lanes: usize,
                outputs: &[Operand],
                output_strides: &dyn Fn(usize) -> Vec<isize>,
                stride_of_parts: Option<isize>| {
        let of_inputs = inputs.clone().map(|input| {
            let mut others = fold.kept_strides(input);
            let own = others.remove(innermost);
            others.extend(fold.reduced_strides(input));
            (&fold.inputs[input], vec![own], others)
        });
        let of_outputs = outputs.iter().enumerate().map(|(output, operand)| {
            let mut others = output_strides(output);
            let own = others.remove(innermost);
            others.extend(stride_of_parts);
            (operand, vec![own], others)
        });
        Tile::new("a", &[width], lanes, of_inputs.chain(of_outputs))
    };
    let is_misaligned = |tile: &Tile| tile.arrays.iter().any(|array| array.class == Class::LinearLanes);
    let is_by_lane = is_misaligned(&tile(full, &fold.outputs, &|output| fold.output_strides(output), None));
    // Arithmetic on pairs takes longer than accesses to what each thread has of its own.
    let lanes = if is_by_lane && !is_of_pairs { 1 } else { full.min(width.next_power_of_two()) };
    // Threads along the results; the others of a block fold other iterations of the same results.
    let across = width.div_ceil(lanes).next_power_of_two().min(32);
    let along = THREADS / across;
    let strips = width.div_ceil(across * lanes);
    let outer: usize = fold.kept.sizes()[..innermost].iter().product();
    let units = strips.checked_mul(outer).filter(|&units| units < 1 << 31).ok_or(Error::TooLarge)?;
    // Arithmetic on pairs takes longer than memory: with more blocks, the last ones are a smaller part of it.
    let many = if is_of_pairs { 2 * MANY_BLOCKS } else { MANY_BLOCKS };
    let parts = many.div_ceil(units).min(iterations / (along * MIN_ITERATIONS)).max(1);
    let parts = if units >= MANY_BLOCKS / 2 { 1 } else { parts };
    let split = Split::new(iterations, parts, along);
    let (outputs, second) = match split.parts > 1 {
        true => {
            let (parts, second) = fold.parts(split, true, allocate);
            (parts, Some(second))
        }
        false => (fold.outputs.clone(), None),
    };
    let is_split = split.parts > 1;
    let part_strides = unishape_engine::layout::row_major(fold.kept.sizes());
    let output_strides =
        |output: usize| if is_split { part_strides.clone() } else { fold.output_strides(output) };
    let tile = tile(lanes, &outputs, &output_strides, is_split.then_some(results as isize));
    let blocks = units.checked_mul(split.parts).and_then(|blocks| u32::try_from(blocks).ok());
    let blocks = blocks.filter(|&blocks| blocks < 1 << 31).ok_or(Error::TooLarge)?;

    let mut text = Text::default();
    fold.declare(&mut text, &outputs)?;
    text.number("u32", "size", iterations as i64);
    let number = tile.number_type();
    text.number(number, "width", width as i64);

    let mut code = String::new();
    let mut bases: Vec<(String, Vec<isize>)> =
        inputs.clone().map(|input| (format!("b{input}"), fold.kept_strides(input))).collect();
    bases.extend((0..outputs.len()).map(|output| (format!("w{output}"), output_strides(output))));
    bases.iter_mut().for_each(|(_, strides)| strides.truncate(innermost));
    for (base, _) in &bases {
        let _ = writeln!(code, "  i64 {base} = 0;");
    }
    code += "  u32 block = blockIdx.x;\n";
    if is_split {
        text.divisor("units", units);
        text.number("u32", "part_size", split.size as i64);
        text.number("i64", "results", results as i64);
        code += "  const u32 part = divide(block, munits, hunits);\n  block -= part * nunits;\n  \
                 const u32 first = part * part_size, last = size - first < part_size ? size : first + part_size;\n";
        for output in 0..outputs.len() {
            let _ = writeln!(code, "  w{output} = part * results;");
        }
    } else {
        code += "  const u32 first = 0, last = size;\n";
    }
    if outer > 1 {
        text.divisor("strips", strips);
        code += "  const u32 outer = divide(block, mstrips, hstrips);\n  block -= outer * nstrips;\n";
        code += &decompose(&mut text, "d", "outer", &fold.kept.sizes()[..innermost], &bases);
    }
    let _ = writeln!(
        code,
        "  const u32 x = threadIdx.x % {across}, y = threadIdx.x / {across};\n  \
         {}{number} e = (({number})block * {across} + x) * {lanes};",
        if is_tiled { "" } else { "const " }
    );
    let is_used = if is_tiled { "is_used" } else { "e < width" };
    if is_tiled {
        // All threads read the tiles: those without results of their own compute some others again.
        let _ = writeln!(code, "  const bool {is_used} = e < width;\n  if (!{is_used}) e = 0;");
    }
    let count = (!width.is_multiple_of(lanes)).then_some("count");
    if count.is_some() {
        let _ = writeln!(
            code,
            "  const int count = e + {lanes} <= width ? {lanes} : e < width ? (int)(width - e) : 0;"
        );
    }
    let body = fold.body;
    let folds = || fold.folds();
    code += &fold.accumulators(&format!("[{lanes}]"), |each| {
        format!("#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {}", each("[l]"))
    });
    code += &if is_tiled { "  {\n".to_owned() } else { format!("  if ({is_used}) {{\n") };
    code += &tile.offsets(&mut text, "e");
    let address = |input: usize| format!("p{input} + b{input}");
    for input in inputs.clone().filter(|&input| !fold.is_reduced(input)) {
        code += &tile.load(input, &address(input), "e", count);
    }
    let positions = fold.ordered_positions();
    if positions.is_some() {
        let _ = writeln!(
            code,
            "  u32 q[{lanes}];\n#pragma unroll\n  for (int l = 0; l < {lanes}; l++) q[l] = first + y;"
        );
    }
    let address = |input: usize| match fold.is_reduced(input) {
        true => format!("p{input} + b{input} + r{input}"),
        false => format!("p{input} + b{input}"),
    };
    // The offsets of some inputs in iteration `r`.
    let offsets_of = |text: &mut Text, prefix: &str, inputs: &mut dyn Iterator<Item = usize>| {
        let offsets: Vec<(String, Vec<isize>)> =
            inputs.map(|input| (format!("r{input}"), fold.reduced_strides(input))).collect();
        let mut code: String = offsets.iter().map(|(offset, _)| format!("  i64 {offset} = 0;\n")).collect();
        if !offsets.is_empty() {
            code += &decompose(text, prefix, "r", fold.reduced.sizes(), &offsets);
        }
        code
    };
    // One iteration: the program for each lane, and what is done with its results.
    let iteration = |text: &mut Text, prefix: &str, is_tiled: bool, then: &dyn Fn(&[Computed]) -> String| {
        let is_in_tile = |input: &usize| is_tiled && is_array(*input);
        let mut code = offsets_of(text, prefix, &mut moving().filter(|input| !is_in_tile(input)));
        for input in moving() {
            code += &match is_in_tile(&input) {
                true => format!("  const {} x{input} = tile{input}[i];\n", raw_type(fold.inputs[input].item)),
                false => tile.load(input, &address(input), "e", count),
            };
        }
        let (statements, values) = body
            .statements(|input| tile.lane(input, &address(input), "e"), |constant| format!("k{constant}"));
        let _ = writeln!(
            code,
            "#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {{\n{statements}{}  }}",
            then(&values)
        );
        code
    };
    let accumulator = |number: usize| format!("a{number}[l]");
    let accumulate = |values: &[Computed]| match positions {
        Some(_) => body.choose_first(values, &accumulator, "q[l]", "r"),
        None => body.accumulate(values, &accumulator),
    };
    if is_tiled {
        for input in moving().filter(|&input| is_array(input)) {
            let _ = writeln!(code, "  __shared__ {} tile{input}[{TILE}];", raw_type(fold.inputs[input].item));
        }
        let _ = writeln!(
            code,
            "  for (u32 start = first; start < last; start += {TILE}) {{\n  __syncthreads();\n  \
             const u32 here = last - start < {TILE} ? last - start : {TILE};\n  \
             for (u32 i = threadIdx.x; i < here; i += {THREADS}) {{\n  const u32 r = start + i;"
        );
        code += &offsets_of(&mut text, "s", &mut moving().filter(|&input| is_array(input)));
        for input in moving().filter(|&input| is_array(input)) {
            let _ = writeln!(code, "  tile{input}[i] = load<1>({}).e[0];", address(input));
        }
        let _ = writeln!(
            code,
            "  }}\n  __syncthreads();\n#pragma unroll {}\n  \
             for (u32 i = y; i < here; i += {along}) {{\n  const u32 r = start + i;",
            body.unrolled()
        );
        code += &iteration(&mut text, "g", true, &accumulate);
        code += "  } }\n";
    } else {
        let _ = writeln!(
            code,
            "#pragma unroll {}\n  for (u32 r = first + y; r < last; r += {along}) {{",
            body.unrolled()
        );
        code += &iteration(&mut text, "g", false, &accumulate);
        code += "  }\n";
    }
    if let Some(position) = positions {
        let extreme = body.results[0].dtype;
        if !extreme.is_integer() {
            // An extreme value that is no number has the position of the first one. That is rare: it is looked for again.
            let _ = writeln!(
                code,
                "  bool is_nan = false;\n#pragma unroll\n  \
                 for (int l = 0; l < {lanes}; l++) is_nan |= a0[l] != a0[l];\n  if (is_nan) {{\n#pragma unroll 1\n  \
                 for (u32 n = (last - first - y + {along} - 1) / {along}; n-- > 0;) {{\n  \
                 const u32 r = first + y + n * {along};"
            );
            code += &iteration(&mut text, "h", false, &|values| {
                let value = &values[0].value;
                format!("if ({value} != {value}) q[l] = r;\n")
            });
            code += "  } }\n";
        }
        let offset = (format!("r{position}"), fold.reduced_strides(position));
        let _ = writeln!(
            code,
            "  if (first + y < last) {{\n#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {{\n  i64 {} = 0;",
            offset.0
        );
        code += &decompose(&mut text, "q", "q[l]", fold.reduced.sizes(), &[offset]);
        let _ = writeln!(code, "  a1[l] = p{position} + b{position} + r{position};\n  }} }}");
    }
    code += "  }\n";
    let finished = body.finish(&|number| format!("a{number}[l]"));
    if !finished.is_empty() {
        let _ = writeln!(code, "#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {finished}");
    }
    if along > 1 {
        for (number, _, dtype) in folds() {
            let _ = writeln!(code, "  __shared__ {} s{number}[{}];", c_type(dtype), THREADS * lanes);
            let _ = writeln!(
                code,
                "#pragma unroll\n  for (int l = 0; l < {lanes}; l++) s{number}[l * {THREADS} + threadIdx.x] = a{number}[l];"
            );
        }
        let _ =
            writeln!(code, "  for (u32 half = {}; half > 0; half /= 2) {{\n    __syncthreads();", along / 2);
        code += "    if (y < half) {\n";
        let _ = writeln!(
            code,
            "#pragma unroll\n      for (int l = 0; l < {lanes}; l++) {{ const u32 i = l * {THREADS} + threadIdx.x;\n{}}}",
            body.merge(&|number| format!("s{number}[i]"), &|number| format!(
                "s{number}[i + half * {across}]"
            ))
        );
        code += "    }\n  }\n";
    }
    let _ = writeln!(code, "  if (y == 0 && {is_used}) {{");
    for (number, _, dtype) in folds() {
        let raw = raw_type(dtype.item_size());
        let value = if along > 1 {
            format!("s{number}[l * {THREADS} + threadIdx.x]")
        } else {
            format!("a{number}[l]")
        };
        let _ = writeln!(
            code,
            "  Vec<{raw}, {lanes}> y{number};\n#pragma unroll\n  for (int l = 0; l < {lanes}; l++) y{number}.e[l] = as<{raw}>({value});"
        );
        let output = inputs.len() + number;
        code += &tile.store(
            output,
            &format!("o{number} + w{number}"),
            "e",
            count,
            (Store::Cached, &format!("y{number}")),
        );
    }
    code += "  }\n";
    let mut needs = body.needs();
    needs.threads = true;
    // With registers for two blocks, the compiler finds a better order of the instructions of pairs.
    let resident = if is_tiled { Some(2) } else { None };
    Ok((text.launch_resident(needs, &code, blocks, THREADS as u32, resident), second))
}
