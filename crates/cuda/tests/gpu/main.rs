//! Generated kernels on a GPU compute what the CPU executor does. Skipped where there is none, unless `UNISHAPE_GPU` is set.
//!
//! With `UNISHAPE_GPU_BENCH=1` it measures, too: device time, and the part of a copy's bandwidth.
//! `UNISHAPE_GPU_FEW=1` leaves out operations and large arrays, for slow tools such as compute-sanitizer.
//! `UNISHAPE_SITE_PACKAGES` names the folder of Python packages in which NVRTC is looked for.

#![allow(unsafe_code)]

#[path = "../support/arrays.rs"]
mod arrays;
mod bars;
mod bench;
#[path = "../support/cases.rs"]
mod cases;

use cases::{Case, Prepared, compare, prepare};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use unishape::Tensor;
use unishape::expr::Expr;
use unishape_cuda::{Array, Device, DeviceMemory, Error, Stream};
use unishape_kernels::for_each_dtype;

/// The first device; `None` where there is no driver.
fn device() -> Option<Device> {
    let site_packages: Vec<PathBuf> =
        std::env::var_os("UNISHAPE_SITE_PACKAGES").into_iter().map(PathBuf::from).collect();
    match Device::new(0, &site_packages) {
        Ok(device) => Some(device),
        Err(error @ (Error::NoLibrary { .. } | Error::Driver(_))) => {
            assert!(
                std::env::var_os("UNISHAPE_GPU").is_none(),
                "no GPU, although UNISHAPE_GPU is set: {error}"
            );
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Address and bytes of a tensor's elements.
fn bytes(tensor: &Tensor) -> (u64, Vec<u8>) {
    macro_rules! by_type {
        ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
            match tensor {
                $(Tensor::$variant(array) => {
                    by_type!(@ $type array)
                })+
            }
        };
        (@ String $array:ident) => { (0, vec![0; $array.len()]) };
        (@ $type:ident $array:ident) => {{
            let elements = $array.as_slice().unwrap();
            (elements.as_ptr() as u64, bytemuck::cast_slice(elements).to_vec())
        }};
    }
    for_each_dtype!(by_type)
}

fn check(device: &Device, cases: &[Case]) {
    let prepared = prepare(cases);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(each) = prepared.get(next.fetch_add(1, Ordering::Relaxed)) {
                    device
                        .prepare(&each.plan)
                        .unwrap_or_else(|error| panic!("{}: {error}", each.case.describe()));
                }
            });
        }
    });
    let stream = Stream::default();
    compare(&prepared, |Prepared { case, plan, arrays, .. }| {
        let copies: Vec<(Array, u64)> = case
            .arrays
            .iter()
            .zip(arrays)
            .map(|((tensor, ..), host)| {
                let (first, bytes) = bytes(tensor);
                // As much aligned as on the host.
                let shift = (first % 256) as usize;
                let bytes = [vec![0; shift], bytes].concat();
                let copy = Array::from_slice(device, &bytes, stream).unwrap();
                let address = copy.address() + shift as u64 + (host.address - first);
                (copy, address)
            })
            .collect();
        let addresses: Vec<u64> = copies.iter().map(|(_, address)| *address).collect();
        let size = plan.shape().iter().product::<usize>() * plan.dtype().item_size();
        let output = Array::from_slice(device, &vec![0xa5u8; size], stream).unwrap();
        let memory: Vec<DeviceMemory> =
            plan.temporaries().iter().map(|&bytes| device.allocate(bytes, stream).unwrap()).collect();
        let temporaries: Vec<u64> = memory.iter().map(DeviceMemory::address).collect();
        // Safety: the plan was made for arrays of these shapes, strides and alignments; all outlive the copy below.
        unsafe { device.run(plan, &addresses, output.address(), &temporaries, stream).unwrap() };
        output.to_vec::<u8>(stream).unwrap()
    });
    println!("{} cases", prepared.len());
}

#[test]
fn results_are_those_of_the_cpu() {
    let Some(device) = device() else { return };
    let is_few = std::env::var_os("UNISHAPE_GPU_FEW").is_some();
    if !is_few {
        check(&device, &cases::operations());
        check(&device, &cases::casts());
    }
    check(&device, &cases::layouts());
    check(&device, &cases::transposed());
    check(&device, &cases::reductions());
    check(&device, &cases::small_reductions());
    // Of pairs, threads share values in memory, which racecheck watches.
    let large = cases::large_reductions();
    let large = large.into_iter().filter(|case| !is_few || case.text.contains("[:, None"));
    check(&device, &large.collect::<Vec<_>>());
}

/// Kernels of cached plans are used by every `Device` with the same number, and stay loaded without one.
#[test]
fn results_of_arrays() -> Result<(), Box<dyn std::error::Error>> {
    let Some(first) = device() else { return Ok(()) };
    drop(first);
    for round in 0..3 {
        let device = device().ok_or("no device")?;
        let stream = Stream::default();
        let x = Array::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], stream)?.reshaped(&[2, 3])?;
        let y = device.evaluate(&Expr::parse("x * x + k")?, &[(&x).into(), 0.5.into()], stream)?;
        assert_eq!(y.to_vec::<f32>(stream)?, [1.5, 4.5, 9.5, 16.5, 25.5, 36.5], "{round}");
        assert_eq!(y.transposed().to_vec::<f32>(stream)?, [1.5, 16.5, 4.5, 25.5, 9.5, 36.5]);
        assert!(matches!(y.to_vec::<f64>(stream), Err(Error::ElementType { .. })));
        let other = Device::new(0, &[])?;
        let z = other.evaluate(&Expr::parse("sum(x * x + k, axis=0)")?, &[(&y).into(), 1.into()], stream)?;
        assert_eq!((z.shape(), z.to_vec::<f32>(stream)?), (&[3][..], vec![276.5, 672.5, 1424.5]));
    }
    // compute-sanitizer reports every error of the driver.
    assert!(std::env::var_os("UNISHAPE_GPU_FEW").is_some() || Device::new(99, &[]).is_err());
    Ok(())
}

#[test]
fn bars() {
    let Some(device) = device().filter(|_| std::env::var_os("UNISHAPE_GPU_BENCH").is_some()) else { return };
    bench::run(&device);
}
