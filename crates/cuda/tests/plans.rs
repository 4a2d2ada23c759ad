//! Properties of plans: memory, kernels and errors.

use unishape::DType;
use unishape::expr::Expr;
use unishape_cuda::{ArrayType, Buffer, Device, Error, Numerics, Plan, Variable, Word};
use unishape_engine::layout::row_major;

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
        assert!(plan.launches().len() > 1, "{text}");
        assert_eq!(sources(&plan).iter().collect::<std::collections::HashSet<_>>().len(), 1, "{text}");
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
