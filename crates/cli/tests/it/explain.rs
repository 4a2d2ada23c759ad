//! `unishape explain`.

use crate::arrays::{Array, zeros};
use crate::support::{RunOutput, TestDir, start};
use unishape::DType;
use unishape_npy as npy;

/// A column of numbers and a row of names, as files.
fn prices_and_names() -> TestDir {
    let dir = TestDir::new();
    npy::write(dir.path("prices.npy"), ndarray::arr2(&[[1.5f32], [-0.25], [f32::NAN]]).view())
        .expect("written");
    let names = ndarray::arr1(&["tea".to_string(), "<b>&".into()]);
    npy::write(dir.path("names.npy"), names.view()).expect("written");
    dir
}

#[test]
fn bc5_bc7_a_pipe_gets_plain_text_with_both_steps() {
    let text = TestDir::new().run(["explain", "3x1", "4"]).expect_success();
    assert!(text.starts_with("3x1 with 4 gives 3x4\n"), "{text}");
    for part in ["step 1", "step 2", "Z0[i,j] = Y0[i,0] = X0[i,0]", "Z1[i,j] = Y1[0,j] = X1[j]"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_color_option_is_respected() {
    let dir = TestDir::new();
    let plain = dir.run(["explain", "3x1", "4"]).expect_success();
    let always = ["explain", "3x1", "4", "--color", "always"];
    let colored = dir.run(always).expect_success();
    assert!(colored.contains("\u{1b}["), "{colored}");
    assert_eq!(without_colors(&colored), plain);
    assert_eq!(dir.run(["explain", "3x1", "4", "--color", "never"]).expect_success(), plain);
    // The command line takes precedence over the environment.
    let output = dir.command(always).env("NO_COLOR", "1").output().expect("an exit");
    assert_eq!(output.stdout, colored.as_bytes());
}

fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |plain, part| plain + part.split_once('m').expect("a color").1)
}

#[cfg(target_os = "linux")]
#[test]
fn colors_are_used_on_a_terminal_unless_disabled() {
    let dir = TestDir::new();
    let line = format!("{} explain 3x1 4", crate::support::BINARY);
    let on_terminal = |environment: &[(&str, &str)]| crate::support::on_terminal(&dir, &line, environment);
    let Some(shown) = on_terminal(&[("TERM", "xterm")]) else { return };
    assert!(shown.contains("\u{1b}["), "{shown}");
    let empty = on_terminal(&[("TERM", "xterm"), ("NO_COLOR", "")]).expect("a terminal");
    assert!(empty.contains("\u{1b}["), "{empty}");
    for environment in [&[("TERM", "xterm"), ("NO_COLOR", "1")][..], &[("TERM", "dumb")]] {
        let shown = on_terminal(environment).expect("a terminal");
        assert!(shown.contains("3x1 with 4 gives 3x4") && !shown.contains('\u{1b}'), "{shown}");
    }
}

#[test]
fn the_width_option_is_respected() {
    let dir = TestDir::new();
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    for width in ["40", "120"] {
        let text = dir.run(["explain", "3x1", "4", "--width", width]).expect_success();
        assert!(widest(&text) <= width.parse().expect("a number"), "{text}");
        let output = dir.command(["explain", "3x1", "4"]).env("COLUMNS", width).output().expect("an exit");
        assert_eq!(String::from_utf8_lossy(&output.stdout), text);
    }
    // Any width gives a figure.
    for width in ["0", "1", "18446744073709551615"] {
        assert!(!dir.run(["explain", "3x1", "4", "--width", width]).expect_success().is_empty());
    }
}

#[test]
fn files_are_shown_by_name_with_their_values() {
    let text = prices_and_names().run(["explain", "prices.npy", "names.npy", "2x1x1"]).expect_success();
    for part in ["prices.npy", "names.npy", "1.5", "-0.25", "NaN", "tea", "<b>&"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn bc3_values_of_supported_types_are_shown() {
    let dir = TestDir::new();
    for &dtype in DType::ALL {
        dir.write("typed.npy", Array::numbers(dtype, &[3, 1]).file());
        let text = dir.run(["explain", "typed.npy", "1x2"]).expect_success();
        assert!(text.contains("typed.npy"), "{dtype:?}: {text}");
    }
    // An unsupported dtype: shown by their indices.
    dir.write("dates.npy", Array::of("'<M8[ns]'", &[3, 1]).file());
    assert!(dir.run(["explain", "dates.npy", "1x2"]).expect_success().contains("dates.npy"));
    // Too many to be read for a figure of a few cells.
    dir.write("many.npy", Array::of("'<f8'", &[300, 200]).file());
    assert!(dir.run(["explain", "many.npy"]).expect_success().contains("60000 elements"));
    for size in [10_000, 10_001] {
        dir.write("zeros.npy", zeros("'|u1'", &[size]));
        let text = dir.run(["explain", "zeros.npy"]).expect_success();
        assert_eq!(text.contains("10000 │"), size > 10_000, "{text}");
    }
}

#[test]
fn the_svg_is_well_formed() {
    let dir = prices_and_names();
    dir.run(["explain", "prices.npy", "names.npy", "--svg", "figure.svg"]).expect_success();
    let svg = String::from_utf8(dir.read("figure.svg")).expect("text");
    let document = roxmltree::Document::parse(&svg).expect("XML");
    assert_eq!(document.root_element().tag_name().name(), "svg");
    let texts: String = document.descendants().filter_map(|node| node.text()).collect();
    assert!(texts.contains("prices.npy") && texts.contains("-0.25") && texts.contains("<b>&"), "{texts}");
    assert_eq!(dir.list(), ["figure.svg", "names.npy", "prices.npy"]);
    // A hyphen is standard output.
    assert_eq!(dir.run(["explain", "prices.npy", "names.npy", "--svg", "-"]).expect_success(), svg);
    dir.write("figure.svg", "old");
    dir.run(["explain", "prices.npy", "names.npy", "--svg", "figure.svg", "--force"]).expect_success();
    assert_eq!(dir.read("figure.svg"), svg.as_bytes());
}

#[test]
fn existing_files_are_replaced_only_with_force() {
    let dir = TestDir::new();
    dir.write("p.html", "old");
    let args = ["explain", "3", "--svg", "p.svg", "--html", "p.html"];
    let message = dir.run(args).expect_error(4);
    assert_eq!(message, "unishape: p.html already exists; use --force to replace it\n");
    assert_eq!((dir.list(), dir.read("p.html")), (vec!["p.html".into()], b"old".into()));
    dir.run(args.iter().chain(&["--force"])).expect_success();
    assert_ne!(dir.read("p.html"), b"old");
    assert_eq!(dir.list(), ["p.html", "p.svg"]);
}

#[test]
fn the_page_is_self_contained() {
    let dir = prices_and_names();
    let args = ["explain", "prices.npy", "names.npy", "--svg", "p.svg", "--html", "p.html"];
    dir.run(args).expect_success();
    assert_eq!(dir.list(), ["names.npy", "p.html", "p.svg", "prices.npy"]);
    let page = String::from_utf8(dir.read("p.html")).expect("text");
    assert!(page.to_lowercase().starts_with("<!doctype html>"), "{page}");
    assert!(page.contains("prices.npy") && page.contains("&lt;b&gt;&amp;") && !page.contains("<b>&"));
    for elsewhere in ["src=\"http", "href=\"http", "@import"] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    assert_eq!(dir.run(["explain", "prices.npy", "names.npy", "--html", "-"]).expect_success(), page);
}

#[test]
fn svg_and_html_need_different_files() {
    for out in ["-", "p.html"] {
        let dir = TestDir::new();
        let message = dir.run(["explain", "3", "--svg", out, "--html", out]).expect_error(2);
        assert_eq!(message, "unishape: --svg and --html name the same file; give two different files\n");
        assert_eq!(dir.list(), [""; 0]);
    }
}

#[test]
fn svg_and_html_need_different_files_however_paths_are_written() {
    let dir = TestDir::new();
    std::fs::create_dir(dir.path("sub")).expect("a directory");
    let absolute = dir.path("x").into_os_string().into_string().expect("text");
    for other in ["./x", "sub/../x", &absolute] {
        let message = dir.run(["explain", "3", "--svg", "x", "--html", other]).expect_error(2);
        assert_eq!(message, "unishape: --svg and --html name the same file; give two different files\n");
    }
    assert_eq!(dir.list(), ["sub"]);
    // Standard output, and a file named -.
    dir.run(["explain", "3", "--svg", "-", "--html", "./-"]).expect_success();
    assert_eq!(dir.list(), ["-", "sub"]);
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_its_target_is_replaced() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = TestDir::new();
    let svg = dir.run(["explain", "3", "--svg", "-"]).expect_success();
    symlink("target.svg", dir.path("p.svg")).expect("a link");
    // First the link is dangling; then its target exists and passes its permissions on.
    for _ in 0..2 {
        dir.run(["explain", "3", "--svg", "p.svg", "-f"]).expect_success();
        assert!(dir.path("p.svg").is_symlink());
        assert_eq!(dir.read("target.svg"), svg.as_bytes());
        let rights = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(dir.path("target.svg"), rights).expect("own file");
    }
    dir.run(["explain", "3", "--svg", "p.svg", "-f"]).expect_success();
    let mode = std::fs::metadata(dir.path("target.svg")).expect("existing").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let message = dir.run(["explain", "3", "--svg", "p.svg", "--html", "target.svg"]).expect_error(2);
    assert!(message.contains("name the same file"), "{message}");
}

#[test]
fn bc9_e1_names_the_files_and_nothing_is_drawn() {
    let dir = prices_and_names();
    let expected = "\
unishape: E1: incompatible shapes in dimension 0: prices.npy has 3, input 1 has 2

  prices.npy  3 x 1
  input 1     2 x 1
              ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
";
    for out in [&[][..], &["--svg", "p.svg"], &["--html", "p.html"], &["--color", "always"]] {
        assert_eq!(dir.run(["explain", "prices.npy", "2x1"].iter().chain(out)).expect_error(1), expected);
    }
    assert_eq!(dir.list().len(), 2);
}

#[test]
fn rule_options_apply_to_figures() {
    let dir = TestDir::new();
    assert!(dir.run(["explain", "0x3", "1x3"]).expect_success().contains("gives 0x3"));
    assert!(
        dir.run(["explain", "0x3", "1x3", "--rules", "sonnx"])
            .expect_error(1)
            .contains("compatible only with 0")
    );
    assert!(dir.run(["explain", "3x1", "3", "--strict-rank"]).expect_error(1).contains("strict rank"));
}

#[test]
fn bc13_unknown_sizes_cannot_be_drawn() {
    let message = TestDir::new().run(["explain", "?x3", "5x1"]).expect_error(2);
    assert!(
        message.starts_with("unishape: '?x3' cannot be drawn: every size must be a number "),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1);
}

#[test]
fn bc4_rank_0_and_many_dimensions_are_drawn() {
    let dir = TestDir::new();
    assert!(dir.run(["explain", "()"]).expect_success().starts_with("() "));
    let many = vec!["1"; 100].join("x");
    assert!(
        dir.run(["explain", &many, "2"]).expect_success().contains("99   1   1   2  every index reads 0")
    );
}

#[test]
fn bc14_uncountable_shapes_do_not_panic() {
    let output = TestDir::new().run(["explain", "1099511627776x1", "1099511627776"]);
    assert!(output.code <= 1 && !output.stderr.contains("panicked"), "{output:?}");
}

#[cfg(unix)]
#[test]
fn hostile_file_names_are_escaped() {
    let dir = TestDir::new();
    let name = "\u{1b}[31m\r\n<script>alert(1)<!--&\"'.npy";
    dir.write("x", Array::of("'|u1'", &[3, 1]).file());
    // A file name cannot contain the / of a closing tag.
    std::fs::rename(dir.path("x"), dir.path(name)).expect("a valid file name");
    let text = dir.run(["explain", name, "1x2"]).expect_success();
    assert!(text.contains("[31m") && !text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
    let svg = dir.run(["explain", name, "1x2", "--svg", "-"]).expect_success();
    let document = roxmltree::Document::parse(&svg).expect("XML");
    assert!(!document.descendants().any(|node| node.has_tag_name("script")), "{svg}");
    let page = dir.run(["explain", name, "1x2", "--html", "-"]).expect_success();
    assert!(!page.contains("<script>alert") && !page.contains("<!--&"), "{page}");
    let message = dir.run(["explain", name, "2x2"]).expect_error(1);
    assert!(message.contains("[31m"), "{message}");
    assert_eq!(message.lines().count(), 6, "{message}");
}

#[test]
fn errors_name_the_file() {
    let dir = prices_and_names();
    dir.write("text.npy", "not an array");
    let whole = dir.read("prices.npy");
    dir.write("short.npy", &whole[..whole.len() - 1]);
    for (name, code, problem) in
        [("gone.npy", 4, ""), ("text.npy", 5, "not an .npy file"), ("short.npy", 5, "truncated")]
    {
        for args in [&["explain", "prices.npy", name][..], &["explain", name, "--svg", "p.svg"]] {
            let message = dir.run(args).expect_error(code);
            assert!(
                message.starts_with(&format!("unishape: {name}: ")) && message.contains(problem),
                "{message}"
            );
        }
    }
    assert!(!dir.path("p.svg").exists());
    let message = dir.run(["explain", "3x", "4"]).expect_error(2);
    assert!(message.starts_with("unishape: '3x' is no shape: "), "{message}");
}

#[test]
fn a_figure_that_cannot_be_written_leaves_nothing() {
    let dir = TestDir::new();
    for args in [
        &["explain", "3", "--svg", "missing/p.svg"][..],
        &["explain", "3", "--html", "missing/p.html"],
        &["explain", "3", "--svg", "p.svg", "--html", "missing/p.html"],
    ] {
        let message = dir.run(args).expect_error(4);
        assert!(message.starts_with("unishape: missing"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(dir.list(), [""; 0]);
    }
}

#[cfg(unix)]
#[test]
fn a_failed_write_keeps_the_existing_file() {
    let dir = TestDir::new();
    dir.write("p.html", "old");
    let args = ["explain", "8x1x6x1", "7x1x5", "--html", "p.html", "--force"];
    let message = RunOutput::of(&mut dir.limited("trap '' XFSZ && ulimit -f 4", &args)).expect_error(4);
    assert!(message.starts_with("unishape: p.html: "), "{message}");
    assert_eq!((dir.list(), dir.read("p.html")), (vec!["p.html".into()], b"old".into()));
}

/// A temporary file must not be renamed over a device.
#[cfg(unix)]
#[test]
fn devices_are_written_in_place_and_directories_are_errors() {
    let dir = TestDir::new();
    let svg = dir.run(["explain", "3", "--svg", "-"]).expect_success();
    assert_eq!(dir.run(["explain", "3", "--svg", "/dev/stdout"]).expect_success(), svg);
    std::fs::create_dir(dir.path("p.svg")).expect("a directory");
    let message = dir.run(["explain", "3", "--svg", "p.svg"]).expect_error(4);
    assert!(message.starts_with("unishape: p.svg: "), "{message}");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let dir = TestDir::new();
    for out in ["--svg", "--html"] {
        let args = ["explain", "9x1x6x1", "7x1x5", "9x1x1x1", "6x5", "7x1x1", out, "-"];
        // More than the capacity of a pipe, so that it cannot be written before the pipe is closed.
        assert!(dir.run(args).expect_success().len() > 1 << 16);
        let mut child = start(&mut dir.command(args));
        drop(child.stdout.take());
        let output = RunOutput::new(child.wait_with_output().expect("an exit"));
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    }
}

#[test]
fn reductions_are_drawn_with_their_results() {
    let dir = TestDir::new();
    npy::write(dir.path("x.npy"), ndarray::arr2(&[[1.5f64, 2.0], [3.5, 4.0]]).view()).expect("written");
    let text = dir.run(["explain", "x.npy", "--reduce", "sum", "--axis", "-1"]).expect_success();
    assert!(text.starts_with("sum of 2x2 along axis 1 gives 2\n"), "{text}");
    assert!(text.contains("│ 3.5 │ 7.5 │"), "{text}");
    let text =
        dir.run(["explain", "2x3x4", "--reduce", "max", "--axis", "-1,0", "--keepdims"]).expect_success();
    assert!(text.contains("R[0,j,0] = Y[0,j,0] = max(X[:,j,:])"), "{text}");
    dir.run(["explain", "3x4", "--reduce", "mean", "--svg", "r.svg", "--html", "r.html"]).expect_success();
    assert!(
        String::from_utf8(dir.read("r.svg"))
            .expect("text")
            .contains("mean of 3x4 along axes 0 and 1 gives ()")
    );
    assert!(String::from_utf8(dir.read("r.html")).expect("text").contains("<title>Reduction: mean"));
}

#[test]
fn invalid_reductions_are_reported() {
    let dir = TestDir::new();
    npy::write(dir.path("empty.npy"), ndarray::Array2::<f64>::zeros((0, 3)).view()).expect("written");
    for (arguments, code, part) in [
        (&["3x4", "4", "--reduce", "sum"][..], 2, "--reduce takes one shape or file"),
        (&["3x4", "--reduce", "median"], 2, "not a reduction"),
        (&["3x4", "--axis", "1"], 2, "--reduce"),
        (&["3x4", "--reduce", "sum", "--axis", "2"], 5, "axis 2"),
        (&["3x4", "--reduce", "sum", "--axis", "1,-1"], 5, "given twice"),
        (&["3x4", "--reduce", "argmax", "--axis", "0,1"], 2, "argmax takes a single axis"),
        (
            &["empty.npy", "--reduce", "max"],
            5,
            "max of no elements is not defined: an axis that is reduced has size 0\n",
        ),
    ] {
        let output: RunOutput = dir.run(["explain"].iter().chain(arguments));
        assert_eq!(output.code, code, "{arguments:?}: {}", output.stderr);
        assert!(output.stderr.contains(part), "{}", output.stderr);
    }
}

#[test]
fn names_of_dimensions_are_drawn_in_every_form() {
    let dir = TestDir::new();
    let inputs = ["explain", "N,3,H,W", "3,1,1", "(W,)"];
    let text = dir.run(inputs).expect_success();
    for part in [
        "Nx3xHxW with 3x1x1 and W gives Nx3xHxW\n",
        "Drawn with N = 2, H = 3, W = 4.",
        "X0  Nx3xHxW",
        "Y1  1x3x1x1",
        "Z1  Nx3xHxW",
        "dimension 0: added by step 1: 1 → N, every index reads 0",
        "dimension 3: W, every index reads itself",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    dir.run(inputs.iter().chain(&["--svg", "figure.svg", "--html", "page.html"])).expect_success();
    let text_of = |name: &str| String::from_utf8(dir.read(name)).expect("UTF-8");
    let (svg, html) = (text_of("figure.svg"), text_of("page.html"));
    for figure in [&svg, &html] {
        assert!(figure.contains("Nx3xHxW with 3x1x1 and W gives Nx3xHxW"));
        assert!(figure.contains("Drawn with N = 2, H = 3, W = 4."));
        assert!(!figure.contains("2x3x3x4") && !figure.contains("2×3×3×4"));
    }
    let document = roxmltree::Document::parse(&svg).expect("XML");
    let sizes = document.descendants().filter(|node| node.attribute("class") == Some("shape"));
    let sizes: Vec<String> = sizes
        .map(|node| {
            node.descendants().filter(roxmltree::Node::is_text).filter_map(|node| node.text()).collect()
        })
        .collect();
    assert_eq!(sizes[..3], ["N×3×H×W"; 3]);
    assert_eq!(sizes[3..6], ["3×1×1", "1×3×1×1", "N×3×H×W"]);
    assert_eq!(sizes[6..], ["W", "1×1×1×W", "N×3×H×W"]);
    assert!(html.contains("N×3×H×W"));
    // Long dimensions have their names along them, and a name that some other input does not share is not kept.
    let text = dir.run(["explain", "N,3", "1000,1", "--dim", "N=1000"]).expect_success();
    assert!(text.starts_with("Nx3 with 1000x1 gives 1000x3\n"), "{text}");
    let text = dir.run(["explain", "batch,3", "3", "--dim", "batch=1000"]).expect_success();
    assert!(text.contains("Drawn with batch = 1000."), "{text}");
}

/// Sizes that are only drawn never make shapes incompatible.
#[test]
fn names_take_sizes_that_are_compatible() {
    let dir = TestDir::new();
    for (inputs, head) in [
        (["N,3", "7,1"], "Nx3 with 7x1 gives 7x3\n"),
        (["N,H", "N,W"], "NxH with NxW gives Nx3\n"),
        (["N,5", "(C,)"], "Nx5 with C gives Nx5\n"),
    ] {
        let figure = dir.run(["explain"].iter().chain(&inputs)).expect_success();
        assert!(figure.starts_with(head), "{figure}");
    }
    for command in ["shape", "explain"] {
        let message = dir.run([command, "N,3,H,W", "4,1,1"]).expect_error(1);
        assert!(message.contains("\n  input 0  ? x 3 x ? x ?\n"), "{message}");
    }
    let message = dir.run(["explain", "N,2", "3,1", "--dim", "N=4"]).expect_error(1);
    assert!(message.contains("input 0 has 4, input 1 has 3"), "{message}");
    let message = dir.run(["explain", "N,H", "3,1", "--dim", "N=4,M=2"]).expect_error(2);
    assert_eq!(message, "unishape: --dim M: no input has a dimension of that name; they have N, H\n");
    let message = dir.run(["explain", "2x3", "--dim", "M=2"]).expect_error(2);
    assert_eq!(message, "unishape: --dim M: no input has a dimension of that name\n");
}

/// The elements of a pipe can be read once.
#[test]
fn values_of_standard_input_are_shown() {
    let dir = prices_and_names();
    let text = dir.run_with_input(["explain", "-", "1x2"], &dir.read("prices.npy")).expect_success();
    for part in ["── X0  - ──", "-0.25", "1.5"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Strings are read from files of their own only.
    let names = dir.read("names.npy");
    dir.run(["broadcast", "names.npy", "-q", "--out", "z.npz"]).expect_success();
    for text in [
        dir.run(["explain", "z.npz:names", "2x1"]),
        #[cfg(unix)]
        dir.run_with_input(["explain", "/dev/stdin", "2x1"], &names),
        dir.run_with_input(["explain", "-", "2x1"], &names),
    ] {
        let text = text.expect_success();
        assert!(text.contains("2 with 2x1 gives 2x2") && !text.contains("tea"), "{text}");
    }
    assert!(dir.run(["explain", "names.npy", "2x1"]).expect_success().contains("tea"));
}

#[test]
fn a_reduction_to_an_index_takes_one_axis() {
    let dir = TestDir::new();
    let reduce = ["explain", "2x3", "--reduce", "argmin"];
    for (axis, shape) in [(&["--axis", "0"][..], "3"), (&["--axis=-1"], "2"), (&[], "()")] {
        let json = dir.run(reduce.iter().chain(axis).chain(&["--json"])).expect_success();
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let sizes: Vec<String> =
            json["shape"].as_array().expect("a shape").iter().map(ToString::to_string).collect();
        assert_eq!(if sizes.is_empty() { "()".into() } else { sizes.join("x") }, shape, "{axis:?}");
    }
    let message = dir.run(reduce.iter().chain(&["--axis", "0,1"])).expect_error(2);
    let problem = "argmin takes a single axis, or none for the index among all elements";
    assert_eq!(message, format!("unishape: {problem}\n"));
}
