//! The pictures in the documents are those that the command draws.

use std::fs;
use std::path::Path;
use unishape::Rules;
use unishape_explain::Explanation;

#[test]
fn picture_of_the_readme_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/pictures/3x1-with-4.svg");
    let drawn = Explanation::new(Rules::STANDARD, &[&[3, 1][..], &[4]]).unwrap().svg();
    assert!(
        fs::read_to_string(path).unwrap() == drawn,
        "outdated; draw it again: cargo run -- explain 3x1 4 --svg docs/pictures/3x1-with-4.svg"
    );
}
