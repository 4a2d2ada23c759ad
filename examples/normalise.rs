//! Mean and standard deviation of the columns of a matrix, and the matrix normalised in place.

use ndarray::{Array2, Axis};
use unishape::fold::{Fold, Mean};
use unishape::prelude::*;
use unishape::{Error, KeepDims, for_each, reduce};

/// Mean and variance in one pass, merged by Chan's formula.
struct MeanAndVariance;

#[derive(Clone, Copy)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Fold<f64> for MeanAndVariance {
    type Acc = Moments;
    type Output = (f64, f64);

    #[inline]
    fn start(&self, item: f64) -> Moments {
        Moments { count: 1.0, mean: item, squares: 0.0 }
    }

    #[inline]
    fn merge(&self, acc: &mut Moments, other: Moments) {
        let (count, delta) = (acc.count + other.count, other.mean - acc.mean);
        acc.mean += delta * other.count / count;
        acc.squares += other.squares + delta * delta * acc.count * other.count / count;
        acc.count = count;
    }

    fn finish(&self, acc: Moments, count: usize) -> (f64, f64) {
        (acc.mean, acc.squares / count as f64)
    }
}

fn main() -> Result<(), Error> {
    let mut data =
        Array2::from_shape_fn((1000, 3), |(i, j)| (i % 10) as f64 * (j + 1) as f64 + 100.0 * j as f64);

    // One pass over the matrix; the result has shape 1×3 and broadcasts against it again.
    let moments = reduce(&data, KeepDims(Axis(0)), |x| *x, MeanAndVariance)?;
    for (mean, variance) in &moments {
        println!("mean {mean:>6.2}, standard deviation {:>5.2}", variance.sqrt());
    }

    for_each((&mut data, &moments), |x, (mean, variance)| *x = (*x - mean) / variance.sqrt())?;
    let means = reduce(&data, Axis(0), |x| *x, Mean)?;
    let squares = reduce(&data, Axis(0), |x| x * x, Mean)?;
    println!(
        "afterwards: means below 1e-12: {}, variances 1: {}",
        means.iter().all(|mean| mean.abs() < 1e-12),
        squares.iter().all(|square| (square - 1.0).abs() < 1e-12)
    );

    // The same as a method, with a number: values are cut off at 1.5 deviations.
    data.update_with(1.5, |x, limit| *x = x.clamp(-limit, *limit))?;
    println!("largest value: {}", data.iter().copied().fold(f64::MIN, f64::max));
    Ok(())
}
