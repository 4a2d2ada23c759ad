//! Tensors of any type, from plain numbers.

use half::{bf16, f16};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use unishape::{DType, Tensor};
use unishape_onnx::build::Build;
use unishape_onnx::{Error, Program};

/// A tensor of these numbers, as near as its type comes to them; of strings, the numbers written out.
pub(crate) fn tensor(dtype: DType, shape: &[usize], numbers: &[f64]) -> Tensor {
    let array = ArrayD::from_shape_vec(IxDyn(shape), numbers.to_vec()).expect("as many as the shape has");
    match dtype {
        DType::F16 => array.mapv(|x| f16::from_f32(x as f32)).into(),
        DType::BF16 => array.mapv(|x| bf16::from_f32(x as f32)).into(),
        DType::F32 => array.mapv(|x| x as f32).into(),
        DType::F64 => array.into(),
        DType::I8 => array.mapv(|x| x as i8).into(),
        DType::I16 => array.mapv(|x| x as i16).into(),
        DType::I32 => array.mapv(|x| x as i32).into(),
        DType::I64 => array.mapv(|x| x as i64).into(),
        DType::U8 => array.mapv(|x| x as u8).into(),
        DType::U16 => array.mapv(|x| x as u16).into(),
        DType::U32 => array.mapv(|x| x as u32).into(),
        DType::U64 => array.mapv(|x| x as u64).into(),
        DType::Bool => array.mapv(|x| x != 0.0).into(),
        DType::Str => array.mapv(|x| x.to_string()).into(),
        DType::C64 => array.mapv(|x| Complex::new(x as f32, -x as f32)).into(),
        DType::C128 => array.mapv(|x| Complex::new(x, -x)).into(),
    }
}

/// The first output of a model.
pub(crate) fn run(build: &Build, given: &[(&str, &Tensor)]) -> Result<Tensor, Error> {
    let program = Program::new(&build.model()?)?;
    let mut outputs = program.run(given.iter().map(|(name, tensor)| (*name, tensor.view())))?;
    Ok(outputs.swap_remove(0).1)
}

/// What is wrong when a model runs.
#[track_caller]
pub(crate) fn refused(build: &Build, given: &[(&str, &Tensor)]) -> String {
    run(build, given).expect_err("it cannot run").to_string()
}
