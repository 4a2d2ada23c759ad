//! Every kept input goes through its target: no fuzzer needed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use unishape_fuzz::TARGETS;

fn corpus() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

#[test]
fn every_kept_input_is_well() {
    for target in TARGETS {
        let folder = corpus().join(target.name);
        let inputs = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut count = 0;
        for input in inputs {
            let path = input.unwrap().path();
            // Shown by the test harness if the target panics.
            println!("{}", path.display());
            (target.run)(&fs::read(&path).unwrap());
            count += 1;
        }
        assert!(count > 0, "{} is empty", folder.display());
    }
}

/// `cargo xtask fuzz` finds the targets by their corpora, and cargo-fuzz by their programs.
#[test]
fn every_target_has_a_corpus_and_a_program() {
    let names = |folder: &Path| -> BTreeSet<String> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let targets = BTreeSet::from(TARGETS.map(|target| target.name.to_owned()));
    assert_eq!(names(&corpus()), targets);
    assert_eq!(names(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_targets")), targets);
}

/// What is kept is small: inputs that reach something new, not all that were ever found.
#[test]
fn the_corpus_is_small() {
    let mut bytes = 0;
    for target in TARGETS {
        for input in fs::read_dir(corpus().join(target.name)).unwrap() {
            let length = input.unwrap().metadata().unwrap().len();
            assert!(length <= 4096, "{} has an input of {length} bytes", target.name);
            bytes += length;
        }
    }
    assert!(bytes < 1 << 20, "{bytes} bytes");
}

/// Inputs that no fuzzer would come upon soon, for the readers' limits.
#[test]
fn short_inputs_and_long_ones() {
    for target in TARGETS {
        for length in [0, 1, 2, 70_000, 1_100_000] {
            for byte in [0, b'(', b'[', b'\'', b'0', b'9', 0x93, 0xff] {
                (target.run)(&vec![byte; length]);
            }
        }
    }
}
