//! Compares unishape with other libraries in one process: `cargo xtask bench`.
//!
//! All contestants do the same work on the same numbers. Results are compared before anything is timed. Then the
//! contestants take turns in rounds, and a figure is the median of the rounds.

mod callers;
mod contestants;
mod machine;
mod reduce;
mod report;
mod scaling;
mod sizes;
mod sums;
mod timing;
mod views;
mod workloads;

use report::{Row, Table};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};
use timing::Limits;
use workloads::Scale;

const USAGE: &str = "\
Usage: cargo xtask bench [NAME...] [--list] [--quick] [--no-write]
       cargo xtask bench python|sweep|reduce|onnx --help

  NAME        only workloads and tables whose name contains NAME
  --list      print all names
  --quick     small arrays and few rounds, to test the benchmark itself
  --no-write  leave docs/benchmarks.md unchanged; implied by NAME and --quick";

/// The markers around the figures in the document.
const BEGIN: &str = "<!-- figures of cargo xtask bench: begin -->";
const END: &str = "<!-- figures of cargo xtask bench: end -->";

struct Arguments {
    names: Vec<String>,
    quick: bool,
    /// The document to write the figures into.
    into: Option<String>,
}

fn main() -> ExitCode {
    let mut arguments = Arguments { names: Vec::new(), quick: false, into: None };
    let mut words = env::args().skip(1);
    let mut write = true;
    while let Some(word) = words.next() {
        match &word[..] {
            "--quick" => arguments.quick = true,
            "--no-write" => write = false,
            "--into" => arguments.into = words.next(),
            "--list" => {
                names().for_each(|name| println!("{name}"));
                return ExitCode::SUCCESS;
            }
            "--help" | "-h" => {
                println!("{USAGE}");
                return ExitCode::SUCCESS;
            }
            other if other.starts_with('-') => {
                eprintln!("unknown option {other}\n\n{USAGE}");
                return ExitCode::FAILURE;
            }
            _ => arguments.names.push(word),
        }
    }
    if !write || arguments.quick || !arguments.names.is_empty() {
        arguments.into = None;
    }
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

const SIZES: &str = "sizes";
const CALLERS: &str = "concurrent callers";
const VIEWS: &str = "views";
const SUMS: &str = "sums";
const REDUCTIONS: &str = "reductions";

fn names() -> impl Iterator<Item = &'static str> {
    let workloads = workloads::ALL.iter().map(|workload| workload.name);
    workloads
        .chain(scaling::ALL.iter().map(|scaling| scaling.name))
        .chain([SIZES, CALLERS, VIEWS, SUMS, REDUCTIONS])
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let start = Instant::now();
    let chosen = |name: &str| {
        arguments.names.is_empty() || arguments.names.iter().any(|part| name.contains(part.as_str()))
    };
    if !names().any(chosen) {
        return Err(format!(
            "no workload or table has such a name; the names are:\n{}",
            names().collect::<Vec<_>>().join("\n")
        ));
    }
    // Read the document first: a problem with it must not waste a run.
    let document = arguments.into.as_ref().map(|path| read_document(path)).transpose()?;
    let machine = machine::description();
    println!("{}\n", machine.join("\n"));

    let limits = |max_rounds, milliseconds| match arguments.quick {
        true => {
            Limits { min_rounds: 3, max_rounds: 5, time: Duration::from_millis(50), pause: Duration::ZERO }
        }
        false => Limits {
            min_rounds: 5,
            max_rounds,
            time: Duration::from_millis(milliseconds),
            pause: Duration::ZERO,
        },
    };
    let scale = Scale { quick: arguments.quick, limits: limits(41, 4000), elements: None };
    let mut rows = Vec::new();
    for workload in workloads::ALL.iter().filter(|workload| chosen(workload.name)) {
        let measured = (workload.run)(scale).map_err(|problem| format!("{}: {problem}", workload.name))?;
        let row = Row { workload, measured };
        println!("{}", row.progress());
        rows.push(row);
    }
    let mut tables = if rows.is_empty() { Vec::new() } else { report::workload_tables(&rows) };
    tables.iter().for_each(|table| print!("{}", table.text()));

    let scale = Scale { limits: limits(31, 1500), ..scale };
    let mut show = |table: Table| {
        print!("{}", table.text());
        tables.push(table);
    };
    scaling::ALL.iter().filter(|scaling| chosen(scaling.name)).for_each(|scaling| show((scaling.run)(scale)));
    if chosen(SIZES) {
        sizes::tables(scale)?.into_iter().for_each(&mut show);
    }
    if chosen(CALLERS) {
        show(callers::table(scale));
    }
    if chosen(VIEWS) {
        views::tables(scale).into_iter().for_each(&mut show);
    }
    if chosen(SUMS) {
        sums::tables(scale).into_iter().for_each(&mut show);
    }
    if chosen(REDUCTIONS) {
        reduce::tables(scale).into_iter().for_each(&mut show);
    }

    let targets = report::targets(&rows, &tables);
    println!("\n{}", targets.join("\n"));
    if arguments.quick {
        println!("A quick run tests the benchmark; its figures are meaningless.");
    }
    println!("\n{} seconds", start.elapsed().as_secs());
    if let (Some(path), Some((before, after))) = (&arguments.into, document) {
        let figures = report::markdown(&machine, &targets, &tables);
        fs::write(path, format!("{before}{BEGIN}\n\n{figures}\n{END}{after}"))
            .map_err(|error| format!("{path}: {error}"))?;
        println!("wrote {path}");
    }
    Ok(())
}

/// The text of the document before the figures and after them.
fn read_document(path: &str) -> Result<(String, String), String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("{path} lacks the markers\n{BEGIN}\n{END}"))?;
    Ok((before.into(), after.into()))
}
