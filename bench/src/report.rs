//! What is said about what was measured: tables, as text and as Markdown, and which aims are met.

use crate::growth::{EXPR_12, MAP_12};
use crate::rivals::{Measured, Who, of};
use crate::timing::Times;
use crate::workloads::Workload;

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
            cells.push(of(Who::Copy, times).map_or("–".into(), |copy| percent(copy.median / ours.median)));
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

/// Which aims are met by what was measured, and by how much others are missed.
pub(crate) fn verdict(lines: &[Line<'_>], tables: &[Table]) -> Vec<String> {
    let mut verdict = Vec::new();
    let mut say = |aim: String, all: usize, mut missed: Vec<(f64, String)>| {
        missed.sort_by(|a, b| b.0.total_cmp(&a.0));
        let missed: Vec<String> = missed.into_iter().map(|(_, text)| text).collect();
        verdict.push(match (all, missed.len()) {
            (0, _) => format!("**Not measured**: {aim}."),
            (_, 0) => format!("**Met**: {aim}; in all {all}."),
            (_, n) => {
                format!("**Not met**: {aim}. In {} of {all}; missed by {}.", all - n, missed.join(", "))
            }
        });
    };

    let memory = lines.iter().filter(|line| line.workload.aims.memory);
    let parts: Vec<(&str, f64)> = memory
        .filter_map(|line| {
            let copy = of(Who::Copy, &line.measured.into)?.median;
            Some((line.workload.name, copy / Line::ours(&line.measured.into)?.median))
        })
        .collect();
    let missed = parts.iter().filter(|(_, part)| *part < OF_A_COPY);
    let missed = missed.map(|(name, part)| (-part, format!("{name} ({})", percent(*part)))).collect();
    let aim =
        format!("into a given output, memory-bound work at {} of memcpy's speed or more", percent(OF_A_COPY));
    say(aim, parts.len(), missed);

    // Tiny work has an aim of its own.
    let large = || lines.iter().filter(|line| !line.workload.aims.call);
    let beside = |line: &Line<'_>| {
        let (who, rival) = Line::rival(&line.measured.fresh)?;
        Some((line.workload.name, who, rival / Line::ours(&line.measured.fresh)?.median))
    };
    let all: Vec<_> = large().filter_map(beside).collect();
    let missed = all.iter().filter(|(_, _, ratio)| *ratio < 1.0 - EQUAL);
    let missed = missed
        .map(|(name, who, times)| {
            (-times, format!("{name} ({} takes {} of our time)", who.name(), percent(*times)))
        })
        .collect();
    let aim = format!(
        "a fresh output no slower than the fastest rival, where less than {} is no difference",
        percent(EQUAL)
    );
    say(aim, all.len(), missed);

    let twice: Vec<(&str, f64)> = lines
        .iter()
        .filter(|line| line.workload.aims.twice)
        .filter_map(|line| {
            let ndarray = of(Who::Ndarray, &line.measured.fresh)?.median;
            Some((line.workload.name, ndarray / Line::ours(&line.measured.fresh)?.median))
        })
        .collect();
    let missed = twice.iter().filter(|(_, times)| *times < FASTER_THAN_NDARRAY);
    let missed = missed.map(|(name, times)| (-times, format!("{name} ({})", ratio(*times)))).collect();
    let aim = "a fresh output of short inner dimensions, transposes and chains twice as fast as ndarray's operators";
    say(aim.into(), twice.len(), missed);

    let fact = |name: &str| tables.iter().flat_map(|table| &table.facts).find(|(is, _)| *is == name);
    let chains: Vec<&(&str, f64)> = [MAP_12, EXPR_12].into_iter().filter_map(fact).collect();
    let missed = chains.iter().filter(|(_, times)| *times > TWELVE_BESIDE_ONE);
    let missed = missed.map(|(name, times)| (*times, format!("{name} ({})", ratio(*times)))).collect();
    say(format!("12 operators cost at most {TWELVE_BESIDE_ONE} times one"), chains.len(), missed);

    let calls: Vec<(&str, f64)> = lines
        .iter()
        .filter(|line| line.workload.aims.call)
        .flat_map(|line| {
            let loops = of(Who::Loops, &line.measured.fresh).map(|times| times.median);
            let beside = move |who: Who| Some((who.name(), of(who, &line.measured.fresh)?.median / loops?));
            Who::OURS.into_iter().filter_map(beside)
        })
        .collect();
    let missed = calls.iter().filter(|(_, times)| *times > CALL_BESIDE_LOOPS);
    let missed = missed.map(|(name, times)| (*times, format!("{name} ({})", ratio(*times)))).collect();
    let aim = format!(
        "a call on tiny arrays at most {CALL_BESIDE_LOOPS} times loops by hand with their allocation"
    );
    say(aim, calls.len(), missed);
    verdict
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
