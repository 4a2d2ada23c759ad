//! A graph as a diagram: a box for each node, in the order of the data flow, with lines for the values.
//!
//! Boxes are in layers, each below those that compute its inputs, and near the middle of these. Constants are left out.

use std::collections::HashMap;
use std::fmt::Write;
use unishape::text;
use unishape_onnx::{Graph, Node};

const WIDTH: i64 = 132;
const HEIGHT: i64 = 38;
const GAP: i64 = 20;
const LAYER: i64 = HEIGHT + 34;

/// Characters of a name in a box.
const NAME_CHARS: usize = 19;

/// How a node is shown: its CSS class, and the section about it.
pub(super) struct Mark {
    pub(super) class: &'static str,
    pub(super) section: Option<usize>,
}

struct DiagramBox<'g> {
    label: &'g str,
    name: &'g str,
    class: &'static str,
    section: Option<usize>,
    /// Boxes whose values this one reads.
    sources: Vec<usize>,
    layer: i64,
    x: i64,
}

/// SVG of a graph; `mark` returns how nodes are shown.
pub(super) fn svg(graph: &Graph, mark: impl Fn(&Node) -> Mark) -> String {
    let mut boxes = boxes(graph, mark);
    place(&mut boxes);
    let left = boxes.iter().map(|each| each.x).min().unwrap_or(0);
    let right = boxes.iter().map(|each| each.x + WIDTH).max().unwrap_or(WIDTH);
    let bottom = boxes.iter().map(|each| each.layer).max().unwrap_or(0) * LAYER + HEIGHT;
    let mut svg = format!(
        "<svg class=\"graph\" role=\"img\" aria-label=\"Graph of the model\" viewBox=\"{} {} {} {}\">\n<g class=\"lines\">",
        left - GAP,
        -GAP,
        right - left + 2 * GAP,
        bottom + 2 * GAP
    );
    for each in &boxes {
        for source in each.sources.iter().map(|&source| &boxes[source]) {
            let (x1, y1) = (source.x + WIDTH / 2, source.layer * LAYER + HEIGHT);
            let (x2, y2) = (each.x + WIDTH / 2, each.layer * LAYER);
            let bend = ((y2 - y1) / 2).max(12);
            let _ = write!(svg, "<path d=\"M{x1} {y1}C{x1} {} {x2} {} {x2} {y2}\"/>", y1 + bend, y2 - bend);
        }
    }
    svg.push_str("</g>\n");
    for each in &boxes {
        let (x, y) = (each.x, each.layer * LAYER);
        let link = each.section.map(|section| format!(" data-section=\"{section}\"")).unwrap_or_default();
        let _ = write!(
            svg,
            "<g class=\"box {}\"{link}><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"5\"/>\
             <text x=\"{cx}\" y=\"{}\">{}</text>",
            each.class,
            y + 16,
            text::escape_html(&text::truncate(each.label, NAME_CHARS)),
            cx = x + WIDTH / 2,
        );
        if !each.name.is_empty() {
            let _ = write!(
                svg,
                "<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>",
                x + WIDTH / 2,
                y + 31,
                text::escape_html(&last_chars(each.name))
            );
        }
        let title = format!("{} {}", each.label, text::truncate(each.name, 200));
        let _ = writeln!(svg, "<title>{}</title></g>", text::escape_html(title.trim()));
    }
    svg.push_str("</svg>\n");
    svg
}

/// The end of a name, where names in models differ.
fn last_chars(name: &str) -> String {
    let name = text::truncate(name, 200);
    let count = name.chars().count();
    if count <= NAME_CHARS {
        return name;
    }
    let end: String = name.chars().skip(count + 1 - NAME_CHARS).collect();
    format!("…{end}")
}

fn boxes<'g>(graph: &'g Graph, mark: impl Fn(&Node) -> Mark) -> Vec<DiagramBox<'g>> {
    let initializers: std::collections::HashSet<&str> = graph.initializers().collect();
    let mut boxes: Vec<DiagramBox<'g>> = Vec::new();
    // The box that computes each value.
    let mut sources: HashMap<&str, usize> = HashMap::new();
    for input in graph.inputs.iter().filter(|input| !initializers.contains(input.name.as_str())) {
        sources.insert(&input.name, boxes.len());
        let (label, name) = ("input", input.name.as_str());
        boxes.push(DiagramBox { label, name, class: "end", section: None, sources: vec![], layer: 0, x: 0 });
    }
    for node in &graph.nodes {
        let Mark { class, section } = mark(node);
        if node.op_type == "Constant" && section.is_none() {
            continue;
        }
        let captured =
            node.subgraphs().flat_map(|(_, graph)| graph.nodes.iter().flat_map(|node| &node.inputs));
        let mut from: Vec<usize> = node
            .inputs
            .iter()
            .chain(captured)
            .filter_map(|name| sources.get(name.as_str()).copied())
            .collect();
        from.sort_unstable();
        from.dedup();
        let layer = from.iter().map(|&source| boxes[source].layer + 1).max().unwrap_or(0);
        for output in node.outputs.iter().filter(|name| !name.is_empty()) {
            sources.insert(output, boxes.len());
        }
        let (label, name) = (node.op_type.as_str(), node.name.as_str());
        boxes.push(DiagramBox { label, name, class, section, sources: from, layer, x: 0 });
    }
    for output in &graph.outputs {
        let from: Vec<usize> = sources.get(output.name.as_str()).copied().into_iter().collect();
        let layer = from.iter().map(|&source| boxes[source].layer + 1).max().unwrap_or(0);
        let (label, name) = ("output", output.name.as_str());
        boxes.push(DiagramBox { label, name, class: "end", section: None, sources: from, layer, x: 0 });
    }
    boxes
}

/// Sets the horizontal positions: near the middle of the sources, without overlaps.
fn place(boxes: &mut [DiagramBox<'_>]) {
    let mut layers: HashMap<i64, Vec<usize>> = HashMap::new();
    for (index, each) in boxes.iter().enumerate() {
        layers.entry(each.layer).or_default().push(index);
    }
    for layer in 0..=boxes.iter().map(|each| each.layer).max().unwrap_or(0) {
        let Some(members) = layers.get(&layer) else { continue };
        let wanted = |index: usize| {
            let sources = &boxes[index].sources;
            match sources.len() as i64 {
                0 => 0,
                count => sources.iter().map(|&source| boxes[source].x).sum::<i64>() / count,
            }
        };
        let mut wanted: Vec<(i64, usize)> = members.iter().map(|&index| (wanted(index), index)).collect();
        wanted.sort_unstable();
        let (mut next, mut placed, mut excess) = (i64::MIN, Vec::with_capacity(wanted.len()), 0);
        for &(wanted, index) in &wanted {
            let x = wanted.max(next);
            next = x + WIDTH + GAP;
            excess += x - wanted;
            placed.push((index, x));
        }
        let shift = excess / placed.len().max(1) as i64;
        for (index, x) in placed {
            boxes[index].x = x - shift;
        }
    }
}
