//! All mutants of a package in one program, of which an environment variable chooses one.
//!
//! To compile and link the tests for one mutant takes seconds, to run the tests that notice it a fraction of
//! one. So every function that has mutants becomes a `match` over the number of the chosen one, with a copy
//! of its body for each mutant, changed as cargo-mutants says. What does not compile is taken out, and the
//! tests are built once.

use super::{Package, SLOW};
use crate::command::{command, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The variable that holds the number of a mutant. There is no mutant 0.
const CHOSEN: &str = "UNISHAPE_MUTANT";

/// Far more than any of the tests takes, and how many times what it took without a mutant, with some time
/// that a busy machine may take.
const PATIENCE: Duration = Duration::from_secs(600);
const TIMES: u32 = 4;
const AT_LEAST: Duration = Duration::from_secs(20);

struct Mutant {
    name: String,
    file: String,
    /// The function with its attributes, and what is replaced in it.
    function: Option<Range<Place>>,
    span: Range<Place>,
    replacement: String,
}

/// A line and a column, counted from 1, in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(usize, usize);

/// What became of mutants.
#[derive(Default)]
pub(super) struct Judged {
    /// Names of those that no test noticed.
    pub(super) survivors: Vec<String>,
    /// Of those that cannot be chosen when running: constants, and functions that return `impl Trait`.
    pub(super) left: Vec<String>,
}

/// Judges all mutants of a package.
pub(super) fn judge(package: &Package, tool: &Path, folder: &Path) -> Result<Judged, String> {
    let mutants = list(package, tool)?;
    // What others have written is compiled once, and not for every run of this chore.
    let target = root().join("target/mutants-at-once");
    let tree = Tree { package, folder: folder.join("tree"), target };
    tree.copy()?;
    let mut judged = Judged::default();
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    let sources = tree.sources(&mutants)?;
    for (at, mutant) in mutants.iter().enumerate() {
        match sources[&mutant.file].body(mutant) {
            Some(_) => _ = chosen.insert(at),
            None => judged.left.push(mutant.name.clone()),
        }
    }
    let mut unviable: BTreeSet<usize> = BTreeSet::new();
    loop {
        let lines = tree.write(&mutants, &sources, &chosen)?;
        let wrong = tree.check(&lines)?;
        if wrong.is_empty() {
            break;
        }
        eprintln!("{} do not compile", wrong.len());
        chosen.retain(|at| !wrong.contains(at));
        unviable.extend(wrong);
    }
    let programs = tree.build()?;
    let mut tests = Tests { tree: &tree, programs, patience: [PATIENCE; 2] };
    for (slow, patience) in [PATIENCE; 2].into_iter().enumerate() {
        let begun = Instant::now();
        if let Some(name) = tests.notice("", 0, slow)? {
            return Err(format!("{name} of {} fails without any mutant", package.name));
        }
        tests.patience[slow] = patience.min(AT_LEAST + TIMES * begun.elapsed());
    }
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for (at, mutant) in mutants.iter().enumerate() {
        let [all, noticed, without, surviving] = counts.entry(&mutant.file).or_default();
        *all += 1;
        if unviable.contains(&at) {
            *without += 1;
        } else if chosen.contains(&at) {
            // Slow tests are for those that the quick ones let through. On a busy machine one of them may fail
            // by itself, but hardly twice.
            let notices = |slow: usize| tests.notice(&mutant.file, at + 1, slow).map(|by| by.is_some());
            if notices(0)? || (notices(1)? && notices(1)?) {
                *noticed += 1;
            } else {
                *surviving += 1;
                eprintln!("MISSED   {}", mutant.name);
                judged.survivors.push(mutant.name.clone());
            }
        }
    }
    println!("| file | mutants | noticed | do not compile | survivors |\n|---|---|---|---|---|");
    for (file, [all, noticed, without, surviving]) in counts {
        println!("| `{file}` | {all} | {noticed} | {without} | {surviving} |");
    }
    Ok(judged)
}

fn list(package: &Package, tool: &Path) -> Result<Vec<Mutant>, String> {
    let output = command(tool, &["mutants", "--list", "--json", "--package", package.name])
        .output()
        .map_err(|error| error.to_string())?;
    let list: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let place = |of: &Value| {
        let number = |key: &str| of[key].as_u64().unwrap_or(0) as usize;
        Place(number("line"), number("column"))
    };
    let range = |of: &Value| place(&of["start"])..place(&of["end"]);
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let mutant = |of: &Value| Mutant {
        name: text(&of["name"]),
        file: text(&of["file"]),
        function: of["function"].is_object().then(|| range(&of["function"]["span"])),
        span: range(&of["span"]),
        replacement: text(&of["replacement"]),
    };
    Ok(list.as_array().into_iter().flatten().map(mutant).collect())
}

/// A copy of the project.
struct Tree<'p> {
    package: &'p Package,
    folder: PathBuf,
    target: PathBuf,
}

/// Which mutant stands in which lines of a file.
type Lines = BTreeMap<String, Vec<(Range<usize>, usize)>>;

impl Tree<'_> {
    fn copy(&self) -> Result<(), String> {
        let files = command("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .output()
            .map_err(|error| format!("git: {error}"))?;
        for file in String::from_utf8_lossy(&files.stdout).split('\0').filter(|file| !file.is_empty()) {
            let (from, to) = (root().join(file), self.folder.join(file));
            if from.is_file() {
                fs::create_dir_all(to.parent().unwrap_or(&self.folder)).map_err(|error| error.to_string())?;
                fs::copy(&from, &to).map_err(|error| format!("{file}: {error}"))?;
            }
        }
        Ok(())
    }

    fn sources(&self, mutants: &[Mutant]) -> Result<BTreeMap<String, Source>, String> {
        let files: BTreeSet<&String> = mutants.iter().map(|mutant| &mutant.file).collect();
        let read = |file: &String| match fs::read_to_string(root().join(file)) {
            Ok(text) => Ok((file.clone(), Source { text })),
            Err(error) => Err(format!("{file}: {error}")),
        };
        files.into_iter().map(read).collect()
    }

    /// Writes every file with its chosen mutants.
    fn write(
        &self,
        mutants: &[Mutant],
        sources: &BTreeMap<String, Source>,
        chosen: &BTreeSet<usize>,
    ) -> Result<Lines, String> {
        let mut lines = Lines::new();
        let start = ["lib.rs", "main.rs"]
            .map(|name| format!("crates/{}/src/{name}", self.package.folder))
            .into_iter()
            .find(|file| root().join(file).is_file())
            .ok_or("a package without code")?;
        let mut files: BTreeSet<&String> = sources.keys().collect();
        files.insert(&start);
        for file in files {
            let own = || chosen.iter().copied().filter(|&at| mutants[at].file == *file);
            let mut text = match sources.get(file) {
                Some(source) => source.with(&own().map(|at| (at + 1, &mutants[at])).collect::<Vec<_>>()),
                None => fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"))?,
            };
            let mut begun = 0;
            for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
                if line.starts_with("/*mutant*/") {
                    begun = number;
                } else if let Some(at) =
                    line.strip_prefix("}/*mutant ").and_then(|rest| rest.strip_suffix("*/"))
                {
                    let at = at.parse::<usize>().map_err(|error| error.to_string())? - 1;
                    lines.entry(file.clone()).or_default().push((begun..number + 1, at));
                }
            }
            if *file == start {
                text.push_str(&choice());
            }
            let path = self.folder.join(file);
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(lines)
    }

    fn cargo(&self, what: &[&str]) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(what).args(["--package", self.package.name, "--profile", "mutated"]);
        cargo.arg("--message-format=json").current_dir(&self.folder);
        cargo.env("CARGO_TARGET_DIR", &self.target).env("RUSTFLAGS", "--cap-lints=warn");
        cargo.stderr(Stdio::null());
        cargo
    }

    /// The mutants that errors are in.
    fn check(&self, lines: &Lines) -> Result<BTreeSet<usize>, String> {
        let output = self.cargo(&["check"]).output().map_err(|error| error.to_string())?;
        let mut wrong = BTreeSet::new();
        let mut other = String::new();
        for message in messages(&output.stdout).filter(|message| message["message"]["level"] == "error") {
            let message = &message["message"];
            let before = wrong.len();
            let mut known = false;
            for mut span in message["spans"].as_array().into_iter().flatten() {
                if span["is_primary"] != true {
                    continue;
                }
                while span["expansion"].is_object() {
                    span = &span["expansion"]["span"];
                }
                let line = span["line_start"].as_u64().unwrap_or(0) as usize;
                let own = span["file_name"].as_str().and_then(|file| lines.get(file));
                for (range, at) in own.into_iter().flatten() {
                    if range.contains(&line) {
                        known = true;
                        wrong.insert(*at);
                    }
                }
            }
            if !known && wrong.len() == before {
                other.push_str(message["rendered"].as_str().unwrap_or_default());
            }
        }
        match output.status.success() || !wrong.is_empty() {
            true => Ok(wrong),
            false => Err(format!("the mutants cannot be put into one program:\n{other}")),
        }
    }

    /// The names and the paths of the tests.
    fn build(&self) -> Result<Vec<(String, PathBuf)>, String> {
        let mut build = self.cargo(&["test", "--no-run"]);
        let output = build.args(self.package.tests).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("the tests of {} do not compile with their mutants", self.package.name));
        }
        let program = |message: Value| {
            let path = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
            let kind = message["target"]["kind"][0].as_str()?;
            let name = message["target"]["name"].as_str()?;
            Some((if kind == "test" { format!("--test={name}") } else { "--lib".into() }, path.into()))
        };
        Ok(messages(&output.stdout).filter_map(program).collect())
    }
}

fn messages(output: &[u8]) -> impl Iterator<Item = Value> {
    output.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// The tests, built with all mutants.
struct Tests<'t> {
    tree: &'t Tree<'t>,
    programs: Vec<(String, PathBuf)>,
    /// How long a program may take, without the slow tests and with them.
    patience: [Duration; 2],
}

impl Tests<'_> {
    /// The program that notices a mutant, if one does; the nearest go first.
    fn notice(&self, file: &str, number: usize, slow: usize) -> Result<Option<&str>, String> {
        let package = self.tree.package;
        let folder = |path: &str| Path::new(path).parent().map(Path::to_owned);
        let nearest = package.nearest.iter().find(|(files, _)| folder(files) == folder(file));
        let is_near = |name: &str| nearest.is_some_and(|(_, tests)| tests.contains(&name));
        let mut order: Vec<&(String, PathBuf)> = self.programs.iter().collect();
        order.sort_by_key(|(name, _)| !is_near(name));
        for (name, program) in order {
            let mut test = Command::new(program);
            if slow == 0 {
                test.args(SLOW.iter().flat_map(|slow| ["--skip", slow]));
            }
            test.current_dir(self.tree.folder.join("crates").join(package.folder));
            test.env(CHOSEN, number.to_string());
            test.env("PROPTEST_MAX_SHRINK_ITERS", "0").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
            test.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let passes = passes(&mut test, self.patience[slow]);
            if !passes.map_err(|error| format!("{}: {error}", program.display()))? {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}

/// Whether a command succeeds before patience is at its end.
fn passes(test: &mut Command, patience: Duration) -> std::io::Result<bool> {
    let mut child = test.spawn()?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if begun.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The function that tells which mutant is chosen. It takes no memory, since some tests count that.
fn choice() -> String {
    format!(
        "
#[doc(hidden)]
#[allow(missing_docs, unsafe_code, unreachable_pub)]
#[inline(always)]
pub fn chosen_mutant() -> u32 {{
    use std::sync::atomic::{{AtomicU32, Ordering}};
    unsafe extern \"C\" {{
        fn getenv(name: *const std::ffi::c_char) -> *const std::ffi::c_char;
    }}
    static CHOSEN: AtomicU32 = AtomicU32::new(u32::MAX);
    match CHOSEN.load(Ordering::Relaxed) {{
        u32::MAX => {{
            let value = unsafe {{ getenv(c\"{CHOSEN}\".as_ptr()) }};
            let number = match value.is_null() {{
                true => 0,
                false => unsafe {{ std::ffi::CStr::from_ptr(value) }}
                    .to_bytes()
                    .iter()
                    .fold(0, |number, digit| 10 * number + u32::from(digit - b'0')),
            }};
            CHOSEN.store(number, Ordering::Relaxed);
            number
        }}
        chosen => chosen,
    }}
}}
"
    )
}

/// Mutants by number.
type Numbered<'m> = Vec<(usize, &'m Mutant)>;

/// The text of a file.
struct Source {
    text: String,
}

impl Source {
    fn offset(&self, Place(line, column): Place) -> usize {
        let start = match line {
            1 => 0,
            _ => self.text.match_indices('\n').nth(line - 2).map_or(0, |(at, _)| at + 1),
        };
        start + self.text[start..].chars().take(column - 1).map(char::len_utf8).sum::<usize>()
    }

    /// The braces of the function that a mutant is in, if it can be chosen there.
    fn body(&self, mutant: &Mutant) -> Option<Range<usize>> {
        let function = mutant.function.as_ref()?;
        let range = self.offset(function.start)..self.offset(function.end);
        body(&self.text, range)
    }

    /// The text with these mutants, each under its number.
    fn with(&self, mutants: &[(usize, &Mutant)]) -> String {
        let mut functions: BTreeMap<usize, (usize, Numbered<'_>)> = BTreeMap::new();
        for &(number, mutant) in mutants {
            if let Some(body) = self.body(mutant) {
                functions.entry(body.start).or_insert((body.end, Vec::new())).1.push((number, mutant));
            }
        }
        // What is within a function that has mutants itself is changed in copies of the outer one.
        let mut outer: Vec<(Range<usize>, Numbered<'_>)> = Vec::new();
        for (start, (end, mutants)) in functions {
            match outer.last_mut() {
                Some((last, own)) if start < last.end => own.extend(mutants),
                _ => outer.push((start..end, mutants)),
            }
        }
        let (mut text, mut done) = (String::new(), 0);
        for (body, mutants) in outer {
            let inner = body.start + 1..body.end - 1;
            text += &self.text[done..body.start];
            text += "{ match crate::chosen_mutant() {\n";
            for (number, mutant) in mutants {
                let (from, to) = (self.offset(mutant.span.start), self.offset(mutant.span.end));
                let (before, after) = (&self.text[inner.start..from], &self.text[to..inner.end]);
                let _ = writeln!(
                    text,
                    "/*mutant*/ {number} => {{\n{before}{} {after}\n}}/*mutant {number}*/",
                    mutant.replacement
                );
            }
            text += &format!("_ => {{{}}}\n}} }}", &self.text[inner]);
            done = body.end;
        }
        text + &self.text[done..]
    }
}

/// The braces of a function within its text. None for a `const fn`, which cannot choose, and for one that
/// returns `impl Trait`, whose mutants would be of other types.
fn body(text: &str, function: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_word = |at: usize| bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let (mut at, mut depth, mut attribute) = (function.start, 0, 0);
    let (mut keyword, mut open) = (None, None);
    while at < function.end {
        if let Some(end) = skipped(text, at) {
            at = end;
            continue;
        }
        match (keyword, open, bytes[at]) {
            (None, _, b'[') => attribute += 1,
            (None, _, b']') => attribute -= 1,
            (None, _, b'f')
                if attribute == 0
                    && text[at..].starts_with("fn")
                    && !is_word(at + 2)
                    && !at.checked_sub(1).is_some_and(is_word) =>
            {
                keyword = Some(at);
            }
            (Some(_), None, b'(' | b'[') => depth += 1,
            (Some(_), None, b')' | b']') => depth -= 1,
            (Some(_), None, b'{') if depth == 0 => (open, depth) = (Some(at), 1),
            (Some(_), Some(_), b'{') => depth += 1,
            (Some(keyword), Some(start), b'}') => {
                depth -= 1;
                if depth == 0 {
                    let (before, signature) = (&text[function.start..keyword], &text[keyword..start]);
                    let is_const = before.split_whitespace().next_back() == Some("const");
                    return (!is_const && !signature.contains("-> impl ")).then_some(start..at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The end of the comment, string or character that begins here.
fn skipped(text: &str, at: usize) -> Option<usize> {
    let rest = &text.as_bytes()[at..];
    let find =
        |what: &str, from: usize| text[at + from..].find(what).map_or(text.len(), |end| at + from + end);
    match rest {
        [b'/', b'/', ..] => Some(find("\n", 0)),
        [b'/', b'*', ..] => Some(find("*/", 2) + 2),
        [b'"', ..] => {
            let mut end = 1;
            while rest.get(end).is_some_and(|&byte| byte != b'"') {
                end += if rest[end] == b'\\' { 2 } else { 1 };
            }
            Some(at + end + 1)
        }
        [b'r', b'"', ..] => Some(find("\"", 2) + 1),
        [b'r', b'#', b'"', ..] => Some(find("\"#", 3) + 2),
        // A character in quotes, or else a lifetime.
        [b'\'', b'\\', ..] => Some(find("'", 3) + 1),
        [b'\'', ..] => {
            let next = text[at + 1..].chars().next().map_or(1, char::len_utf8);
            (rest.get(1 + next) == Some(&b'\'')).then_some(at + next + 2)
        }
        _ if !text.is_char_boundary(at) => Some(at + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_found_among_what_looks_like_them() {
        let text =
            "/// fn { not this }\n#[doc = \"fn {\"]\nfn a<'a>(b: [u8; 3]) -> char where { '}' /* } */ }";
        let found = body(text, 0..text.len()).unwrap();
        assert_eq!(&text[found], "{ '}' /* } */ }");
        for text in ["const fn a() { 1 }", "fn a() -> impl Iterator { b() }", "fn a();"] {
            assert_eq!(body(text, 0..text.len()), None, "{text}");
        }
    }

    #[test]
    fn each_mutant_is_an_arm_with_the_whole_body() {
        let source = Source { text: "// ß\nfn a() -> u8 { 1 + 2 }\nfn b() {}\n".into() };
        let place = |from, to| Place(2, from)..Place(2, to);
        let mutant = |span, replacement: &str| Mutant {
            name: String::new(),
            file: String::new(),
            function: Some(place(1, 23)),
            span,
            replacement: replacement.into(),
        };
        let mutants = [mutant(place(16, 21), "0"), mutant(place(18, 19), "*")];
        let text = source.with(&[(7, &mutants[0]), (8, &mutants[1])]);
        let expected = "// ß\nfn a() -> u8 { match crate::chosen_mutant() {\n\
            /*mutant*/ 7 => {\n 0  \n}/*mutant 7*/\n/*mutant*/ 8 => {\n 1 *  2 \n}/*mutant 8*/\n\
            _ => { 1 + 2 }\n} }\nfn b() {}\n";
        assert_eq!(text, expected);
    }
}
