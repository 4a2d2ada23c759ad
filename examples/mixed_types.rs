//! Arrays of strings, numbers and a struct of your own, broadcast in one call.
//!
//! An invoice for every customer (a column) and every product (a row).

use ndarray::{Array2, arr1, arr2};
use unishape::{TryError, map, try_map};

/// A price in cents.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cents(u32);

fn main() -> Result<(), TryError<String>> {
    let customers = arr2(&[["Ada"], ["Alan"], ["Grace"]]); // 3×1
    let products = vec!["pen".to_string(), "book".to_string()]; //  2: a `Vec` is an array of rank 1
    let prices = arr1(&[Cents(120), Cents(1_995)]);
    let amounts: Array2<u32> = arr2(&[[10, 1], [0, 2], [3, 3]]);
    let discount = 0.9; // a number is an array of rank 0

    // The types of the elements differ, and so do the ranks. No array is copied or converted.
    let lines = map(
        (&customers, &products, &prices, &amounts, discount),
        |customer, product, price, &amount, discount| {
            let total = f64::from(price.0 * amount) * discount / 100.0;
            format!("{customer:>5} {amount:>2} × {product:<4} {total:>6.2}")
        },
    )?;
    for line in &lines {
        println!("{line}");
    }

    // Results may refer to the inputs: the name of the customer who buys more than one, else nothing.
    let keen = map((&customers, &amounts), |customer, &amount| if amount > 1 { *customer } else { "-" })?;
    println!("{keen}");

    // A function that can fail: the first error ends the call.
    let stock = [12, 3];
    let left = try_map((&amounts, &stock, &products), |&amount, &stock, product| {
        u32::checked_sub(stock, amount)
            .ok_or_else(|| format!("only {stock} × {product} in stock, not {amount}"))
    })?;
    println!("{left}");
    Ok(())
}
