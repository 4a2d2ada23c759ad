//! `unishape onnx explain --html`: the broadcasts of a model as a self-contained HTML page.
//!
//! First a diagram of each graph, with the nodes that broadcast in colour; then a section for each of them, with a
//! figure that is decompressed when it is opened. Nothing is loaded from anywhere.

mod diagram;

use super::report_text::summary;
use diagram::Mark;
use flate2::{Compression, write::ZlibEncoder};
use std::collections::HashMap;
use std::fmt::Write;
use std::io::Write as _;
use unishape::Rules;
use unishape::text;
use unishape_explain::Explanation;
use unishape_onnx::{BroadcastNode, Dim, Model, Report};

/// The most figures of a page.
const MAX_FIGURES: usize = 60;

/// The size that unknown dimensions are drawn with.
const EXAMPLE_SIZE: usize = 3;

pub(crate) fn render(title: &str, model: &Model, report: &Report) -> String {
    let title = text::escape_html(title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>Broadcasting in {title}</title>\n<style>\n{}</style>\n</head>\n<body>\n\
         <h1>Broadcasting in {title}</h1>\n<p>{}</p>\n",
        include_str!("page.css"),
        text::escape_html(&summary(model, report)),
    );
    for (_, error) in &report.conflicts {
        let _ = writeln!(page, "<pre class=\"wrong\">{}</pre>", text::escape_html(&error.to_string()));
    }
    for unknown in &report.not_analyzed {
        let _ = writeln!(page, "<p class=\"soft\">Not analyzed: {}</p>", text::escape_html(unknown));
    }
    for wrong in &report.declarations {
        let _ = writeln!(page, "<p class=\"soft\">Wrong declaration: {}</p>", text::escape_html(wrong));
    }
    diagrams(&mut page, model, report);
    page.push_str("<h2>Nodes that broadcast</h2>\n");
    // The section that has the figure of these input shapes.
    let mut drawn: HashMap<Vec<Vec<usize>>, usize> = HashMap::new();
    for (index, broadcast) in report.broadcasts.iter().enumerate() {
        section(&mut page, index, broadcast, &mut drawn);
    }
    let _ = write!(page, "<script>\n{}</script>\n</body>\n</html>\n", include_str!("page.js"));
    page
}

/// A diagram of the main graph, and of each subgraph and function.
fn diagrams(page: &mut String, model: &Model, report: &Report) {
    let sections: HashMap<(&str, usize), usize> = report
        .broadcasts
        .iter()
        .enumerate()
        .map(|(index, broadcast)| ((broadcast.path.as_str(), broadcast.node), index))
        .collect();
    for (path, graph) in model.graphs() {
        let mark = |node: &unishape_onnx::Node| {
            let section = sections.get(&(path.as_str(), node.index)).copied();
            let is_conflict =
                path.is_empty() && report.conflicts.iter().any(|(index, _)| *index == node.index);
            let class = match section {
                _ if is_conflict => "conflict",
                None => "",
                Some(index) if report.broadcasts[index].is_certain() => "certain",
                Some(_) => "perhaps",
            };
            Mark { class, section }
        };
        let heading = match path.as_str() {
            "" => "Graph of the model".to_owned(),
            path => format!("Graph of {}", path.trim_end_matches(": ")),
        };
        let _ = write!(
            page,
            "<section class=\"view\">\n<h2>{}</h2>\n<div class=\"bar\"><input type=\"search\" \
             placeholder=\"operator or name\" aria-label=\"Search\"><button class=\"next\">next</button>\
             <button class=\"in\" aria-label=\"Zoom in\">+</button><button class=\"out\" \
             aria-label=\"Zoom out\">−</button><button class=\"fit\">whole graph</button>\
             <span class=\"count soft\"></span><span class=\"soft\"><span class=\"key\" \
             style=\"background:var(--certain)\"></span>broadcasts<span class=\"key\" \
             style=\"background:var(--perhaps)\"></span>may broadcast</span></div>\n<div class=\"frame\">\n{}</div>\n\
             </section>\n",
            text::escape_html(&heading),
            diagram::svg(graph, mark)
        );
    }
}

fn section(
    page: &mut String,
    index: usize,
    broadcast: &BroadcastNode,
    drawn: &mut HashMap<Vec<Vec<usize>>, usize>,
) {
    let text = broadcast.to_string();
    let (title, stretches) = text.split_once('\n').unwrap_or((&text, ""));
    let _ = writeln!(
        page,
        "<details id=\"b{index}\"><summary>{}</summary>\n<pre>{}</pre>",
        text::escape_html(title),
        text::escape_html(stretches)
    );
    figure(page, index, title, broadcast, drawn);
    page.push_str("</details>\n");
}

fn figure(
    page: &mut String,
    index: usize,
    title: &str,
    broadcast: &BroadcastNode,
    drawn: &mut HashMap<Vec<Vec<usize>>, usize>,
) {
    let mut note = |text: &str| {
        let _ = writeln!(page, "<p class=\"soft\">{text}</p>");
    };
    let shapes = broadcast.inputs.iter().map(|(_, shape)| shape.as_deref().map(sizes));
    let Some(shapes) = shapes.collect::<Option<Vec<Vec<usize>>>>() else {
        return note("No figure: not all ranks are known.");
    };
    if let Some(other) = drawn.get(&shapes) {
        return note(&format!("Figure: see <a href=\"#b{other}\">another node</a> with the same shapes."));
    }
    if drawn.len() == MAX_FIGURES {
        return note("No figure, to keep the page short; <code>unishape explain</code> draws it.");
    }
    let Ok(mut explanation) = Explanation::new(Rules::STANDARD, &shapes) else {
        return note(
            "No figure: the shapes are not broadcast from the right, or it depends on unknown sizes.",
        );
    };
    for (index, (name, _)) in broadcast.inputs.iter().enumerate() {
        explanation = explanation.name(index, name);
    }
    let mut dims = broadcast.inputs.iter().flat_map(|(_, shape)| shape.iter().flatten());
    if dims.any(|dim| matches!(dim, Dim::Unknown(_))) {
        note(&format!("Unknown sizes are drawn as {EXAMPLE_SIZE}."));
    }
    let _ = writeln!(
        page,
        "<img alt=\"{}\" data-figure=\"{}\">",
        text::escape_html(title),
        compressed(&explanation.svg())
    );
    drawn.insert(shapes, index);
}

/// The sizes of a shape, with an example for unknown ones.
fn sizes(dims: &[Dim]) -> Vec<usize> {
    let size = |dim: &Dim| match dim {
        Dim::Known(size) => *size,
        Dim::Unknown(_) => EXAMPLE_SIZE,
    };
    dims.iter().map(size).collect()
}

/// Text in the zlib format, as base64.
fn compressed(text: &str) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to a vector does not fail.
    let bytes = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).unwrap_or_default();
    base64(&bytes)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            match digit <= chunk.len() {
                true => text.push(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize].into()),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_has_padding() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }
}
