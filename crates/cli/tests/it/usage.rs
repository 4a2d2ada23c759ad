//! Help, completions, and command lines that cannot be.

use crate::support::{BINARY, Folder};

#[test]
fn every_help_text_has_an_example() {
    let folder = Folder::new();
    for subcommand in ["shape", "explain", "broadcast", "eval", "onnx", "completions"] {
        let example = format!("Examples:\n  unishape {subcommand} ");
        assert!(folder.run([subcommand, "--help"]).printed().contains(&example), "{subcommand}");
        assert!(folder.run(["help", subcommand]).printed().contains(&example), "{subcommand}");
        assert!(folder.run(["--help"]).printed().contains(&format!("\n  {subcommand} ")), "{subcommand}");
    }
    for subcommand in ["run", "explain", "explicit", "implicit"] {
        let example = format!("Examples:\n  unishape onnx {subcommand} ");
        assert!(folder.run(["onnx", subcommand, "--help"]).printed().contains(&example), "{subcommand}");
    }
    let help = folder.run(["--help"]).printed();
    assert!(help.contains("Examples:\n  unishape shape 8x1x6x1 7x1x5 "), "{help}");
    assert!(help.contains("Exit codes: "), "{help}");
}

/// The right side of the examples of `shape` is what the left side gives.
#[test]
fn the_examples_of_the_help_are_true() {
    let folder = Folder::new();
    assert_eq!(folder.run(["shape", "8x1x6x1", "7x1x5"]).printed(), "8x7x6x5\n");
    assert_eq!(folder.run(["shape", "(8, 1, 6, 1)", "7,1,5"]).printed(), "8x7x6x5\n");
    assert_eq!(folder.run(["shape", "?x3", "5x1"]).printed(), "5x3\n");
    assert_eq!(folder.run(["shape", "--json", "2x1", "8x4x3"]).code, 1);
}

/// A shell would look for files called `?x3`.
#[test]
fn the_help_of_shape_quotes_what_shells_expand_and_tells_how_standard_input_is_read() {
    let help = Folder::new().run(["shape", "--help"]).printed();
    assert!(help.contains("unishape shape '?x3' 5x1 ") && !help.contains(" ?x3"), "{help}");
    assert!(help.contains("Without arguments, standard input is read if it is no terminal."), "{help}");
    assert!(help.contains("# begins a comment"), "{help}");
}

#[test]
fn the_version_is_that_of_the_package() {
    let expected = format!("unishape {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(Folder::new().run(["--version"]).printed(), expected);
    assert_eq!(Folder::new().run(["-V"]).printed(), expected);
}

#[test]
fn completions_are_there_for_every_shell() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = folder.run(["completions", shell]).printed();
        for word in ["unishape", "shape", "broadcast", "dry-run", "eval", "memory"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(folder.run(["completions", "abacus"]).refused(2).contains("possible values: bash"));
}

#[cfg(unix)]
#[test]
fn the_completions_for_bash_are_what_bash_reads() {
    let folder = Folder::new();
    folder.put("script", folder.run(["completions", "bash"]).printed());
    // Where there is no bash, nobody needs them.
    match folder.program("bash", ["-n", "script"]).output() {
        Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{output:?}"),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
    }
    // Typed as far as `unishape broadcast --d`, then Tab.
    let tab = "source ./script; COMP_WORDS=(unishape broadcast --d) COMP_CWORD=2; _unishape unishape --d broadcast; echo \"${COMPREPLY[@]}\"";
    if let Ok(output) = folder.program("bash", ["-c", tab]).output() {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "--dry-run\n", "{output:?}");
    }
    let tab = tab.replace("broadcast --d)", "eval --dtype comp)").replace("CWORD=2", "CWORD=3");
    let tab = tab.replace("--d broadcast", "comp --dtype");
    if let Ok(output) = folder.program("bash", ["-c", &tab]).output() {
        assert_eq!(String::from_utf8_lossy(&output.stdout), "complex64 complex128\n", "{output:?}");
    }
}

#[test]
fn bad_usage_exits_with_2_and_says_where_help_is() {
    let folder = Folder::new();
    for words in [
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
        let said = folder.run(words).refused(2);
        assert!(said.contains("--help"), "{words:?}: {said}");
    }
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn no_arguments_give_the_help_and_exit_with_2() {
    let said = Folder::new().run([""; 0]).refused(2);
    assert!(said.contains("Usage: unishape <COMMAND>") && said.contains("Examples:"), "{said}");
}

/// At a terminal nothing is waited for in silence.
#[cfg(target_os = "linux")]
#[test]
fn no_shapes_at_a_terminal_are_bad_usage_with_a_hint() {
    let Some(shown) =
        crate::support::at_terminal(&Folder::new(), &format!("{BINARY} shape; echo code $?"), &[])
    else {
        return;
    };
    assert!(shown.contains("no shapes given; try `unishape shape 8x1x6x1 7x1x5`, or --help"), "{shown}");
    assert!(shown.contains("code 2"), "{shown}");
}
