//! Expressions compared with NumPy: equal dtypes for every pair of dtypes, equal bits where results are exact.
//!
//! `UNISHAPE_PYTHON` is the path of a Python with numpy and ml_dtypes.

use half::{bf16, f16};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use std::collections::BTreeMap;
use std::process::Command;
use unishape::expr::Expr;
use unishape::{DType, Tensor};

/// Arrays in a file, one after another.
struct Data<'d>(&'d [u8]);

impl Data<'_> {
    /// Reads the next array, of a dtype and shape such as `float32:2x3`.
    fn array(&mut self, described: &str) -> Tensor {
        let (dtype, shape) = described.split_once(':').unwrap();
        let shape: Vec<usize> =
            shape.split('x').filter(|size| !size.is_empty()).map(|size| size.parse().unwrap()).collect();
        let count: usize = shape.iter().product();
        macro_rules! read {
            ($($variant:ident $type:ty, $from:expr;)+) => {
                match DType::from_name(dtype).unwrap() {
                    $(DType::$variant => {
                        let item = size_of::<$type>();
                        let (bytes, rest) = self.0.split_at(count * item);
                        self.0 = rest;
                        let elements: Vec<$type> = bytes.chunks_exact(item).map($from).collect();
                        Tensor::from(ArrayD::from_shape_vec(IxDyn(&shape), elements).unwrap())
                    })+
                    DType::Str => unreachable!(),
                }
            };
        }
        macro_rules! le {
            ($type:ty) => {
                |bytes: &[u8]| <$type>::from_le_bytes(bytes.try_into().unwrap())
            };
        }
        read! {
            Bool bool, |bytes: &[u8]| bytes[0] != 0;
            I8 i8, le!(i8);
            I16 i16, le!(i16);
            I32 i32, le!(i32);
            I64 i64, le!(i64);
            U8 u8, le!(u8);
            U16 u16, le!(u16);
            U32 u32, le!(u32);
            U64 u64, le!(u64);
            F16 f16, le!(f16);
            BF16 bf16, le!(bf16);
            F32 f32, le!(f32);
            F64 f64, le!(f64);
            C64 Complex<f32>, |bytes: &[u8]| Complex::new(le!(f32)(&bytes[..4]), le!(f32)(&bytes[4..]));
            C128 Complex<f64>, |bytes: &[u8]| Complex::new(le!(f64)(&bytes[..8]), le!(f64)(&bytes[8..]));
        }
    }
}

/// Text of each element, and its position among all numbers of its dtype, for distances in ulp. Real and
/// imaginary parts are separate; NaNs have no position.
fn positions(tensor: &Tensor) -> Vec<(String, Option<i128>)> {
    macro_rules! float {
        ($x:expr, $Bits:ty) => {{
            let bits = $x.to_bits();
            let magnitude = i128::from(bits & <$Bits>::MAX >> 1);
            let key = if bits >> (<$Bits>::BITS - 1) == 0 { magnitude } else { -magnitude };
            (format!("{:?}", $x), (!$x.is_nan()).then_some(key))
        }};
    }
    match tensor {
        Tensor::F16(view) => view.iter().map(|x| float!(x, u16)).collect(),
        Tensor::BF16(view) => view.iter().map(|x| float!(x, u16)).collect(),
        Tensor::F32(view) => view.iter().map(|x| float!(x, u32)).collect(),
        Tensor::F64(view) => view.iter().map(|x| float!(x, u64)).collect(),
        Tensor::C64(view) => view.iter().flat_map(|x| [float!(x.re, u32), float!(x.im, u32)]).collect(),
        Tensor::C128(view) => view.iter().flat_map(|x| [float!(x.re, u64), float!(x.im, u64)]).collect(),
        Tensor::Bool(view) => view.iter().map(|&x| (x.to_string(), Some(x.into()))).collect(),
        Tensor::I8(view) => view.iter().map(|&x| (x.to_string(), Some(x.into()))).collect(),
        Tensor::I16(view) => view.iter().map(|&x| (x.to_string(), Some(x.into()))).collect(),
        Tensor::I32(view) => view.iter().map(|&x| (x.to_string(), Some(x.into()))).collect(),
        Tensor::I64(view) => view.iter().map(|&x| (x.to_string(), Some(x.into()))).collect(),
        Tensor::U8(view) => view.iter().map(|&x| (x.to_string(), Some(x.into()))).collect(),
        Tensor::U16(view) => view.iter().map(|&x| (x.to_string(), Some(x.into()))).collect(),
        Tensor::U32(view) => view.iter().map(|&x| (x.to_string(), Some(x.into()))).collect(),
        Tensor::U64(view) => view.iter().map(|&x| (x.to_string(), Some(x.into()))).collect(),
        Tensor::Str(_) => unreachable!(),
    }
}

/// Describes how a result differs from NumPy's, if it does.
fn difference(ours: &Tensor, numpys: &Tensor, ulps: i128) -> Option<String> {
    if (ours.dtype(), ours.shape()) != (numpys.dtype(), numpys.shape()) {
        return Some(format!(
            "is {} {:?}, not {} {:?}",
            ours.dtype(),
            ours.shape(),
            numpys.dtype(),
            numpys.shape()
        ));
    }
    let pairs = positions(ours).into_iter().zip(positions(numpys)).enumerate();
    let wrong: Vec<String> = pairs
        .filter(|(_, ((_, ours), (_, numpys)))| match (ours, numpys) {
            (Some(ours), Some(numpys)) => (ours - numpys).abs() > ulps,
            (ours, numpys) => ours != numpys && ulps != i128::MAX,
        })
        .map(|(at, ((ours, _), (numpys, _)))| format!("at {at}: {ours}, not {numpys}"))
        .collect();
    (!wrong.is_empty()).then(|| format!("{} wrong, {}", wrong.len(), wrong[..wrong.len().min(4)].join("; ")))
}

#[test]
fn as_numpy() {
    let Some(python) = std::env::var_os("UNISHAPE_PYTHON") else {
        assert!(
            std::env::var_os("CI").is_none(),
            "UNISHAPE_PYTHON is not set: in CI it must be the path of a Python with numpy and ml_dtypes"
        );
        println!("skipped: UNISHAPE_PYTHON is not set to a Python with numpy and ml_dtypes");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/expr_numpy.py");
    let output = Command::new(&python).arg(script).arg(folder.path()).output();
    let output = output.unwrap_or_else(|error| panic!("{} does not run: {error}", python.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let data = std::fs::read(folder.path().join("data")).unwrap();
    let cases = std::fs::read_to_string(folder.path().join("cases")).unwrap();
    let mut data = Data(&data);
    let mut wrong: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for case in cases.lines() {
        let mut parts: Vec<&str> = case.split('\t').collect();
        let (expected, text) = (parts.pop().unwrap(), parts[0]);
        let ulps = match parts[1] {
            "exact" => 0,
            "type" => i128::MAX,
            ulps => ulps.parse().unwrap(),
        };
        let arrays: Vec<(&str, Tensor)> = parts[2..]
            .iter()
            .map(|part| part.split_once('=').unwrap())
            .map(|(name, described)| (name, data.array(described)))
            .collect();
        let text_here = text.replace("not_(", "logical_not(");
        let ours =
            Expr::parse(&text_here).unwrap().evaluate(arrays.iter().map(|(name, array)| (name, array)));
        let problem = match (ours, expected) {
            (Ok(_), "error") => Some("computed, but NumPy has an error".to_owned()),
            (Err(_), "error") => None,
            (Ok(ours), described) => difference(&ours, &data.array(described), ulps),
            (Err(error), described) => {
                data.array(described);
                Some(error.to_string().replace('\n', " "))
            }
        };
        count += 1;
        if let Some(problem) = problem {
            let types: Vec<&str> = arrays.iter().map(|(_, array)| array.dtype().name()).collect();
            wrong.entry(text).or_default().push(format!("{}: {problem}", types.join(", ")));
        }
    }
    assert!(data.0.is_empty() && count > 5000, "{count} cases");
    let total: usize = wrong.values().map(Vec::len).sum();
    let shown: Vec<String> = wrong
        .iter()
        .map(|(text, problems)| {
            format!(
                "{text}: {} cases\n    {}",
                problems.len(),
                problems[..problems.len().min(6)].join("\n    ")
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{total} of {count} cases differ:\n{}", shown.join("\n"));
}
