//! Memory that reading a file allocates.

use ndarray::Array1;
use unishape_npy as npy;

/// Bytes that this thread allocates while `work` runs, and its result.
fn allocated<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let mut result = None;
    let info = allocation_counter::measure(|| result = Some(work()));
    (info.bytes_total, result.unwrap())
}

/// Reading allocates the memory of the elements once, and little more.
#[test]
fn reading_allocates_the_elements_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let bytes = 8 * 500_000;
    npy::write(&path, Array1::<f64>::zeros(500_000).view()).unwrap();
    let (allocated, tensor) = allocated(|| npy::read(&path).unwrap());
    assert_eq!(tensor.shape(), [500_000]);
    assert!((bytes..bytes + 400_000).contains(&allocated), "{allocated} bytes for {bytes}");
}
