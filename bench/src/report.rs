//! What is said about what was measured: tables, as text and as Markdown, and which aims are met.

use crate::growth::{EXPR_12, EXPR_BESIDE_PUSHED, MAP_12, MAP_BESIDE_PUSHED};
use crate::rivals::{Measured, Who, of};
use crate::timing::Times;
use crate::workloads::Workload;
use std::cmp::Ordering;

/// Into an output that is there, memory-bound work moves at least this part of a copy's bytes a second.
const OF_A_COPY: f64 = 0.8;
/// Some work with a fresh output is to be this much faster than ndarray's operators.
const FASTER_THAN_NDARRAY: f64 = 2.0;
/// Twelve operators may cost so much beside one.
const TWELVE_BESIDE_ONE: f64 = 2.5;
/// A call on tiny arrays may cost so much beside loops by hand.
const CALL_BESIDE_LOOPS: f64 = 1.2;
/// Two medians that are nearer than this are called equal, and said to be.
const EQUAL: f64 = 0.03;

/// A table of the report.
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Figures that the verdict is made of.
    pub(crate) facts: Vec<(&'static str, f64)>,
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

/// Text in lines of at most 110 characters.
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

/// A time, in the unit that suits it.
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

/// A ratio, with as many digits as say something.
pub(crate) fn ratio(ratio: f64) -> String {
    let digits = if ratio < 9.95 { 2 } else { 0 };
    format!("{ratio:.digits$}")
}

pub(crate) fn percent(part: f64) -> String {
    format!("{:.0} %", 100.0 * part)
}

/// Bytes in nanoseconds are gigabytes in seconds.
pub(crate) fn rate(bytes: usize, nanoseconds: f64) -> String {
    format!("{:.1} GB/s", bytes as f64 / nanoseconds)
}

/// What was measured of one workload.
pub(crate) struct Line<'w> {
    pub(crate) workload: &'w Workload,
    pub(crate) measured: Measured,
}

impl Line<'_> {
    /// The faster one of ours.
    fn ours(times: &[(Who, Times)]) -> Option<Times> {
        let ours = Who::OURS.iter().filter_map(|&who| of(who, times));
        ours.min_by(|a, b| a.median.total_cmp(&b.median))
    }

    fn rival(times: &[(Who, Times)]) -> Option<(Who, f64)> {
        let rivals = Who::RIVALS.iter().filter_map(|&who| of(who, times).map(|times| (who, times.median)));
        rivals.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn cells(&self, times: &[(Who, Times)], rivals: &[Who], copy: bool) -> Vec<String> {
        let name = self.workload.name.to_string();
        let Some(ours) = Self::ours(times) else {
            return vec![name];
        };
        let mut cells = vec![name];
        cells.extend(Who::OURS.map(|who| of(who, times).map_or("–".into(), |times| time_text(times.median))));
        cells.push(format!("{:.0} %", 100.0 * ours.spread()));
        if copy {
            cells.push(rate(self.measured.bytes, ours.median));
            let copy = of(Who::Copy, times).filter(|_| !self.workload.aims.call);
            cells.push(copy.map_or("–".into(), |copy| percent(copy.median / ours.median)));
        }
        cells.extend(
            rivals
                .iter()
                .map(|&who| of(who, times).map_or("–".into(), |times| ratio(times.median / ours.median))),
        );
        cells
    }

    /// One line for the terminal, while the run goes on.
    pub(crate) fn progress(&self) -> String {
        let all = |times: &[(Who, Times)]| {
            let all = times.iter().map(|(who, times)| format!("{} {}", who.name(), time_text(times.median)));
            all.collect::<Vec<_>>().join(", ")
        };
        let (fresh, into) = (all(&self.measured.fresh), all(&self.measured.into));
        format!("{:<18} fresh: {fresh}\n{:<18} into:  {into}", self.workload.name, "")
    }
}

/// The tables of the workloads: what they are, fresh, and into an output that is there.
pub(crate) fn workload_tables(lines: &[Line<'_>]) -> Vec<Table> {
    let what = Table {
        title: "The work".into(),
        note:
            "f32 unless the name says another type. Bytes are those of all inputs and the output, once each."
                .into(),
        head: ["", "what", "shapes", "bytes"].map(String::from).into(),
        rows: lines
            .iter()
            .map(|line| {
                let bytes = line.measured.bytes;
                let bytes = if bytes < 1 << 20 {
                    format!("{bytes}")
                } else {
                    format!("{:.0} MB", bytes as f64 / 1e6)
                };
                let (name, what) = (line.workload.name.to_string(), format!("`{}`", line.workload.what));
                vec![name, what, format!("`{}`", line.measured.shapes), bytes]
            })
            .collect(),
        facts: Vec::new(),
    };
    let rivals = Who::RIVALS;
    let head = |copy: &[&str], rivals: &[Who]| -> Vec<String> {
        let ours = ["", "map", "expr", "±"].iter().chain(copy).map(|word| word.to_string());
        ours.chain(rivals.iter().map(|who| who.name().to_string())).collect()
    };
    let fresh = Table {
        title: "A fresh output".into(),
        note: "Making the output and dropping it is inside the timing, of everybody. `map` and `expr` are times; ± \
               is how far the middle half of the rounds is apart, of the faster of the two. The others are how \
               much longer they take than the faster of the two: above 1, they are slower. A dash: it has no such \
               operation, or no such type."
            .into(),
        head: head(&[], &rivals),
        rows: lines.iter().map(|line| line.cells(&line.measured.fresh, &rivals, false)).collect(),
        facts: Vec::new(),
    };
    let rivals = [Who::Zip, Who::Rstsr, Who::Loops];
    let into = Table {
        title: "Into an output that is there".into(),
        note: "As above, and the bytes a second of the faster of ours, beside those of a copy on all cores that moves \
               as many. ndarray's operators and Candle always make a new output."
            .into(),
        head: head(&["", "of memcpy"], &rivals),
        rows: lines.iter().map(|line| line.cells(&line.measured.into, &rivals, true)).collect(),
        facts: Vec::new(),
    };
    vec![what, fresh, into]
}

/// An aim, held against the figures.
struct Aim {
    text: String,
    /// What each is called, the figure of the faster of ours, and of `map` and of an expression alone.
    figures: Vec<(String, [Option<f64>; 3])>,
    /// Whether a figure is good enough,
    enough: fn(f64) -> bool,
    /// and how it is said.
    say: fn(f64) -> String,
}

impl Aim {
    fn verdict(mut self) -> String {
        let all = self.figures.len();
        let alone = |way: usize| {
            let known = self.figures.iter().filter_map(|(_, figures)| figures[way]);
            known.filter(|figure| (self.enough)(*figure)).count()
        };
        let (met, map, expr) = (alone(0), alone(1), alone(2));
        let ways = format!("in {met} of {all}; by `map` alone in {map}, by expressions alone in {expr}");
        match met == all {
            _ if all == 0 => format!("**Not measured**: {}.", self.text),
            true => format!("**Met**: {}, {ways}.", self.text),
            false => {
                self.figures.retain(|(_, figures)| !figures[0].is_some_and(self.enough));
                self.figures.sort_by(|a, b| a.1[0].partial_cmp(&b.1[0]).unwrap_or(Ordering::Equal));
                let missed: Vec<String> = self
                    .figures
                    .iter()
                    .map(|(name, figures)| format!("{name} {}", figures[0].map_or("–".into(), self.say)))
                    .collect();
                format!("**Not met**: {}, {ways}. Missed by: {}.", self.text, missed.join(", "))
            }
        }
    }
}

/// Another's time beside ours: the faster of ours, `map`, an expression.
fn beside(other: f64, times: &[(Who, Times)]) -> [Option<f64>; 3] {
    let ours = Line::ours(times);
    let beside = |times: Option<Times>| times.map(|times| other / times.median);
    [beside(ours), beside(of(Who::Map, times)), beside(of(Who::Expr, times))]
}

/// Which aims are met by what was measured, and by how much others are missed.
pub(crate) fn verdict(lines: &[Line<'_>], tables: &[Table]) -> Vec<String> {
    let memory = lines.iter().filter(|line| line.workload.aims.memory).filter_map(|line| {
        let copy = of(Who::Copy, &line.measured.into)?.median;
        Some((line.workload.name.into(), beside(copy, &line.measured.into)))
    });
    // Tiny work has an aim of its own.
    let fresh = lines.iter().filter(|line| !line.workload.aims.call).filter_map(|line| {
        let (who, rival) = Line::rival(&line.measured.fresh)?;
        Some((format!("{} ({})", line.workload.name, who.name()), beside(rival, &line.measured.fresh)))
    });
    let twice = lines.iter().filter(|line| line.workload.aims.twice).filter_map(|line| {
        let ndarray = of(Who::Ndarray, &line.measured.fresh)?.median;
        Some((line.workload.name.into(), beside(ndarray, &line.measured.fresh)))
    });
    let calls = lines.iter().filter(|line| line.workload.aims.call).filter_map(|line| {
        let loops = of(Who::Loops, &line.measured.fresh)?.median;
        let parts = beside(loops, &line.measured.fresh);
        Some((line.workload.name.into(), parts.map(|part| part.map(|part| 1.0 / part))))
    });
    let fact = |name: &str| {
        let facts = tables.iter().flat_map(|table| &table.facts);
        facts.filter(|(is, _)| *is == name).map(|(_, figure)| *figure).next()
    };
    let facts = |name: &str, map: &str, expr: &str| {
        let (map, expr) = (fact(map), fact(expr));
        let best = map.into_iter().chain(expr).min_by(f64::total_cmp);
        best.map(|best| (name.to_string(), [Some(best), map, expr])).into_iter().collect()
    };
    let aims = [
        Aim {
            text: format!(
                "into a given output, memory-bound work at {} of memcpy's speed",
                percent(OF_A_COPY)
            ),
            figures: memory.collect(),
            enough: |part| part >= OF_A_COPY,
            say: percent,
        },
        Aim {
            text: format!(
                "a fresh output no slower than the fastest rival (up to {} is no difference)",
                percent(EQUAL)
            ),
            figures: fresh.collect(),
            enough: |times| times >= 1.0 - EQUAL,
            say: ratio,
        },
        Aim {
            text: format!(
                "a fresh output of short inner dimensions, transposes and chains {FASTER_THAN_NDARRAY} times as fast as \
                 ndarray's operators"
            ),
            figures: twice.collect(),
            enough: |times| times >= FASTER_THAN_NDARRAY,
            say: ratio,
        },
        Aim {
            text: format!("12 operators cost at most {TWELVE_BESIDE_ONE} times one"),
            figures: [MAP_12, EXPR_12]
                .into_iter()
                .filter_map(|name| {
                    let figure = fact(name);
                    let way = |is: &str| figure.filter(|_| name == is);
                    figure.map(|_| (name.into(), [figure, way(MAP_12), way(EXPR_12)]))
                })
                .collect(),
            enough: |times| times <= TWELVE_BESIDE_ONE,
            say: ratio,
        },
        Aim {
            text: format!(
                "a call on tiny arrays at most {CALL_BESIDE_LOOPS} times four loops that push each element"
            ),
            figures: facts("a call", MAP_BESIDE_PUSHED, EXPR_BESIDE_PUSHED),
            enough: |times| times <= CALL_BESIDE_LOOPS,
            say: ratio,
        },
        Aim {
            text: format!(
                "a call on tiny arrays at most {CALL_BESIDE_LOOPS} times the quickest loops by hand"
            ),
            figures: calls.collect(),
            enough: |times| times <= CALL_BESIDE_LOOPS,
            say: ratio,
        },
    ];
    aims.map(Aim::verdict).into()
}

/// Everything, as Markdown.
pub(crate) fn markdown(machine: &[String], verdict: &[String], tables: &[Table]) -> String {
    let list = |lines: &[String]| -> String {
        lines.iter().map(|line| format!("{}\n", wrapped(&format!("- {line}"), "  "))).collect()
    };
    let mut text = format!("{}\n### What is reached\n\n{}", list(machine), list(verdict));
    for table in tables {
        text += "\n";
        text += &table.markdown();
    }
    text
}
