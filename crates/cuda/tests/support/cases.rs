//! Expressions with random arrays, whose results are compared with those of the CPU executor.

use crate::arrays::{HostArray, Layout, Numbers, Random, Tolerance, difference, tensor};
use ndarray::ArrayD;
use num_complex::Complex;
use unishape::expr::{Expr, Op, Value};
use unishape::{DType, Tensor};
use unishape_cuda::{Numerics, Plan, Variable};

/// An expression with its values.
pub(crate) struct Case {
    pub(crate) text: String,
    /// Arrays, and how they are viewed in which shape.
    pub(crate) arrays: Vec<(Tensor, Layout, Vec<usize>)>,
    pub(crate) tolerance: Tolerance,
}

impl Case {
    /// A case with random arrays of these dtypes and shapes, contiguous or not.
    fn random(random: &mut Random, text: &str, arrays: &[(DType, &[usize])], numbers: Numbers) -> Case {
        let arrays = arrays.iter().map(|&(dtype, shape)| {
            let (layout, base) = Layout::random(random, shape);
            (tensor(random, dtype, &base, numbers), layout, shape.to_vec())
        });
        Case { text: text.into(), arrays: arrays.collect(), tolerance: Tolerance::Exact }
    }

    /// A case with contiguous arrays.
    fn contiguous(random: &mut Random, text: &str, arrays: &[(DType, &[usize])], numbers: Numbers) -> Case {
        let arrays = arrays.iter().map(|&(dtype, shape)| {
            let layout = Layout { order: (0..shape.len()).collect(), slices: vec![(0, 1); shape.len()] };
            (tensor(random, dtype, shape, numbers), layout, shape.to_vec())
        });
        Case { text: text.into(), arrays: arrays.collect(), tolerance: Tolerance::Exact }
    }

    fn within(self, tolerance: Tolerance) -> Case {
        Case { tolerance, ..self }
    }

    pub(crate) fn describe(&self) -> String {
        let arrays: Vec<String> = self
            .arrays
            .iter()
            .map(|(tensor, layout, shape)| format!("{} {shape:?} {layout:?}", tensor.dtype()))
            .collect();
        format!("{} of {}", self.text, arrays.join(", "))
    }
}

/// A case with what the CPU executor computes, and its plan.
pub(crate) struct Prepared<'c> {
    pub(crate) case: &'c Case,
    pub(crate) arrays: Vec<HostArray>,
    pub(crate) expected: Tensor,
    pub(crate) plan: Plan,
}

/// Computes all cases on the CPU, and plans them. Dtypes that an operation is not defined for are left out: that is an
/// error on the CPU, too.
pub(crate) fn prepare(cases: &[Case]) -> Vec<Prepared<'_>> {
    let prepared: Vec<_> = cases
        .iter()
        .filter_map(|case| {
            let views: Vec<_> =
                case.arrays.iter().map(|(tensor, layout, shape)| layout.view(tensor, shape)).collect();
            let expr = Expr::parse(&case.text).unwrap();
            let bound = expr.bind_positional(views.iter().cloned().map(Value::from)).ok()?;
            let arrays: Vec<HostArray> = views.iter().map(HostArray::of).collect();
            let variables: Vec<Variable<'_>> =
                arrays.iter().map(|array| Variable::Array(array.array_type())).collect();
            let plan = Plan::new(&expr, &variables, None, Numerics::Exact)
                .unwrap_or_else(|error| panic!("{}: {error}", case.describe()));
            let expected = bound.compute().unwrap();
            assert_eq!((plan.shape(), plan.dtype()), (expected.shape(), expected.dtype()));
            Some(Prepared { case, arrays, expected, plan })
        })
        .collect();
    assert!(!prepared.is_empty());
    prepared
}

/// Compares the bytes of all results.
pub(crate) fn compare(prepared: &[Prepared<'_>], run: impl Fn(&Prepared<'_>) -> Vec<u8>) {
    let mut wrong = Vec::new();
    for each in prepared {
        if let Some(difference) = difference(&run(each), &each.expected, each.case.tolerance) {
            wrong.push(format!("{}: {difference}", each.case.describe()));
        }
    }
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {} cases are wrong:\n{shown}", wrong.len(), prepared.len());
}

/// Dtypes of numbers.
fn dtypes() -> impl Iterator<Item = DType> {
    DType::ALL.iter().copied().filter(|&dtype| dtype != DType::Str)
}

/// How far a function of CUDA's mathematical library may be from ours; here it is that of the C library.
fn tolerance_of(op: Op, dtype: DType) -> Tolerance {
    use Op::*;
    match op {
        Acos | Acosh | Asin | Asinh | Atan | Atan2 | Atanh | Cbrt | Cos | Cosh | Erf | Exp | Exp2 | Expm1
        | Hypot | Log | Log10 | Log1p | Log2 | Logaddexp | Sigmoid | Sin | Sinh | Tan | Tanh => {
            Tolerance::Units(if dtype.is_complex() { 16.0 } else { 4.0 })
        }
        // Its sum cancels near 0.
        Logaddexp2 => Tolerance::Units(20_000.0),
        FloatPower => tolerance_of(Pow, if dtype.is_complex() { DType::C128 } else { DType::F64 }),
        // e^(w ln z), in double precision: the error of the exponent is multiplied by its size.
        Pow if dtype.is_complex() => Tolerance::Units(20_000.0),
        Pow if !dtype.is_integer() && dtype != DType::Bool => Tolerance::Units(4.0),
        Abs | Sqrt | Sign if dtype.is_complex() => Tolerance::Units(4.0),
        _ => Tolerance::Exact,
    }
}

/// Operations without a kernel of their own.
const COMPOSED: [Op; 8] = [
    Op::Deg2rad,
    Op::FloatPower,
    Op::Fmax,
    Op::Fmin,
    Op::Heaviside,
    Op::Logaddexp2,
    Op::Rad2deg,
    Op::RoundTo,
];

/// Every operation of every dtype.
pub(crate) fn operations() -> Vec<Case> {
    // Operations that are made of others have numbers of their own: those of the others do not change with their list.
    let (mut kernels, mut composed) = (Random(1), Random(11));
    let mut cases = Vec::new();
    for &op in Op::ALL {
        let random = if COMPOSED.contains(&op) { &mut composed } else { &mut kernels };
        for dtype in dtypes() {
            let names = ["a", "b", "c"][..op.arity()].join(", ");
            let mut arrays = vec![(dtype, &[203][..]); op.arity()];
            if op == Op::Where {
                arrays[0].0 = DType::Bool;
            }
            let text = format!("{}({names})", op.name());
            // Errors of complex powers grow with the logarithm of the result: `pow` has numbers of any size.
            let is_complex_power = op == Op::FloatPower && dtype.is_complex();
            let numbers = if is_complex_power { Numbers::Moderate } else { Numbers::Any };
            let case = Case::contiguous(random, &text, &arrays, numbers);
            cases.push(case.within(tolerance_of(op, dtype)));
        }
    }
    cases.push(powers_of_two());
    cases
}

/// Powers of two of complex numbers that overflow or underflow, with angles of 0 and large ones.
fn powers_of_two() -> Case {
    let real = [0.0, 1.0, -3000.0, -1070.0, 1023.5, 2039.0, 2047.0, 2048.0, 3000.0, 1e300];
    let imaginary = [0.0, -0.0, 1.0, -2.5, 1e9, 3e15];
    let numbers = real.iter().flat_map(|&re| imaginary.map(|im| Complex::new(re, im)));
    let array = ArrayD::from_shape_vec(vec![60], numbers.collect()).unwrap();
    let layout = Layout { order: vec![0], slices: vec![(0, 1)] };
    let arrays = vec![(Tensor::from(array), layout, vec![60])];
    Case { text: "exp2(a)".into(), arrays, tolerance: tolerance_of(Op::Exp2, DType::C128) }
}

/// Every cast.
pub(crate) fn casts() -> Vec<Case> {
    let mut random = Random(2);
    let mut cases = Vec::new();
    for from in dtypes() {
        for to in dtypes() {
            let case =
                Case::contiguous(&mut random, &format!("cast(a, {to})"), &[(from, &[203])], Numbers::Any);
            // The CPU rounds float64 to float16 by way of float32, where it has an instruction for that.
            let is_rounded_twice = matches!(to, DType::F16 | DType::BF16) && from.item_size() >= 4;
            cases.push(case.within(if is_rounded_twice { Tolerance::Units(1.0) } else { Tolerance::Exact }));
        }
    }
    for (a, b) in [(DType::I64, DType::U64), (DType::U64, DType::I8)] {
        for op in ["<", "<=", "==", "!=", ">", ">="] {
            cases.push(Case::contiguous(
                &mut random,
                &format!("a {op} b"),
                &[(a, &[203]), (b, &[203])],
                Numbers::Any,
            ));
        }
    }
    cases
}

/// Arrays of random shapes and strides.
pub(crate) fn layouts() -> Vec<Case> {
    let mut random = Random(3);
    let texts = ["a + b", "a * 2 - b", "where(a < b, a, b) * a", "a / b + a[::-1]", "b - a * a"];
    let mut cases = Vec::new();
    for _ in 0..120 {
        let rank = random.below(5);
        let shape: Vec<usize> = (0..rank).map(|_| *random.choose(&[1, 2, 3, 4, 5, 8, 12, 40])).collect();
        let arrays: Vec<(DType, Vec<usize>)> = (0..2)
            .map(|_| {
                let cut = if random.below(3) == 0 { random.below(rank + 1) } else { 0 };
                let own =
                    shape[cut..].iter().map(|&size| if random.below(4) == 0 { 1 } else { size }).collect();
                (
                    *random.choose(&[DType::F32, DType::F64, DType::I16, DType::F32, DType::U8, DType::C128]),
                    own,
                )
            })
            .collect();
        let text = if arrays[0].1.is_empty() { texts[0] } else { *random.choose(&texts) };
        let arrays: Vec<(DType, &[usize])> =
            arrays.iter().map(|(dtype, shape)| (*dtype, &shape[..])).collect();
        cases.push(Case::random(&mut random, text, &arrays, Numbers::Any));
    }
    // Many loops that cannot be one.
    for (a, b) in [
        (&[6, 1, 6, 1, 6, 1][..], &[1, 6, 1, 6, 1, 6][..]),
        (&[3, 1, 7, 1, 5, 1], &[1, 2, 1, 9, 1, 5]),
        (&[2, 1, 3, 1, 64, 1], &[3, 1, 2, 1, 64]),
    ] {
        for dtypes in [[DType::F32, DType::F32], [DType::U8, DType::F64]] {
            let arrays = [(dtypes[0], a), (dtypes[1], b)];
            cases.push(Case::contiguous(&mut random, "a * 2 + b", &arrays, Numbers::Any));
        }
    }
    // Rows of some vectors, in which arrays are broadcast against each other.
    for (text, a, b) in [
        ("a + b", &[20, 1, 200][..], &[1, 15, 200][..]),
        ("a * 2 + b", &[6, 1, 14, 1], &[1, 8, 1, 14]),
        ("sqrt((a - b) * (a - b)) * a", &[50, 1], &[1, 1040]),
        ("(a - b) / b * a", &[40, 1024], &[40, 1]),
        ("a - b", &[9, 1, 136], &[7, 1]),
        ("a[::-1] - b", &[3, 1, 5, 512], &[4, 1, 512]),
    ] {
        for dtypes in [[DType::F32, DType::F32], [DType::U8, DType::F64], [DType::F16, DType::F16]] {
            cases.push(Case::contiguous(
                &mut random,
                text,
                &[(dtypes[0], a), (dtypes[1], b)],
                Numbers::Moderate,
            ));
        }
    }
    // More arrays than fit the numbers in the names of types.
    let many: Vec<String> =
        (0..70).map(|number| format!("a.T[{number}:, {}:][:20, :20]", number % 7)).collect();
    let text = format!("({}) + b[:20, :20]", many.join(" + "));
    cases.push(Case::contiguous(
        &mut random,
        &text,
        &[(DType::C64, &[100, 100]), (DType::C64, &[20, 20])],
        Numbers::Moderate,
    ));
    // Arrays that are contiguous along different loops.
    for (text, a, b) in [
        ("a + b.T", &[100, 130][..], &[130, 100][..]),
        ("a.T * b.T - a.T", &[65, 64], &[65, 64]),
        ("a + transpose(b, (1, 2, 0)) / 2", &[70, 3, 33], &[33, 70, 3]),
        ("transpose(a, (0, 2, 1)) + b", &[3, 40, 66], &[66, 40]),
        ("a[::-1] + b.T[:, ::-1] * b", &[64, 64], &[64, 64]),
    ] {
        for dtypes in [[DType::F32, DType::F32], [DType::U8, DType::F64], [DType::F16, DType::C128]] {
            cases.push(Case::contiguous(&mut random, text, &[(dtypes[0], a), (dtypes[1], b)], Numbers::Any));
        }
    }
    cases
}

/// Reductions of two arrays: what is reduced, and the shapes.
pub(crate) fn reductions() -> Vec<Case> {
    let mut random = Random(4);
    let texts = [
        "sum(a * b, axis=AXES)",
        "max(a - b, axis=AXES)",
        "prod(a, axis=AXES) + min(b)",
        "any(a < b, axis=AXES)",
        "all(a <= b + 1, axis=AXES)",
        "argmax(a * b, axis=AXES)",
        "argmin(a + b, axis=AXES)",
        "mean(a, axis=AXES) * sum(a * a, axis=AXES)",
        "var(a, axis=AXES) + 0 * sum(b)",
        "softmax(a, axis=AXES) * b",
        "count_nonzero(a, axis=AXES) + sum(b)",
        "sum(a[:, None] * b[None], axis=AXES)",
    ];
    let mut cases = Vec::new();
    for text in texts.iter().cycle().take(12 * 14) {
        let rank = 1 + random.below(3);
        let sizes = [1, 2, 3, 5, 8, 12, 33, 100, 257];
        let mut shape: Vec<usize> = (0..rank).map(|_| *random.choose(&sizes)).collect();
        while shape.iter().product::<usize>() > 20_000 {
            let largest = (0..rank).max_by_key(|&dim| shape[dim]).unwrap();
            shape[largest] = shape[largest] / 2 + 1;
        }
        let own: Vec<usize> = shape.iter().map(|&size| if random.below(4) == 0 { 1 } else { size }).collect();
        let axes = match random.below(4) {
            _ if text.starts_with("arg") => random.below(rank).to_string(),
            0 => (0..rank).map(|axis| format!("{axis},")).collect::<String>(),
            _ => random.below(rank).to_string(),
        };
        let axes = if axes.ends_with(',') { format!("({axes})") } else { axes };
        let dtypes =
            [DType::F32, DType::F64, DType::I32, DType::F16, DType::U8, DType::Bool, DType::BF16, DType::C64];
        let (a, b) = (*random.choose(&dtypes), *random.choose(&dtypes));
        if (a.is_complex() || b.is_complex()) && (text.contains("arg") || text.contains("soft")) {
            continue;
        }
        let arrays = [(a, &shape[..]), (b, &own[..])];
        let case = Case::random(&mut random, &text.replace("AXES", &axes), &arrays, Numbers::Moderate);
        // The precision of the least precise dtype.
        let precision = |dtype| match dtype {
            DType::F16 => 1e-3,
            DType::BF16 => 8e-3,
            DType::F32 | DType::C64 => 1e-6,
            _ => 1e-14,
        };
        cases.push(case.within(Tolerance::Relative(8.0 * f64::max(precision(a), precision(b)))));
    }
    cases
}

/// Arrays that are contiguous along another loop than the result, at multiples of vectors: backwards, and in parts.
pub(crate) fn transposed() -> Vec<Case> {
    let mut random = Random(8);
    let cases = [
        ("a + b[:, 64:0:-1].T", [&[64, 64][..], &[64, 72]]),
        ("a + b[:, 64:2:-1].T", [&[62, 64], &[64, 72]]),
        ("a[:62] - b[:, 4:66].T", [&[64, 64], &[64, 72]]),
    ];
    let case = |(text, shapes): (&str, [&'static [usize]; 2])| {
        let arrays = shapes.map(|shape| (DType::F32, shape));
        Case::contiguous(&mut random, text, &arrays, Numbers::Any)
    };
    cases.map(case).into()
}

/// Small reductions, one of most kinds of kernels.
pub(crate) fn small_reductions() -> Vec<Case> {
    let f32s = |shape: &'static [usize]| (DType::F32, shape);
    let cases = [
        // Squares of pairs, in one and in several groups.
        ("sum((a[:, None] - b)**2, axis=-1)", vec![f32s(&[33, 18]), f32s(&[35, 18])]),
        ("sum(abs(a[:, :, None] - b[:, None]), axis=-1)", vec![f32s(&[2, 33, 17]), f32s(&[2, 34, 17])]),
        // Few columns, in one pass and in two.
        ("max(a * b, axis=0)", vec![f32s(&[301, 6]), f32s(&[1])]),
        ("sum(a * b, axis=0)", vec![(DType::F64, &[3001, 3][..]), (DType::F64, &[3][..])]),
        ("var(a, axis=0)", vec![f32s(&[304, 3])]),
        // Rows in one kernel, by the threads of a warp and of a block.
        ("softmax(a, axis=1) * b", vec![f32s(&[11, 70]), f32s(&[11, 1])]),
        ("softmax(a, axis=1)", vec![f32s(&[3, 1100])]),
        // Positions along columns, along rows, and of pairs.
        ("argmin(where(a > 1.45, a / 0 - a / 0, a), axis=0)", vec![f32s(&[300, 40])]),
        ("argmax(a // 2, axis=0)", vec![(DType::I32, &[300, 40][..])]),
        ("argmax(a[::-1], axis=0)", vec![f32s(&[90, 40])]),
        ("argmax(a, axis=1)", vec![f32s(&[3, 600])]),
        ("argmin(a[:, None] + b, axis=1)", vec![f32s(&[1030]), f32s(&[530])]),
        ("var(a, axis=(0, 2))", vec![f32s(&[5, 3, 300])]),
    ];
    of_moderate_numbers(Random(7), cases)
}

/// Reductions that are split, and pairs of points.
pub(crate) fn large_reductions() -> Vec<Case> {
    let f32s = |shape: &'static [usize]| (DType::F32, shape);
    let cases = [
        ("sum(a)", vec![f32s(&[70_000])]),
        ("sum(a * b)", vec![f32s(&[70_001]), f32s(&[70_001])]),
        ("max(a) - min(b)", vec![(DType::F64, &[70_000][..]), (DType::I16, &[50_000][..])]),
        ("sum(a * b, axis=0)", vec![f32s(&[3000, 20]), f32s(&[20])]),
        ("sum(a * b, axis=0)", vec![f32s(&[3001, 3]), f32s(&[3001, 1])]),
        ("sum(a * b, axis=0)", vec![f32s(&[20_001, 3]), f32s(&[3])]),
        ("max(a * 1.5, axis=0)", vec![(DType::I8, &[9001, 7][..])]),
        ("sum(a, axis=0)", vec![(DType::F64, &[300, 31][..])]),
        ("sum(a, axis=(0, 1)) + b", vec![(DType::F16, &[40, 90, 6][..]), f32s(&[6])]),
        ("sum(a, axis=(0, 2))", vec![f32s(&[30, 8, 300])]),
        ("argmax(a)", vec![f32s(&[60_000])]),
        ("sum(a, axis=0)", vec![(DType::C128, &[4000, 2][..])]),
        ("sum(exp(-sum((a[:, None] - b)**2, axis=-1)), axis=1)", vec![f32s(&[1100, 3]), f32s(&[40, 3])]),
        ("argmin(sum((a[:, None] - b)**2, axis=-1), axis=1)", vec![f32s(&[1100, 3]), f32s(&[40, 3])]),
        ("argmin(sum((a[:, None] - b)**2, axis=-1), axis=1)", vec![f32s(&[7, 3]), f32s(&[300, 3])]),
        ("argmax(a[::-1] * 0 + b, axis=0)", vec![f32s(&[900, 40]), f32s(&[40])]),
        ("argmin(a // 2, axis=0)", vec![(DType::I16, &[3000, 5][..])]),
        ("argmax(where(a > 1.4, a / 0 - a / 0, a), axis=1)", vec![(DType::F64, &[6, 40_000][..])]),
        ("argmin(where(a > 1.499, a / 0 - a / 0, a), axis=0)", vec![f32s(&[40_000, 6])]),
        // Several NaN; none; all elements infinite; only ties.
        ("argmin(where(a * b > 1.1, a / 0 - a / 0, a + b), axis=0)", vec![f32s(&[3000, 40]), f32s(&[40])]),
        (
            "argmin(where(abs(a[:, None] - b) < 0.01, 0 / (a[:, None] - a[:, None]), b), axis=1)",
            vec![f32s(&[1100]), f32s(&[700])],
        ),
        ("argmin(a[:, None] / 0 + b, axis=1)", vec![f32s(&[1100]), f32s(&[500])]),
        ("argmax(floor(a[:, None] * 2) + floor(b), axis=1)", vec![f32s(&[1100]), (DType::F64, &[500][..])]),
        ("argmax(a[:, None] // 2 + b, axis=1)", vec![(DType::I32, &[1100][..]), (DType::I32, &[500][..])]),
        ("argmin(abs(a[:, None] - b[::-1]), axis=1)", vec![f32s(&[1100]), f32s(&[500])]),
        (
            "sum(c / sqrt(sum((a[:, None] - b)**2, axis=-1) + 0.01), axis=1)",
            vec![f32s(&[40]), f32s(&[1100, 3]), f32s(&[40, 3])],
        ),
        ("sum(a / sqrt(b - 1), axis=0)", vec![f32s(&[40, 1100]), f32s(&[1])]),
        // More than 16 arrays of 16 bytes: names of variables differ from those of types.
        (
            "sum((b * 2 - b * a) + 0 * a, axis=0)",
            vec![(DType::Bool, &[8, 100][..]), (DType::C64, &[8, 1][..])],
        ),
        (
            "sum((a - b) + 0 * c, axis=0)",
            vec![(DType::F64, &[7, 16][..]), (DType::C128, &[7, 16][..]), (DType::I64, &[7, 16][..])],
        ),
        // Pairs of which one side is read by way of shared memory: several tiles, and parts of them.
        ("sum(exp(-sum((a[:, None] - b)**2, axis=-1)), axis=1)", vec![f32s(&[1030, 3]), f32s(&[1601, 3])]),
        ("sum(abs(a[:, :, None] - b[:, None]), axis=2)", vec![f32s(&[3, 1101]), f32s(&[3, 600])]),
        (
            "sum(a[:, None, None] * b[:, ::2], axis=(1, 2))",
            vec![(DType::C64, &[1100][..]), (DType::C64, &[30, 60][..])],
        ),
        ("max(a[:, None] * b, axis=1)", vec![(DType::F16, &[1100][..]), (DType::U8, &[2000][..])]),
        (
            "argmin(where(abs(a[:, None] - b) < 0.001, 0 / (a[:, None] - a[:, None]), b), axis=1)",
            vec![f32s(&[1100]), f32s(&[1300])],
        ),
        ("argmin(a[:, None] / 0 + b, axis=1)", vec![f32s(&[1027]), f32s(&[1025])]),
        ("argmax(floor(a[:, None] * 2) + floor(b), axis=1)", vec![f32s(&[1100]), (DType::F64, &[800][..])]),
        (
            "argmax(a[:, None] // 2 - b[::-1], axis=1)",
            vec![(DType::I32, &[1100][..]), (DType::I32, &[700][..])],
        ),
        ("argmin(a.T[:, ::-1], axis=1) + argmax(b)", vec![f32s(&[900, 33]), (DType::U8, &[70_000][..])]),
        ("sum((a[:, None] - b)**2, axis=-1)", vec![f32s(&[20, 64]), f32s(&[30, 64])]),
        ("sum((a[:, None] - b)**2, axis=-1)", vec![f32s(&[100, 70]), f32s(&[65, 70])]),
        ("max(a[:, :, None] * b[None], axis=1)", vec![(DType::F64, &[40, 33][..]), f32s(&[33, 90])]),
        ("sum(abs(a[:, None] - b[:, :, None]) * 2, axis=-1)", vec![f32s(&[50, 40]), f32s(&[3, 34, 1, 40])]),
        ("sum(abs(a[:, None] - b), axis=-1)", vec![(DType::F64, &[20, 33][..]), (DType::F64, &[30, 33][..])]),
        ("var(a, axis=(0, 2))", vec![f32s(&[20, 3, 900])]),
        ("std(a * 100, axis=0)", vec![f32s(&[2000, 33])]),
        ("var(a, axis=0) + b", vec![f32s(&[9000, 5]), f32s(&[5])]),
        ("var(a + 1000)", vec![(DType::F64, &[70_001][..])]),
        ("var(a, axis=1, ddof=1)", vec![f32s(&[3, 30_000])]),
        ("layer_norm(a) + b", vec![f32s(&[40, 96]), f32s(&[96])]),
        ("softmax(a, axis=-1) * b", vec![f32s(&[11, 1028]), f32s(&[11, 1])]),
        ("softmax(a, axis=1)", vec![f32s(&[5, 1031])]),
        ("softmax(a, axis=0) + b", vec![f32s(&[300, 7]), f32s(&[7])]),
        ("log_softmax(a.T)", vec![f32s(&[70, 30])]),
        (
            "layer_norm(a, axis=(1, 2), weight=b)",
            vec![(DType::F64, &[9, 12, 20][..]), (DType::F64, &[12, 20][..])],
        ),
        ("rms_norm(a * 2) - b", vec![(DType::F16, &[33, 64][..]), (DType::U8, &[64][..])]),
        ("std(a, axis=1) + b", vec![f32s(&[17, 2048]), f32s(&[17])]),
        ("argmax(a, axis=1)", vec![f32s(&[17, 600])]),
        ("sum(a / sum(a, axis=1, keepdims=True) * b, axis=1)", vec![f32s(&[17, 1200]), f32s(&[1200])]),
        ("sum(a[:, :0], axis=1) + max(b)", vec![f32s(&[30, 4]), f32s(&[30])]),
        ("softmax(a, axis=1)", vec![(DType::F16, &[5, 130][..])]),
        ("layer_norm(a)", vec![(DType::I8, &[9, 70][..])]),
        ("sum(a, axis=1)", vec![(DType::BF16, &[5, 20_000][..])]),
    ];
    of_moderate_numbers(Random(5), cases)
}

/// Expressions of contiguous arrays with these dtypes and shapes; sums are rounded in another order.
fn of_moderate_numbers(
    mut random: Random,
    cases: impl IntoIterator<Item = (&'static str, Vec<(DType, &'static [usize])>)>,
) -> Vec<Case> {
    let case = |(text, arrays): (&str, Vec<_>)| {
        Case::contiguous(&mut random, text, &arrays, Numbers::Moderate).within(Tolerance::Relative(1e-5))
    };
    cases.into_iter().map(case).collect()
}
