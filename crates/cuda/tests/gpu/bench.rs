//! Device times of some expressions, beside a copy.

use crate::bars::BARS;
use cudarc::driver::{result, sys};
use unishape::DType;
use unishape::expr::Expr;
use unishape_cuda::{Array, ArrayType, Device, DeviceMemory, Numerics, Plan, Stream, Variable};
use unishape_engine::layout::row_major;

/// Milliseconds of the median of some runs.
fn milliseconds(mut run: impl FnMut()) -> f64 {
    let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
    let [start, end] = [0, 1].map(|_| result::event::create(flags).unwrap());
    let stream = std::ptr::null_mut();
    let mut times: Vec<f64> = Vec::new();
    for round in 0..14 {
        // Safety: the events exist, and the stream is the default one of the current context.
        let time = unsafe {
            result::event::record(start, stream).unwrap();
            run();
            result::event::record(end, stream).unwrap();
            result::event::synchronize(end).unwrap();
            result::event::elapsed(start, end).unwrap()
        };
        if round >= 4 {
            times.push(f64::from(time));
        }
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// An array of numbers between 0.5 and 1.5.
fn filled(device: &Device, shape: &[usize]) -> Array {
    let count: usize = shape.iter().product();
    let part = 10_007.min(count.max(1));
    let numbers: Vec<f32> = (0..part).map(|i| 0.5 + ((i * 7919) % 1009) as f32 / 1009.0).collect();
    let a = Array::from_slice(device, &numbers, Stream::default()).unwrap();
    let rows = count.div_ceil(part);
    let scale: Vec<f32> = (0..rows).map(|i| 0.5 + ((i * 31) % 97) as f32 / 97.0).collect();
    let b = Array::from_slice(device, &scale, Stream::default()).unwrap().reshaped(&[rows, 1]).unwrap();
    let all = device
        .evaluate(&Expr::parse("a * 0.7 + b * 0.3").unwrap(), &[(&a).into(), (&b).into()], Stream::default())
        .unwrap();
    truncated(device, all, shape)
}

/// The first elements of an array, in a shape.
fn truncated(device: &Device, array: Array, shape: &[usize]) -> Array {
    let count: usize = shape.iter().product();
    let all: usize = array.shape().iter().product();
    let flat = array.reshaped(&[all]).unwrap();
    let text = format!("a[:{count}]");
    let cut = device.evaluate(&Expr::parse(&text).unwrap(), &[(&flat).into()], Stream::default()).unwrap();
    cut.reshaped(shape).unwrap()
}

pub(crate) fn run(device: &Device) {
    let stream = Stream::default();
    let bytes = 1usize << 31;
    let only = std::env::var("UNISHAPE_GPU_ONLY").ok();
    let warm = Array::from_slice(device, &[0u8], stream).unwrap();
    // Safety: the context of the device is current from here on.
    unsafe {
        let cu = result::device::get(0).unwrap();
        result::ctx::set_current(result::primary_ctx::retain(cu).unwrap()).unwrap();
    }
    drop(warm);
    // Safety: both arrays have as many bytes, and the default stream is used throughout.
    let copy = unsafe {
        let [from, to] = [0, 1].map(|_| result::malloc_sync(bytes).unwrap());
        let time = milliseconds(|| result::memcpy_dtod_async(to, from, bytes, std::ptr::null_mut()).unwrap());
        result::free_sync(from).unwrap();
        result::free_sync(to).unwrap();
        2.0 * bytes as f64 / time / 1e6
    };
    println!("copy: {copy:.0} GB/s");
    for &(name, text, shapes) in BARS {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let arrays: Vec<Array> = shapes.iter().map(|shape| filled(device, shape)).collect();
        let strides: Vec<Vec<isize>> = shapes.iter().map(|shape| row_major(shape)).collect();
        let variables: Vec<Variable<'_>> = shapes
            .iter()
            .zip(&strides)
            .map(|(shape, strides)| {
                Variable::Array(ArrayType { dtype: DType::F32, shape, strides, alignment: 256 })
            })
            .collect();
        let start = std::time::Instant::now();
        let plan = Plan::new(&Expr::parse(text).unwrap(), &variables, None, Numerics::Exact).unwrap();
        let planned = start.elapsed().as_secs_f64() * 1e6;
        let start = std::time::Instant::now();
        device.prepare(&plan).unwrap();
        let compiled = start.elapsed().as_secs_f64() * 1e3;
        let size = plan.shape().iter().product::<usize>() * plan.dtype().item_size();
        // Safety: nothing else uses the memory.
        let output = unsafe { result::malloc_sync(size).unwrap() };
        let addresses: Vec<u64> = arrays.iter().map(Array::address).collect();
        // Safety: the plan was made for these arrays; temporaries are allocated each time, as in a call.
        let time = milliseconds(|| unsafe {
            let memory: Vec<DeviceMemory> =
                plan.temporaries().iter().map(|&bytes| device.allocate(bytes, stream).unwrap()).collect();
            let temporaries: Vec<u64> = memory.iter().map(DeviceMemory::address).collect();
            device.run(&plan, &addresses, output, &temporaries, stream).unwrap()
        });
        let moved = size + shapes.iter().map(|shape| 4 * shape.iter().product::<usize>()).sum::<usize>();
        let percent = moved as f64 / time / 1e6 / copy * 100.0;
        println!(
            "{name:15} {time:9.3} ms {percent:6.1} %  ({} kernels, planned in {planned:.0} µs, compiled in {compiled:.0} ms)",
            plan.launches().len()
        );
        // Safety: no kernel uses it any more.
        unsafe { result::free_sync(output).unwrap() };
    }
}
