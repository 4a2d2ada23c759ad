//! Messages for the people who use your program: what is wrong, where, and in their own words.

use ndarray::{Array, Array1, Array2};
use unishape::prelude::*;
use unishape::{Error, broadcast, broadcast_to};

fn main() {
    let (prices, names) = (Array2::<f64>::zeros((5, 3)), Array1::<f64>::zeros(4));

    // The message shows all shapes and marks the dimension.
    let error = broadcast((&prices, &names)).unwrap_err();
    println!("{error}\n");

    // With the names that the user knows.
    println!("{}\n", error.clone().named(&["prices.csv", "names.csv"]));

    // The parts of the error, for a message of your own or a translation.
    if let Error::Incompatible(e1) = &error {
        let ([first, second], [a, b]) = (e1.inputs(), e1.sizes());
        println!("Dimension {}: Eingabe {first} hat {a}, Eingabe {second} hat {b}.\n", e1.dim());
    }

    println!("{}\n", broadcast_to(&prices, (5, 4)).unwrap_err());

    // Sizes that no machine has: an error, where other libraries panic or abort.
    let huge = Array::<u8, _>::zeros((1, 1));
    println!("{}", huge.broadcast_to((usize::MAX, 2)).unwrap_err());
}
