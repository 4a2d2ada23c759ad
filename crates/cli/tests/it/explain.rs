//! `unishape explain`.

use crate::files::{Array, zeros};
use crate::support::{Folder, Ran, start};
use unishape::DType;
use unishape_npy as npy;

/// A column of numbers and a row of names, as files.
fn two() -> Folder {
    let folder = Folder::new();
    npy::write(folder.path("prices.npy"), ndarray::arr2(&[[1.5f32], [-0.25], [f32::NAN]]).view())
        .expect("written");
    let names = ndarray::arr1(&["tea".to_string(), "<b>&".into()]);
    npy::write(folder.path("names.npy"), names.view()).expect("written");
    folder
}

#[test]
fn bc5_bc7_a_pipe_gets_plain_text_with_both_steps() {
    let text = Folder::new().run(["explain", "3x1", "4"]).printed();
    assert!(text.starts_with("3x1 with 4 gives 3x4\n"), "{text}");
    for part in ["step 1", "step 2", "Z0[i,j] = Y0[i,0] = X0[i,0]", "Z1[i,j] = Y1[0,j] = X1[j]"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn colours_are_used_as_told() {
    let folder = Folder::new();
    let plain = folder.run(["explain", "3x1", "4"]).printed();
    let always = ["explain", "3x1", "4", "--color", "always"];
    let colored = folder.run(always).printed();
    assert!(colored.contains("\u{1b}["), "{colored}");
    assert_eq!(without_colors(&colored), plain);
    assert_eq!(folder.run(["explain", "3x1", "4", "--color", "never"]).printed(), plain);
    // What the command line says goes before what the surroundings say.
    let told = folder.command(always).env("NO_COLOR", "1").output().expect("it runs");
    assert_eq!(told.stdout, colored.as_bytes());
}

fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |plain, part| plain + part.split_once('m').expect("a colour").1)
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_colours_unless_it_does_not_want_them() {
    let folder = Folder::new();
    let line = format!("{} explain 3x1 4", crate::support::BINARY);
    let at_terminal =
        |surroundings: &[(&str, &str)]| crate::support::at_terminal(&folder, &line, surroundings);
    let Some(shown) = at_terminal(&[("TERM", "xterm")]) else { return };
    assert!(shown.contains("\u{1b}["), "{shown}");
    let empty = at_terminal(&[("TERM", "xterm"), ("NO_COLOR", "")]).expect("as before");
    assert!(empty.contains("\u{1b}["), "{empty}");
    for surroundings in [&[("TERM", "xterm"), ("NO_COLOR", "1")][..], &[("TERM", "dumb")]] {
        let shown = at_terminal(surroundings).expect("as before");
        assert!(shown.contains("3x1 with 4 gives 3x4") && !shown.contains('\u{1b}'), "{shown}");
    }
}

#[test]
fn the_width_is_as_told() {
    let folder = Folder::new();
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    for width in ["40", "120"] {
        let text = folder.run(["explain", "3x1", "4", "--width", width]).printed();
        assert!(widest(&text) <= width.parse().expect("a number"), "{text}");
        let told = folder.command(["explain", "3x1", "4"]).env("COLUMNS", width).output().expect("it runs");
        assert_eq!(String::from_utf8_lossy(&told.stdout), text);
    }
    // Whatever is asked for, something is drawn.
    for width in ["0", "1", "18446744073709551615"] {
        assert!(!folder.run(["explain", "3x1", "4", "--width", width]).printed().is_empty());
    }
}

#[test]
fn files_are_shown_by_name_with_their_values() {
    let text = two().run(["explain", "prices.npy", "names.npy", "2x1x1"]).printed();
    for part in ["prices.npy", "names.npy", "1.5", "-0.25", "NaN", "tea", "<b>&"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn bc3_values_of_every_type_are_shown_or_left_out() {
    let folder = Folder::new();
    for &dtype in DType::ALL {
        folder.put("typed.npy", Array::numbers(dtype, &[3, 1]).file());
        let text = folder.run(["explain", "typed.npy", "1x2"]).printed();
        assert!(text.contains("typed.npy"), "{dtype:?}: {text}");
    }
    // Known by their size alone, and so shown by their place.
    folder.put("dates.npy", Array::of("'<M8[ns]'", &[3, 1]).file());
    assert!(folder.run(["explain", "dates.npy", "1x2"]).printed().contains("dates.npy"));
    // Too many to be read for a picture, which shows a few cells.
    folder.put("many.npy", Array::of("'<f8'", &[300, 200]).file());
    assert!(folder.run(["explain", "many.npy"]).printed().contains("60000 elements"));
    for size in [10_000, 10_001] {
        folder.put("zeros.npy", zeros("'|u1'", &[size]));
        let text = folder.run(["explain", "zeros.npy"]).printed();
        assert_eq!(text.contains("10000 │"), size > 10_000, "{text}");
    }
}

#[test]
fn an_svg_is_written_that_is_well_formed() {
    let folder = two();
    folder.run(["explain", "prices.npy", "names.npy", "--svg", "picture.svg"]).printed();
    let svg = String::from_utf8(folder.bytes("picture.svg")).expect("text");
    let document = roxmltree::Document::parse(&svg).expect("XML");
    assert_eq!(document.root_element().tag_name().name(), "svg");
    let words: String = document.descendants().filter_map(|node| node.text()).collect();
    assert!(words.contains("prices.npy") && words.contains("-0.25") && words.contains("<b>&"), "{words}");
    assert_eq!(folder.names(), ["names.npy", "picture.svg", "prices.npy"]);
    // A hyphen is standard output; a file that is there is replaced.
    assert_eq!(folder.run(["explain", "prices.npy", "names.npy", "--svg", "-"]).printed(), svg);
    folder.put("picture.svg", "old");
    folder.run(["explain", "prices.npy", "names.npy", "--svg", "picture.svg"]).printed();
    assert_eq!(folder.bytes("picture.svg"), svg.as_bytes());
}

#[test]
fn a_page_is_written_that_needs_nothing_else() {
    let folder = two();
    let words = ["explain", "prices.npy", "names.npy", "--svg", "p.svg", "--html", "p.html"];
    folder.run(words).printed();
    assert_eq!(folder.names(), ["names.npy", "p.html", "p.svg", "prices.npy"]);
    let page = String::from_utf8(folder.bytes("p.html")).expect("text");
    assert!(page.to_lowercase().starts_with("<!doctype html>"), "{page}");
    assert!(page.contains("prices.npy") && page.contains("&lt;b&gt;&amp;") && !page.contains("<b>&"));
    for elsewhere in ["src=\"http", "href=\"http", "@import"] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    assert_eq!(folder.run(["explain", "prices.npy", "names.npy", "--html", "-"]).printed(), page);
}

#[test]
fn a_picture_and_a_page_cannot_be_the_same_file() {
    for out in ["-", "p.html"] {
        let folder = Folder::new();
        let said = folder.run(["explain", "3", "--svg", out, "--html", out]).refused(2);
        assert_eq!(said, "unishape: --svg and --html name the same file; give each its own\n");
        assert_eq!(folder.names(), [""; 0]);
    }
}

#[test]
fn one_file_is_one_file_however_its_path_is_written() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("sub")).expect("a folder");
    let absolute = folder.path("x").into_os_string().into_string().expect("text");
    for other in ["./x", "sub/../x", &absolute] {
        let said = folder.run(["explain", "3", "--svg", "x", "--html", other]).refused(2);
        assert_eq!(said, "unishape: --svg and --html name the same file; give each its own\n");
    }
    assert_eq!(folder.names(), ["sub"]);
    // Standard output, and a file that is called so.
    folder.run(["explain", "3", "--svg", "-", "--html", "./-"]).printed();
    assert_eq!(folder.names(), ["-", "sub"]);
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_the_picture_is_where_it_leads() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    let svg = folder.run(["explain", "3", "--svg", "-"]).printed();
    symlink("target.svg", folder.path("p.svg")).expect("a link");
    // First there is nothing behind it, then the picture, which hands its permissions on.
    for _ in 0..2 {
        folder.run(["explain", "3", "--svg", "p.svg"]).printed();
        assert!(folder.path("p.svg").is_symlink());
        assert_eq!(folder.bytes("target.svg"), svg.as_bytes());
        let rights = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(folder.path("target.svg"), rights).expect("it is mine");
    }
    folder.run(["explain", "3", "--svg", "p.svg"]).printed();
    let mode = std::fs::metadata(folder.path("target.svg")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let said = folder.run(["explain", "3", "--svg", "p.svg", "--html", "target.svg"]).refused(2);
    assert!(said.contains("name the same file"), "{said}");
}

#[test]
fn bc9_e1_is_told_with_the_names_of_the_files_and_nothing_is_drawn() {
    let folder = two();
    let expected = "\
unishape: E1: incompatible shapes in dimension 0: prices.npy has 3, input 1 has 2

  prices.npy  3 x 1
  input 1     2 x 1
              ^
Shapes are aligned on the right; in each column every size must be 1 or the same.
";
    for out in [&[][..], &["--svg", "p.svg"], &["--html", "p.html"], &["--color", "always"]] {
        assert_eq!(folder.run(["explain", "prices.npy", "2x1"].iter().chain(out)).refused(1), expected);
    }
    assert_eq!(folder.names().len(), 2);
}

#[test]
fn the_rules_hold_for_pictures_too() {
    let folder = Folder::new();
    assert!(folder.run(["explain", "0x3", "1x3"]).printed().contains("gives 0x3"));
    assert!(
        folder.run(["explain", "0x3", "1x3", "--rules", "sonnx"]).refused(1).contains("compatible only with 0")
    );
    assert!(folder.run(["explain", "3x1", "3", "--strict-rank"]).refused(1).contains("strict rank"));
}

#[test]
fn bc13_a_size_not_known_yet_cannot_be_drawn() {
    let said = Folder::new().run(["explain", "?x3", "5x1"]).refused(2);
    assert!(said.starts_with("unishape: '?x3' cannot be drawn: give every size a number "), "{said}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn bc4_rank_0_and_many_dimensions_are_drawn() {
    let folder = Folder::new();
    assert!(folder.run(["explain", "()"]).printed().starts_with("() "));
    let many = vec!["1"; 100].join("x");
    assert!(folder.run(["explain", &many, "2"]).printed().contains("99   1   1   2  every index reads 0"));
}

#[test]
fn bc14_shapes_beyond_counting_are_explained_all_the_same_or_refused() {
    let ran = Folder::new().run(["explain", "1099511627776x1", "1099511627776"]);
    assert!(ran.code <= 1 && !ran.stderr.contains("panicked"), "{ran:?}");
}

#[cfg(unix)]
#[test]
fn a_hostile_name_is_shown_and_does_nothing() {
    let folder = Folder::new();
    let name = "\u{1b}[31m\r\n<script>alert(1)<!--&\"'.npy";
    folder.put("x", Array::of("'|u1'", &[3, 1]).file());
    // The / in a closing tag cannot be part of a file name.
    std::fs::rename(folder.path("x"), folder.path(name)).expect("any byte but / and NUL may be in a name");
    let text = folder.run(["explain", name, "1x2"]).printed();
    assert!(text.contains("[31m") && !text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
    let svg = folder.run(["explain", name, "1x2", "--svg", "-"]).printed();
    let document = roxmltree::Document::parse(&svg).expect("XML");
    assert!(!document.descendants().any(|node| node.has_tag_name("script")), "{svg}");
    let page = folder.run(["explain", name, "1x2", "--html", "-"]).printed();
    assert!(!page.contains("<script>alert") && !page.contains("<!--&"), "{page}");
    let said = folder.run(["explain", name, "2x2"]).refused(1);
    assert!(said.contains("[31m"), "{said}");
    assert_eq!(said.lines().count(), 6, "{said}");
}

#[test]
fn files_at_fault_are_named() {
    let folder = two();
    folder.put("text.npy", "not an array");
    let whole = folder.bytes("prices.npy");
    folder.put("short.npy", &whole[..whole.len() - 1]);
    for (name, problem) in [("gone.npy", ""), ("text.npy", "not an .npy file"), ("short.npy", "truncated")] {
        for words in [&["explain", "prices.npy", name][..], &["explain", name, "--svg", "p.svg"]] {
            let said = folder.run(words).refused(1);
            assert!(said.starts_with(&format!("unishape: {name}: ")) && said.contains(problem), "{said}");
        }
    }
    assert!(!folder.path("p.svg").exists());
    let said = folder.run(["explain", "3x", "4"]).refused(2);
    assert!(said.starts_with("unishape: '3x' is no shape: "), "{said}");
}

#[test]
fn a_picture_that_cannot_be_written_leaves_nothing() {
    let folder = Folder::new();
    for words in [
        &["explain", "3", "--svg", "missing/p.svg"][..],
        &["explain", "3", "--html", "missing/p.html"],
        &["explain", "3", "--svg", "p.svg", "--html", "missing/p.html"],
    ] {
        let said = folder.run(words).refused(1);
        assert!(said.starts_with("unishape: missing"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_eq!(folder.names(), [""; 0]);
    }
}

#[cfg(unix)]
#[test]
fn a_picture_that_fails_in_the_middle_leaves_what_was_there() {
    let folder = Folder::new();
    folder.put("p.html", "old");
    let words = ["explain", "8x1x6x1", "7x1x5", "--html", "p.html"];
    let said = Ran::of(&mut folder.limited("trap '' XFSZ && ulimit -f 4", &words)).refused(1);
    assert!(said.starts_with("unishape: p.html: "), "{said}");
    assert_eq!((folder.names(), folder.bytes("p.html")), (vec!["p.html".into()], b"old".into()));
}

/// A device is written to; a temporary file renamed over it would take its place.
#[cfg(unix)]
#[test]
fn what_is_no_ordinary_file_is_written_to_in_place() {
    let folder = Folder::new();
    let svg = folder.run(["explain", "3", "--svg", "-"]).printed();
    assert_eq!(folder.run(["explain", "3", "--svg", "/dev/stdout"]).printed(), svg);
    std::fs::create_dir(folder.path("p.svg")).expect("a folder");
    let said = folder.run(["explain", "3", "--svg", "p.svg"]).refused(1);
    assert!(said.starts_with("unishape: p.svg: "), "{said}");
}

#[test]
fn nobody_reading_is_no_error() {
    let folder = Folder::new();
    for out in ["--svg", "--html"] {
        let words = ["explain", "9x1x6x1", "7x1x5", "9x1x1x1", "6x5", "7x1x1", out, "-"];
        // More than a pipe holds, so that it cannot have been written before the pipe is closed.
        assert!(folder.run(words).printed().len() > 1 << 16);
        let mut child = start(&mut folder.command(words));
        drop(child.stdout.take());
        let ran = Ran::new(child.wait_with_output().expect("it ends"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    }
}
