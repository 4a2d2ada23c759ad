//! Distances between all pairs of points, and the nearest point of each, without an array of all differences.

use ndarray::{Array2, Axis, arr2};
use unishape::fold::Sum;
use unishape::{Error, map, reduce};

fn main() -> Result<(), Error> {
    let cities = arr2(&[[0.0f64, 0.0], [3.0, 4.0], [6.0, 8.0]]); // 3 points in 2 dimensions
    let shops = arr2(&[[0.0, 1.0], [6.0, 0.0], [6.0, 7.0], [-5.0, 0.0]]); // 4 points

    // 3×1×2 and 4×2 are broadcast to 3×4×2, and the last axis is summed at once.
    let squares =
        reduce((cities.view().insert_axis(Axis(1)), &shops), Axis(2), |a, b| (a - b) * (a - b), Sum)?;
    let distances: Array2<f64> = map(&squares, |square| square.sqrt())?;
    println!("{distances:.2}");

    // The nearest shop of each city: items are pairs of a distance and an index.
    let indices = [0, 1, 2, 3];
    let nearer = |acc: &mut (f64, usize), item: (f64, usize)| {
        if item < *acc {
            *acc = item;
        }
    };
    let nearest = reduce((&distances, &indices), Axis(1), |&distance, &index| (distance, index), nearer)?;
    for (city, (distance, shop)) in nearest.iter().enumerate() {
        println!("city {city}: shop {shop} at {distance:.2}");
    }
    Ok(())
}
