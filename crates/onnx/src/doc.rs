//! Small models for the examples in the documentation.

use crate::wire::Message;

/// `z = x + y`, of a float `N`×3 and a float 3, as opset 21 has it.
pub fn add_model() -> Vec<u8> {
    let mut graph = Message::default();
    graph.push_message(1, &node("Add", "sum", &["x", "y"], "z"));
    graph.push_bytes(2, b"example");
    graph.push_message(11, &value("x", &["N", "3"]));
    graph.push_message(11, &value("y", &["3"]));
    graph.push_message(12, &value("z", &["N", "3"]));
    let mut opset = Message::default();
    opset.push_int(2, 21);
    let mut model = Message::default();
    model.push_int(1, 10);
    model.push_message(7, &graph);
    model.push_message(8, &opset);
    model.write()
}

/// `y = -x`.
pub fn neg_node() -> Vec<u8> {
    node("Neg", "", &["x"], "y").write()
}

fn node(op_type: &str, name: &str, inputs: &[&str], output: &str) -> Message {
    let mut node = Message::default();
    for input in inputs {
        node.push_bytes(1, input.as_bytes());
    }
    node.push_bytes(2, output.as_bytes());
    node.push_bytes(3, name.as_bytes());
    node.push_bytes(4, op_type.as_bytes());
    node
}

/// A float value with these sizes, or names for sizes.
fn value(name: &str, sizes: &[&str]) -> Message {
    let mut shape = Message::default();
    for size in sizes {
        let mut dim = Message::default();
        match size.parse() {
            Ok(size) => dim.push_int(1, size),
            Err(_) => dim.push_bytes(2, size.as_bytes()),
        }
        shape.push_message(1, &dim);
    }
    let mut tensor = Message::default();
    tensor.push_int(1, 1);
    tensor.push_message(2, &shape);
    let mut kind = Message::default();
    kind.push_message(1, &tensor);
    let mut value = Message::default();
    value.push_bytes(1, name.as_bytes());
    value.push_message(2, &kind);
    value
}
