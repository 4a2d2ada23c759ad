//! Properties of plans: memory, kernels and errors.

use std::collections::{BTreeSet, HashSet};
use std::error::Error as _;
use unishape::DType;
use unishape::expr::Expr;
use unishape_cuda::{
    ArrayType, Buffer, Device, Error, Expression, Numerics, Plan, ReadFrom, Recent, Stage, Stages, Variable,
    Word,
};
use unishape_engine::layout::row_major;
use unishape_kernels::{Constant, FoldOp, KernelKey, Op};

/// A plan for contiguous arrays of float32.
fn plan(text: &str, shapes: &[&[usize]]) -> Result<Plan, Error> {
    let strides: Vec<Vec<isize>> = shapes.iter().map(|shape| row_major(shape)).collect();
    let variables: Vec<Variable<'_>> = shapes
        .iter()
        .zip(&strides)
        .map(|(shape, strides)| {
            Variable::Array(ArrayType { dtype: DType::F32, shape, strides, alignment: 256 })
        })
        .collect();
    Plan::new(&Expr::parse(text).unwrap(), &variables, None, Numerics::Exact)
}

/// Sources of a plan's kernels.
fn sources(plan: &Plan) -> Vec<&str> {
    plan.launches().iter().map(|launch| &*launch.kernel.source).collect()
}

#[test]
fn kernels_do_not_depend_on_sizes_or_numbers() {
    let same = |texts: [&str; 2], shapes: [&[&[usize]]; 2]| {
        let [a, b] = [0, 1].map(|at| plan(texts[at], shapes[at]).unwrap());
        assert_eq!(sources(&a), sources(&b), "{texts:?}");
    };
    same(["a * 2 + b", "a * 3.5 + b"], [&[&[1000, 4000], &[4000]], &[&[777, 8000], &[8000]]]);
    same(["sum(a * b, 1)", "sum(a * b, 1)"], [&[&[1000, 4000], &[4000]], &[&[3000, 5000], &[5000]]]);
    same(["sum(a, 0)", "sum(a, 0)"], [&[&[10_000, 4000]], &[&[20_000, 5000]]]);
    // Rows of another class have another kernel.
    let [whole, odd] = [4000, 4001].map(|size| plan("a + b", &[&[1000, size], &[size]]).unwrap());
    assert_ne!(sources(&whole), sources(&odd));
}

#[test]
fn reductions_over_pairs_need_little_memory() {
    for text in [
        "argmin(sum((x[:, None] - y) ** 2, -1), 1)",
        "sum(exp(-sum((x[:, None] - y) ** 2, -1)), 1)",
        "sum(1 / sqrt(sum((x[:, None] - y) ** 2, -1) + 0.01), 1)",
    ] {
        let plan = plan(text, &[&[100_000, 3], &[100_000, 3]]).unwrap();
        assert!(plan.temporaries().iter().sum::<usize>() < 16 << 20, "{text}: {:?}", plan.temporaries());
    }
}

#[test]
fn stages_along_rows_are_one_kernel() {
    // The square root of a standard deviation has a kernel of its own, with one element for each row.
    for (text, count) in
        [("softmax(a, -1)", 1), ("layer_norm(a, weight=b)", 1), ("argmax(a * b, 1)", 1), ("std(a, 1)", 2)]
    {
        let shapes: [&[usize]; 2] = [&[10_000, 1000], &[1000]];
        let plan = plan(text, &shapes[..Expr::parse(text).unwrap().names().len()]).unwrap();
        assert_eq!(plan.launches().len(), count, "{text}");
        assert_eq!(plan.temporaries(), &[4 * 10_000][..count - 1], "{text}");
    }
    // Too long for registers, or columns in memory: results of rows are kept, but nothing as large as the array.
    for (text, shape) in [("softmax(a, -1)", &[1000, 100_000]), ("softmax(a, 0)", &[1000, 100_000])] {
        let plan = plan(text, &[shape]).unwrap();
        assert!(plan.launches().len() >= 3, "{text}");
        assert!(plan.temporaries().iter().sum::<usize>() <= 32 << 20, "{text}: {:?}", plan.temporaries());
    }
}

#[test]
fn positions_are_found_in_one_pass() {
    for (text, shapes) in [
        ("argmin(sum((x[:, None] - y) ** 2, -1), 1)", &[&[100_000, 3][..], &[100_000, 3]][..]),
        ("argmax(x * y, 0)", &[&[3000, 4000], &[4000]]),
    ] {
        let plan = plan(text, shapes).unwrap();
        assert!(sources(&plan)[0].contains("is_before_m"), "{text}");
        // Threads keep iterations, which grow as positions do, and compare no positions.
        assert!(sources(&plan)[0].contains("u32 q["), "{text}");
        assert!(plan.launches().len() <= 2, "{text}: {}", plan.launches().len());
    }
}

#[test]
fn variances_read_their_elements_once() {
    for (text, shape) in
        [("var(a, (0, 2))", &[64, 64, 10_000][..]), ("std(a, 0)", &[10_000, 500]), ("var(a)", &[3_000_000])]
    {
        let plan = plan(text, &[shape]).unwrap();
        let reading = plan.launches().iter().filter(|launch| {
            launch.words.iter().any(|word| matches!(word, Word::Address { buffer: Buffer::Variable(_), .. }))
        });
        assert_eq!(reading.count(), 1, "{text}");
    }
}

#[test]
fn broadcast_arrays_have_a_table_of_rows() {
    let alternating = [[14, 1].repeat(4), [1, 14].repeat(4)];
    for shapes in [
        &[&[512, 1, 1000][..], &[1, 1100, 1000]][..],
        &[&[24_000, 1], &[1, 24_000]],
        &[&[4000, 1024], &[4000, 1]],
        &[&alternating[0], &alternating[1]],
    ] {
        assert!(sources(&plan("a + b", shapes).unwrap())[0].contains("i64 row0["), "{shapes:?}");
    }
    assert!(sources(&plan("sum(a, 0)", &[&[100_000, 3]]).unwrap())[0].contains("active"));
}

#[test]
fn results_without_elements_need_no_kernel() {
    let empty = plan("a + b", &[&[0, 4], &[4]]).unwrap();
    assert_eq!((empty.shape(), empty.launches().len()), (&[0, 4][..], 0));
    // The sum of no elements is a result.
    assert_eq!(plan("sum(a, 0)", &[&[0, 4]]).unwrap().launches().len(), 1);
}

#[test]
fn errors() {
    let error = |result: Result<Plan, Error>| result.unwrap_err().to_string();
    assert!(error(plan("a + b", &[&[3], &[4]])).starts_with("E1: incompatible shapes in dimension 0"));
    let long: String = (0..600).map(|number| format!("a * {number}.5 + ")).collect::<String>() + "a";
    assert!(matches!(plan(&long, &[&[8]]), Err(Error::TooLong { .. })));
    let array = ArrayType { dtype: DType::F64, shape: &[4], strides: &[1], alignment: 4 };
    let expr = Expr::parse("a + 1").unwrap();
    let unaligned = Plan::new(&expr, &[Variable::Array(array)], None, Numerics::Exact);
    assert!(error(unaligned).contains("copy the array first"));
    let array = ArrayType { alignment: 8, ..array };
    let wrong = Plan::new(
        &expr,
        &[Variable::Array(array)],
        Some(ArrayType { shape: &[5], ..array }),
        Numerics::Exact,
    );
    assert_eq!(error(wrong), "the output has shape [5], but the result has shape [4]");
    let other = ArrayType { dtype: DType::F32, ..array };
    let wrong = Plan::new(&expr, &[Variable::Array(array)], Some(other), Numerics::Exact);
    assert_eq!(error(wrong), "the output has dtype float32, but the result has dtype float64");
}

#[test]
fn errors_of_expressions_are_sources() {
    let error = plan("a + b", &[&[3], &[4]]).unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), error.to_string());
    assert!(Error::TooLarge.source().is_none());
}

#[test]
fn missing_libraries_are_errors_with_all_that_is_known() {
    let error = |folders: &[&str], problems: &[&str], advice: Option<&str>| {
        let all = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect();
        let names = all(&["liba.so", "libb.so"]);
        let (folders, problems) = (all(folders), all(problems));
        Error::NoLibrary { names, folders, problems, advice: advice.map(str::to_owned) }.to_string()
    };
    assert_eq!(error(&[], &[], None), "liba.so or libb.so not found");
    assert_eq!(
        error(&["/x", "/y"], &["no memory", "no right"], Some("install it")),
        "liba.so or libb.so not found in /x, /y, nor where the system looks for libraries (no memory; no right); install it"
    );
}

#[test]
fn plans_know_their_numerics() {
    let array = ArrayType { dtype: DType::F32, shape: &[4], strides: &[1], alignment: 256 };
    let expr = Expr::parse("a + 1").unwrap();
    for numerics in [Numerics::Exact, Numerics::Fused, Numerics::Fast] {
        let plan = Plan::new(&expr, &[Variable::Array(array)], None, numerics).unwrap();
        assert_eq!((plan.numerics(), plan.launches()[0].kernel.numerics), (numerics, numerics));
    }
    assert_eq!(format!("{:?}", Recent::<Plan>::default()), "Recent { .. }");
}

/// With a driver and without one.
#[test]
fn addresses_of_the_host_belong_to_no_device() {
    let number = 7u64;
    assert!(Device::of_address(&raw const number as u64).is_err());
}

/// A plan for one array of bytes.
fn plan_of_bytes(text: &str, shape: &[usize], strides: &[isize]) -> Result<Plan, Error> {
    let array = ArrayType { dtype: DType::U8, shape, strides, alignment: 256 };
    Plan::new(&Expr::parse(text).unwrap(), &[Variable::Array(array)], None, Numerics::Exact)
}

#[test]
fn loops_of_more_than_31_bits_have_wide_indices() {
    let many = 3_000_000_000;
    for (text, shape) in [
        ("sum(a, axis=0)", [many, 40]),
        ("max(a, axis=0)", [many, 3]),
        ("argmax(a, axis=0)", [many, 40]),
        ("sum(a[:, ::2], axis=0)", [many, 80]),
    ] {
        let plan = plan_of_bytes(text, &shape, &row_major(&shape)).unwrap();
        let first = sources(&plan)[0];
        assert!(!first.contains("u32 const size") && !first.contains("u32 r = "), "{text}: {first}");
    }
    let shapes: [&[usize]; 2] = [&[64, 1, 1 << 31], &[64, 1 << 31]];
    let plan = plan("sum((a - b) ** 2, -1)", &shapes).unwrap();
    assert!(!sources(&plan)[0].contains("u32 const size"));
}

#[test]
fn results_of_more_than_31_bits_have_several_launches() {
    let many = 3_000_000_000;
    for (text, shape) in
        [("sum(a, axis=1)", [many, 40]), ("argmax(a, axis=1)", [many, 40]), ("max(a, axis=0)", [40, many])]
    {
        let plan = plan_of_bytes(text, &shape, &row_major(&shape)).unwrap();
        // Of at most 2^30 results.
        assert_eq!(plan.launches().len(), 3, "{text}");
        let rest = Word::Value((many - (2 << 30)) as u64);
        assert!(plan.launches()[2].words.contains(&rest), "{text}: {:?}", plan.launches()[2].words);
        assert_eq!(sources(&plan).iter().collect::<HashSet<_>>().len(), 1, "{text}");
        // Each starts where the one before ends.
        let offsets = |is_wanted: fn(Buffer) -> bool| -> Vec<i64> {
            let words = plan.launches().iter().flat_map(|launch| &launch.words);
            let offset = |word: &Word| match *word {
                Word::Address { buffer, offset } if is_wanted(buffer) => Some(offset),
                _ => None,
            };
            words.filter_map(offset).collect()
        };
        let read = offsets(|buffer| matches!(buffer, Buffer::Variable(_)));
        let written = offsets(|buffer| buffer == Buffer::Output);
        let item = plan.dtype().item_size() as i64;
        let rows = if shape[0] == many { 40 } else { 1 };
        assert_eq!(written[0], 0, "{text}");
        assert_eq!(read, written.iter().map(|offset| offset / item * rows).collect::<Vec<_>>(), "{text}");
        assert!(
            written.windows(2).all(|pair| pair[0] < pair[1] && pair[1] - pair[0] <= item << 31),
            "{text}"
        );
    }
    // The longest loop is split.
    let shape = [3, 1_000_000_000, 40];
    let plan = plan_of_bytes("sum(a[:, ::-1], axis=2)", &shape, &row_major(&shape)).unwrap();
    assert_eq!(plan.launches().len(), 3);
}

#[test]
fn sizes_beyond_the_address_space_are_errors() {
    let far = 1 << 33;
    for text in ["a + b", "sum(a * b)", "sum(a * b, 0)"] {
        let array =
            |shape, strides| Variable::Array(ArrayType { dtype: DType::U8, shape, strides, alignment: 256 });
        let shapes = [[far, 1], [1, far]];
        let variables = shapes.each_ref().map(|shape| array(shape, &[0, 0]));
        let plan = Plan::new(&Expr::parse(text).unwrap(), &variables, None, Numerics::Exact);
        assert!(plan.is_err(), "{text}: {:?}", plan.unwrap().shape());
    }
}

#[test]
fn arrays_of_many_dimensions() {
    for rank in [33, 64] {
        // No two dimensions are one loop.
        let step = if rank > 33 { 4 } else { 2 };
        let shape = |first: usize| -> Vec<usize> {
            (0..rank).map(|dim| if dim % step == first { 2 } else { 1 }).collect()
        };
        let (a, b) = (shape(0), shape(step / 2));
        for text in ["a + b", "sum(a * b, 0)", "max(a * b)", "sum(a + b, -1)"] {
            let plan = plan(text, &[&a, &b]).unwrap_or_else(|error| panic!("{rank} {text}: {error}"));
            assert!(!plan.launches().is_empty(), "{text}");
        }
    }
}

/// Parts of the prelude that define functions which programs call.
const PARTS: [&str; 5] = [
    include_str!("../src/prelude/casts.cu"),
    include_str!("../src/prelude/integer.cu"),
    include_str!("../src/prelude/float.cu"),
    include_str!("../src/prelude/complex.cu"),
    include_str!("../src/prelude/complex_functions.cu"),
];

/// Names before one of these characters.
fn names_before(text: &str, ends: [char; 2]) -> HashSet<&str> {
    let before = text.match_indices(ends).map(|(end, _)| &text[..end]);
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    before.map(|text| &text[text.trim_end_matches(is_part).len()..]).collect()
}

#[test]
fn kernels_define_what_they_call() {
    let array = |dtype, shape| Variable::Array(ArrayType { dtype, shape, strides: &[64, 1], alignment: 256 });
    let defined: Vec<HashSet<&str>> = PARTS.iter().map(|part| names_before(part, ['(', '('])).collect();
    for (text, dtypes, most) in [
        ("cast(a, float16)", &[DType::F64][..], 1),
        ("a * b", &[DType::I64, DType::I64], 1),
        ("a * b", &[DType::F32, DType::F32], 1),
        // Elementary functions are long.
        ("a * b - conj(a)", &[DType::C64, DType::C64], 2),
        ("exp(a)", &[DType::C128], 3),
        // The second stage of the kernel calls nothing.
        (
            "where(any(exp(cast(a, complex64)) == b, axis=1, keepdims=True), c, d)",
            &[DType::F32, DType::C64, DType::U8, DType::U8],
            5,
        ),
        (
            "where(any(a < b, axis=1, keepdims=True), c, d)",
            &[DType::F32, DType::F32, DType::U8, DType::U8],
            5,
        ),
        // Nor does the first.
        ("c * sum(cast(a, complex128), axis=1, keepdims=True)", &[DType::C128, DType::F32], 5),
        ("cast(a, float32) * exp(max(b, axis=1, keepdims=True))", &[DType::F16, DType::F32], 5),
        ("cast(a, int64) // max(b, axis=1, keepdims=True)", &[DType::F64, DType::I64], 5),
        (
            "exp(cast(where(any(b, axis=1, keepdims=True), a, c), complex64))",
            &[DType::Bool, DType::F32, DType::F32],
            5,
        ),
    ] {
        let variables: Vec<Variable<'_>> = dtypes.iter().map(|&dtype| array(dtype, &[1000, 64])).collect();
        let plan = Plan::new(&Expr::parse(text).unwrap(), &variables, None, Numerics::Exact).unwrap();
        let [source] = sources(&plan)[..] else { panic!("{text}: {}", plan.launches().len()) };
        let (prelude, kernel) = source.split_once("\nstruct Args").unwrap();
        let own = names_before(prelude, ['(', '(']);
        for name in names_before(kernel, ['(', '<']) {
            let is_known = defined.iter().any(|part| part.contains(name));
            assert!(!is_known || own.contains(name), "{text}: {name} is not defined");
        }
        let parts = PARTS.iter().filter(|part| prelude.contains(*part)).count();
        assert!((1..=most).contains(&parts), "{text}: {parts} parts of the prelude");
    }
}

#[test]
fn squares_of_pairs_and_transposed_squares_are_blocks() {
    for (text, shapes, blocks) in [
        ("sum((a[:, None] - b)**2, -1)", [&[100, 70][..], &[65, 70]], 4),
        ("sum(abs(a[:, :, None] - b[:, None]), -1)", [&[3, 50, 40], &[3, 34, 40]], 3),
        ("a + b.T", [&[100, 130], &[130, 100]], 6),
    ] {
        let plan = plan(text, &shapes).unwrap();
        assert_eq!(
            plan.launches().iter().map(|launch| launch.blocks).collect::<Vec<_>>(),
            [blocks],
            "{text}"
        );
    }
}

#[test]
fn launches_have_fewer_than_two_to_the_31_blocks() {
    let many = 1 << 21;
    for (text, shapes, wrong) in [
        ("a + b.T", [[many, many], [many, many]], [[2 * many, many], [many, 2 * many]]),
        // By a table of rows.
        ("a + b", [[many, 1], [1, many]], [[many, 1], [1, 2 * many]]),
    ] {
        let found = plan(text, &shapes.each_ref().map(|shape| &shape[..])).unwrap();
        assert_eq!(found.launches()[0].blocks, 1 << 30, "{text}");
        let wrong = plan(text, &wrong.each_ref().map(|shape| &shape[..]));
        assert!(matches!(wrong, Err(Error::TooLarge)), "{text}: {wrong:?}");
    }
}

#[test]
fn rows_in_one_kernel_are_vectors_where_these_are_whole_and_aligned() {
    for (shape, alignment, lanes) in
        [([10_000, 1000], 256, 4), ([10_000, 1000], 4, 1), ([10_000, 1001], 256, 1), ([1, 1001], 256, 1)]
    {
        let strides = row_major(&shape);
        let array = ArrayType { dtype: DType::F32, shape: &shape, strides: &strides, alignment };
        let expr = Expr::parse("softmax(a, -1)").unwrap();
        let plan = Plan::new(&expr, &[Variable::Array(array)], None, Numerics::Exact).unwrap();
        let [source] = sources(&plan)[..] else { panic!("{shape:?}: {}", plan.launches().len()) };
        assert!(source.contains(&format!("Vec<u32, {lanes}> y;")), "{shape:?}, {alignment}");
        if lanes == 4 {
            assert_eq!(plan.launches()[0].blocks, 10_000 / 8, "a row for each warp");
        }
    }
}

#[test]
fn stages_are_one_kernel_only_where_they_are_along_the_same_rows() {
    for (text, shapes, count) in [
        // A stage before them.
        ("softmax(a * max(b), axis=1)", [&[50, 64][..], &[70]], 2..=2),
        // The result of each row is read along the columns.
        ("exp(a - max(a, axis=1)) * b", [&[64, 64], &[64]], 2..=9),
    ] {
        let found = plan(text, &shapes).unwrap().launches().len();
        assert!(count.contains(&found), "{text}: {found}");
    }
}

#[test]
fn reversed_arrays_are_accessed_from_their_lowest_address() {
    let array = ArrayType { dtype: DType::F32, shape: &[1000, 64], strides: &[-64, -1], alignment: 4 };
    let expr = Expr::parse("softmax(a, -1)").unwrap();
    let plan = Plan::new(&expr, &[Variable::Array(array)], Some(array), Numerics::Exact).unwrap();
    let [launch] = plan.launches() else { panic!("{}", plan.launches().len()) };
    for buffer in [Buffer::Output, Buffer::Variable(0)] {
        let lowest = Word::Address { buffer, offset: -4 * (64_000 - 1) };
        assert!(launch.words.contains(&lowest), "{:?}", launch.words);
    }
    // The sum of each row.
    let output = ArrayType { shape: &[1000], strides: &[-1], ..array };
    let expr = Expr::parse("sum(a, 1)").unwrap();
    let plan = Plan::new(&expr, &[Variable::Array(array)], Some(output), Numerics::Exact).unwrap();
    for (buffer, count) in [(Buffer::Output, 1000), (Buffer::Variable(0), 64_000)] {
        let lowest = Word::Address { buffer, offset: -4 * (count - 1) };
        assert!(plan.launches()[0].words.contains(&lowest), "{:?}", plan.launches()[0].words);
    }
}

/// Few columns: what each thread folds at least decides about the number of blocks.
#[test]
fn reductions_of_few_columns_are_split_into_parts_of_some_vectors() {
    for (rows, least, most) in [(300, 1, 1), (2000, 1, 1), (100_000, 18, 36), (10_000_000, 1024, 2048)] {
        let plan = plan("sum(a, axis=0)", &[&[rows, 3]]).unwrap();
        let blocks = plan.launches()[0].blocks;
        assert!((least..=most).contains(&blocks), "{rows}: {blocks}");
        assert_eq!(plan.launches().len(), if most > 1 { 2 } else { 1 }, "{rows}");
        let parts: &[usize] = if most > 1 { &[4 * 3 * blocks as usize] } else { &[] };
        assert_eq!(plan.temporaries(), parts, "{rows}");
        assert_eq!(used_temporaries(&plan), (0..parts.len()).collect(), "{rows}");
    }
}

/// Numbers of the temporaries that kernels read or write.
fn used_temporaries(plan: &Plan) -> BTreeSet<usize> {
    let words = plan.launches().iter().flat_map(|launch| &launch.words);
    let number = |word: &Word| match *word {
        Word::Address { buffer: Buffer::Temporary(number), .. } => Some(number),
        _ => None,
    };
    words.filter_map(number).collect()
}

#[test]
fn each_result_of_a_stage_has_a_temporary() {
    for text in ["sum(a, 0) * max(a, 0)", "sum(a, 0) * max(a, 0) - min(a, 0)"] {
        let plan = plan(text, &[&[40, 90_000]]).unwrap();
        let count = text.matches("(a, 0)").count();
        assert_eq!(plan.temporaries(), vec![4 * 90_000; count], "{text}");
        assert_eq!(used_temporaries(&plan), (0..count).collect(), "{text}");
    }
}

/// An expression that is its stages.
struct Fixed(Stages, Recent<Plan>);

impl Expression for Fixed {
    fn stages(&self, _: &[Variable<'_>]) -> Result<Stages, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.0.clone())
    }

    fn plans(&self) -> &Recent<Plan> {
        &self.1
    }
}

/// A sum and a sum of squared deviations are computed in one pass only where that is what stages compute.
#[test]
fn only_variances_are_computed_by_deviations() {
    type Change = (&'static str, bool, fn(&mut Vec<Stage>));
    fn square(stage: &mut Stage) -> &mut (KernelKey, Vec<usize>) {
        let at = stage.results[0].value - stage.reads.len() - stage.constants.len();
        &mut stage.steps[at]
    }
    fn set_dtype(stages: &mut [Stage], dtype: DType) {
        stages[..2].iter_mut().for_each(|stage| stage.results[0].dtype = dtype);
    }
    let of_two: &[Change] = &[
        ("as it is", true, |_| {}),
        ("square", true, |stages| {
            let (key, inputs) = square(&mut stages[1]);
            *key = KernelKey::Call(Op::Square, DType::F64);
            inputs.truncate(1);
        }),
        ("another factor", false, |stages| square(&mut stages[1]).1[1] = 0),
        ("maximum of squares", false, |stages| stages[1].results[0].fold = Some(FoldOp::Max)),
        ("maximum first", false, |stages| stages[0].results[0].fold = Some(FoldOp::Max)),
        ("integers", false, |stages| set_dtype(stages, DType::I64)),
        ("another dtype of squares", false, |stages| stages[1].results[0].dtype = DType::F32),
        ("another number of elements", false, |stages| {
            stages[1].constants.iter_mut().for_each(|constant| *constant = Constant::new(9_999.0));
        }),
        ("another total", false, |stages| {
            let reads = &mut stages[1].reads;
            let total = reads.iter_mut().find(|read| matches!(read.from, ReadFrom::Stage { .. })).unwrap();
            total.start = 1;
        }),
        ("another dividend", false, |stages| {
            let reads = &mut stages[1].reads;
            let total = reads.iter_mut().find(|read| matches!(read.from, ReadFrom::Stage { .. })).unwrap();
            total.from = ReadFrom::Variable(0);
        }),
    ];
    let of_three: &[Change] = &[
        ("as it is", true, |_| {}),
        ("strides of dimensions of size 1", true, |stages| {
            let shape = stages[1].output_shape();
            let strides = &mut stages[2].reads[0].strides;
            strides.iter_mut().zip(shape).filter(|(_, size)| *size == 1).for_each(|(stride, _)| *stride = 77);
        }),
        ("a step", false, |stages| stages[2].steps.push((KernelKey::Call(Op::Square, DType::F64), vec![0]))),
        ("fewer results", false, |stages| {
            let kept = stages[2].is_reduced.iter().position(|is| !is).unwrap();
            stages[2].sizes[kept] /= 2;
        }),
        ("another loop", false, |stages| {
            let (sizes, is_reduced) = (stages[2].sizes.clone(), &mut stages[2].is_reduced);
            let reduced = (0..sizes.len()).find(|&dim| is_reduced[dim] && sizes[dim] > 1).unwrap();
            is_reduced[reduced] = false;
        }),
        ("maximum", false, |stages| stages[2].results[0].fold = Some(FoldOp::Max)),
        ("another dtype", false, |stages| stages[2].results[0].dtype = DType::F32),
        ("another start", false, |stages| stages[2].reads[0].start = 1),
        ("another array", false, |stages| stages[2].reads[0].from = ReadFrom::Variable(0)),
        ("other strides", false, |stages| {
            let shape = stages[1].output_shape();
            let strides = &mut stages[2].reads[0].strides;
            strides.iter_mut().zip(shape).filter(|(_, size)| *size > 1).for_each(|(stride, _)| *stride += 1);
        }),
    ];
    for (text, shape, changes) in
        [("var(a, 0)", &[10_000, 500][..], of_two), ("var(a, (0, 2))", &[64, 64, 10_000], of_three)]
    {
        let strides = row_major(shape);
        let array = ArrayType { dtype: DType::F64, shape, strides: &strides, alignment: 256 };
        let variables = [Variable::Array(array)];
        let stages = Expr::parse(text).unwrap().stages(&variables).unwrap();
        for &(what, is_joint, change) in changes {
            let mut stages = stages.clone();
            change(&mut stages.stages);
            let expr = Fixed(stages, Recent::default());
            let plan = Plan::new(&expr, &variables, None, Numerics::Exact).unwrap();
            let found = sources(&plan).iter().any(|source| source.contains(" finish_deviations(a"));
            assert_eq!(found, is_joint, "{text}: {what}");
        }
    }
}

/// A minimum and the position of what is equal to it are found in one pass only where that is what stages compute.
#[test]
fn only_positions_of_extreme_elements_are_found_with_them() {
    type Change = (&'static str, bool, fn(&mut [Stage]));
    /// The step of an operation in the second stage.
    fn step(stages: &mut [Stage], op: Op) -> &mut (KernelKey, Vec<usize>) {
        let is_wanted =
            |(key, _): &&mut (KernelKey, Vec<usize>)| matches!(key, KernelKey::Call(own, _) if *own == op);
        stages[1].steps.iter_mut().find(is_wanted).unwrap()
    }
    let changes: &[Change] = &[
        ("as it is", true, |_| {}),
        ("sum", false, |stages| stages[0].results[0].fold = Some(FoldOp::Sum)),
        ("another dtype", false, |stages| step(stages, Op::Equal).0 = KernelKey::Call(Op::Equal, DType::F64)),
        ("another value for NaN", false, |stages| {
            let inputs = step(stages, Op::Equal).1.clone();
            step(stages, Op::NotEqual).1[1] = inputs[1];
        }),
        ("not the extreme value", false, |stages| {
            let inputs = &mut step(stages, Op::Equal).1;
            inputs[1] = inputs[0];
        }),
        ("not the element", false, |stages| {
            let inputs = &mut step(stages, Op::Equal).1;
            inputs[0] = inputs[1];
        }),
        ("another operation", false, |stages| {
            step(stages, Op::Multiply).0 = KernelKey::Call(Op::Add, DType::F32);
        }),
        ("another constant", false, |stages| {
            let constants = &mut stages[1].constants;
            let two = constants.iter_mut().find(|constant| **constant == Constant::new(2f32)).unwrap();
            *two = Constant::new(3f32);
        }),
        ("another element", false, |stages| {
            let reads = stages[1].reads.iter_mut();
            reads.filter(|read| read.from == ReadFrom::Variable(0)).for_each(|read| read.start = 1);
        }),
    ];
    let array = ArrayType { dtype: DType::F32, shape: &[10_000, 500], strides: &[500, 1], alignment: 256 };
    let variables = [Variable::Array(array)];
    let stages = Expr::parse("argmin(a * 2, 0)").unwrap().stages(&variables).unwrap();
    for &(what, is_joint, change) in changes {
        let mut stages = stages.clone();
        change(&mut stages.stages);
        let plan = Plan::new(&Fixed(stages, Recent::default()), &variables, None, Numerics::Exact).unwrap();
        let found = sources(&plan).iter().any(|source| source.contains("&& is_before_min(s"));
        assert_eq!(found, is_joint, "{what}");
    }
}

#[test]
fn programs_have_at_most_4000_operations() {
    let array = ArrayType { dtype: DType::F32, shape: &[8], strides: &[1], alignment: 256 };
    let variables = [Variable::Array(array)];
    let stages = Expr::parse("a + a").unwrap().stages(&variables).unwrap();
    for (count, is_short) in [(4000, true), (4001, false), (4002, false)] {
        let mut stages = stages.clone();
        let step = stages.stages[0].steps[0].clone();
        stages.stages[0].steps.resize(count, step);
        let plan = Plan::new(&Fixed(stages, Recent::default()), &variables, None, Numerics::Exact);
        match plan {
            Ok(_) => assert!(is_short, "{count}"),
            Err(Error::TooLong { count: own, most: 4000 }) => assert!(!is_short && own == count, "{count}"),
            Err(error) => panic!("{count}: {error}"),
        }
    }
}

/// Bytes of the arrays that a kernel has in the shared memory of a block.
fn shared_bytes(source: &str) -> usize {
    let declared = source.split("__shared__ ").skip(1).map(|rest| rest.split(';').next().unwrap());
    let bytes = |declared: &str| {
        let item = match declared.split(' ').next().unwrap() {
            "u8" | "i8" => 1,
            "u16" | "i16" => 2,
            "u32" | "i32" | "float" => 4,
            "u64" | "i64" | "double" | "c64" => 8,
            "c128" | "bits128" => 16,
            other => panic!("{other}"),
        };
        let sizes =
            declared.split('[').skip(1).map(|size| size.trim_end_matches(']').parse::<usize>().unwrap());
        item * sizes.product::<usize>()
    };
    declared.map(bytes).sum()
}

#[test]
fn blocks_have_at_most_48_kilobytes_of_shared_memory() {
    let sums =
        |axes: &str| (0..40).map(|n| format!("sum(a * {n}.5 + a, {axes})")).collect::<Vec<_>>().join(" + ");
    let (rows, columns, all) = (sums("axis=1"), sums("axis=0"), sums("axis=None"));
    let mut largest = 0;
    for (text, shape) in [
        ("a + b.T", [640, 640]),
        ("a + b.T + c.T", [640, 640]),
        ("a + b.T + c.T - d.T", [640, 640]),
        ("sum((a[:, None] - b)**2, -1)", [640, 640]),
        ("sum((a[:, None] - b) * c, -1)", [640, 640]),
        ("sum((a[:, None] - b) * (c[:, None] - d), -1)", [640, 640]),
        ("sum(a, axis=0)", [3000, 3]),
        ("prod(a, axis=0) * sum(a, axis=0) - sum(a * a, axis=0)", [3000, 3]),
        (&rows, [64, 4096]),
        (&columns, [64, 4096]),
        (&columns, [4096, 3]),
        (&all, [64, 4096]),
        ("sum(exp(a[0, :, None] - b[0]), axis=1)", [2, 4096]),
    ] {
        for dtype in [DType::U8, DType::F16, DType::F32, DType::F64, DType::C64, DType::C128] {
            let expr = Expr::parse(text).unwrap();
            let strides = row_major(&shape);
            let array = ArrayType { dtype, shape: &shape, strides: &strides, alignment: 256 };
            let variables = vec![Variable::Array(array); expr.names().len()];
            let Ok(plan) = Plan::new(&expr, &variables, None, Numerics::Exact) else { continue };
            for source in sources(&plan) {
                let (_, kernel) = source.split_once("\nstruct Args").unwrap();
                let bytes = shared_bytes(kernel);
                assert!(bytes <= 48 << 10, "{text}, {dtype}: {bytes} bytes");
                largest = largest.max(bytes);
            }
        }
    }
    assert!(largest > 32 << 10, "{largest}");
}

/// Kernels for arrays in a certain order of memory are used for these arrays only: others would be read wrongly.
#[test]
fn kernels_are_those_of_the_order_of_memory() {
    let (columns, squares, transposed, table) = ("u32 const active", "first_column", "first_y", "i64 row0[");
    for (text, shapes, marker, has) in [
        // Few columns, of whole rows.
        ("sum(a, 0)", &[&[256, 3][..]][..], columns, true),
        ("sum(a, 0)", &[&[255, 3]], columns, false),
        ("sum(a[:, :3], 0)", &[&[300, 5]], columns, false),
        ("sum(a[:, 1:], 0)", &[&[300, 4]], columns, false),
        ("sum(a * b, 0)", &[&[300, 3], &[3]], columns, true),
        // Pairs of rows; what moves along the reduced loop alone is none of a side.
        ("sum((a[:, None] - b)**2, -1)", &[&[100, 70], &[65, 70]], squares, true),
        ("sum((a[:, None] - b)**2, -1)", &[&[100, 70], &[20, 70]], squares, false),
        ("sum((a[:, None] - b) * c, -1)", &[&[100, 70], &[65, 70], &[1]], squares, true),
        ("sum((a[:, None] - b) * c, -1)", &[&[100, 70], &[65, 70], &[70]], squares, false),
        ("a + b.T", &[&[16, 16], &[16, 16]], transposed, true),
        ("a + b.T", &[&[100, 8], &[8, 100]], transposed, false),
        ("a + b.T", &[&[8, 100], &[100, 8]], transposed, false),
        ("a + transpose(b, (1, 2, 0))", &[&[70, 20, 33], &[33, 70, 20]], transposed, true),
        ("a + transpose(b, (2, 0, 1))", &[&[70, 20, 33], &[20, 33, 70]], transposed, true),
        // Rows of whole vectors.
        ("a + b", &[&[4000, 128], &[4000, 1]], table, true),
        ("a + b", &[&[4000, 1025], &[4000, 1]], table, false),
        ("a + b", &[&[8, 1024], &[8, 1]], table, true),
    ] {
        let plan = plan(text, shapes).unwrap();
        assert_eq!(sources(&plan)[0].contains(marker), has, "{text}, {shapes:?}: {marker}");
    }
    let misaligned = ArrayType { dtype: DType::F32, shape: &[300, 3], strides: &[3, 1], alignment: 4 };
    let sum = Expr::parse("sum(a, 0)").unwrap();
    let plan = Plan::new(&sum, &[Variable::Array(misaligned)], None, Numerics::Exact).unwrap();
    assert!(!sources(&plan)[0].contains(columns));
    // Rows of an output whose loops are not contiguous.
    let array = ArrayType { dtype: DType::F32, shape: &[500, 8, 64], strides: &[512, 64, 1], alignment: 256 };
    let row = ArrayType { shape: &[8, 64], strides: &[64, 1], ..array };
    let sum = Expr::parse("a + b").unwrap();
    for (strides, has) in [(&[512, 64, 1], true), (&[1024, 128, 1], false)] {
        let output = ArrayType { strides, ..array };
        let variables = [array, row].map(Variable::Array);
        let plan = Plan::new(&sum, &variables, Some(output), Numerics::Exact).unwrap();
        assert_eq!(sources(&plan)[0].contains(table), has, "{strides:?}");
    }
}

#[test]
fn lanes_are_counted_where_elements_are_no_whole_vectors() {
    for (text, whole, shape) in [
        ("a + a", &[4096][..], &[4097][..]),
        ("sum(a, 0)", &[304, 3], &[301, 3]),
        ("sum(a, 1)", &[64, 4096], &[64, 4097]),
        ("sum(a, 0)", &[64, 4096], &[64, 4099]),
    ] {
        for (shape, has) in [(whole, false), (shape, true)] {
            let strides = row_major(shape);
            let array = ArrayType { dtype: DType::F32, shape, strides: &strides, alignment: 256 };
            let expr = Expr::parse(text).unwrap();
            let plan = Plan::new(&expr, &[Variable::Array(array)], None, Numerics::Exact).unwrap();
            let source = sources(&plan)[0];
            let is_vector = source.contains("load<4>(p");
            assert_eq!(source.contains("const int count") || !is_vector, has, "{text}, {shape:?}");
        }
    }
}
