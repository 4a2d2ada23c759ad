//! Mutant schemata: all mutants of a package in one program, of which an environment variable activates one.
//!
//! cargo-mutants builds the tests once per mutant, which takes much longer than to run them. Here, every
//! function with mutants becomes a `match` on the number of the active mutant, with one copy of the body per
//! mutant as cargo-mutants changes it. Mutants that do not compile are removed, and the tests are built once.
//!
//! In `unishape`, building the tests takes about ten times as long as the tests that detect a mutant
//! (docs/mutants.md), and all packages together have 15,900 mutants.

use super::cargo_mutants::{self, ENVIRONMENT, Mutant, Position};
use crate::command::{cargo, command, output, root};
use crate::workspace::{Package, packages};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use syn::visit::{self, Visit};

/// The variable that holds the number of the active mutant; 0 is the original code.
const VARIABLE: &str = "UNISHAPE_MUTANT";

/// The variable that holds the path of a file, to which the numbers of the functions that are called are added.
const REACHED: &str = "UNISHAPE_REACHED_FUNCTIONS";

/// The CPU time of the first tests of a mutant: the fastest, and those that reach few functions. Each further batch of
/// tests takes a multiple of the one before.
const FIRST_BATCH: Duration = Duration::from_millis(25);
const BATCH_FACTOR: u32 = 4;

/// The time of a test that takes less than can be measured.
const SHORTEST: Duration = Duration::from_millis(5);

/// A failure of a batch with a test that takes more CPU time than this without a mutant has to occur twice.
const SLOW: Duration = Duration::from_secs(1);

/// The limit of the CPU time of a test program, in whole seconds: a multiple of what it takes without a mutant, and
/// a margin. Each process that it starts has the same limit.
const CPU_FACTOR: u32 = 4;
const CPU_MARGIN: u64 = 2;

/// How long a program may wait without using CPU time, as a multiple of the limit of the CPU time, for processes that
/// wait for each other; and how long it may take altogether, since a busy machine runs it seldom.
const IDLE_FACTOR: u64 = 30;
const CLOCK_FACTOR: u64 = 300;

/// The signal that ends a program at its limit of CPU time, on Linux.
const SIGXCPU: i32 = 24;

/// How mutants are run.
#[derive(Clone, Copy)]
pub(super) struct Mode {
    /// Every how many-th mutant is tested.
    pub(super) sample: usize,
    /// The CPU time of the tests of a mutant; slower tests are not run.
    pub(super) limit: Duration,
    /// Mutants that an earlier run has decided are not run again, except survivors.
    pub(super) resume: bool,
    /// Which part of the work is done.
    pub(super) phase: Phase,
}

/// A part of the work: the mutants can be built in one go, and run later, when nothing else needs the CPUs.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Phase {
    All,
    /// Builds the mutants, and measures the tests.
    Prepare,
    /// Runs what has been prepared, except mutants that are built one by one.
    Run,
}

/// Runs the tests of a package on the mutants that cargo-mutants lists with these options, and returns the names of
/// those that no test detects.
pub(super) fn run(
    package: &Package,
    folder: &Path,
    options: &[String],
    mode: Mode,
) -> Result<Vec<String>, String> {
    // Both folders are shared by all packages and runs, so dependencies are built once.
    let crates: Vec<String> = packages()?.into_iter().map(|package| package.name.replace('-', "_")).collect();
    let crates = crates.join(",");
    let tree = Tree { package, folder: folder.join("tree"), target: folder.join("target"), crates };
    let saved = folder.join(format!("{}.json", package.name));
    let record = Record::open(&folder.join("decided.txt"), mode.resume || mode.phase == Phase::Run)?;
    let mut plan = match mode.phase {
        Phase::Run => {
            let text = fs::read_to_string(&saved).map_err(|error| format!("{}: {error}", saved.display()))?;
            let plan =
                serde_json::from_str(&text).map_err(|error| format!("{}: {error}", saved.display()))?;
            Plan::from_json(&plan).ok_or(format!("{} is incomplete", saved.display()))?
        }
        Phase::All | Phase::Prepare => tree.prepare(options, mode.sample, &record)?,
    };
    if mode.phase == Phase::Prepare {
        fs::write(&saved, plan.to_json().to_string())
            .map_err(|error| format!("{}: {error}", saved.display()))?;
        return Ok(Vec::new());
    }
    plan.recall(&record);
    let together: Vec<usize> =
        (0..plan.mutants.len()).filter(|&at| plan.mutants[at].is_to_run_together()).collect();
    for (at, verdict) in tree.run_together(&plan, together, mode.limit, &record)? {
        plan.mutants[at].verdict = Some(verdict);
    }
    // Those that are built one by one come last, because they replace the programs.
    if mode.phase == Phase::All {
        tree.run_separately(&mut plan, options, mode, &record)?;
    }
    let mut counts: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for mutant in &plan.mutants {
        let file = mutant.name.split(':').next().unwrap_or_default();
        let [all, detected, unviable, surviving] = counts.entry(file).or_default();
        *all += 1;
        match mutant.verdict {
            Some(Verdict::Detected | Verdict::TimedOut) => *detected += 1,
            Some(Verdict::Unviable) => *unviable += 1,
            Some(Verdict::Missed) => *surviving += 1,
            None => eprintln!("not run  {}", mutant.name),
        }
    }
    println!("| file | mutants | detected | do not compile | survivors |\n|---|---|---|---|---|");
    for (file, [all, detected, unviable, surviving]) in counts {
        println!("| `{file}` | {all} | {detected} | {unviable} | {surviving} |");
    }
    let missed = plan.mutants.into_iter().filter(|mutant| mutant.verdict == Some(Verdict::Missed));
    Ok(missed.map(|mutant| mutant.name).collect())
}

/// What is to be run.
struct Plan {
    mutants: Vec<PlannedMutant>,
    programs: Vec<Program>,
}

/// A mutant, which has the number of its place in the plan plus 1.
struct PlannedMutant {
    name: String,
    /// What it is recorded under.
    key: String,
    /// The number of its function; `None` if it cannot be activated at run time.
    function: Option<usize>,
    verdict: Option<Verdict>,
}

impl PlannedMutant {
    fn is_to_run_together(&self) -> bool {
        self.verdict.is_none() && self.function.is_some()
    }
}

impl Plan {
    /// Takes verdicts over from earlier runs.
    fn recall(&mut self, record: &Record) {
        for mutant in &mut self.mutants {
            mutant.verdict = mutant.verdict.or(record.earlier(&mutant.key));
        }
        let known = self.mutants.iter().filter(|mutant| mutant.verdict.is_some()).count();
        eprintln!("{known} of {} mutants are decided", self.mutants.len());
    }

    fn to_json(&self) -> Value {
        let mutant = |of: &PlannedMutant| {
            json!({
                "name": of.name,
                "key": of.key,
                "function": of.function,
                "verdict": of.verdict.map(Verdict::label),
            })
        };
        let test = |of: &Test| json!({ "name": of.name, "micros": of.time.as_micros() as u64, "reached": of.reached });
        let program =
            |of: &Program| json!({ "path": of.path, "tests": of.tests.iter().map(test).collect::<Vec<_>>() });
        json!({
            "mutants": self.mutants.iter().map(mutant).collect::<Vec<_>>(),
            "programs": self.programs.iter().map(program).collect::<Vec<_>>(),
        })
    }

    /// `None` if a field is missing.
    fn from_json(plan: &Value) -> Option<Plan> {
        let text = |of: &Value| of.as_str().map(str::to_owned);
        let number = |of: &Value| of.as_u64().map(|number| number as usize);
        let mutant = |of: &Value| {
            Some(PlannedMutant {
                name: text(&of["name"])?,
                key: text(&of["key"])?,
                function: number(&of["function"]),
                verdict: of["verdict"].as_str().and_then(Verdict::from_label),
            })
        };
        let test = |of: &Value| {
            Some(Test {
                name: text(&of["name"])?,
                time: Duration::from_micros(of["micros"].as_u64()?),
                reached: of["reached"].as_array()?.iter().filter_map(number).collect(),
            })
        };
        let program = |of: &Value| {
            let tests = of["tests"].as_array()?.iter().map(test).collect::<Option<_>>()?;
            Some(Program { path: text(&of["path"])?.into(), tests })
        };
        Some(Plan {
            mutants: plan["mutants"].as_array()?.iter().map(mutant).collect::<Option<_>>()?,
            programs: plan["programs"].as_array()?.iter().map(program).collect::<Option<_>>()?,
        })
    }
}

/// The mutants of a sample.
fn listed(package: &Package, options: &[String], sample: usize) -> Result<Vec<Mutant>, String> {
    Ok(cargo_mutants::list(package, options)?.into_iter().step_by(sample).collect())
}

/// What has become of a mutant.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Verdict {
    Detected,
    TimedOut,
    Unviable,
    Missed,
}

impl Verdict {
    const ALL: [Verdict; 4] = [Verdict::Detected, Verdict::TimedOut, Verdict::Unviable, Verdict::Missed];

    fn label(self) -> &'static str {
        match self {
            Verdict::Detected => "detected",
            Verdict::TimedOut => "TIMEOUT",
            Verdict::Unviable => "unviable",
            Verdict::Missed => "MISSED",
        }
    }

    fn from_label(label: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|verdict| verdict.label() == label)
    }
}

/// A file of what has become of mutants, one per line: the verdict and the key of the mutant.
struct Record {
    path: PathBuf,
    earlier: BTreeMap<String, Verdict>,
}

impl Record {
    /// Opens the file, or empties it if earlier runs do not count.
    fn open(path: &Path, resume: bool) -> Result<Record, String> {
        let text = match resume {
            true => fs::read_to_string(path).unwrap_or_default(),
            false => String::new(),
        };
        let opened = fs::File::options().create(true).write(true).truncate(!resume).open(path);
        opened.map_err(|error| format!("{}: {error}", path.display()))?;
        let verdict = |line: &str| {
            let (label, key) = line.split_once(' ')?;
            Some((key.to_owned(), Verdict::from_label(label)?))
        };
        Ok(Record { path: path.to_owned(), earlier: text.lines().filter_map(verdict).collect() })
    }

    /// The earlier verdict; survivors have to be run again, since tests may have been added.
    fn earlier(&self, key: &str) -> Option<Verdict> {
        self.earlier.get(key).copied().filter(|&verdict| verdict != Verdict::Missed)
    }

    /// Prints and records what has become of a mutant.
    fn add(&self, name: &str, key: &str, verdict: Verdict) -> Result<(), String> {
        eprintln!("{:<8} {name}", verdict.label());
        let line = format!("{} {key}\n", verdict.label());
        let file = fs::File::options().append(true).open(&self.path);
        file.and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes()))
            .map_err(|error| format!("{}: {error}", self.path.display()))
    }
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
    /// The crates that may use `const_eval_select`. All of the workspace, whichever is tested: build scripts of some
    /// dependencies run again when this changes. The crate of the command has the name of the library.
    crates: String,
}

/// The lines of each mutant, by file.
type Lines = BTreeMap<String, Vec<(Range<usize>, usize)>>;

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
}

/// A test without a mutant.
#[derive(Clone)]
struct Test {
    name: String,
    /// Its CPU time.
    time: Duration,
    /// The functions with mutants that it calls.
    reached: BTreeSet<usize>,
}

/// Tests that run in one process or more, by program.
#[derive(Default)]
struct Batch<'t> {
    tests: BTreeMap<usize, Vec<&'t Test>>,
}

impl<'t> Batch<'t> {
    /// The tests that reach a function, or all: at first the fast ones that reach few functions, which are about
    /// this one, and in batches that become longer, up to a limit of their time.
    fn all(programs: &'t [Program], function: Option<usize>, limit: Duration) -> Vec<Batch<'t>> {
        let reaches = |test: &Test| function.is_none_or(|function| test.reached.contains(&function));
        let tests = programs.iter().enumerate();
        let mut tests: Vec<(usize, &Test)> = tests
            .flat_map(|(program, of)| of.tests.iter().map(move |test| (program, test)))
            .filter(|(_, test)| reaches(test))
            .collect();
        tests.sort_by_key(|(_, test)| test.time * test.reached.len() as u32);
        let (mut batches, mut size, mut left) = (Vec::new(), FIRST_BATCH, Duration::ZERO);
        let mut total = Duration::ZERO;
        for (program, test) in tests {
            total += test.time;
            if total > limit {
                break;
            }
            if left.is_zero() {
                batches.push(Batch::default());
                left = size;
                size *= BATCH_FACTOR;
            }
            left = left.saturating_sub(test.time);
            if let Some(batch) = batches.last_mut() {
                batch.tests.entry(program).or_default().push(test);
            }
        }
        batches
    }

    fn is_slow(&self) -> bool {
        self.tests.values().flatten().any(|test| test.time > SLOW)
    }
}

impl Tree<'_> {
    /// Builds the mutants and measures the tests.
    fn prepare(&self, options: &[String], sample: usize, record: &Record) -> Result<Plan, String> {
        let mutants = listed(self.package, options, sample)?;
        let sources = sources(&mutants)?;
        let planned = |mutant: &Mutant| {
            let key = sources[&mutant.file].key(mutant);
            PlannedMutant { name: mutant.name.clone(), verdict: record.earlier(&key), key, function: None }
        };
        let mut plan = Plan { mutants: mutants.iter().map(planned).collect(), programs: Vec::new() };
        if plan.mutants.iter().all(|mutant| mutant.verdict.is_some()) {
            return Ok(plan);
        }
        // The others cannot be activated at run time: constants, functions that return `impl Trait`, and the program of
        // a package that has a library, where the function that selects a mutant is.
        let root_file = self.root_file();
        let in_library = |file: &str| !file.ends_with("/src/main.rs") || file == root_file;
        let in_body = |&at: &usize| {
            in_library(&mutants[at].file) && sources[&mutants[at].file].body(&mutants[at]).is_some()
        };
        let mut viable: BTreeSet<usize> =
            (0..mutants.len()).filter(|&at| plan.mutants[at].verdict.is_none()).filter(in_body).collect();
        self.copy()?;
        loop {
            let lines = self.write(&mutants, &sources, &viable)?;
            let errors = self.check(&lines)?;
            if errors.is_empty() {
                break;
            }
            for &at in &errors {
                let mutant = &mut plan.mutants[at];
                record.add(&mutant.name, &mutant.key, Verdict::Unviable)?;
                mutant.verdict = Some(Verdict::Unviable);
            }
            viable.retain(|at| !errors.contains(at));
        }
        // A function has the number of its first mutant.
        let mut functions: BTreeMap<(&str, usize), usize> = BTreeMap::new();
        for &at in &viable {
            let file = &mutants[at].file;
            if let Some(body) = sources[file].body(&mutants[at]) {
                let number = *functions.entry((file, body.start)).or_insert(at + 1);
                plan.mutants[at].function = Some(number);
            }
        }
        let paths = self.build()?.map_err(|errors| {
            format!("the tests of {} do not compile with the mutants:\n{errors}", self.package.name)
        })?;
        eprintln!("{} mutants are built; measuring the tests", viable.len());
        plan.programs = paths.into_iter().map(|path| self.measure(path)).collect::<Result<_, _>>()?;
        Ok(plan)
    }

    /// Runs mutants that are in one program: the first batch of tests on all of them, then the next one on those that it
    /// has not detected, and so on. So most are decided soon.
    fn run_together(
        &self,
        plan: &Plan,
        mut mutants: Vec<usize>,
        limit: Duration,
        record: &Record,
    ) -> Result<Vec<(usize, Verdict)>, String> {
        let verdicts = Mutex::new(Vec::new());
        for round in 0.. {
            if mutants.is_empty() {
                break;
            }
            eprintln!("round {} of tests on {} mutants", round + 1, mutants.len());
            let queue = Mutex::new(mutants.into_iter());
            let left = Mutex::new(Vec::new());
            let work = || -> Result<(), String> {
                loop {
                    let next = lock(&queue).next();
                    let Some(at) = next else { return Ok(()) };
                    let mutant = &plan.mutants[at];
                    let batches = Batch::all(&plan.programs, mutant.function, limit);
                    let verdict = match batches.get(round) {
                        Some(batch) => self.run_batch(&plan.programs, batch, at + 1)?,
                        None => Some(Verdict::Missed),
                    };
                    match verdict {
                        Some(verdict) => {
                            let mut verdicts = lock(&verdicts);
                            record.add(&mutant.name, &mutant.key, verdict)?;
                            verdicts.push((at, verdict));
                        }
                        None => lock(&left).push(at),
                    }
                }
            };
            // One worker per CPU: a test program often runs a single test, and waits.
            thread::scope(|scope| {
                let workers = thread::available_parallelism().map_or(1, |cpus| cpus.get());
                let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
                workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker panicked")?)
            })?;
            mutants = left.into_inner().unwrap_or_else(PoisonError::into_inner);
            mutants.sort_unstable();
        }
        Ok(verdicts.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Builds and runs the mutants that cannot be activated at run time, one by one.
    fn run_separately(
        &self,
        plan: &mut Plan,
        options: &[String],
        mode: Mode,
        record: &Record,
    ) -> Result<(), String> {
        if plan.mutants.iter().all(|mutant| mutant.verdict.is_some()) {
            return Ok(());
        }
        let mutants = listed(self.package, options, mode.sample)?;
        let sources = sources(&mutants)?;
        for (mutant, planned) in mutants.iter().zip(&mut plan.mutants) {
            if planned.verdict.is_some() {
                continue;
            }
            self.write_separately(mutant, &sources)?;
            let verdict = match self.build()? {
                Ok(_) => self.verdict(&plan.programs, mode.limit)?,
                Err(_) => Verdict::Unviable,
            };
            record.add(&planned.name, &planned.key, verdict)?;
            planned.verdict = Some(verdict);
        }
        Ok(())
    }

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

    /// The file that has the function that selects a mutant.
    fn root_file(&self) -> String {
        self.package.relative(&self.package.root_file).to_string_lossy().into_owned()
    }

    /// Writes the files with these mutants.
    fn write(
        &self,
        mutants: &[Mutant],
        sources: &BTreeMap<String, SourceFile>,
        viable: &BTreeSet<usize>,
    ) -> Result<Lines, String> {
        let mut lines = Lines::new();
        let root_file = self.root_file();
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
        cargo.args(["--package", &self.package.name, "--all-features"]);
        cargo.args(["--profile", "mutants", "--message-format=json"]);
        cargo.current_dir(&self.folder).stderr(Stdio::null());
        cargo.env("CARGO_TARGET_DIR", &self.target).env("RUSTFLAGS", "--cap-lints=warn");
        cargo.env("RUSTC_BOOTSTRAP", &self.crates);
        cargo
    }

    /// The mutants that do not compile.
    fn check(&self, lines: &Lines) -> Result<BTreeSet<usize>, String> {
        // Not `cargo check`, for which dependencies would be compiled once more.
        let mut check = self.cargo(&["test", "--no-run", "--lib"]);
        let output = check.output().map_err(|error| error.to_string())?;
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

    /// Builds the test programs, or returns the compiler's errors.
    fn build(&self) -> Result<Result<Vec<PathBuf>, String>, String> {
        let mut build = self.cargo(&["test", "--no-run", "--tests"]);
        let output = build.output().map_err(|error| error.to_string())?;
        let path = |message: Value| {
            let path = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
            Some(PathBuf::from(path))
        };
        if output.status.success() {
            return Ok(Ok(messages(&output.stdout).filter_map(path).collect()));
        }
        let errors = messages(&output.stdout).filter(|message| message["message"]["level"] == "error");
        Ok(Err(errors.filter_map(|error| error["message"]["rendered"].as_str().map(str::to_owned)).collect()))
    }

    /// Finds out what the tests of a program reach, and their times.
    fn measure(&self, path: PathBuf) -> Result<Program, String> {
        let tests = output("list of tests", self.test(&path, None, &["--list", "--format=terse"]))?;
        let reached = self.target.join("reached");
        let mut program = Program { path, tests: Vec::new() };
        for name in tests.lines().filter_map(|line| line.strip_suffix(": test")) {
            fs::write(&reached, "").map_err(|error| format!("{}: {error}", reached.display()))?;
            let mut test = self.test(&program.path, None, &["--exact", name]);
            test.env(REACHED, &reached);
            let start = children_time();
            // On a busy machine a test may fail without a reason.
            if outcome(&mut test, None)? != Outcome::Passed && outcome(&mut test, None)? != Outcome::Passed {
                // Such as a test that compiles the changed sources. Without it, mutants can only survive.
                eprintln!("left out, fails without a mutant: {name} of {}", program.path.display());
                continue;
            }
            let time = (children_time() - start).max(SHORTEST);
            let numbers = fs::read_to_string(&reached).unwrap_or_default();
            let reached = numbers.lines().filter_map(|number| number.trim_end().parse().ok()).collect();
            program.tests.push(Test { name: name.into(), time, reached });
        }
        Ok(program)
    }

    /// A call of a test program with a limit of its CPU time, in seconds.
    fn test(&self, program: &Path, limit: Option<u64>, args: &[&str]) -> Command {
        let limit = limit.map_or("unlimited".into(), |limit| limit.to_string());
        let mut test = command("sh", &["-c", &format!("ulimit -S -t {limit}; exec \"$0\" \"$@\"")]);
        test.arg(program).args(args);
        test.current_dir(self.folder.join(self.package.relative(&self.package.folder)));
        test.envs(ENVIRONMENT.into_iter().filter(|(name, _)| std::env::var_os(name).is_none()));
        test
    }

    /// Runs all tests on the mutant that has been built alone, up to the first failure.
    fn verdict(&self, programs: &[Program], limit: Duration) -> Result<Verdict, String> {
        for batch in Batch::all(programs, None, limit) {
            if let Some(verdict) = self.run_batch(programs, &batch, 0)? {
                return Ok(verdict);
            }
        }
        Ok(Verdict::Missed)
    }

    /// Runs tests with a mutant; `None` if they pass.
    fn run_batch(
        &self,
        programs: &[Program],
        batch: &Batch<'_>,
        mutant: usize,
    ) -> Result<Option<Verdict>, String> {
        let mut outcome = self.run(programs, batch, mutant)?;
        // On a busy machine a slow test may fail without a reason, but hardly twice. The limit is one of CPU time, which
        // does not depend on other programs.
        if outcome == Outcome::Failed && batch.is_slow() {
            outcome = self.run(programs, batch, mutant)?;
        }
        Ok(match outcome {
            Outcome::Passed => None,
            Outcome::Failed => Some(Verdict::Detected),
            Outcome::TimedOut => Some(Verdict::TimedOut),
        })
    }

    /// Runs tests with a mutant, up to the first program that does not pass.
    fn run(&self, programs: &[Program], batch: &Batch<'_>, mutant: usize) -> Result<Outcome, String> {
        for (&program, tests) in &batch.tests {
            let time: Duration = tests.iter().map(|test| test.time).sum();
            let limit = CPU_MARGIN + (CPU_FACTOR * time).as_secs();
            // The first failure decides. Only unstable Rust accepts the option without the variable.
            let args = ["-Zunstable-options", "--fail-fast", "--exact"];
            let mut test = self.test(&programs[program].path, Some(limit), &args);
            test.args(tests.iter().map(|test| &test.name)).env("RUSTC_BOOTSTRAP", "1");
            test.env(VARIABLE, mutant.to_string());
            let outcome = outcome(&mut test, Some(limit))?;
            if outcome != Outcome::Passed {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Passed)
    }
}

/// What a lock protects. Nothing is left incomplete by a worker that panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn messages(output: &[u8]) -> impl Iterator<Item = Value> {
    output.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok())
}

/// Runs a test with this limit of its CPU time in seconds; discards its output. The limits on the clock count the time
/// that this program waits, so that both can be stopped for a while.
fn outcome(test: &mut Command, limit: Option<u64>) -> Result<Outcome, String> {
    const POLL: Duration = Duration::from_millis(5);
    let error = |error| format!("cannot run a test: {error}");
    test.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = test.spawn().map_err(error)?;
    let clock = |factor| limit.map_or(Duration::MAX, |limit| Duration::from_secs(factor * limit));
    let (mut left, mut idle, mut used) = (clock(CLOCK_FACTOR), clock(IDLE_FACTOR), Duration::ZERO);
    loop {
        if let Some(status) = child.try_wait().map_err(error)? {
            return Ok(match status.signal() {
                Some(SIGXCPU) => Outcome::TimedOut,
                _ if status.success() => Outcome::Passed,
                _ => Outcome::Failed,
            });
        }
        if left.is_zero() || idle.is_zero() {
            child.kill().and_then(|()| child.wait()).map_err(error)?;
            return Ok(Outcome::TimedOut);
        }
        thread::sleep(POLL);
        left = left.saturating_sub(POLL);
        idle = idle.saturating_sub(POLL);
        // Reading the time takes time too.
        let is_due = limit.is_some() && idle.subsec_millis() == 0;
        if is_due
            && let time = cpu_times(&child.id().to_string())[0]
            && time > used
        {
            (used, idle) = (time, clock(IDLE_FACTOR));
        }
    }
}

/// CPU time of the programs that this one has waited for: on a busy machine, time on the clock says little.
fn children_time() -> Duration {
    cpu_times("self")[1]
}

/// CPU time of a process, and of those that it has waited for.
fn cpu_times(process: &str) -> [Duration; 2] {
    /// Of the numbers in the file, on Linux.
    const TICK: Duration = Duration::from_millis(10);
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // After the name in parentheses, which may contain spaces, the 12th to 15th field: each time in user and kernel.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let times: Vec<Duration> = fields
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u32>().ok())
        .map(|ticks| ticks * TICK)
        .collect();
    match times[..] {
        [user, kernel, children_user, children_kernel] => [user + kernel, children_user + children_kernel],
        _ => [Duration::ZERO; 2],
    }
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
    // Allocates nothing: some tests count allocations.
    #[cold]
    fn record(function: usize) {{
        if REACHED[function].swap(true, Ordering::Relaxed) {{
            return;
        }}
        let path = unsafe {{ std::ffi::CStr::from_ptr(getenv(c\"{REACHED}\".as_ptr())) }};
        let path: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(path.to_bytes());
        let mut line = [b' '; 32];
        let _ = std::io::Write::write_fmt(&mut &mut line[..31], format_args!(\"{{function}}\"));
        line[31] = b'\\n';
        if let Ok(mut file) = std::fs::File::options().append(true).open(path) {{
            let _ = std::io::Write::write_all(&mut file, &line);
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

    /// What a mutant is recorded under: its name, and a hash of the function and of what is changed in it. It stays the
    /// same when other code in the file changes.
    fn key(&self, mutant: &Mutant) -> String {
        let (from, to) = (self.offset(mutant.span.start), self.offset(mutant.span.end));
        let body = self.body(mutant).cloned().unwrap_or(0..self.text.len());
        let mut hasher = DefaultHasher::new();
        (&self.text[body.clone()], from - body.start, to - from, &mutant.replacement).hash(&mut hasher);
        format!("{:016x} {}", hasher.finish(), cargo_mutants::without_position(&mutant.name))
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
    fn tests_about_a_function_run_first_and_slow_ones_last() {
        let test = |name: &str, millis, reached: &[usize]| Test {
            name: name.into(),
            time: Duration::from_millis(millis),
            reached: reached.iter().copied().collect(),
        };
        let program = |tests| Program { path: PathBuf::new(), tests };
        let programs = [
            program(vec![test("all", 20, &[1, 2, 3]), test("slow", 2000, &[1])]),
            program(vec![test("one", 25, &[1]), test("other", 5, &[2, 3])]),
        ];
        let names = |function, limit| -> Vec<Vec<String>> {
            let batches = Batch::all(&programs, function, limit);
            let names =
                |batch: &Batch<'_>| batch.tests.values().flatten().map(|test| test.name.clone()).collect();
            batches.iter().map(names).collect()
        };
        assert_eq!(names(Some(1), Duration::MAX), [vec!["one"], vec!["all", "slow"]]);
        assert_eq!(names(Some(2), Duration::MAX), [["all", "other"]]);
        assert_eq!(names(None, Duration::MAX), [vec!["other", "one"], vec!["all", "slow"]]);
        assert_eq!(names(Some(4), Duration::MAX), [[""; 0]; 0]);
        assert_eq!(names(Some(1), Duration::from_secs(1)), [vec!["one"], vec!["all"]]);
        let slow = Batch::all(&programs, Some(1), Duration::MAX);
        assert_eq!(slow.iter().map(Batch::is_slow).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn a_plan_is_saved_and_loaded() {
        let mutant = |function, verdict| PlannedMutant {
            name: "a.rs:1:2: b".into(),
            key: "0 a.rs: b".into(),
            function,
            verdict,
        };
        let test = Test { name: "t".into(), time: Duration::from_millis(10), reached: [3, 7].into() };
        let plan = Plan {
            mutants: vec![mutant(Some(7), None), mutant(None, Some(Verdict::Unviable)), mutant(None, None)],
            programs: vec![Program { path: "p".into(), tests: vec![test] }],
        };
        let json = plan.to_json();
        let loaded = Plan::from_json(&json).unwrap();
        assert_eq!(loaded.to_json(), json);
        let to_run = loaded.mutants.iter().map(PlannedMutant::is_to_run_together).collect::<Vec<_>>();
        assert_eq!(to_run, [true, false, false]);
        assert_eq!(loaded.programs[0].tests[0].reached, BTreeSet::from([3, 7]));
        assert!(Plan::from_json(&json["mutants"]).is_none());
    }

    #[test]
    fn a_record_keeps_what_has_been_decided_until_the_function_changes() {
        let mutant = |line| Mutant {
            name: format!("a.rs:{line}:16: replace + with * in a"),
            file: "a.rs".into(),
            span: Position(line, 18)..Position(line, 19),
            replacement: "*".into(),
        };
        let key = |text: &str, line| SourceFile::new(text.into()).unwrap().key(&mutant(line));
        let first = key("fn a() -> u8 { 1 + 2 }\n", 1);
        assert_eq!(first, key("// moved\nfn a() -> u8 { 1 + 2 }\n", 2));
        assert_ne!(first, key("fn a() -> u8 { 1 + 3 }\n", 1));
        let path = std::env::temp_dir().join(format!("unishape-mutants-{}", std::process::id()));
        let record = Record::open(&path, false).unwrap();
        record.add("a", &first, Verdict::Detected).unwrap();
        record.add("b", "other", Verdict::Missed).unwrap();
        assert_eq!(record.earlier(&first), None);
        let record = Record::open(&path, true).unwrap();
        assert_eq!(record.earlier(&first), Some(Verdict::Detected));
        assert_eq!(record.earlier("other"), None);
        assert_eq!(Record::open(&path, false).unwrap().earlier(&first), None);
        fs::remove_file(path).unwrap();
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
