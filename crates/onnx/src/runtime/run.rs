//! Runs a compiled model: checks its inputs and executes its nodes.

use super::compiled_model::CompiledModel;
use super::executor::Executor;
use crate::elem_type::ElemType;
use crate::error::{Error, display_name};
use crate::graph::{DeclaredDim, ValueInfo};
use std::collections::HashMap;
use unishape::notation::short_shape_text;
use unishape::{Tensor, TensorView};

/// Maximum number of names listed in a message.
const MAX_LISTED_NAMES: usize = 10;

/// Maximum number of dimensions of a declared shape shown in a message.
const MAX_LISTED_DIMS: usize = 16;

impl CompiledModel {
    /// Computes the outputs, in order, from named inputs.
    ///
    /// ```
    /// use unishape_onnx::{Model, CompiledModel};
    /// # let bytes = unishape_onnx::model_builder::add_model();
    ///
    /// let compiled = CompiledModel::new(&Model::read(&bytes)?)?;
    /// let x = unishape::Tensor::from(ndarray::arr2(&[[1f32, 2.0, 3.0]]));
    /// let error = compiled.run([("x", x.view())]).unwrap_err();
    /// assert_eq!(error.to_string(), "no value for the input y");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If an input is missing, unknown, passed twice, or does not match its declaration; if shapes are incompatible
    /// (the error names the node); if memory runs out.
    pub fn run<'a, N: AsRef<str>>(
        &'a self,
        inputs: impl IntoIterator<Item = (N, TensorView<'a>)>,
    ) -> Result<Vec<(String, Tensor)>, Error> {
        self.run_reusing(inputs, Vec::new())
    }

    /// Like [`run`](CompiledModel::run), but writes into preallocated tensors.
    ///
    /// `buffers` are in the order of the outputs. A buffer is reused if its dtype and shape match the output and
    /// dropped otherwise. Reusing large outputs is much faster than allocating them.
    ///
    /// ```
    /// use unishape_onnx::{Model, CompiledModel};
    /// # let bytes = unishape_onnx::model_builder::add_model();
    ///
    /// let compiled = CompiledModel::new(&Model::read(&bytes)?)?;
    /// let x = unishape::Tensor::from(ndarray::arr2(&[[1f32, 2.0, 3.0]]));
    /// let y = unishape::Tensor::from(ndarray::arr1(&[1f32, 1.0, 1.0]));
    /// let outputs = compiled.run([("x", x.view()), ("y", y.view())])?;
    /// let buffers = outputs.into_iter().map(|(_, tensor)| tensor).collect();
    /// let outputs = compiled.run_reusing([("x", x.view()), ("y", y.view())], buffers)?;
    /// assert_eq!(outputs[0].1, ndarray::arr2(&[[2f32, 3.0, 4.0]]).into());
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](CompiledModel::run).
    pub fn run_reusing<'a, N: AsRef<str>>(
        &'a self,
        inputs: impl IntoIterator<Item = (N, TensorView<'a>)>,
        buffers: Vec<Tensor>,
    ) -> Result<Vec<(String, Tensor)>, Error> {
        let mut executor = self.executor(inputs, buffers)?;
        self.execute(&mut executor)?;
        let outputs = self.outputs.iter();
        outputs.map(|&output| Ok((self.names[output].clone(), executor.take_output(output)?))).collect()
    }

    /// Describes how the outputs are computed from these inputs.
    ///
    /// For each value that is stored in memory: the loops that compute it and all nodes that are fused with it, as
    /// [`Bound::plan`](unishape::expr::Bound::plan) describes them. Operators on shapes and strings are not described.
    /// The model runs once, because shapes may depend on elements.
    ///
    /// ```
    /// use unishape_onnx::{Model, CompiledModel};
    /// # let bytes = unishape_onnx::model_builder::add_model();
    ///
    /// let compiled = CompiledModel::new(&Model::read(&bytes)?)?;
    /// let x = unishape::Tensor::from(ndarray::arr2(&[[1f32, 2.0, 3.0]]));
    /// let y = unishape::Tensor::from(ndarray::arr1(&[1f32, 1.0, 1.0]));
    /// let plan = compiled.plan([("x", x.view()), ("y", y.view())])?;
    /// assert!(plan.starts_with("z:\n  loops: 3 elements\n"), "{plan}");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](CompiledModel::run).
    pub fn plan<'a, N: AsRef<str>>(
        &'a self,
        inputs: impl IntoIterator<Item = (N, TensorView<'a>)>,
    ) -> Result<String, Error> {
        let mut executor = self.executor(inputs, Vec::new())?;
        executor.record_plans();
        self.execute(&mut executor)?;
        Ok(executor.into_plans())
    }

    /// The state before the first node; checks the inputs.
    fn executor<'a, N: AsRef<str>>(
        &'a self,
        inputs: impl IntoIterator<Item = (N, TensorView<'a>)>,
        buffers: Vec<Tensor>,
    ) -> Result<Executor<'a>, Error> {
        let mut views: Vec<Option<TensorView<'a>>> = self.inputs.iter().map(|_| None).collect();
        for (name, view) in inputs {
            let name = name.as_ref();
            let Some(index) = self.inputs.iter().position(|input| input.info.name == name) else {
                let known: Vec<&str> = self.inputs.iter().map(|input| input.info.name.as_str()).collect();
                let problem = format!(
                    "the model has no input {}; its inputs are {}",
                    display_name(name),
                    list_names(&known)
                );
                return Err(Error::input(problem));
            };
            if views[index].replace(view).is_some() {
                return Err(Error::input(format!("the input {} is passed twice", display_name(name))));
            }
        }
        let mut sizes = HashMap::new();
        let mut executor = Executor::new(self, self.outputs.iter().copied().zip(buffers).collect());
        for (input, view) in self.inputs.iter().zip(views) {
            match view {
                Some(view) => {
                    let context = || format!("input {}", display_name(&input.info.name));
                    check_input(&input.info, &view, &mut sizes)
                        .map_err(|error| error.with_context(context()))?;
                    executor.set_input(input.value, view);
                }
                None if input.has_default || self.uses[input.value] == 0 => {}
                None => {
                    let name = display_name(&input.info.name);
                    return Err(Error::input(format!("no value for the input {name}")));
                }
            }
        }
        Ok(executor)
    }

    /// Executes all nodes.
    fn execute<'a>(&'a self, executor: &mut Executor<'a>) -> Result<(), Error> {
        for (index, compiled) in self.nodes.iter().enumerate() {
            executor.execute(index).map_err(|error| error.with_context(compiled.node.to_string()))?;
        }
        Ok(())
    }
}

/// The first names, separated by commas.
fn list_names(names: &[&str]) -> String {
    let mut listed: Vec<String> =
        names.iter().take(MAX_LISTED_NAMES).map(|name| display_name(name)).collect();
    if names.len() > MAX_LISTED_NAMES {
        listed.push("…".into());
    }
    if listed.is_empty() { "none".into() } else { listed.join(", ") }
}

/// Checks an input against its declaration.
///
/// `sizes` maps each symbolic dimension to its size and to the input that set it.
fn check_input<'i>(
    info: &'i ValueInfo,
    view: &TensorView<'_>,
    sizes: &mut HashMap<&'i str, (usize, &'i str)>,
) -> Result<(), Error> {
    let actual = ElemType::of(view.dtype());
    if let Some(elem) = info.elem.filter(|&elem| elem != actual) {
        return Err(Error::input(format!("expected type {elem}, got {actual}")));
    }
    let Some(declared) = &info.shape else { return Ok(()) };
    let shape = view.shape();
    let wrong_shape = || {
        let dims: Vec<String> = declared
            .iter()
            .take(MAX_LISTED_DIMS)
            .map(|dim| match dim {
                DeclaredDim::Size(size) => size.to_string(),
                DeclaredDim::Symbol(name) => display_name(name),
                DeclaredDim::Unknown => "?".into(),
            })
            .collect();
        let more = if declared.len() > MAX_LISTED_DIMS { "x…" } else { "" };
        let expected = if dims.is_empty() { "()".into() } else { dims.join("x") + more };
        Error::input(format!("expected shape {expected}, got {}", short_shape_text(shape)))
    };
    if shape.len() != declared.len() {
        return Err(wrong_shape());
    }
    for (&size, dim) in shape.iter().zip(declared) {
        match dim {
            DeclaredDim::Size(expected) if *expected != size => return Err(wrong_shape()),
            DeclaredDim::Symbol(name) => {
                let (known, source) = *sizes.entry(name).or_insert((size, &info.name));
                if known != size {
                    let (name, source) = (display_name(name), display_name(source));
                    let problem = format!("{name} is {size}, but {known} in the input {source}");
                    return Err(Error::input(problem));
                }
            }
            DeclaredDim::Size(_) | DeclaredDim::Unknown => {}
        }
    }
    Ok(())
}
