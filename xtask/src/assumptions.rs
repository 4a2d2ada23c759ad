//! Checks that the proof rests on no assumptions.
//!
//! The files of the proof may contain no axiom, no assumption and no declaration without a definition. There
//! is one exception: a module may declare abstract items, like a Rust trait, if every `clone ... with` in the
//! same file defines all of them. Why3 then generates goals for their contracts.

/// Keywords that introduce assumptions.
const FORBIDDEN: [&str; 4] = ["axiom", "assume", "absurd", "any"];

/// Removes comments, which may be nested.
pub(crate) fn without_comments(text: &str) -> String {
    let (mut kept, mut depth, mut rest) = (String::new(), 0usize, text);
    while let Some(next) = rest.chars().next() {
        let step = if rest.starts_with("(*") && !rest.starts_with("(*)") {
            depth += 1;
            2
        } else if depth > 0 && rest.starts_with("*)") {
            depth -= 1;
            2
        } else {
            if depth == 0 || next == '\n' {
                kept.push(next);
            }
            next.len_utf8()
        };
        rest = rest.get(step..).unwrap_or_default();
    }
    kept
}

/// Fails if the text of a file, which errors name by its path, assumes something without proof.
pub(crate) fn check(file: &str, text: &str) -> Result<(), String> {
    let text = without_comments(text);
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(word) = words(line).find(|word| FORBIDDEN.contains(word)) {
            return Err(format!("{file}, line {number}: '{word}' is an assumption"));
        }
    }
    let abstract_items: Vec<(&str, &str)> = text.lines().filter_map(abstract_item).collect();
    let clones: Vec<&str> = text.split("\n  clone ").skip(1).map(statement).collect();
    match (&abstract_items[..], &clones[..]) {
        ([(_, name), ..], []) => return Err(format!("{file}: {name} has no definition and no clone")),
        ([], [_, ..]) => {
            return Err(format!("{file}: a clone of a module of another file is not checked"));
        }
        _ => {}
    }
    for clone in clones {
        for (kind, name) in &abstract_items {
            if !clone.contains(&format!("{kind} {name} =")) {
                return Err(format!(
                    "{file}: a clone does not define {kind} {name}, which stays an assumption"
                ));
            }
        }
    }
    // Other forms of `val` and `clone` are not checked above, so they are rejected.
    let count = |word| words(&text).filter(|&found| found == word).count();
    let vals = abstract_items.iter().filter(|(kind, _)| *kind == "val").count();
    let clones = text.matches("\n  clone ").count();
    if count("clone") != clones || count("val") != vals * (clones + 1) {
        return Err(format!("{file}: a 'val' or 'clone' in a form that is not checked"));
    }
    Ok(())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'')
}

/// The kind and the name of an abstract item, which is indented by two spaces.
fn abstract_item(line: &str) -> Option<(&str, &str)> {
    let (kind, rest) = line.strip_prefix("  ")?.split_once(' ')?;
    let name = rest.split([' ', ':']).find(|word| !word.is_empty())?;
    let is_abstract = match kind {
        "val" => true,
        "type" | "function" | "predicate" | "constant" => !rest.contains('='),
        _ => false,
    };
    is_abstract.then_some((kind, name))
}

/// The text up to the end of the statement, which is followed by an empty line.
fn statement(text: &str) -> &str {
    text.split("\n\n").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSTRACT: &str = "\
module Fold
  type size

  val join (a b: size) : size
    ensures { result = a }

end
";

    const CLONE: &str = "\
module FoldInt
  clone export Fold with
    type size = int,
    val join = first

end
";

    #[test]
    fn comments_are_removed() {
        assert_eq!(without_comments("a (* b (* c *) d\n *) e (*) f"), "a \n e (*) f");
    }

    #[test]
    fn assumptions_are_detected() {
        for text in [
            "  axiom all: false",
            "  let f () = assume { false }",
            "  let f () = any int",
            "  val f (x: int) : int",
            "  function f int : int",
            "  predicate p int",
            "  let lemma l () ensures { false } = absurd",
            "  use list.List\n  clone list.Append as A",
            &format!("{ABSTRACT}{}", CLONE.replace("val join = first", "")),
            &format!("{ABSTRACT}{}", CLONE.replace("type size = int,", "")),
            ABSTRACT,
            CLONE,
            &format!("{ABSTRACT}{CLONE}{}", "  let f () =\n    let g = val h : int in g"),
        ] {
            assert!(check("file.mlw", text).is_err(), "{text}");
        }
    }

    #[test]
    fn definitions_and_complete_clones_pass() {
        for text in [
            "",
            "  (* no axiom (* none *) here *)",
            "  type t = { size: int }",
            "  function f (x: int) : int = x",
            "  predicate p (x: int) =\n    x = x",
            "  let lemma any' () = value'val",
            &format!("{ABSTRACT}\n{CLONE}"),
            &format!("{ABSTRACT}\n{CLONE}\n{CLONE}"),
        ] {
            assert_eq!(check("file.mlw", text), Ok(()), "{text}");
        }
    }
}
