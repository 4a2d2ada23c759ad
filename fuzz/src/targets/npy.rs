//! `.npy` files: any bytes give an array or an error, in memory that the bytes are worth; what is read
//! and written again reads the same.

use super::descr::check_header;
use crate::file::{check_message, npy_file, with_memory};
use unishape::Tensor;
use unishape_npy::{self as npy, Header};

/// A byte of a file can become a string, and there may be room for as many again.
pub(crate) const MEMORY_PER_BYTE: u64 = 100;

pub(crate) fn run(bytes: &[u8]) {
    let file = npy_file(bytes);
    let header = match with_memory(MEMORY_PER_BYTE, file.len(), || Header::read(&mut &file[..])) {
        Ok(header) => header,
        Err(error) => return check_message(&error),
    };
    check_header(&header);
    let tensor = match with_memory(MEMORY_PER_BYTE, file.len(), || npy::read_from(&file[..])) {
        Ok(tensor) => tensor,
        Err(error) => return check_message(&error),
    };
    assert_eq!(tensor.shape(), header.shape);
    assert_eq!(Some(tensor.dtype()), header.descr.dtype());
    assert!(header.data_bytes().expect("it was read") <= file.len() as u64);
    check_again(&tensor);
}

/// Written and read, the array is the same to the bit: NaNs are not equal to themselves, so bytes are
/// compared.
pub(crate) fn check_again(tensor: &Tensor) {
    let written = npy_bytes(tensor);
    let again = npy::read_from(&written[..]).expect("it was written by us");
    assert_eq!((again.shape(), again.dtype()), (tensor.shape(), tensor.dtype()));
    assert_eq!(npy_bytes(&again), written);
}

pub(crate) fn npy_bytes(tensor: &Tensor) -> Vec<u8> {
    let mut file = Vec::new();
    npy::write_to(&mut file, tensor).expect("what was read can be written");
    file
}
