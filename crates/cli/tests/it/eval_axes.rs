//! `unishape eval` with axes and reductions: chunks of the result depend on whole inputs.

use crate::arrays::zeros;
use crate::eval::{integers, result};
use crate::support::TestDir;
#[cfg(target_os = "linux")]
use crate::support::{BINARY, on_terminal};
use ndarray::{Array2, Axis, arr0, arr1, arr2, s};
use unishape::Tensor;
use unishape_npy as npy;

fn numbers() -> Array2<f64> {
    Array2::from_shape_fn((700, 1003), |(i, j)| ((i * 37 + j * 11) % 101) as f64 / 10.1)
}

#[test]
fn small_values_are_reduced() {
    let dir = TestDir::new();
    assert_eq!(result(&dir, &["sum(x, 0)", "x=1:13"]), arr0(78i64).into());
    assert_eq!(result(&dir, &["mean(x, axis=1)", "x=[[1, 2], [3, 5]]"]), arr1(&[1.5, 4.0]).into());
    assert_eq!(result(&dir, &["x[:, None] - y", "x=0:2", "y=[1, 2]"]), arr2(&[[-1i64, -2], [0, -1]]).into());
    assert_eq!(result(&dir, &["x.T", "x=[[1, 2, 3]]"]), arr2(&[[1i64], [2], [3]]).into());
    assert_eq!(result(&dir, &["x[::-1] * k", "x=0:3", "k=2"]), arr1(&[4i64, 2, 0]).into());
    assert_eq!(result(&dir, &["max(x) + 0 * x", "x=0:3x1"]), arr2(&[[2i64], [2], [2]]).into());
    assert_eq!(result(&dir, &["sum(x, 1)", "x=[[1, 2]]", "--dtype", "float32"]), arr1(&[3.0f32]).into());
    assert_eq!(result(&dir, &["sum(k)", "k=3"]), arr0(3i64).into());
    assert_eq!(result(&dir, &["sum(x)", "x=0:0"]), arr0(0i64).into());
    assert_eq!(result(&dir, &["x[5:]", "x=0:3"]).shape(), [0]);
    let printed = dir.run(["eval", "softmax(x)", "x=[0, 0]"]).expect_success();
    assert_eq!(printed, "[0.5 0.5]\n");
}

#[test]
fn files_are_reduced() {
    let dir = TestDir::new();
    let x = numbers();
    npy::write(dir.path("x.npy"), x.view()).expect("written");
    let sum =
        Array2::from_shape_fn((1, 700), |(_, i)| x.row(i).iter().map(|x| (x * 10.1).round()).sum::<f64>());
    assert_eq!(result(&dir, &["sum(rint(x * 10.1), 1, keepdims=True).T", "x.npy"]), sum.into());
    assert_eq!(
        result(&dir, &["x[1:, ::-2] + x[0, 0]", "x.npy", "--memory", "1M"]),
        (&x.slice(s![1.., ..;-2]) + x[(0, 0)]).into()
    );
}

/// Byte orders, column-major files and booleans, in one chunk and in several.
#[test]
fn files_of_any_layout_are_reduced() {
    let dir = TestDir::new();
    let shape = [300, 1001];
    let number = |n: usize| (n as i64 * 7) % 1009 - 500;
    dir.write("a.npy", integers("<i8", &shape, number).file());
    dir.write("b.npy", integers(">i2", &shape, number).file());
    dir.write("f.npy", integers("<i8", &shape, number).fortran().file());
    dir.write("g.npy", integers(">i4", &shape, number).fortran().file());
    dir.write("m.npy", integers("|b1", &shape, |n| i64::from(n % 3 == 0)).file());
    let all = Array2::from_shape_fn((300, 1001), |(i, j)| number(i * 1001 + j));
    let masked =
        Array2::from_shape_fn((300, 1001), |(i, j)| i64::from((i * 1001 + j) % 3 == 0) * all[(i, j)]);
    for name in ["a", "b", "f", "g"] {
        let input = format!("x={name}.npy");
        for more in [&[][..], &["--memory", "3M"], &["--memory", "3M", "--threads", "1"]] {
            let run = |expr: &str, inputs: &[&str]| {
                let args: Vec<&str> = [expr, &input].iter().chain(inputs).chain(more).copied().collect();
                result(&dir, &args)
            };
            assert_eq!(run("sum(x, 0)", &[]), all.sum_axis(Axis(0)).into(), "{name}");
            assert_eq!(run("sum(x, 1)", &[]), all.sum_axis(Axis(1)).into(), "{name}");
            assert_eq!(run("sum(x, 1, where=m)", &["m.npy"]), masked.sum_axis(Axis(1)).into(), "{name}");
            let centered = &all - &all.sum_axis(Axis(0));
            assert!(run("int64(x) - sum(x, 0)", &[]) == centered.into(), "{name}");
            assert!(run("int64(x).T", &[]) == all.t().as_standard_layout().to_owned().into(), "{name}");
        }
    }
}

/// Stages before the last are computed once; rows of a softmax with the chunk that has them.
#[test]
fn results_in_several_chunks_equal_those_in_one() {
    let dir = TestDir::new();
    npy::write(dir.path("x.npy"), numbers().view()).expect("written");
    for expr in [
        "softmax(x, 0)",
        "softmax(x, 1)",
        "layer_norm(x)",
        "x - mean(x)",
        "x.T / max(x, 1)",
        "sum(x[:, None, :300] * x[:50, :300], 2)",
    ] {
        let file = |more: &[&str]| {
            result(&dir, &[&[expr, "x.npy"], more].concat());
            dir.read("out.npy")
        };
        let whole = file(&["--memory", "1G"]);
        let plan = dir.run(["eval", expr, "x.npy", "--plan", "--memory", "1M"]).expect_success();
        assert_eq!(plan.contains("chunks: 1 of "), whole.len() < 1 << 19, "{plan}");
        for more in [&["--memory", "1M"][..], &["--memory", "1M", "--threads", "1"], &["--threads", "3"]] {
            assert!(file(more) == whole, "{expr} {more:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn edges_of_large_results_are_printed() {
    let dir = TestDir::new();
    let printed = match on_terminal(&dir, &format!("{BINARY} eval 'x - sum(x)' x=0:2000 -qo -"), &[]) {
        Some(printed) => printed.replace("\r\n", "\n"),
        None => return,
    };
    assert_eq!(printed, "[-1999000 -1998999 -1998998 … -1997003 -1997002 -1997001]\n");
}

#[test]
fn the_plan_lists_the_stages() {
    let dir = TestDir::new();
    dir.write("a.npy", zeros("'<f4'", &[4, 10]));
    dir.write("b.npy", zeros("'>f4'", &[4, 10]));
    let plan =
        dir.run(["eval", "a / sum(b * 2, 1, keepdims=True) + i", "a.npy", "b.npy", "i=0:10", "--plan"]);
    let expected = "\
a  a.npy  4x10  float32  memory-mapped, not copied
b  b.npy  4x10  float32  converted in memory
i  0:10     10  int64    generated in memory
result: 4x10 float64, 320 B
chunks: 1 of 320 B, using 880 B of 256.00 MiB memory
stage 1: 4 x 10 elements of float32
  t1 = multiply(b, 2)
  sum of t1 along axis 1
stage 2: 4 x 10 elements of float64
";
    let plan = plan.expect_success();
    assert!(plan.starts_with(expected), "{plan}");
}

#[test]
fn errors_name_the_axis() {
    let dir = TestDir::new();
    dir.write("x.npy", zeros("'<f4'", &[4, 10]));
    for (expr, code, message) in [
        (
            "sum(x, axis=2)",
            5,
            "axis 2 is out of bounds for an array with 2 dimensions; axes are -2 to 1\n  sum(x, axis=2)\n  ^^^\n",
        ),
        ("x[4]", 5, "index 4 is out of bounds for axis 0 with size 4\n  x[4]\n   ^^^\n"),
        ("max(x[:0])", 5, ""),
        ("x + x[:, 1:]", 1, "E1: incompatible shapes in dimension 1: "),
        ("sum(x, axs=0)", 2, ""),
    ] {
        let error = dir.run(["eval", expr, "x.npy", "-o", "z.npy"]).expect_error(code);
        assert!(error.starts_with(&format!("unishape: {message}")), "{error}");
    }
    assert_eq!(dir.list(), ["x.npy"]);
}

/// What is loaded whole is limited, too.
#[test]
fn inputs_that_do_not_fit_the_memory_are_errors() {
    let dir = TestDir::new();
    let error = dir.run(["eval", "sum(x)", "x=0:1000000", "--memory", "2M"]).expect_error(5);
    assert_eq!(
        error,
        "unishape: x: expressions with axes or reductions load ranges and files that must be converted whole, which \
         takes 7.63 MiB, more than --memory 2.00 MiB allows; use --memory 9M, or write a native .npy file first, as \
         in unishape eval x x.npy -o native.npy\n"
    );
    assert_eq!(result(&dir, &["sum(x)", "x=0:1000000", "--memory", "9M"]), arr0(499_999_500_000i64).into());
    let tensor: Tensor = result(&dir, &["x + 1", "x=0:1000000", "--memory", "2M"]);
    assert_eq!(tensor.shape(), [1_000_000]);
}

/// Only inputs that are loaded are named.
#[test]
fn inputs_that_are_not_loaded_do_not_count() {
    let dir = TestDir::new();
    dir.write("f.npy", zeros("'<f8'", &[1, 10]));
    let args = ["eval", "sum(x * k + f)", "k=2", "x=0:1000000x1", "f.npy", "--memory", "2M"];
    let error = dir.run(args).expect_error(5);
    assert!(error.starts_with("unishape: x: expressions with axes or reductions load "), "{error}");
}
