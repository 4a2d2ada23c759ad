//! The common shape of a stream of shapes, such as those of the files of a data set, in constant memory.
//!
//! `CommonShape` keeps sizes and where they came from, not the shapes. Parts of a stream that several threads read can
//! be combined: the common shape of common shapes is that of all shapes.

use std::thread;
use unishape::{CommonShape, Error, Rules};

/// The shape of file `number`.
fn shape_of_file(number: u64) -> Vec<usize> {
    match number % 4 {
        0 => vec![480, 640, 3],
        1 => vec![640, 1],
        2 => vec![3],
        _ => vec![1, 480, 1, 1],
    }
}

fn main() -> Result<(), Error> {
    // One after another.
    let mut common = CommonShape::new(Rules::STANDARD);
    for number in 0..200_000 {
        common.push(&shape_of_file(number))?;
    }
    println!("{} shapes so far: {:?}", common.inputs(), common.shape());

    // A shape that is incompatible changes nothing, so that the stream can go on without it.
    let error = common.push(&[481, 640, 3]).unwrap_err();
    println!("file 200000 is left out:\n{error}");
    println!("{:?}", common.finish()?);

    // Four threads with a part of the stream each.
    let parts: Vec<CommonShape> = thread::scope(|scope| {
        let part = |first: u64| {
            move || {
                let mut common = CommonShape::new(Rules::STANDARD);
                (first..200_000).step_by(4).try_for_each(|number| common.push(&shape_of_file(number)))?;
                Ok::<_, Error>(common)
            }
        };
        let threads: Vec<_> = (0..4).map(|first| scope.spawn(part(first))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Result<_, _>>()
    })?;
    let mut all = CommonShape::new(Rules::STANDARD);
    parts.iter().try_for_each(|part| all.push(part.shape()))?;
    println!("{:?} from {} threads", all.finish()?, parts.len());
    Ok(())
}
