//! The sweep over sizes: unishape's time relative to the fastest other contestant, from 10 to 10⁸ elements.

use crate::contestants::{Contestant, Measured, of};
use crate::machine::available_memory;
use crate::report::{EQUAL, Row, Table, ratio};
use crate::scaling::table;
use crate::timing::Limits;
use crate::workloads::{self, Scale};
use std::time::Duration;

const ELEMENTS: [usize; 13] = [
    10,
    100,
    1_000,
    3_000,
    10_000,
    30_000,
    100_000,
    300_000,
    1_000_000,
    3_000_000,
    10_000_000,
    30_000_000,
    100_000_000,
];
const QUICK_ELEMENTS: [usize; 3] = [10, 10_000, 1_000_000];

/// Names of the workloads.
const WORKLOADS: [&str; 6] = ["same shape", "row", "column", "outer product", "transposed", "12 operators"];

/// Memory that a workload and its contestants take, in bytes per element.
const MEMORY: u64 = 80;

/// The pause before each block of calls.
const PAUSE: Duration = Duration::from_millis(20);

/// A table for freshly allocated and one for preallocated outputs.
pub(crate) fn tables(scale: Scale) -> Result<Vec<Table>, String> {
    let sizes = if scale.quick { &QUICK_ELEMENTS[..] } else { &ELEMENTS };
    let sizes: Vec<usize> = sizes
        .iter()
        .copied()
        .filter(|&size| available_memory().is_none_or(|left| left > MEMORY * size as u64))
        .collect();
    let limits = Limits { max_rounds: 15, time: scale.limits.time / 3, pause: PAUSE, ..scale.limits };
    let mut rows = Vec::new();
    for name in WORKLOADS {
        let workload = workloads::ALL.iter().find(|workload| workload.name == name);
        let workload = workload.ok_or_else(|| format!("no workload is called {name}"))?;
        let mut cells = Vec::new();
        for &size in &sizes {
            let measured = (workload.run)(Scale { limits, elements: Some(size), ..scale })
                .map_err(|problem| format!("{name}, {size} elements: {problem}"))?;
            let row = Row { workload, measured };
            println!("{size:>9} {}", row.progress());
            cells.push(row.measured);
        }
        rows.push((workload.expression, cells));
    }
    Ok(vec![
        panel("Sizes, freshly allocated output", &sizes, &rows, |measured| &measured.fresh),
        panel("Sizes, preallocated output", &sizes, &rows, |measured| &measured.preallocated),
    ])
}

type Times = [(Contestant, crate::timing::Times)];

fn panel(
    title: &str,
    sizes: &[usize],
    rows: &[(&str, Vec<Measured>)],
    output: fn(&Measured) -> &Times,
) -> Table {
    let fastest = |times: &Times| Row::fastest_other(times).map(|(_, median)| median);
    let mut best: Vec<f64> = Vec::new();
    let mut lines = Vec::new();
    for (expression, cells) in rows {
        let times: Vec<&Times> = cells.iter().map(output).collect();
        best.extend(times.iter().filter_map(|times| Some(Row::unishape(times)?.median / fastest(times)?)));
        for own in Contestant::UNISHAPE {
            let cell = |times: &&Times| Some(ratio(of(own, times)?.median / fastest(times)?));
            let cells = times.iter().map(|times| cell(times).unwrap_or("–".into()));
            let name = if expression.len() > 20 { "12 operators" } else { expression };
            lines.push(std::iter::once(format!("{}: `{name}`", own.name())).chain(cells).collect());
        }
    }
    let met = best.iter().filter(|ratio| **ratio <= 1.0 + EQUAL).count();
    let mean = (best.iter().map(|ratio| ratio.ln()).sum::<f64>() / best.len().max(1) as f64).exp();
    let note = format!(
        "f32, by number of elements: time of `map` and of an expression relative to the fastest of ndarray's operators, \
         `Zip` and hand-written loops (below 2¹⁸ elements the latter two use one thread). The faster of `map` and expr \
         is no slower (at most {:.2}) in {met} of {} cells; geometric mean {mean:.2}.",
        1.0 + EQUAL,
        best.len(),
    );
    let sizes: Vec<String> = sizes.iter().map(|size| count(*size)).collect();
    let head: Vec<&str> = std::iter::once("").chain(sizes.iter().map(String::as_str)).collect();
    table(title, &note, &head, lines)
}

/// A number of elements, as in `300k`.
fn count(elements: usize) -> String {
    match elements {
        1_000_000.. => format!("{}M", elements / 1_000_000),
        1_000.. => format!("{}k", elements / 1_000),
        _ => elements.to_string(),
    }
}
