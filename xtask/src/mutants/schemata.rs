//! Mutant schemata: all mutants of a package in one program, of which an environment variable activates one.
//!
//! cargo-mutants builds the tests once per mutant, which takes much longer than to run them. Here, every
//! function with mutants becomes a `match` on the number of the active mutant, with one copy of the body per
//! mutant as cargo-mutants changes it. Mutants that do not compile are removed, and the tests are built once.
//!
//! In `unishape`, building the tests takes about ten times as long as the tests that detect a mutant
//! (docs/mutants.md), and all packages together have 13,500 mutants.

use super::cargo_mutants::{self, ENVIRONMENT, Mutant, Position};
use crate::command::{cargo, command, output, root};
use crate::workspace::Package;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use syn::visit::{self, Visit};

/// The variable that holds the number of the active mutant; 0 is the original code.
const VARIABLE: &str = "UNISHAPE_MUTANT";

/// The variable that holds the path of a file, to which the numbers of the functions that are called are added.
const REACHED: &str = "UNISHAPE_REACHED_FUNCTIONS";

/// Tests that take no more CPU time than this without a mutant run first.
const FAST: Duration = Duration::from_millis(60);

/// Tests that take more CPU time than this without a mutant run last, on mutants that the others do not detect.
const SLOW: Duration = Duration::from_secs(1);

/// The limit of the CPU time of a test program, in whole seconds: a multiple of what it takes without a mutant, and
/// a margin. Each process that it starts has the same limit.
const CPU_FACTOR: u64 = 4;
const CPU_MARGIN: u64 = 3;

/// The limit on the clock, for processes that wait for each other, as a multiple of the limit of the CPU time:
/// on a busy machine a program waits for the CPU most of the time.
const CLOCK_FACTOR: u64 = 30;

/// The signal that ends a program at its limit of CPU time, on Linux.
const SIGXCPU: i32 = 24;

/// Runs the tests of a package on every `sample`-th of the mutants that cargo-mutants lists with these options, and
/// returns the names of those that no test detects.
pub(super) fn run(
    package: &Package,
    folder: &Path,
    options: &[String],
    sample: usize,
) -> Result<Vec<String>, String> {
    let mutants: Vec<Mutant> = cargo_mutants::list(package, options)?.into_iter().step_by(sample).collect();
    let sources = sources(&mutants)?;
    // The others cannot be activated at run time: constants, and functions that return `impl Trait`.
    let in_body = |&at: &usize| sources[&mutants[at].file].body(&mutants[at]).is_some();
    let (mut viable, separate): (BTreeSet<usize>, BTreeSet<usize>) = (0..mutants.len()).partition(in_body);
    // Both folders are shared by all packages and runs, so dependencies are built once.
    let tree = Tree { package, folder: folder.join("tree"), target: folder.join("target") };
    tree.copy()?;
    loop {
        let lines = tree.write(&mutants, &sources, &viable)?;
        let errors = tree.check(&lines)?;
        if errors.is_empty() {
            break;
        }
        eprintln!("{} mutants do not compile", errors.len());
        viable.retain(|at| !errors.contains(at));
    }
    // A function has the number of its first mutant.
    let mut functions: BTreeMap<(&str, usize), usize> = BTreeMap::new();
    let mut function_of: BTreeMap<usize, usize> = BTreeMap::new();
    for &at in &viable {
        let file = &mutants[at].file;
        if let Some(body) = sources[file].body(&mutants[at]) {
            function_of.insert(at, *functions.entry((file, body.start)).or_insert(at + 1));
        }
    }
    let programs: Vec<Program> = {
        let paths =
            tree.build()?.ok_or(format!("the tests of {} do not compile with the mutants", package.name))?;
        let mut programs = paths.into_iter().map(|path| tree.measure(path)).collect::<Result<Vec<_>, _>>()?;
        programs.sort_by_key(|program| program.limits);
        programs
    };
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut survivors = Vec::new();
    // Those that are built one by one come last, because they replace the programs.
    let (together, separately) = (0..mutants.len()).partition::<Vec<_>, _>(|at| !separate.contains(at));
    for (done, at) in together.into_iter().chain(separately).enumerate() {
        let mutant = &mutants[at];
        if done % 50 == 0 {
            eprintln!("{done} of {} mutants", mutants.len());
        }
        let [all, detected, unviable, surviving] = counts.entry(&mutant.file).or_default();
        *all += 1;
        let active = match separate.contains(&at) {
            true => {
                tree.write_separately(mutant, &sources)?;
                if tree.build()?.is_some() { Some(None) } else { None }
            }
            false => function_of.get(&at).map(|&function| Some((at + 1, function))),
        };
        let Some(active) = active else {
            *unviable += 1;
            eprintln!("unviable {}", mutant.name);
            continue;
        };
        let run = |speed| tree.run_all(&programs, active, speed);
        let mut outcome = run(Speed::Fast)?;
        if outcome == Outcome::Passed {
            outcome = run(Speed::Medium)?;
        }
        if outcome == Outcome::Passed {
            // On a busy machine a slow test may fail without a reason, but hardly twice.
            outcome = run(Speed::Slow)?;
            if outcome != Outcome::Passed {
                outcome = run(Speed::Slow)?;
            }
        }
        if outcome == Outcome::Passed {
            *surviving += 1;
            survivors.push(mutant.name.clone());
        } else {
            *detected += 1;
        }
        let label = match outcome {
            Outcome::Passed => "MISSED",
            Outcome::Failed => "detected",
            Outcome::TimedOut => "TIMEOUT",
        };
        eprintln!("{label:<8} {}", mutant.name);
    }
    println!("| file | mutants | detected | do not compile | survivors |\n|---|---|---|---|---|");
    for (file, [all, detected, unviable, surviving]) in counts {
        println!("| `{file}` | {all} | {detected} | {unviable} | {surviving} |");
    }
    Ok(survivors)
}

/// The files that mutants are in.
fn sources(mutants: &[Mutant]) -> Result<BTreeMap<String, SourceFile>, String> {
    let files: BTreeSet<&String> = mutants.iter().map(|mutant| &mutant.file).collect();
    let read = |file: &String| {
        let text = fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"))?;
        Ok((file.clone(), SourceFile::new(text).map_err(|error| format!("{file}: {error}"))?))
    };
    files.into_iter().map(read).collect()
}

/// A copy of the repository.
struct Tree<'p> {
    package: &'p Package,
    folder: PathBuf,
    target: PathBuf,
}

/// The lines of each mutant, by file.
type Lines = BTreeMap<String, Vec<(Range<usize>, usize)>>;

/// Which tests run.
#[derive(Clone, Copy, PartialEq)]
enum Speed {
    Fast,
    Medium,
    Slow,
}

/// How a test program ends.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Passed,
    Failed,
    TimedOut,
}

/// A test program with the mutants in it.
struct Program {
    path: PathBuf,
    tests: Vec<Test>,
    /// Limits of the CPU time of tests of each speed, in seconds.
    limits: [Option<u64>; 3],
}

/// A test without a mutant.
struct Test {
    name: String,
    speed: Speed,
    /// The functions with mutants that it calls.
    reached: BTreeSet<usize>,
}

impl Tree<'_> {
    /// Copies the files of the repository. Files that are equal stay as they are, so that cargo does not compile
    /// packages again that have not changed.
    fn copy(&self) -> Result<(), String> {
        let list = command("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let list = output("git ls-files", list)?;
        let files: BTreeSet<&Path> =
            list.split('\0').map(Path::new).filter(|file| root().join(file).is_file()).collect();
        for file in
            files_under(&self.folder).map_err(|error| format!("{}: {error}", self.folder.display()))?
        {
            if !file.strip_prefix(&self.folder).is_ok_and(|file| files.contains(file)) {
                fs::remove_file(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            }
        }
        for file in files {
            let (from, to) = (root().join(file), self.folder.join(file));
            let bytes = fs::read(&from).map_err(|error| format!("{}: {error}", from.display()))?;
            if !fs::read(&to).is_ok_and(|old| old == bytes) {
                fs::create_dir_all(to.parent().unwrap_or(&self.folder)).map_err(|error| error.to_string())?;
                fs::copy(&from, &to).map_err(|error| format!("{}: {error}", to.display()))?;
            }
        }
        Ok(())
    }

    /// Writes the files with these mutants.
    fn write(
        &self,
        mutants: &[Mutant],
        sources: &BTreeMap<String, SourceFile>,
        viable: &BTreeSet<usize>,
    ) -> Result<Lines, String> {
        let mut lines = Lines::new();
        let root_file = self.package.relative(&self.package.root_file).to_string_lossy().into_owned();
        let mut files: BTreeSet<&String> = sources.keys().collect();
        files.insert(&root_file);
        for file in files {
            let of_file = viable.iter().copied().filter(|&at| mutants[at].file == *file);
            let mut text = match sources.get(file) {
                Some(source) => source.with(&of_file.map(|at| (at + 1, &mutants[at])).collect::<Vec<_>>()),
                None => fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"))?,
            };
            let mut first = 0;
            for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
                if line.starts_with("/*mutant*/") {
                    first = number;
                } else if let Some(at) =
                    line.strip_prefix("}/*mutant ").and_then(|rest| rest.strip_suffix("*/"))
                {
                    let at = at.parse::<usize>().map_err(|error| error.to_string())? - 1;
                    lines.entry(file.clone()).or_default().push((first..number + 1, at));
                }
            }
            if *file == root_file {
                // In the first line, so that lines stay where they are.
                text.insert_str(
                    0,
                    "#![feature(core_intrinsics, const_eval_select)] #![allow(internal_features)] ",
                );
                text.push_str(&selector(mutants.len() + 1));
            }
            let path = self.folder.join(file);
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(lines)
    }

    /// Writes the files with this mutant only, always active.
    fn write_separately(
        &self,
        mutant: &Mutant,
        sources: &BTreeMap<String, SourceFile>,
    ) -> Result<(), String> {
        self.write(&[], sources, &BTreeSet::new())?;
        let path = self.folder.join(&mutant.file);
        fs::write(&path, sources[&mutant.file].changed(mutant))
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    fn cargo(&self, args: &[&str]) -> Command {
        let mut cargo = cargo(args);
        cargo.args(["--package", &self.package.name, "--profile", "mutants", "--message-format=json"]);
        cargo.current_dir(&self.folder).stderr(Stdio::null());
        cargo.env("CARGO_TARGET_DIR", &self.target).env("RUSTFLAGS", "--cap-lints=warn");
        // For `const_eval_select`, in this crate only; the crate of the command has the name of the library.
        cargo.env("RUSTC_BOOTSTRAP", format!("{},unishape", self.package.name.replace('-', "_")));
        cargo
    }

    /// The mutants that do not compile.
    fn check(&self, lines: &Lines) -> Result<BTreeSet<usize>, String> {
        let output = self.cargo(&["check"]).output().map_err(|error| error.to_string())?;
        let mut unviable = BTreeSet::new();
        let mut other = String::new();
        for message in messages(&output.stdout).filter(|message| message["message"]["level"] == "error") {
            let message = &message["message"];
            let mut is_known = false;
            for mut span in message["spans"].as_array().into_iter().flatten() {
                if span["is_primary"] != true {
                    continue;
                }
                while span["expansion"].is_object() {
                    span = &span["expansion"]["span"];
                }
                let line = span["line_start"].as_u64().unwrap_or(0) as usize;
                let of_file = span["file_name"].as_str().and_then(|file| lines.get(file));
                for (_, at) in of_file.into_iter().flatten().filter(|(range, _)| range.contains(&line)) {
                    is_known = true;
                    unviable.insert(*at);
                }
            }
            if !is_known {
                other.push_str(message["rendered"].as_str().unwrap_or_default());
            }
        }
        match output.status.success() || !unviable.is_empty() {
            true => Ok(unviable),
            false => Err(format!("the mutants do not compile in one program:\n{other}")),
        }
    }

    /// Builds the test programs; `None` if they do not compile.
    fn build(&self) -> Result<Option<Vec<PathBuf>>, String> {
        let mut build = self.cargo(&["test", "--no-run", "--tests"]);
        let output = build.output().map_err(|error| error.to_string())?;
        let path = |message: Value| {
            let path = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
            Some(PathBuf::from(path))
        };
        Ok(output.status.success().then(|| messages(&output.stdout).filter_map(path).collect()))
    }

    /// Finds out what the tests of a program reach, and their time limits.
    fn measure(&self, path: PathBuf) -> Result<Program, String> {
        let mut program = Program { path, tests: Vec::new(), limits: [None; 3] };
        let tests = output("list of tests", self.test(&program, None, &["--list", "--format=terse"]))?;
        let reached = self.target.join("reached");
        for name in tests.lines().filter_map(|line| line.strip_suffix(": test")) {
            fs::write(&reached, "").map_err(|error| format!("{}: {error}", reached.display()))?;
            let mut test = self.test(&program, None, &["--exact", name]);
            let start = children_time();
            outcome(test.env(REACHED, &reached), None)?;
            let speed = match children_time() - start {
                time if time <= FAST => Speed::Fast,
                time if time <= SLOW => Speed::Medium,
                _ => Speed::Slow,
            };
            let numbers = fs::read_to_string(&reached).unwrap_or_default();
            let reached = numbers.lines().filter_map(|number| number.parse().ok()).collect();
            program.tests.push(Test { name: name.into(), speed, reached });
        }
        for speed in [Speed::Fast, Speed::Medium, Speed::Slow] {
            let start = children_time();
            if self.run(&program, None, speed)? != Outcome::Passed {
                return Err(format!("{} fails without a mutant", program.path.display()));
            }
            let time = (children_time() - start).as_secs();
            program.limits[speed as usize] = Some(CPU_MARGIN + CPU_FACTOR * time);
        }
        Ok(program)
    }

    /// A call of a test program with a limit of its CPU time, in seconds.
    fn test(&self, program: &Program, limit: Option<u64>, args: &[&str]) -> Command {
        let limit = limit.map_or("unlimited".into(), |limit| limit.to_string());
        let mut test = command("sh", &["-c", &format!("ulimit -S -t {limit}; exec \"$0\" \"$@\"")]);
        test.arg(&program.path).args(args);
        test.current_dir(self.folder.join(self.package.relative(&self.package.folder)));
        test.envs(ENVIRONMENT.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()));
        test
    }

    /// Runs a test program with a mutant, of which the number and that of its function are given.
    fn run(
        &self,
        program: &Program,
        mutant: Option<(usize, usize)>,
        speed: Speed,
    ) -> Result<Outcome, String> {
        let reaches = |test: &Test| mutant.is_none_or(|(_, function)| test.reached.contains(&function));
        let chosen = program.tests.iter().filter(|test| test.speed == speed && reaches(test));
        let names: Vec<&str> = chosen.map(|test| test.name.as_str()).collect();
        if names.is_empty() {
            return Ok(Outcome::Passed);
        }
        // The first failure decides. Only unstable Rust accepts the option without the variable.
        let limit = program.limits[speed as usize];
        let mut test = self.test(program, limit, &["-Zunstable-options", "--fail-fast", "--exact"]);
        test.args(names).env("RUSTC_BOOTSTRAP", "1");
        test.env(VARIABLE, mutant.map_or(0, |(number, _)| number).to_string());
        outcome(&mut test, limit)
    }

    /// Runs the programs with this mutant, up to the first that does not pass.
    fn run_all(
        &self,
        programs: &[Program],
        mutant: Option<(usize, usize)>,
        speed: Speed,
    ) -> Result<Outcome, String> {
        for program in programs {
            let outcome = self.run(program, mutant, speed)?;
            if outcome != Outcome::Passed {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Passed)
    }
}

fn messages(output: &[u8]) -> impl Iterator<Item = Value> {
    output.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// Runs a test with this limit of its CPU time in seconds; discards its output. The limit on the clock counts the time
/// that this program waits, so that both can be stopped for a while.
fn outcome(test: &mut Command, limit: Option<u64>) -> Result<Outcome, String> {
    const POLL: Duration = Duration::from_millis(5);
    let error = |error| format!("cannot run a test: {error}");
    test.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = test.spawn().map_err(error)?;
    let mut left = limit.map_or(Duration::MAX, |limit| Duration::from_secs(CLOCK_FACTOR * limit));
    loop {
        if let Some(status) = child.try_wait().map_err(error)? {
            return Ok(match status.signal() {
                Some(SIGXCPU) => Outcome::TimedOut,
                _ if status.success() => Outcome::Passed,
                _ => Outcome::Failed,
            });
        }
        if left.is_zero() {
            child.kill().and_then(|()| child.wait()).map_err(error)?;
            return Ok(Outcome::TimedOut);
        }
        std::thread::sleep(POLL);
        left = left.saturating_sub(POLL);
    }
}

/// CPU time of the programs that this one has waited for: on a busy machine, time on the clock says little.
fn children_time() -> Duration {
    /// Of the numbers in `/proc/self/stat`, on Linux.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in parentheses, which may contain spaces, the 14th and 15th field.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(13).take(2).filter_map(|field| field.parse::<u32>().ok()).map(|ticks| ticks * TICK).sum()
}

/// All files in a folder and its folders; none if it does not exist.
fn files_under(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop().filter(|folder| folder.exists()) {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { &mut folders } else { &mut files }.push(path);
        }
    }
    Ok(files)
}

/// The source of the function that returns the number of the active mutant; none is active at compile time. It does
/// not allocate, because some tests count allocations, unless it adds `function` to the file of the functions that
/// are called.
fn selector(functions: usize) -> String {
    format!(
        "
#[doc(hidden)]
#[allow(missing_docs, unreachable_pub)]
#[inline]
pub const fn active_mutant(function: usize) -> u32 {{
    const fn at_compile_time(_: usize) -> u32 {{
        0
    }}
    std::intrinsics::const_eval_select((function,), at_compile_time, active_mutant_at_run_time)
}}

#[allow(unsafe_code)]
#[inline]
fn active_mutant_at_run_time(function: usize) -> u32 {{
    use std::sync::atomic::{{AtomicBool, AtomicU32, Ordering}};
    unsafe extern \"C\" {{
        fn getenv(name: *const std::ffi::c_char) -> *const std::ffi::c_char;
    }}
    const UNKNOWN: u32 = u32::MAX;
    const RECORDING: u32 = u32::MAX - 1;
    static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
    static REACHED: [AtomicBool; {functions}] = [const {{ AtomicBool::new(false) }}; {functions}];
    #[cold]
    fn read_variable() -> u32 {{
        let value = unsafe {{ getenv(c\"{VARIABLE}\".as_ptr()) }};
        let is_recording = unsafe {{ !getenv(c\"{REACHED}\".as_ptr()).is_null() }};
        let number = match value.is_null() {{
            _ if is_recording => RECORDING,
            true => 0,
            false => unsafe {{ std::ffi::CStr::from_ptr(value) }}
                .to_bytes()
                .iter()
                .fold(0, |number, digit| 10 * number + u32::from(digit - b'0')),
        }};
        ACTIVE.store(number, Ordering::Relaxed);
        number
    }}
    #[cold]
    fn record(function: usize) {{
        if !REACHED[function].swap(true, Ordering::Relaxed)
            && let Some(path) = std::env::var_os(\"{REACHED}\")
            && let Ok(mut file) = std::fs::File::options().append(true).open(path)
        {{
            let _ = std::io::Write::write_all(&mut file, format!(\"{{function}}\\n\").as_bytes());
        }}
    }}
    let active = match ACTIVE.load(Ordering::Relaxed) {{
        UNKNOWN => read_variable(),
        active => active,
    }};
    if active != RECORDING {{
        return active;
    }}
    record(function);
    0
}}
"
    )
}

/// Mutants by number.
type Numbered<'m> = Vec<(usize, &'m Mutant)>;

/// A source file.
struct SourceFile {
    text: String,
    /// The bodies, with braces, of functions in which mutants can be activated; outer functions first.
    bodies: Vec<Range<usize>>,
}

impl SourceFile {
    fn new(text: String) -> syn::Result<SourceFile> {
        let mut finder = BodyFinder::default();
        finder.visit_file(&syn::parse_file(&text)?);
        let mut source = SourceFile { text, bodies: Vec::new() };
        source.bodies =
            finder.found.iter().map(|body| source.offset(body.start)..source.offset(body.end)).collect();
        Ok(source)
    }

    fn offset(&self, Position(line, column): Position) -> usize {
        let start = match line {
            1 => 0,
            _ => self.text.match_indices('\n').nth(line - 2).map_or(0, |(at, _)| at + 1),
        };
        start + self.text[start..].chars().take(column - 1).map(char::len_utf8).sum::<usize>()
    }

    /// The body of the outermost function around a mutant in which it can be activated.
    fn body(&self, mutant: &Mutant) -> Option<&Range<usize>> {
        let (from, to) = (self.offset(mutant.span.start), self.offset(mutant.span.end));
        self.bodies.iter().find(|body| body.start < from && to < body.end)
    }

    /// The text with one mutant.
    fn changed(&self, mutant: &Mutant) -> String {
        let (from, to) = (self.offset(mutant.span.start), self.offset(mutant.span.end));
        format!("{}{} {}", &self.text[..from], mutant.replacement, &self.text[to..])
    }

    /// The text with these mutants. Nothing is inlined by force: functions with many bodies that call each other
    /// would grow without bounds.
    fn with(&self, mutants: &[(usize, &Mutant)]) -> String {
        let mut functions: BTreeMap<usize, (usize, Numbered<'_>)> = BTreeMap::new();
        for &(number, mutant) in mutants {
            if let Some(body) = self.body(mutant) {
                functions.entry(body.start).or_insert((body.end, Vec::new())).1.push((number, mutant));
            }
        }
        let (mut text, mut done) = (String::new(), 0);
        for (start, (end, mutants)) in functions {
            let inner = start + 1..end - 1;
            text += &self.text[done..start];
            let _ = writeln!(text, "{{ match crate::active_mutant({}) {{", mutants[0].0);
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
            done = end;
        }
        (text + &self.text[done..]).replace("#[inline(always)]", "#[inline]")
    }
}

/// Finds the bodies of functions, except of those that return `impl Trait`, where the arms of a `match` would be of
/// different types.
#[derive(Default)]
struct BodyFinder {
    found: Vec<Range<Position>>,
}

impl BodyFinder {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let mut output = ImplTraitFinder(false);
        output.visit_return_type(&signature.output);
        if !output.0 {
            let position = |of: proc_macro2::LineColumn| Position(of.line, of.column + 1);
            let braces = &body.brace_token.span;
            self.found.push(position(braces.open().start())..position(braces.close().end()));
        }
    }
}

impl<'ast> Visit<'ast> for BodyFinder {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.add(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.add(&function.sig, body);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

/// Whether a type contains `impl Trait`.
struct ImplTraitFinder(bool);

impl<'ast> Visit<'ast> for ImplTraitFinder {
    fn visit_type_impl_trait(&mut self, _: &'ast syn::TypeImplTrait) {
        self.0 = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(text: &str) -> Vec<String> {
        let source = SourceFile::new(text.into()).unwrap();
        source.bodies.iter().map(|body| source.text[body.clone()].to_owned()).collect()
    }

    #[test]
    fn bodies_of_functions_are_found() {
        let text =
            "/// fn { not this }\n#[doc = \"fn {\"]\nfn a<'a>(b: [u8; 3]) -> char where { '}' /* } */ }";
        assert_eq!(bodies(text), ["{ '}' /* } */ }"]);
        assert_eq!(bodies("const fn a() { 1 }"), ["{ 1 }"]);
        assert_eq!(bodies("fn ß() { fn a() { 1 } }"), ["{ fn a() { 1 } }", "{ 1 }"]);
        assert_eq!(bodies("trait T { fn a() { 1 } fn b(); } impl T for u8 { fn b() {} }"), ["{ 1 }", "{}"]);
        for text in [
            "fn a() -> impl Iterator { b() }",
            "fn a() -> Option<impl Iterator> { b() }",
            "trait T { fn a(); }",
        ] {
            assert_eq!(bodies(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn each_mutant_is_an_arm_with_the_whole_body() {
        let source = SourceFile::new("// ß\nfn a() -> u8 { 1 + 2 }\nfn b() {}\n".into()).unwrap();
        let mutant = |from, to, replacement: &str| Mutant {
            name: String::new(),
            file: String::new(),
            span: Position(2, from)..Position(2, to),
            replacement: replacement.into(),
        };
        let mutants = [mutant(16, 21, "0"), mutant(18, 19, "*")];
        let text = source.with(&[(7, &mutants[0]), (8, &mutants[1])]);
        let expected = "// ß\nfn a() -> u8 { match crate::active_mutant(7) {\n\
            /*mutant*/ 7 => {\n 0  \n}/*mutant 7*/\n/*mutant*/ 8 => {\n 1 *  2 \n}/*mutant 8*/\n\
            _ => { 1 + 2 }\n} }\nfn b() {}\n";
        assert_eq!(text, expected);
    }
}
