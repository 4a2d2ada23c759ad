//! NVRTC compiles generated kernels; that needs no GPU.
//!
//! It is found in the Python environment of the tests. `UNISHAPE_COMPILE_ALL=1` compiles all kernels and not only some.

use ndarray::ArrayD;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use unishape::expr::{Expr, Op};
use unishape::{DType, Tensor};
use unishape_cuda::{ArrayType, Compiler, Kernel, Numerics, Plan, Variable};

/// Compute capabilities: the oldest that is supported, those of today's data centres, and one that is newer than any: the
/// driver will translate the code.
const CAPABILITIES: [i32; 4] = [75, 80, 90, 999];

/// The one that samples are compiled for.
const SAMPLED: [i32; 1] = [90];

/// How many layouts [`variable`] has.
const LAYOUTS: usize = 8;

/// The `site-packages` of the environment of the tests.
fn site_packages() -> Vec<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = std::env::var_os("UNISHAPE_PYTHON").map(PathBuf::from);
    let environment = python.as_deref().and_then(Path::parent).and_then(Path::parent);
    let library = environment.map_or(repository.join(".venv"), Path::to_owned).join("lib");
    let versions = std::fs::read_dir(library).into_iter().flatten().flatten();
    versions.map(|version| version.path().join("site-packages")).collect()
}

/// NVRTC; without it, tests are skipped, and fail in CI.
fn compiler() -> Option<Compiler> {
    match Compiler::load(&site_packages()) {
        Ok(compiler) => Some(compiler),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// An array in one of several layouts, by number.
fn variable(dtype: DType, layout: usize) -> Variable<'static> {
    let (shape, strides): (&[usize], &[isize]) = match layout {
        0 => (&[64, 4096], &[4096, 1]),
        1 => (&[4096], &[1]),
        2 => (&[64, 1], &[1, 1]),
        3 => (&[64, 4096], &[1, 64]),
        4 => (&[64, 4096], &[4099, 1]),
        5 => (&[64, 4096], &[8192, 2]),
        // Offsets of 64 bits.
        6 => (&[64, 4096], &[1 << 33, 1]),
        _ => (&[], &[]),
    };
    // A part of an array begins at any of its elements.
    let alignment = if layout == 4 { dtype.item_size() } else { 256 };
    Variable::Array(ArrayType { dtype, shape, strides, alignment })
}

/// Whether the CPU executor has an expression for these dtypes and ranks.
fn is_on_cpu(expr: &Expr, variables: &[Variable<'static>]) -> bool {
    let one = |variable: &Variable<'_>| {
        let Variable::Array(ArrayType { dtype, shape, .. }) = variable else { panic!("{variable:?}") };
        let one = ArrayD::from_elem(vec![1; shape.len()], 1u8);
        Expr::parse(&format!("{dtype}(a)")).unwrap().evaluate([("a", &one)]).unwrap()
    };
    let ones: Vec<Tensor> = variables.iter().map(one).collect();
    expr.bind_positional(&ones).is_ok()
}

/// Compiles the kernels of some expressions, on all cores, and returns how many there were.
fn compile(
    compiler: &Compiler,
    cases: &[(String, Vec<Variable<'static>>)],
    capabilities: &[i32],
    numerics: Numerics,
) -> usize {
    let mut kernels: Vec<(String, Kernel)> = Vec::new();
    for (text, variables) in cases {
        let expr = Expr::parse(text).unwrap();
        let plan = match Plan::new(&expr, variables, None, numerics) {
            Ok(plan) => plan,
            Err(error) => {
                assert!(!is_on_cpu(&expr, variables), "{text} {variables:?}: {error}");
                continue;
            }
        };
        for launch in plan.launches() {
            if !kernels.iter().any(|(_, kernel)| *kernel == launch.kernel) {
                kernels.push((text.clone(), launch.kernel.clone()));
            }
        }
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((text, kernel)) = kernels.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for &capability in capabilities {
                        if let Err(error) = compiler.compile(&kernel.source, capability, kernel.numerics) {
                            panic!("{text} for {capability}: {error}\n{}", kernel.source);
                        }
                    }
                }
            });
        }
    });
    kernels.len() * capabilities.len()
}

fn dtypes() -> impl Iterator<Item = DType> {
    DType::ALL.iter().copied().filter(|&dtype| dtype != DType::Str)
}

#[test]
fn operations_compile() {
    let Some(compiler) = compiler() else { return };
    let all = std::env::var_os("UNISHAPE_COMPILE_ALL").is_some();
    let mut cases = Vec::new();
    for (number, &op) in Op::ALL.iter().enumerate() {
        for (at, dtype) in dtypes().enumerate() {
            let names = ["a", "b", "c"][..op.arity()].join(", ");
            for layout in 0..LAYOUTS {
                // In the test command, one of 61 combinations.
                if all || (number * 31 + at * 7 + layout) % 61 == 0 {
                    let mut variables: Vec<_> =
                        (0..op.arity()).map(|own| variable(dtype, (layout + own) % LAYOUTS)).collect();
                    if op == Op::Where {
                        variables[0] = variable(DType::Bool, layout);
                    }
                    cases.push((format!("{}({names})", op.name()), variables));
                }
            }
        }
    }
    let capabilities = if all { &CAPABILITIES[..] } else { &SAMPLED };
    let count = compile(&compiler, &cases, capabilities, Numerics::Exact);
    println!("{count} kernels compiled by NVRTC {:?}", compiler.version());
    assert!(count > 50);
}

#[test]
fn reductions_compile() {
    let Some(compiler) = compiler() else { return };
    let all = std::env::var_os("UNISHAPE_COMPILE_ALL").is_some();
    let mut cases = Vec::new();
    for (number, text) in [
        "sum(a, AXES)",
        "prod(a * a, AXES)",
        "max(a, AXES)",
        "any(a, AXES)",
        "argmin(a, AXES)",
        "var(a, AXES)",
        "min(a, AXES)",
        "all(a, AXES)",
        "mean(a, AXES)",
        "argmax(a, AXES)",
        "count_nonzero(a, AXES)",
    ]
    .iter()
    .enumerate()
    {
        for (at, dtype) in dtypes().enumerate() {
            for (axes, layout) in [("axis=0", 0), ("axis=1", 0), ("axis=None", 0), ("axis=1", 3)] {
                if all || (number * 5 + at + layout) % 13 == 0 {
                    cases.push((text.replace("AXES", axes), vec![variable(dtype, layout)]));
                }
            }
        }
    }
    let capabilities = if all { &CAPABILITIES[..] } else { &SAMPLED };
    assert!(compile(&compiler, &cases, capabilities, Numerics::Exact) > 20);
}

#[test]
fn every_architecture_compiles() {
    let Some(compiler) = compiler() else { return };
    let cases = [
        ("a * b + 2".to_owned(), vec![variable(DType::F32, 0), variable(DType::F16, 1)]),
        ("sum(exp(a - b), axis=1)".to_owned(), vec![variable(DType::F32, 0), variable(DType::F64, 2)]),
        ("softmax(a * b, axis=1)".to_owned(), vec![variable(DType::F32, 0), variable(DType::F16, 1)]),
        ("layer_norm(a, axis=1) + b".to_owned(), vec![variable(DType::F64, 3), variable(DType::U8, 2)]),
        ("a + b".to_owned(), vec![variable(DType::F32, 0), variable(DType::F32, 3)]),
        (
            "sum((a[:, None] - b)**2, axis=2)".to_owned(),
            vec![variable(DType::F32, 0), variable(DType::F32, 0)],
        ),
        (
            "argmin(abs(a[0, :, None] - b), axis=1)".to_owned(),
            vec![variable(DType::F32, 0), variable(DType::F32, 1)],
        ),
        ("sum(a * b, axis=0)".to_owned(), vec![variable(DType::C64, 0), variable(DType::I64, 1)]),
    ];
    assert!(compile(&compiler, &cases, &CAPABILITIES, Numerics::Exact) >= cases.len() * CAPABILITIES.len());
    assert!(compile(&compiler, &cases, &SAMPLED, Numerics::Fast) >= cases.len());
    let error = compiler
        .compile("__global__ void k() { undeclared(); }", 90, Numerics::Exact)
        .unwrap_err()
        .to_string();
    assert!(error.contains("undeclared"), "{error}");
    let error = compiler.compile("", 10, Numerics::Exact).unwrap_err().to_string();
    assert!(error.contains("compute capability 1.0"), "{error}");
}

/// Reductions of the same loops are one stage: their results share the memory of a block.
#[test]
fn many_results_fit_a_block() {
    let Some(compiler) = compiler() else { return };
    let mut cases = Vec::new();
    for (axes, layout) in [("axis=0", 0), ("axis=1", 0), ("axis=None", 0), ("axis=1", 3)] {
        for dtype in [DType::F64, DType::C128] {
            let sums: Vec<String> =
                (0..40).map(|number| format!("sum(a * {number}.5 + a, {axes})")).collect();
            cases.push((sums.join(" + "), vec![variable(dtype, layout)]));
        }
    }
    assert!(compile(&compiler, &cases, &SAMPLED, Numerics::Exact) > 0);
}
