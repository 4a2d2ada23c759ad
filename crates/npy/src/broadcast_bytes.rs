//! The elements of a stretched array as bytes, one after another: what a file of it holds.

use std::ops::ControlFlow;

/// Bytes are gathered to about this many before they are handed on.
const PIECE: usize = 1 << 20;

/// One loop of the nest: how often, and how far apart in the source, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loop {
    count: usize,
    stride: usize,
}

/// Hands on, in row-major order and in pieces, the elements that a view of shape `sizes` with these
/// strides reads from `source`, each of `item` bytes. Both `sizes` and `strides` have one entry a
/// dimension, and every element the view reads is in `source`.
pub(crate) fn broadcast_bytes<B>(
    source: &[u8],
    item: usize,
    sizes: &[usize],
    strides: &[usize],
    mut put: impl FnMut(&[u8]) -> ControlFlow<B>,
) -> ControlFlow<B> {
    if item == 0 || sizes.contains(&0) {
        return ControlFlow::Continue(());
    }
    let mut outer = nest(sizes, strides);
    let inner = outer.pop().unwrap_or(Loop { count: 1, stride: 1 });
    // No more than there is to come; and elements as large as a piece are not gathered.
    let bytes = sizes.iter().fold(item, |bytes, &size| bytes.saturating_mul(size));
    let mut piece = Vec::with_capacity(if item < PIECE { PIECE.min(bytes) } else { 0 });
    let mut index = vec![0usize; outer.len()];
    let mut start = 0;
    loop {
        row(source, item, start, inner, &mut piece, &mut put)?;
        // The next index, from the innermost of the outer loops.
        let mut at = outer.len();
        loop {
            let Some(next) = at.checked_sub(1) else {
                return if piece.is_empty() { ControlFlow::Continue(()) } else { put(&piece) };
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

/// The loops of a shape, outermost first: dimensions of size 1 dropped, and neighbours that are
/// walked as one made one (stretched ones too: their stride is 0).
///
/// No `Plan`: that one chooses the order of the loops, runs the two innermost ones together and goes on to
/// the end, where here the order is given, rows are handed on one by one, and `put` may stop it all.
fn nest(sizes: &[usize], strides: &[usize]) -> Vec<Loop> {
    let mut loops: Vec<Loop> = Vec::new();
    for (&count, &stride) in sizes.iter().zip(strides).filter(|&(&count, _)| count != 1) {
        match loops.last_mut() {
            Some(last) if last.stride == stride * count => *last = Loop { count: last.count * count, stride },
            _ => loops.push(Loop { count, stride }),
        }
    }
    loops
}

/// The innermost loop, from the element at `start`.
fn row<B>(
    source: &[u8],
    item: usize,
    start: usize,
    Loop { count, stride }: Loop,
    piece: &mut Vec<u8>,
    put: &mut impl FnMut(&[u8]) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let from = start * item;
    if stride == 1 {
        let row = &source[from..from + count * item];
        if piece.len() + row.len() <= PIECE {
            piece.extend_from_slice(row);
            return ControlFlow::Continue(());
        }
        flush(piece, put)?;
        for part in row.chunks(PIECE) {
            put(part)?;
        }
        return ControlFlow::Continue(());
    }
    if item >= PIECE {
        // Elements as large as this are handed on from where they are.
        for element in 0..count {
            let from = from + element * stride * item;
            for part in source[from..from + item].chunks(PIECE) {
                put(part)?;
            }
        }
        return ControlFlow::Continue(());
    }
    let mut left = count;
    let mut from = from;
    while left > 0 {
        let room = ((PIECE - piece.len()) / item).min(left);
        if stride == 0 {
            repeat(&source[from..from + item], room, piece);
        } else {
            for _ in 0..room {
                piece.extend_from_slice(&source[from..from + item]);
                from += stride * item; // may leave the source, after the last element only
            }
        }
        left -= room;
        if piece.len() + item > PIECE {
            flush(piece, put)?; // there is room for one more element, here and in the next row
        }
    }
    ControlFlow::Continue(())
}

/// Appends an element so many times, doubling what is there.
fn repeat(element: &[u8], times: usize, piece: &mut Vec<u8>) {
    let (first, total) = (piece.len(), element.len() * times);
    piece.extend_from_slice(element);
    while piece.len() - first < total {
        let have = piece.len() - first;
        piece.extend_from_within(first..first + have.min(total - have));
    }
}

fn flush<B>(piece: &mut Vec<u8>, put: &mut impl FnMut(&[u8]) -> ControlFlow<B>) -> ControlFlow<B> {
    if !piece.is_empty() {
        put(piece)?;
        piece.clear();
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unishape_oracle::{Indices, strategies};

    #[test]
    fn neighbours_walked_as_one_are_one_loop() {
        let row_major = nest(&[2, 1, 3, 4], &[12, 12, 4, 1]);
        assert_eq!(row_major, [Loop { count: 24, stride: 1 }]);
        let stretched = nest(&[5, 6, 7], &[0, 0, 1]);
        assert_eq!(stretched, [Loop { count: 30, stride: 0 }, Loop { count: 7, stride: 1 }]);
        assert_eq!(nest(&[1, 1], &[9, 0]), []);
    }

    /// Rows of small elements that do not fit a piece, stretched and with gaps.
    #[test]
    fn rows_longer_than_a_piece() {
        for (item, count, stride) in [
            (1, PIECE + 5, 1),
            (1, PIECE + 5, 0),
            (1, PIECE + 5, 2),
            (7, PIECE / 7 + 1, 0),
            (8, PIECE / 8, 3),
        ] {
            let source: Vec<u8> = (0..(stride * (count - 1) + 2) * item).map(|at| (at % 251) as u8).collect();
            let mut bytes = Vec::new();
            let _ = broadcast_bytes(&source, item, &[2, count], &[1, stride], |piece| {
                assert!(piece.len() <= PIECE);
                bytes.extend_from_slice(piece);
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

        /// Any strides and any sizes of elements, also with rows longer than a piece.
        #[test]
        fn bytes_are_those_of_the_view(
            (sizes, strides) in strategies::shape(0..=4, 0..=4)
                .prop_flat_map(|sizes| {
                    let rank = sizes.len();
                    (Just(sizes), prop::collection::vec(0usize..6, rank))
                }),
            item in prop::sample::select(vec![1usize, 2, 7, 400_000, PIECE + 3]),
        ) {
            let length = 1 + sizes.iter().zip(&strides).map(|(size, stride)| size.saturating_sub(1) * stride).sum::<usize>();
            // Few distinct bytes a large element: its number, then a pattern.
            let source: Vec<u8> =
                (0..length * item).map(|at| if at % item == 0 { at / item } else { at % 251 } as u8).collect();
            let expected: Vec<u8> = Indices::of(&sizes)
                .take(40)
                .flat_map(|index| {
                    let at: usize = index.iter().zip(&strides).map(|(index, stride)| index * stride).sum();
                    source[at * item..(at + 1) * item].to_vec()
                })
                .collect();
            let (mut bytes, mut largest) = (Vec::new(), 0);
            let enough = expected.len();
            let _ = broadcast_bytes(&source, item, &sizes, &strides, |piece| {
                largest = largest.max(piece.len());
                bytes.extend_from_slice(piece);
                if bytes.len() > enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            prop_assert!(largest <= PIECE);
            prop_assert!(bytes.len() >= enough);
            prop_assert!(bytes[..enough] == expected[..]);
            if sizes.iter().product::<usize>() <= 40 {
                prop_assert_eq!(bytes.len(), enough);
            }
        }
    }
}
