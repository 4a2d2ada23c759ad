//! The core in a program without std or an allocator.
#![no_std]

use unishape_core::{Common, Rules, broadcast_strides, element_count};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Uses the core as a device without an operating system would.
pub extern "C" fn probe(rows: usize, columns: usize) -> usize {
    let (mut sizes, mut from, mut strides) = ([0; 2], [0; 2], [0; 2]);
    let mut common = Common::new(Rules::STANDARD, &mut sizes, &mut from);
    let pushed = common.push(&[rows, 1]).and_then(|()| common.push(&[columns]));
    let count = element_count(common.shape()).unwrap_or(0);
    match pushed.map(|()| broadcast_strides(Rules::STANDARD, &[columns], &[1], &sizes, &mut strides)) {
        Ok(Ok(())) => count,
        _ => 0,
    }
}
