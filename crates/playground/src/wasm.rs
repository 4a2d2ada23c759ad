//! The functions that JavaScript calls.
//!
//! JavaScript writes a request, in UTF-8, to the address that `reserve` returns, calls `respond`, and reads the answer
//! of that length at `buffer`. Three functions of numbers need no generated glue code and no further tool.

// The attribute that keeps a name counts as unsafe, since names of functions must not clash; there is no other use.
// Nothing in Rust reaches these functions.
#![allow(unsafe_code, unreachable_pub)]

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The request, and then the answer.
static BUFFER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn locked() -> MutexGuard<'static, Vec<u8>> {
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a request of this many bytes; returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(length: usize) -> *mut u8 {
    let mut buffer = locked();
    buffer.clear();
    buffer.resize(length, 0);
    buffer.as_mut_ptr()
}

/// Replaces the request by its answer; returns the answer's length in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn respond() -> usize {
    let request = std::mem::take(&mut *locked());
    let answer = crate::answer(&String::from_utf8_lossy(&request)).into_bytes();
    let length = answer.len();
    *locked() = answer;
    length
}

/// Address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn buffer() -> *const u8 {
    locked().as_ptr()
}
