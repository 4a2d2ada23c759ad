//! Runs every example, and compares what it prints.

use std::process::Command;

/// What an example prints. `cargo test` builds the examples before this test.
fn output(name: &str, arguments: &[&str]) -> String {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    let output = Command::new(folder.join(name)).args(arguments).output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{name}: {stderr}");
    stdout
}

fn assert_prints(name: &str, arguments: &[&str], expected: &[&str]) {
    let printed = output(name, arguments);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines, expected, "{name}");
}

#[test]
fn mixed_types() {
    let lines = [
        "  Ada 10 × pen   10.80",
        "  Ada  1 × book  17.95",
        " Alan  0 × pen    0.00",
        " Alan  2 × book  35.91",
        "Grace  3 × pen    3.24",
        "Grace  3 × book  53.87",
        "[[Ada, -],",
        " [-, Alan],",
        " [Grace, Grace]]",
        "[[2, 2],",
        " [12, 1],",
        " [9, 0]]",
    ];
    assert_prints("mixed_types", &[], &lines);
}

#[test]
fn normalise() {
    let lines = [
        "mean   4.50, standard deviation  2.87",
        "mean 109.00, standard deviation  5.74",
        "mean 213.50, standard deviation  8.62",
        "afterwards: means below 1e-12: true, variances 1: true",
        "largest value: 1.5",
    ];
    assert_prints("normalise", &[], &lines);
}

#[test]
fn distances() {
    let lines = [
        "[[1.00, 6.00, 9.22, 5.00],",
        " [4.24, 5.00, 4.24, 8.94],",
        " [9.22, 8.00, 1.00, 13.60]]",
        "city 0: shop 0 at 1.00",
        "city 1: shop 0 at 4.24",
        "city 2: shop 2 at 1.00",
    ];
    assert_prints("distances", &[], &lines);
}

#[test]
fn streaming_shapes() {
    let lines = output("streaming_shapes", &[]);
    assert!(lines.starts_with("200000 shapes so far: [1, 480, 640, 3]\n"), "{lines}");
    let error = "E1: incompatible shapes in dimension 1: input 0 has 480, input 200000 has 481";
    assert!(lines.contains(&format!("file 200000 is left out:\n{error}\n")), "{lines}");
    assert!(lines.ends_with("[1, 480, 640, 3]\n[1, 480, 640, 3] from 4 threads\n"), "{lines}");
}

#[test]
fn larger_than_memory() {
    let folder = tempfile::tempdir().unwrap();
    let lines =
        ["mean of column 0: 49.50, standard deviation: 28.87", "1600128 bytes written, 1572864 in memory"];
    assert_prints("larger_than_memory", &[folder.path().to_str().unwrap(), "50000"], &lines);
    let result = unishape_npy::read(folder.path().join("unishape-normalised.npy")).unwrap();
    let result = ndarray::Array2::<f32>::try_from(result).unwrap();
    for column in result.columns() {
        let (mean, square) = (column.mean().unwrap(), column.mapv(|x| x * x).mean().unwrap());
        assert!(mean.abs() < 1e-3 && (square - 1.0).abs() < 1e-3, "{mean} {square}");
    }
}

#[test]
fn errors() {
    let printed = output("errors", &[]);
    let messages = [
        "E1: incompatible shapes in dimension 1: input 0 has 3, input 1 has 4",
        "E1: incompatible shapes in dimension 1: prices.csv has 3, names.csv has 4",
        "Dimension 1: Eingabe 0 hat 3, Eingabe 1 hat 4.",
        "cannot broadcast 5x3 to 5x4",
    ];
    let mut rest = &printed[..];
    for message in messages {
        let at = rest.find(message).unwrap_or_else(|| panic!("{message:?} in {printed}"));
        rest = &rest[at + message.len()..];
    }
    assert!(rest.ends_with("x2 has more elements than this machine can address\n"), "{printed}");
}

#[test]
fn server() {
    let lines = [
        "11,12,13;21,22,23",
        "11,12,13;21,22,23",
        "11,12,13;21,22,23",
        "11,12,13;21,22,23",
        "HTTP/1.1 400 Bad Request: E1: incompatible shapes in dimension 1: a has 3, b has 2",
        "HTTP/1.1 400 Bad Request: a: \"x\": invalid float literal",
        "HTTP/1.1 400 Bad Request: a: row 1 has 1 numbers, row 0 has 2",
        "HTTP/1.1 400 Bad Request: b is missing",
        "HTTP/1.1 400 Bad Request: ask for /add?a=…&b=…",
    ];
    assert_prints("server", &[], &lines);
}

#[test]
fn no_std() {
    assert_prints("no_std", &[], &["Some([2, 3]): [11, 21, 31, 12, 22, 32]", "None", "None"]);
}
