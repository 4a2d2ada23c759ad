//! `cargo xtask sonnx`: the package for SONNX.
//!
//! Extracts the C of `sonnx/c` and tests it, and renders the specification with its annexes as one HTML page and as PDF.
//! pandoc makes the page, and Chromium prints it.

use crate::command::{command, root, run, succeeds};
use crate::extract::{self, SONNX_C};
use crate::install::apt_install;
use crate::tools;
use std::fs;
use std::path::Path;

/// The folder of the rendered documents, and of the compiled test of the C.
const FOLDER: &str = "target/sonnx";

/// The files of the C, which are compiled in a copy.
const C_FILES: [&str; 4] = ["Makefile", "copbroadcast.c", "copbroadcast.h", "test.c"];

/// The documents in the order of the page, with the part of each that it has: all of it, or what follows a heading.
/// Links to a whole document lead to the anchor, that of its first heading.
const DOCUMENTS: [(&str, Option<&str>, &str); 3] = [
    ("sonnx/broadcast.md", None, "contents"),
    ("docs/requirements.md", None, "requirements"),
    ("sonnx/README.md", Some("## Trace matrix"), "trace-matrix"),
];

/// The title of the page.
const TITLE: &str = "Broadcast: specification for SONNX";

pub(crate) fn run_task() -> Result<(), String> {
    let folder = root().join(FOLDER);
    fs::create_dir_all(folder.join("c")).map_err(|error| format!("{FOLDER}: {error}"))?;
    match extract::set_up_sonnx()? {
        true => eprintln!("{SONNX_C} is what Why3 extracts."),
        false => eprintln!("{SONNX_C} is not extracted again: no Why3."),
    }
    for name in C_FILES {
        let from = root().join("sonnx/c").join(name);
        fs::copy(&from, folder.join("c").join(name))
            .map_err(|error| format!("{}: {error}", from.display()))?;
    }
    run("test of the C", command("make", &["--silent", "-C", &format!("{FOLDER}/c")]))?;

    if !succeeds(command("pandoc", &["--version"])) && !apt_install(&["pandoc"]) {
        return Err("no pandoc: install it to render the specification".into());
    }
    let Some(browser) = tools::browser() else {
        return Err("no browser: install Chromium for the PDF".into());
    };
    let mut text = String::new();
    for (file, heading, _) in DOCUMENTS {
        let document = fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"))?;
        let part = match heading {
            None => &document[..],
            Some(heading) => match document.split_once(heading) {
                Some((_, part)) => &format!("# Trace matrix\n{part}"),
                None => return Err(format!("{file} has no heading {heading}")),
            },
        };
        text += &format!("{}\n\n", linked(part)?);
    }
    let source = folder.join("broadcast.md");
    fs::write(&source, text).map_err(|error| format!("{}: {error}", source.display()))?;
    let (html, pdf) = (folder.join("broadcast.html"), folder.join("broadcast.pdf"));
    let mut pandoc = command(
        "pandoc",
        &["--from", "markdown-blank_before_header", "--to", "html5", "--standalone", "--self-contained"],
    );
    pandoc.args(["--mathml", "--css", "sonnx/page.css", "--resource-path", "sonnx", "--metadata", "lang=en"]);
    pandoc.args(["--metadata", &format!("title={TITLE}"), "--output"]).arg(&html).arg(&source);
    run("HTML", pandoc)?;
    let mut print =
        command(&browser, &["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]);
    print.arg(format!("--print-to-pdf={}", pdf.display())).arg(format!("file://{}", absolute(&html)?));
    if !succeeds(print) {
        return Err(format!("{browser} cannot print {}", html.display()));
    }
    eprintln!("\nThe specification is in {} and {}.", html.display(), pdf.display());
    Ok(())
}

fn absolute(path: &Path) -> Result<String, String> {
    let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path.to_string_lossy().into_owned())
}

/// A document whose links lead to parts of the page or to the web; of other links, only the text stays. Pictures stay.
fn linked(text: &str) -> Result<String, String> {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((target, following)) = after.split_once(')') else { return Err("a link has no end".into()) };
        // The text of a link may contain brackets, in backquotes: `[T1]`.
        let mut depth = 1;
        let start = before.char_indices().rev().find(|(_, c)| {
            depth += i32::from(*c == ']') - i32::from(*c == '[');
            depth == 0
        });
        let Some((start, _)) = start else { return Err(format!("no text of the link to {target}")) };
        let (before, text) = (&before[..start], &before[start + 1..]);
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        // An empty name is the document itself.
        let document = DOCUMENTS.iter().find(|(path, ..)| path.ends_with(file.trim_start_matches("../")));
        let target = match document {
            Some((.., first)) if anchor.is_empty() => format!("#{first}"),
            Some(_) => format!("#{anchor}"),
            None => target.to_owned(),
        };
        kept += before;
        match before.ends_with('!') || target.starts_with('#') || target.starts_with("https:") {
            true => kept += &format!("[{text}]({target})"),
            false => kept += text,
        }
        rest = following;
    }
    Ok(kept + rest)
}

#[cfg(test)]
mod tests {
    use super::linked;

    #[test]
    fn links_lead_to_parts_of_the_page() {
        for (text, page) in [
            ("a [b](#c) d", "a [b](#c) d"),
            ("[`[T1]`](broadcast.md#T1)", "[`[T1]`](#T1)"),
            ("[drafts](../docs/requirements.md)", "[drafts](#requirements)"),
            ("[here](../docs/testing.md#a) and [f](formal/f.mlw)", "here and f"),
            ("![p](../docs/p.svg) [w](https://a.b/c)", "![p](../docs/p.svg) [w](https://a.b/c)"),
        ] {
            assert_eq!(linked(text).as_deref(), Ok(page));
        }
        assert!(linked("[a](b").is_err());
    }
}
