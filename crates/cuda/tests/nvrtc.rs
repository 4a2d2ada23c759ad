//! NVRTC compiles generated kernels; that needs no GPU.
//!
//! It is found in the Python environment of the tests. `UNISHAPE_COMPILE_ALL=1` compiles all kernels and not only some.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use unishape::DType;
use unishape::expr::{Expr, Op};
use unishape_cuda::{ArrayType, Compiler, Numerics, Plan, Variable};

/// Compute capabilities: the oldest that is supported, and those of today's data centres.
const CAPABILITIES: [i32; 3] = [75, 80, 90];

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
        _ => (&[], &[]),
    };
    Variable::Array(ArrayType { dtype, shape, strides, alignment: 256 })
}

/// Compiles the kernels of some expressions, on all cores, and returns how many there were.
fn compile(compiler: &Compiler, cases: &[(String, Vec<Variable<'static>>)], capabilities: &[i32]) -> usize {
    let mut sources: Vec<(String, String)> = Vec::new();
    for (text, variables) in cases {
        let expr = Expr::parse(text).unwrap();
        // Operations that a dtype does not have are an error on the CPU, too.
        let Ok(plan) = Plan::new(&expr, variables, None, Numerics::Exact) else { continue };
        for launch in plan.launches() {
            sources.push((text.clone(), launch.kernel.source.to_string()));
        }
    }
    sources.sort();
    sources.dedup_by(|a, b| a.1 == b.1);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((text, source)) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for &capability in capabilities {
                        if let Err(error) = compiler.compile(source, capability, Numerics::Exact) {
                            panic!("{text} for {capability}: {error}\n{source}");
                        }
                    }
                }
            });
        }
    });
    sources.len() * capabilities.len()
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
            for layout in 0..5 {
                // In the test command, one of 40 combinations.
                if all || (number * 31 + at * 7 + layout) % 40 == 0 {
                    let mut variables: Vec<_> =
                        (0..op.arity()).map(|own| variable(dtype, (layout + own) % 5)).collect();
                    if op == Op::Where {
                        variables[0] = variable(DType::Bool, layout);
                    }
                    cases.push((format!("{}({names})", op.name()), variables));
                }
            }
        }
    }
    let count = compile(&compiler, &cases, if all { &CAPABILITIES } else { &CAPABILITIES[2..] });
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
    ]
    .iter()
    .enumerate()
    {
        for (at, dtype) in dtypes().enumerate() {
            for (axes, layout) in [("axis=0", 0), ("axis=1", 0), ("axis=None", 0), ("axis=1", 3)] {
                if all || (number * 5 + at + layout) % 9 == 0 {
                    cases.push((text.replace("AXES", axes), vec![variable(dtype, layout)]));
                }
            }
        }
    }
    let capabilities = if all { &CAPABILITIES[..] } else { &CAPABILITIES[2..] };
    assert!(compile(&compiler, &cases, capabilities) > 20);
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
    // The last one is newer than any: the driver will translate the code.
    assert!(compile(&compiler, &cases, &[75, 80, 90, 999]) >= 12);
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
    assert!(compile(&compiler, &cases, &CAPABILITIES[2..]) > 0);
}
