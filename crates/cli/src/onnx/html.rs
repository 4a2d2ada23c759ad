//! `unishape onnx explain --html`: the broadcasts of a model as a self-contained HTML page with figures.

use super::report_text::summary;
use std::collections::HashMap;
use std::fmt::Write;
use unishape::Rules;
use unishape::text;
use unishape_explain::Explanation;
use unishape_onnx::{BroadcastNode, Dim, Model, Report};

/// The most figures of a page.
const MAX_FIGURES: usize = 40;

/// The size that unknown dimensions are drawn with.
const EXAMPLE_SIZE: usize = 3;

const STYLE: &str = "\
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2.5rem}
pre{overflow-x:auto;padding:.8rem;border:1px solid #8886;border-radius:.4rem}
img{max-width:100%;height:auto}.soft{opacity:.75}.wrong{border-color:#c33}
";

pub(crate) fn render(title: &str, model: &Model, report: &Report) -> String {
    let title = text::escape_html(title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>Broadcasting in {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>Broadcasting in {title}</h1>\n<p>{}</p>\n",
        text::escape_html(&summary(model, report)),
    );
    for (_, error) in &report.conflicts {
        let _ = writeln!(page, "<pre class=\"wrong\">{}</pre>", text::escape_html(&error.to_string()));
    }
    for skipped in &report.skipped {
        let _ = writeln!(page, "<p class=\"soft\">Not analyzed: {}</p>", text::escape_html(skipped));
    }
    // The node whose section has the figure of these input shapes.
    let mut drawn: HashMap<Vec<Vec<usize>>, usize> = HashMap::new();
    for broadcast in &report.broadcasts {
        section(&mut page, broadcast, &mut drawn);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn section(page: &mut String, broadcast: &BroadcastNode, drawn: &mut HashMap<Vec<Vec<usize>>, usize>) {
    let text = broadcast.to_string();
    let (title, stretches) = text.split_once('\n').unwrap_or((&text, ""));
    let _ = writeln!(
        page,
        "<h2 id=\"node{}\">{}</h2>\n<pre>{}</pre>",
        broadcast.node,
        text::escape_html(title),
        text::escape_html(stretches)
    );
    let shapes = broadcast.inputs.iter().map(|(_, shape)| shape.as_deref().map(sizes));
    let Some(shapes) = shapes.collect::<Option<Vec<Vec<usize>>>>() else {
        page.push_str("<p class=\"soft\">No figure: not all ranks are known.</p>\n");
        return;
    };
    if let Some(other) = drawn.get(&shapes) {
        let _ =
            writeln!(page, "<p class=\"soft\">Figure: see <a href=\"#node{other}\">node {other}</a>.</p>");
        return;
    }
    if drawn.len() == MAX_FIGURES {
        page.push_str("<p class=\"soft\">No figure, to keep the page short; <code>unishape explain</code> draws it.</p>\n");
        return;
    }
    let Ok(mut explanation) = Explanation::new(Rules::STANDARD, &shapes) else {
        page.push_str(
            "<p class=\"soft\">No figure: whether the shapes are compatible depends on unknown sizes.</p>\n",
        );
        return;
    };
    for (index, (name, _)) in broadcast.inputs.iter().enumerate() {
        explanation = explanation.name(index, name);
    }
    let mut dims = broadcast.inputs.iter().flat_map(|(_, shape)| shape.iter().flatten());
    if dims.any(|dim| matches!(dim, Dim::Unknown(_))) {
        let _ = writeln!(page, "<p class=\"soft\">Unknown sizes are drawn as {EXAMPLE_SIZE}.</p>");
    }
    // Figures are long: only the first is expanded.
    let _ = writeln!(
        page,
        "<details{}>\n<summary>figure</summary>\n<img alt=\"{}\" src=\"data:image/svg+xml,{}\">\n</details>",
        if drawn.is_empty() { " open" } else { "" },
        text::escape_html(title),
        percent_encoded(&explanation.svg())
    );
    drawn.insert(shapes, broadcast.node);
}

/// The sizes of a shape, with an example for unknown ones.
fn sizes(dims: &[Dim]) -> Vec<usize> {
    let size = |dim: &Dim| match dim {
        Dim::Known(size) => *size,
        Dim::Unknown(_) => EXAMPLE_SIZE,
    };
    dims.iter().map(size).collect()
}

/// Percent-encodes text for a `data:` URL.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + text.len() / 2);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'.'
            | b'!'
            | b'~'
            | b'*'
            | b'('
            | b')'
            | b' '
            | b'='
            | b':'
            | b'/'
            | b','
            | b';' => encoded.push(byte.into()),
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::percent_encoded;

    #[test]
    fn characters_reserved_in_urls_and_attributes_are_encoded() {
        assert_eq!(percent_encoded("<a b=\"1\">é#%'</a>"), "%3Ca b=%221%22%3E%C3%A9%23%25%27%3C/a%3E");
    }
}
