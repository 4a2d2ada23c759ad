//! Whether the proof's text leaves something unproven.
//!
//! A goal is shown from what stands in the files, so nothing may stand there that need not be shown:
//! no axiom, no assumption, nothing declared without a definition. One exception is checked in full:
//! a module may be written against things that it only names, as Rust is against a trait, if the
//! same file puts something in the place of each of them (`clone ... with`). Why3 then makes goals of
//! what the named things were said to do.

/// Words that would let something pass unproven.
const FORBIDDEN: [&str; 4] = ["axiom", "assume", "absurd", "any"];

/// The text without its comments, which may hold others.
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

/// Fails on what would let something pass unproven.
pub(crate) fn check(file: &str, text: &str) -> Result<(), String> {
    let text = without_comments(text);
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(word) = words(line).find(|word| FORBIDDEN.contains(word)) {
            return Err(format!("proof/{file}, line {number}: '{word}' leaves something unproven"));
        }
    }
    let named: Vec<(&str, &str)> = text.lines().filter_map(named_only).collect();
    let clones: Vec<&str> = text.split("\n  clone ").skip(1).map(statement).collect();
    if named.is_empty() != clones.is_empty() {
        let what = if clones.is_empty() { named[0].1 } else { "a clone" };
        return Err(format!("proof/{file}: {what} without its other half leaves something unproven"));
    }
    for clone in clones {
        for (kind, name) in &named {
            if !clone.contains(&format!("{kind} {name} =")) {
                return Err(format!(
                    "proof/{file}: a clone has nothing in the place of {kind} {name}, which stays unproven"
                ));
            }
        }
    }
    // Whatever other form `val` and `clone` come in has not been looked at above.
    let seen = |word| words(&text).filter(|&found| found == word).count();
    let vals = named.iter().filter(|(kind, _)| *kind == "val").count();
    let clones = text.matches("\n  clone ").count();
    if seen("clone") != clones || seen("val") != vals * (clones + 1) {
        return Err(format!("proof/{file}: a 'val' or 'clone' leaves something unproven"));
    }
    Ok(())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'')
}

/// A declaration, which stands two places in, that only names something: its kind and its name.
fn named_only(line: &str) -> Option<(&str, &str)> {
    let (kind, rest) = line.strip_prefix("  ")?.split_once(' ')?;
    let name = rest.split([' ', ':']).find(|word| !word.is_empty())?;
    let named = match kind {
        "val" => true,
        "type" | "function" | "predicate" | "constant" => !rest.contains('='),
        _ => false,
    };
    named.then_some((kind, name))
}

/// The text up to the end of the statement, which an empty line follows.
fn statement(text: &str) -> &str {
    text.split("\n\n").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRAIT: &str = "\
module Fold
  type size

  val join (a b: size) : size
    ensures { result = a }

end
";

    const GIVEN: &str = "\
module FoldInt
  clone export Fold with
    type size = int,
    val join = first

end
";

    #[test]
    fn comments_are_left_out() {
        assert_eq!(without_comments("a (* b (* c *) d\n *) e (*) f"), "a \n e (*) f");
    }

    #[test]
    fn what_leaves_something_unproven_is_found() {
        for text in [
            "  axiom all: false",
            "  let f () = assume { false }",
            "  let f () = any int",
            "  val f (x: int) : int",
            "  function f int : int",
            "  predicate p int",
            "  let lemma l () ensures { false } = absurd",
            "  use list.List\n  clone list.Append as A",
            &format!("{TRAIT}{}", GIVEN.replace("val join = first", "")),
            &format!("{TRAIT}{}", GIVEN.replace("type size = int,", "")),
            TRAIT,
            GIVEN,
            &format!("{TRAIT}{GIVEN}{}", "  let f () =\n    let g = val h : int in g"),
        ] {
            assert!(check("file.mlw", text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_defined_or_given_passes() {
        for text in [
            "",
            "  (* no axiom (* none *) here *)",
            "  type t = { size: int }",
            "  function f (x: int) : int = x",
            "  predicate p (x: int) =\n    x = x",
            "  let lemma any' () = value'val",
            &format!("{TRAIT}\n{GIVEN}"),
            &format!("{TRAIT}\n{GIVEN}\n{GIVEN}"),
        ] {
            assert_eq!(check("file.mlw", text), Ok(()), "{text}");
        }
    }
}
