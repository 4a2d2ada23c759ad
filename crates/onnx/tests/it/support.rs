//! Helpers: tensors of any dtype, and single runs of a model.

use half::{bf16, f16};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use unishape::{DType, Tensor};
use unishape_onnx::model_builder::ModelBuilder;
use unishape_onnx::{CompiledModel, Error};

/// A tensor of numbers converted to `dtype`; strings are the formatted numbers.
pub(crate) fn tensor(dtype: DType, shape: &[usize], numbers: &[f64]) -> Tensor {
    let array = ArrayD::from_shape_vec(IxDyn(shape), numbers.to_vec()).expect("one number per element");
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

/// Runs a model and returns its first output.
pub(crate) fn run(builder: &ModelBuilder, inputs: &[(&str, &Tensor)]) -> Result<Tensor, Error> {
    let compiled = CompiledModel::new(&builder.build()?)?;
    let mut outputs = compiled.run(inputs.iter().map(|(name, tensor)| (*name, tensor.view())))?;
    Ok(outputs.swap_remove(0).1)
}

/// Runs a model that fails and returns the error message.
#[track_caller]
pub(crate) fn run_error(builder: &ModelBuilder, inputs: &[(&str, &Tensor)]) -> String {
    run(builder, inputs).expect_err("the run fails").to_string()
}
