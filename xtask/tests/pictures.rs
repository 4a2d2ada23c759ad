//! The pictures in the documents are those that the command draws.

use std::fs;
use std::path::Path;
use unishape::Rules;
use unishape::expr::{ReduceOp, Reduction};
use unishape_explain::{Explanation, ReductionExplanation};

#[test]
fn picture_of_the_readme_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures/3x1-with-4.svg");
    let drawn = Explanation::new(Rules::STANDARD, &[&[3, 1][..], &[4]]).unwrap().svg();
    assert!(
        fs::read_to_string(path).unwrap() == drawn,
        "outdated; draw it again: cargo run -- explain 3x1 4 --svg docs/pictures/3x1-with-4.svg"
    );
}

#[test]
fn picture_of_a_reduction_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures/gallery-reduce.svg");
    let mean = Reduction::new(ReduceOp::Mean).axes(1).keep_dims(true);
    assert!(
        fs::read_to_string(path).unwrap() == ReductionExplanation::new(&mean, &[2, 3]).unwrap().svg(),
        "outdated; draw it again: cargo run -- explain 2x3 --reduce mean --axis 1 --keepdims \
         --svg docs/pictures/gallery-reduce.svg --force"
    );
}
