//! unishape beside its rivals, in one process: `cargo xtask bench`.
//!
//! Everybody does the same work on the same numbers. Results are compared before anything is timed; then all
//! take turns, and a figure is the median of the turns.

mod growth;
mod machine;
mod report;
mod rivals;
mod sums;
mod timing;
mod views;
mod workloads;

use report::{Line, Table};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};
use timing::Patience;
use workloads::Scale;

const USAGE: &str = "\
Usage: cargo xtask bench [NAME...] [--quick] [--no-write]
       cargo xtask bench python|onnx --help

  NAME        only what has this in its name: a workload, 'growth', 'views', 'sums'; --list tells the names
  --quick     small arrays and few rounds, to see that it runs
  --no-write  docs/benchmarks.md stays as it is; with a NAME or --quick it does so anyway";

/// What stands around the figures in the document.
const BEGIN: &str = "<!-- figures of cargo xtask bench: begin -->";
const END: &str = "<!-- figures of cargo xtask bench: end -->";

struct Arguments {
    names: Vec<String>,
    quick: bool,
    /// The document that the figures are written into.
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
                eprintln!("there is no {other} here\n\n{USAGE}");
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

const VIEWS: &str = "views";
const SUMS: &str = "sums";

fn names() -> impl Iterator<Item = &'static str> {
    let workloads = workloads::ALL.iter().map(|workload| workload.name);
    workloads.chain(growth::ALL.iter().map(|growth| growth.name)).chain([VIEWS, SUMS])
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let start = Instant::now();
    let chosen = |name: &str| {
        arguments.names.is_empty() || arguments.names.iter().any(|part| name.contains(part.as_str()))
    };
    if !names().any(chosen) {
        return Err(format!(
            "nothing has such a name; these are there:\n{}",
            names().collect::<Vec<_>>().join("\n")
        ));
    }
    // The document is looked at first, so that no run is in vain.
    let document = arguments.into.as_ref().map(|path| read_document(path)).transpose()?;
    let machine = machine::description();
    println!("{}\n", machine.join("\n"));

    let patience = |most, milliseconds| match arguments.quick {
        true => Patience { least: 3, most: 5, time: Duration::from_millis(50) },
        false => Patience { least: 5, most, time: Duration::from_millis(milliseconds) },
    };
    let scale = Scale { quick: arguments.quick, patience: patience(41, 4000) };
    let mut lines = Vec::new();
    for workload in workloads::ALL.iter().filter(|workload| chosen(workload.name)) {
        let measured = (workload.run)(scale).map_err(|problem| format!("{}: {problem}", workload.name))?;
        let line = Line { workload, measured };
        println!("{}", line.progress());
        lines.push(line);
    }
    let mut tables = if lines.is_empty() { Vec::new() } else { report::workload_tables(&lines) };
    tables.iter().for_each(|table| print!("{}", table.text()));

    let scale = Scale { patience: patience(31, 1500), ..scale };
    let mut show = |table: Table| {
        print!("{}", table.text());
        tables.push(table);
    };
    growth::ALL.iter().filter(|growth| chosen(growth.name)).for_each(|growth| show((growth.run)(scale)));
    if chosen(VIEWS) {
        views::tables(scale).into_iter().for_each(&mut show);
    }
    if chosen(SUMS) {
        sums::tables(scale).into_iter().for_each(&mut show);
    }

    let verdict = report::verdict(&lines, &tables);
    println!("\n{}", verdict.join("\n"));
    if arguments.quick {
        println!("A quick try: it shows that all of it runs, and the figures say nothing.");
    }
    println!("\n{} seconds", start.elapsed().as_secs());
    if let (Some(path), Some((before, after))) = (&arguments.into, document) {
        let figures = report::markdown(&machine, &verdict, &tables);
        fs::write(path, format!("{before}{BEGIN}\n\n{figures}\n{END}{after}"))
            .map_err(|error| format!("{path}: {error}"))?;
        println!("written to {path}");
    }
    Ok(())
}

/// The document before the figures and after them.
fn read_document(path: &str) -> Result<(String, String), String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) =
        parts.ok_or_else(|| format!("{path} has no place for the figures, between\n{BEGIN}\n{END}"))?;
    Ok((before.into(), after.into()))
}
