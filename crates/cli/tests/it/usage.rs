//! Help, completions, and usage errors.

use crate::support::{BINARY, TestDir};

#[test]
fn every_help_text_has_an_example() {
    let dir = TestDir::new();
    for subcommand in ["shape", "explain", "broadcast", "eval", "sum-to", "onnx", "completions", "man"] {
        let example = format!("Examples:\n  unishape {subcommand} ");
        assert!(dir.run([subcommand, "--help"]).expect_success().contains(&example), "{subcommand}");
        assert!(dir.run(["help", subcommand]).expect_success().contains(&example), "{subcommand}");
        assert!(dir.run(["--help"]).expect_success().contains(&format!("\n  {subcommand} ")), "{subcommand}");
    }
    for subcommand in ["run", "explain", "explicit", "implicit"] {
        let example = format!("Examples:\n  unishape onnx {subcommand} ");
        assert!(dir.run(["onnx", subcommand, "--help"]).expect_success().contains(&example), "{subcommand}");
    }
    let help = dir.run(["--help"]).expect_success();
    assert!(help.contains("Examples:\n  unishape shape 8x1x6x1 7x1x5 "), "{help}");
    assert!(help.contains("Exit codes:\n  0 "), "{help}");
}

#[test]
fn the_examples_of_the_help_are_correct() {
    let dir = TestDir::new();
    assert_eq!(dir.run(["shape", "8x1x6x1", "7x1x5"]).expect_success(), "8x7x6x5\n");
    assert_eq!(dir.run(["shape", "(8, 1, 6, 1)", "7,1,5"]).expect_success(), "8x7x6x5\n");
    assert_eq!(dir.run(["shape", "?x3", "5x1"]).expect_success(), "5x3\n");
    assert_eq!(dir.run(["shape", "--json", "2x1", "8x4x3"]).code, 1);
}

/// A shell would expand an unquoted `?x3`.
#[test]
fn the_help_of_shape_quotes_globs_and_explains_standard_input() {
    let help = TestDir::new().run(["shape", "--help"]).expect_success();
    assert!(help.contains("unishape shape '?x3' 5x1 ") && !help.contains(" ?x3"), "{help}");
    assert!(
        help.contains("Without arguments, shapes are read from standard input, unless it is a terminal."),
        "{help}"
    );
    assert!(help.contains("# starts a comment"), "{help}");
}

#[test]
fn the_version_is_the_package_version() {
    let expected = format!("unishape {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(TestDir::new().run(["--version"]).expect_success(), expected);
    assert_eq!(TestDir::new().run(["-V"]).expect_success(), expected);
}

#[test]
fn completions_exist_for_every_shell() {
    let dir = TestDir::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = dir.run(["completions", shell]).expect_success();
        for word in ["unishape", "shape", "broadcast", "dry-run", "eval", "memory"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(dir.run(["completions", "abacus"]).expect_error(2).contains("possible values: bash"));
}

#[test]
fn manual_pages_exist_for_every_subcommand() {
    let dir = TestDir::new();
    dir.run(["man", "pages"]).expect_success();
    for name in [
        "",
        "-shape",
        "-explain",
        "-broadcast",
        "-eval",
        "-sum-to",
        "-onnx",
        "-onnx-explicit",
        "-completions",
    ] {
        let page = String::from_utf8(dir.read(format!("pages/unishape{name}.1"))).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    let page = String::from_utf8(dir.read("pages/unishape-broadcast.1")).unwrap();
    assert!(
        page.contains("\\-\\-dry\\-run") && page.contains("Stretch arrays to their common shape"),
        "{page}"
    );
    // `help` has no pages.
    assert!(dir.list().iter().all(|name| !name.contains("help")), "{:?}", dir.list());
    // Nothing is replaced unless that is requested.
    assert!(dir.run(["man", "pages"]).expect_error(4).contains("--force"));
    dir.run(["man", "pages", "--force"]).expect_success();
}

#[cfg(unix)]
#[test]
fn bash_accepts_its_completions() {
    let dir = TestDir::new();
    dir.write("script", dir.run(["completions", "bash"]).expect_success());
    // Skipped without bash.
    match dir.program("bash", ["-n", "script"]).output() {
        Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{output:?}"),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
    }
    // `unishape broadcast --d`, then Tab.
    let tab = "source ./script; COMP_WORDS=(unishape broadcast --d) COMP_CWORD=2; _unishape unishape --d broadcast; echo \"${COMPREPLY[@]}\"";
    if let Ok(output) = dir.program("bash", ["-c", tab]).output() {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "--dry-run\n", "{output:?}");
    }
    let tab = tab.replace("broadcast --d)", "eval --dtype comp)").replace("CWORD=2", "CWORD=3");
    let tab = tab.replace("--d broadcast", "comp --dtype");
    if let Ok(output) = dir.program("bash", ["-c", &tab]).output() {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "complex64 complex128\n", "{output:?}");
    }
}

#[test]
fn usage_errors_exit_with_2_and_mention_help() {
    let dir = TestDir::new();
    for args in [
        &["frobnicate"][..],
        &["--frobnicate"],
        &["shape", "--frobnicate"],
        &["shape", "--rules", "other", "3"],
        &["explain"],
        &["explain", "3", "--width", "wide"],
        &["explain", "3", "--color", "pink"],
        &["broadcast"],
        &["broadcast", "a.npy"],
        &["broadcast", "--out", "z"],
        &["eval"],
        &["eval", "a", "--dtype", "int7"],
        &["eval", "a", "--memory", "much"],
        &["eval", "a", "--memory", "4k"],
        &["eval", "a", "--threads", "0"],
        &["completions"],
    ] {
        let message = dir.run(args).expect_error(2);
        assert!(message.contains("--help"), "{args:?}: {message}");
    }
    assert_eq!(dir.list(), [""; 0]);
}

#[test]
fn no_arguments_print_the_help_and_exit_with_2() {
    let message = TestDir::new().run([""; 0]).expect_error(2);
    assert!(
        message.contains("Usage: unishape [OPTIONS] <COMMAND>") && message.contains("Examples:"),
        "{message}"
    );
}

/// Reading from the terminal would look like a hang.
#[cfg(target_os = "linux")]
#[test]
fn no_shapes_on_a_terminal_are_a_usage_error_with_a_hint() {
    let Some(shown) =
        crate::support::on_terminal(&TestDir::new(), &format!("{BINARY} shape; echo code $?"), &[])
    else {
        return;
    };
    assert!(shown.contains("no shapes given; try `unishape shape 8x1x6x1 7x1x5`, or --help"), "{shown}");
    assert!(shown.contains("code 2"), "{shown}");
}

#[test]
fn only_near_names_are_suggested() {
    let dir = TestDir::new();
    let message = dir.run(["onnx", "exlpain", "m.onnx"]).expect_error(2);
    assert!(message.contains("a similar subcommand exists: 'explain'\n"), "{message}");
    assert!(!message.contains("'help'") && !message.contains("'explicit'"), "{message}");
    let message = dir.run(["shap"]).expect_error(2);
    assert!(message.contains("a similar subcommand exists: 'shape'"), "{message}");
    let message = dir.run(["shape", "--strict-rnak", "3"]).expect_error(2);
    assert!(message.contains("a similar argument exists: '--strict-rank'"), "{message}");
    assert!(dir.run(["sum"]).expect_error(2).contains("a similar subcommand exists: 'sum-to'"));
    assert!(dir.run(["completions", "bahs"]).expect_error(2).contains("a similar value exists: 'bash'"));
    let far = [&["shape", "--frobnicate", "3"][..], &["shape", "--strictly", "3"], &["explore"]];
    for far in far.iter().chain(&[&["onnx", "exlpore"][..]]) {
        let message = dir.run(*far).expect_error(2);
        assert!(!message.contains("similar"), "{message}");
    }
}
