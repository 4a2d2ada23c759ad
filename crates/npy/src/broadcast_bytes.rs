//! Elements of a broadcast array, copied as bytes in row-major order.

use std::ops::ControlFlow;

/// Size of the buffer, and largest number of bytes that are emitted at a time.
const BUFFER_SIZE: usize = 1 << 20;

/// One loop of a loop nest; the stride is that of the source, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loop {
    count: usize,
    stride: usize,
}

/// Emits the bytes of a view in row-major order, at most [`BUFFER_SIZE`] at a time.
///
/// The view has the shape `sizes` and the given strides, in elements of `item` bytes; both have one entry per
/// dimension. Every element of the view must be within `source`. `emit` may stop the work.
pub(crate) fn broadcast_bytes<B>(
    source: &[u8],
    item: usize,
    sizes: &[usize],
    strides: &[usize],
    mut emit: impl FnMut(&[u8]) -> ControlFlow<B>,
) -> ControlFlow<B> {
    if item == 0 || sizes.contains(&0) {
        return ControlFlow::Continue(());
    }
    let mut outer = loop_nest(sizes, strides);
    let inner = outer.pop().unwrap_or(Loop { count: 1, stride: 1 });
    // No larger than the result; elements as large as the buffer are not buffered.
    let bytes = sizes.iter().fold(item, |bytes, &size| bytes.saturating_mul(size));
    let mut buffer = Vec::with_capacity(if item < BUFFER_SIZE { BUFFER_SIZE.min(bytes) } else { 0 });
    let mut index = vec![0usize; outer.len()];
    let mut start = 0;
    loop {
        copy_row(source, item, start, inner, &mut buffer, &mut emit)?;
        // Odometer: the next index, from the innermost of the outer loops.
        let mut at = outer.len();
        loop {
            let Some(next) = at.checked_sub(1) else {
                return if buffer.is_empty() { ControlFlow::Continue(()) } else { emit(&buffer) };
            };
            at = next;
            let Loop { count, stride } = outer[at];
            index[at] += 1;
            if index[at] < count {
                start += stride;
                break;
            }
            start -= stride * (count - 1);
            index[at] = 0;
        }
    }
}

/// The loop nest of a view, outermost loop first.
///
/// Dimensions of size 1 are dropped; neighbours that one loop can iterate over are merged, stretched ones too.
fn loop_nest(sizes: &[usize], strides: &[usize]) -> Vec<Loop> {
    let mut loops: Vec<Loop> = Vec::new();
    for (&count, &stride) in sizes.iter().zip(strides).filter(|&(&count, _)| count != 1) {
        match loops.last_mut() {
            Some(last) if last.stride == stride * count => *last = Loop { count: last.count * count, stride },
            _ => loops.push(Loop { count, stride }),
        }
    }
    loops
}

/// Copies one row, the innermost loop, from the element at `start`.
fn copy_row<B>(
    source: &[u8],
    item: usize,
    start: usize,
    Loop { count, stride }: Loop,
    buffer: &mut Vec<u8>,
    emit: &mut impl FnMut(&[u8]) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let from = start * item;
    if stride == 1 {
        let row = &source[from..from + count * item];
        if buffer.len() + row.len() <= BUFFER_SIZE {
            buffer.extend_from_slice(row);
            return ControlFlow::Continue(());
        }
        flush(buffer, emit)?;
        for bytes in row.chunks(BUFFER_SIZE) {
            emit(bytes)?;
        }
        return ControlFlow::Continue(());
    }
    if item >= BUFFER_SIZE {
        // Large elements are emitted without a copy.
        for element in 0..count {
            let from = from + element * stride * item;
            for bytes in source[from..from + item].chunks(BUFFER_SIZE) {
                emit(bytes)?;
            }
        }
        return ControlFlow::Continue(());
    }
    let mut left = count;
    let mut from = from;
    while left > 0 {
        let fitting = ((BUFFER_SIZE - buffer.len()) / item).min(left);
        if stride == 0 {
            repeat(&source[from..from + item], fitting, buffer);
        } else {
            for _ in 0..fitting {
                buffer.extend_from_slice(&source[from..from + item]);
                from += stride * item; // beyond the source only after the last element
            }
        }
        left -= fitting;
        if buffer.len() + item > BUFFER_SIZE {
            flush(buffer, emit)?; // one more element always fits
        }
    }
    ControlFlow::Continue(())
}

/// Appends an element `times` times, doubling the copied bytes.
fn repeat(element: &[u8], times: usize, buffer: &mut Vec<u8>) {
    let (first, total) = (buffer.len(), element.len() * times);
    buffer.extend_from_slice(element);
    while buffer.len() - first < total {
        let copied = buffer.len() - first;
        buffer.extend_from_within(first..first + copied.min(total - copied));
    }
}

fn flush<B>(buffer: &mut Vec<u8>, emit: &mut impl FnMut(&[u8]) -> ControlFlow<B>) -> ControlFlow<B> {
    if !buffer.is_empty() {
        emit(buffer)?;
        buffer.clear();
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Dimension;
    use proptest::prelude::*;

    #[test]
    fn neighbouring_dimensions_are_merged() {
        let row_major = loop_nest(&[2, 1, 3, 4], &[12, 12, 4, 1]);
        assert_eq!(row_major, [Loop { count: 24, stride: 1 }]);
        let stretched = loop_nest(&[5, 6, 7], &[0, 0, 1]);
        assert_eq!(stretched, [Loop { count: 30, stride: 0 }, Loop { count: 7, stride: 1 }]);
        assert_eq!(loop_nest(&[1, 1], &[9, 0]), []);
    }

    /// Contiguous, stretched and strided rows of small elements that exceed the buffer.
    #[test]
    fn rows_longer_than_the_buffer() {
        for (item, count, stride) in [
            (1, BUFFER_SIZE + 5, 1),
            (1, BUFFER_SIZE + 5, 0),
            (1, BUFFER_SIZE + 5, 2),
            (7, BUFFER_SIZE / 7 + 1, 0),
            (8, BUFFER_SIZE / 8, 3),
        ] {
            let source: Vec<u8> = (0..(stride * (count - 1) + 2) * item).map(|at| (at % 251) as u8).collect();
            let mut bytes = Vec::new();
            let _ = broadcast_bytes(&source, item, &[2, count], &[1, stride], |emitted| {
                assert!(emitted.len() <= BUFFER_SIZE);
                bytes.extend_from_slice(emitted);
                ControlFlow::<()>::Continue(())
            });
            assert_eq!(bytes.len(), 2 * count * item);
            for (at, element) in bytes.chunks(item).enumerate() {
                let from = (at / count + at % count * stride) * item;
                assert_eq!(element, &source[from..from + item]);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        /// Any strides and any element sizes, also with rows longer than the buffer.
        #[test]
        fn bytes_are_those_of_the_view(
            (sizes, strides) in prop::collection::vec(0..=4usize, 0..=4)
                .prop_flat_map(|sizes| {
                    let rank = sizes.len();
                    (Just(sizes), prop::collection::vec(0usize..6, rank))
                }),
            item in prop::sample::select(vec![1usize, 2, 7, 400_000, BUFFER_SIZE + 3]),
        ) {
            let length = 1 + sizes.iter().zip(&strides).map(|(size, stride)| size.saturating_sub(1) * stride).sum::<usize>();
            // The first byte of an element is its number, the others are a pattern.
            let source: Vec<u8> =
                (0..length * item).map(|at| if at % item == 0 { at / item } else { at % 251 } as u8).collect();
            let expected: Vec<u8> = ndarray::indices(&sizes[..])
                .into_iter()
                .take(40)
                .flat_map(|index| {
                    let at: usize = index.slice().iter().zip(&strides).map(|(index, stride)| index * stride).sum();
                    source[at * item..(at + 1) * item].to_vec()
                })
                .collect();
            let (mut bytes, mut largest) = (Vec::new(), 0);
            let enough = expected.len();
            let _ = broadcast_bytes(&source, item, &sizes, &strides, |emitted| {
                largest = largest.max(emitted.len());
                bytes.extend_from_slice(emitted);
                if bytes.len() > enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            prop_assert!(largest <= BUFFER_SIZE);
            prop_assert!(bytes.len() >= enough);
            prop_assert!(bytes[..enough] == expected[..]);
            if sizes.iter().product::<usize>() <= 40 {
                prop_assert_eq!(bytes.len(), enough);
            }
        }
    }
}
