//! Reads `.npy` files: any bytes give an array or an error, with bounded memory.
//!
//! An array that is read survives a round trip.

use super::descr::check_header;
use crate::file::{check_message, npy_file, with_memory_limit};
use unishape::Tensor;
use unishape_npy::{self as npy, Header};

/// Bytes of memory per byte of a file.
///
/// A byte can become a string, in a vector with spare capacity.
pub(crate) const MEMORY_PER_BYTE: u64 = 100;

pub(crate) fn run(bytes: &[u8]) {
    let file = npy_file(bytes);
    let header = match with_memory_limit(MEMORY_PER_BYTE, file.len(), || Header::read(&mut &file[..])) {
        Ok(header) => header,
        Err(error) => return check_message(&error),
    };
    check_header(&header);
    let tensor = match with_memory_limit(MEMORY_PER_BYTE, file.len(), || npy::read_from(&file[..])) {
        Ok(tensor) => tensor,
        Err(error) => return check_message(&error),
    };
    assert_eq!(tensor.shape(), header.shape);
    assert_eq!(Some(tensor.dtype()), header.descr.dtype());
    assert!(header.data_bytes().expect("checked by read_from") <= file.len() as u64);
    check_round_trip(&tensor);
}

/// Checks that an array survives writing and reading, bit for bit.
///
/// It compares bytes, since NaNs are not equal to themselves.
pub(crate) fn check_round_trip(tensor: &Tensor) {
    let written = npy_bytes(tensor);
    let again = npy::read_from(&written[..]).expect("written by unishape");
    assert_eq!((again.shape(), again.dtype()), (tensor.shape(), tensor.dtype()));
    assert_eq!(npy_bytes(&again), written);
}

pub(crate) fn npy_bytes(tensor: &Tensor) -> Vec<u8> {
    let mut file = Vec::new();
    npy::write_to(&mut file, tensor).expect("what was read can be written");
    file
}
