//! The report: tables as text and as Markdown, and which targets are met.

use crate::contestants::{Contestant, Measured, of};
use crate::scaling::{EXPR_12, EXPR_TO_PUSHED, MAP_12, MAP_TO_PUSHED};
use crate::timing::{Times, largest_spread};
use crate::workloads::Workload;
use std::cmp::Ordering;

/// Target: the minimum speed of memory-bound work with a preallocated output, relative to memcpy.
const OF_MEMCPY: f64 = 0.8;
/// Target: the minimum speed-up over ndarray's operators, for some workloads with a freshly allocated output.
const FASTER_THAN_NDARRAY: f64 = 2.0;
/// Target: the maximum time of 12 operators relative to one.
const TWELVE_TO_ONE: f64 = 2.5;
/// Target: the maximum time of a call on small arrays, relative to hand-written loops.
const CALL_TO_LOOPS: f64 = 1.2;
/// Medians whose relative difference is at most this count as equal.
pub(crate) const EQUAL: f64 = 0.03;

/// A table of the report.
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Ratios for the targets.
    pub(crate) ratios: Vec<(&'static str, f64)>,
}

impl Table {
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<&str> =
                (0..self.head.len()).map(|i| cells.get(i).map_or("", |cell| cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = format!("### {}\n\n{}\n\n", self.title, wrapped(&self.note, ""));
        text += &line(&self.head);
        text += &format!("|---|{}\n", "---:|".repeat(self.head.len() - 1));
        self.rows.iter().for_each(|row| text += &line(row));
        text
    }

    pub(crate) fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).chain(self.head.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |cells: &Vec<String>| {
            let cells = cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") }
            });
            format!("{}\n", cells.collect::<String>().trim_end())
        };
        let mut text = format!("\n{}\n", self.title);
        text += &line(&self.head);
        self.rows.iter().for_each(|row| text += &line(row));
        text
    }
}

/// Wraps text into lines of at most 110 characters.
fn wrapped(text: &str, indent: &str) -> String {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 110 {
            lines.push(std::mem::replace(&mut line, indent.to_string()));
        }
        if !line.trim().is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines.push(line);
    lines.join("\n")
}

/// A time with its unit.
pub(crate) fn time_text(nanoseconds: f64) -> String {
    let (number, unit) = match nanoseconds {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = if number < 100.0 { 1 } else { 0 };
    format!("{number:.digits$} {unit}")
}

/// A ratio with its significant digits.
pub(crate) fn ratio(ratio: f64) -> String {
    let digits = if ratio < 9.95 { 2 } else { 0 };
    format!("{ratio:.digits$}")
}

pub(crate) fn percent(part: f64) -> String {
    format!("{:.0} %", 100.0 * part)
}

/// A rate; bytes per nanosecond are GB/s.
pub(crate) fn rate(bytes: usize, nanoseconds: f64) -> String {
    format!("{:.1} GB/s", bytes as f64 / nanoseconds)
}

/// The measurement of one workload.
pub(crate) struct Row<'w> {
    pub(crate) workload: &'w Workload,
    pub(crate) measured: Measured,
}

impl Row<'_> {
    /// The faster of `map` and an expression.
    pub(crate) fn unishape(times: &[(Contestant, Times)]) -> Option<Times> {
        let both = Contestant::UNISHAPE.iter().filter_map(|&one| of(one, times));
        both.min_by(|a, b| a.median.total_cmp(&b.median))
    }

    /// The fastest other contestant.
    pub(crate) fn fastest_other(times: &[(Contestant, Times)]) -> Option<(Contestant, f64)> {
        let others =
            Contestant::OTHERS.iter().filter_map(|&one| of(one, times).map(|times| (one, times.median)));
        others.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn cells(&self, times: &[(Contestant, Times)], others: &[Contestant], copy: bool) -> Vec<String> {
        let name = self.workload.name.to_string();
        let Some(unishape) = Self::unishape(times) else {
            return vec![name];
        };
        let mut cells = vec![name];
        cells.extend(
            Contestant::UNISHAPE
                .map(|one| of(one, times).map_or("–".into(), |times| time_text(times.median))),
        );
        cells.push(percent(unishape.spread()));
        if copy {
            cells.push(rate(self.measured.bytes, unishape.median));
            let copy = of(Contestant::Copy, times).filter(|_| !self.workload.targets.call);
            cells.push(copy.map_or("–".into(), |copy| percent(copy.median / unishape.median)));
        }
        let others: Vec<Option<Times>> = others.iter().map(|&other| of(other, times)).collect();
        let cell =
            |times: &Option<Times>| times.map_or("–".into(), |times| ratio(times.median / unishape.median));
        cells.extend(others.iter().map(cell));
        cells.push(percent(largest_spread(others.iter().flatten())));
        cells
    }

    /// Two lines for the terminal, while the run continues.
    pub(crate) fn progress(&self) -> String {
        let all = |times: &[(Contestant, Times)]| {
            let all = times.iter().map(|(one, times)| format!("{} {}", one.name(), time_text(times.median)));
            all.collect::<Vec<_>>().join(", ")
        };
        let (fresh, preallocated) = (all(&self.measured.fresh), all(&self.measured.preallocated));
        let name = self.workload.name;
        format!("{name:<18} freshly allocated: {fresh}\n{:<18} preallocated: {preallocated}", "")
    }
}

/// The tables of the workloads: what they compute, and their times for both kinds of output.
pub(crate) fn workload_tables(rows: &[Row<'_>]) -> Vec<Table> {
    let workloads = Table {
        title: "Workloads".into(),
        note: "f32 unless the name gives another dtype. Bytes: all inputs and the output, once each.".into(),
        head: ["", "expression", "shapes", "bytes"].map(String::from).into(),
        rows: rows
            .iter()
            .map(|row| {
                let bytes = row.measured.bytes;
                let bytes = if bytes < 1 << 20 {
                    format!("{bytes}")
                } else {
                    format!("{:.0} MB", bytes as f64 / 1e6)
                };
                let (name, expression) = (row.workload.name.into(), format!("`{}`", row.workload.expression));
                vec![name, expression, format!("`{}`", row.measured.shapes), bytes]
            })
            .collect(),
        ratios: Vec::new(),
    };
    let others = Contestant::OTHERS;
    let head = |copy: &[&str], others: &[Contestant]| -> Vec<String> {
        let first = ["", "map", "expr", "spread"].iter().chain(copy).copied();
        let others = others.iter().map(|other| other.name()).chain(["largest spread of the others"]);
        first.chain(others).map(String::from).collect()
    };
    let fresh = Table {
        title: "Freshly allocated output".into(),
        note: "Allocating and freeing the output is part of the time of every contestant. `map` and `expr` are median \
               times; the others are ratios of their median to the faster of the two: above 1, they are slower. \
               Spread: interquartile range of the rounds, relative to the median, of the faster of `map` and `expr`. \
               A dash: the operation or the dtype is not supported."
            .into(),
        head: head(&[], &others),
        rows: rows.iter().map(|row| row.cells(&row.measured.fresh, &others, false)).collect(),
        ratios: Vec::new(),
    };
    let others = [Contestant::Zip, Contestant::Rstsr, Contestant::Loops];
    let preallocated = Table {
        title: "Preallocated output".into(),
        note: "As above, with the memory bandwidth of the faster of `map` and `expr`, also relative to a copy on all \
               cores that moves as many bytes. ndarray's operators and Candle always allocate their output."
            .into(),
        head: head(&["bandwidth", "of memcpy"], &others),
        rows: rows.iter().map(|row| row.cells(&row.measured.preallocated, &others, true)).collect(),
        ratios: Vec::new(),
    };
    vec![workloads, fresh, preallocated]
}

/// Largest number of misses that a target names.
const NAMED: usize = 4;

/// A target, compared with the figures.
struct Target {
    text: String,
    /// For each workload: the figure of the faster of `map` and expressions, and of each alone.
    figures: Vec<(String, [Option<f64>; 3])>,
    /// Whether a figure meets the target.
    enough: fn(f64) -> bool,
    /// Formats a figure.
    format: fn(f64) -> String,
}

impl Target {
    fn verdict(mut self) -> String {
        let all = self.figures.len();
        let alone = |index: usize| {
            let known = self.figures.iter().filter_map(|(_, figures)| figures[index]);
            known.filter(|figure| (self.enough)(*figure)).count()
        };
        let (met, map, expr) = (alone(0), alone(1), alone(2));
        let counts = format!("in {met} of {all}; by `map` alone in {map}, by expressions alone in {expr}");
        match met == all {
            _ if all == 0 => format!("**Not measured**: {}.", self.text),
            true => format!("**Met**: {}, {counts}.", self.text),
            false => {
                self.figures.retain(|(_, figures)| !figures[0].is_some_and(self.enough));
                self.figures.sort_by(|a, b| a.1[0].partial_cmp(&b.1[0]).unwrap_or(Ordering::Equal));
                let mut missed: Vec<String> = self
                    .figures
                    .iter()
                    .take(NAMED)
                    .map(|(name, figures)| format!("{name} {}", figures[0].map_or("–".into(), self.format)))
                    .collect();
                if self.figures.len() > NAMED {
                    missed.push(format!("{} more in the tables", self.figures.len() - NAMED));
                }
                format!("**Not met**: {}, {counts}. Missed by: {}.", self.text, missed.join(", "))
            }
        }
    }
}

/// A time relative to the faster of `map` and an expression, and to each alone.
fn relative(other: f64, times: &[(Contestant, Times)]) -> [Option<f64>; 3] {
    let relative = |times: Option<Times>| times.map(|times| other / times.median);
    [Row::unishape(times), of(Contestant::Map, times), of(Contestant::Expr, times)].map(relative)
}

/// Which targets are met, and by how much the others are missed.
pub(crate) fn targets(rows: &[Row<'_>], tables: &[Table]) -> Vec<String> {
    let memory = rows.iter().filter(|row| row.workload.targets.memory).filter_map(|row| {
        let copy = of(Contestant::Copy, &row.measured.preallocated)?.median;
        Some((row.workload.name.into(), relative(copy, &row.measured.preallocated)))
    });
    // Small arrays have a target of their own.
    let fresh = rows.iter().filter(|row| !row.workload.targets.call).filter_map(|row| {
        let (fastest, other) = Row::fastest_other(&row.measured.fresh)?;
        Some((format!("{} ({})", row.workload.name, fastest.name()), relative(other, &row.measured.fresh)))
    });
    let twice = rows.iter().filter(|row| row.workload.targets.twice).filter_map(|row| {
        let ndarray = of(Contestant::Ndarray, &row.measured.fresh)?.median;
        Some((row.workload.name.into(), relative(ndarray, &row.measured.fresh)))
    });
    let calls = rows.iter().filter(|row| row.workload.targets.call).filter_map(|row| {
        let loops = of(Contestant::Loops, &row.measured.fresh)?.median;
        let parts = relative(loops, &row.measured.fresh);
        Some((row.workload.name.into(), parts.map(|part| part.map(|part| 1.0 / part))))
    });
    let named = |name: &str| {
        let ratios = tables.iter().flat_map(|table| &table.ratios);
        ratios.filter(|(is, _)| *is == name).map(|(_, figure)| *figure).next()
    };
    let faster = |name: &str, map: &str, expr: &str| {
        let (map, expr) = (named(map), named(expr));
        let best = map.into_iter().chain(expr).min_by(f64::total_cmp);
        best.map(|best| (name.to_string(), [Some(best), map, expr])).into_iter().collect()
    };
    let targets = [
        Target {
            text: format!(
                "preallocated output: memory-bound work at {} of the speed of memcpy",
                percent(OF_MEMCPY)
            ),
            figures: memory.collect(),
            enough: |part| part >= OF_MEMCPY,
            format: percent,
        },
        Target {
            text: format!(
                "freshly allocated output: no slower than the fastest other contestant (a difference up to {} counts as \
                 equal)",
                percent(EQUAL)
            ),
            figures: fresh.collect(),
            enough: |times| times >= 1.0 - EQUAL,
            format: ratio,
        },
        Target {
            text: format!(
                "freshly allocated output of short inner dimensions, transposes and chains: at least \
                 {FASTER_THAN_NDARRAY} times as fast as ndarray's operators"
            ),
            figures: twice.collect(),
            enough: |times| times >= FASTER_THAN_NDARRAY,
            format: ratio,
        },
        Target {
            text: format!("12 operators take at most {TWELVE_TO_ONE} times as long as one"),
            figures: [MAP_12, EXPR_12]
                .into_iter()
                .filter_map(|name| {
                    let figure = named(name);
                    let only = |is: &str| figure.filter(|_| name == is);
                    figure.map(|_| (name.into(), [figure, only(MAP_12), only(EXPR_12)]))
                })
                .collect(),
            enough: |times| times <= TWELVE_TO_ONE,
            format: ratio,
        },
        Target {
            text: format!(
                "a call on small arrays takes at most {CALL_TO_LOOPS} times as long as four loops that push each element"
            ),
            figures: faster("a call", MAP_TO_PUSHED, EXPR_TO_PUSHED),
            enough: |times| times <= CALL_TO_LOOPS,
            format: ratio,
        },
        Target {
            text: format!(
                "a call on small arrays takes at most {CALL_TO_LOOPS} times as long as the fastest hand-written loops"
            ),
            figures: calls.collect(),
            enough: |times| times <= CALL_TO_LOOPS,
            format: ratio,
        },
    ];
    targets.map(Target::verdict).into()
}

/// The whole report as Markdown.
pub(crate) fn markdown(machine: &[String], targets: &[String], tables: &[Table]) -> String {
    let list = |lines: &[String]| -> String {
        lines.iter().map(|line| format!("{}\n", wrapped(&format!("- {line}"), "  "))).collect()
    };
    let mut text = format!("{}\n### Targets\n\n{}", list(machine), list(targets));
    for table in tables {
        text += "\n";
        text += &table.markdown();
    }
    text
}
