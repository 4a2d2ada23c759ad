//! The values of one run.

use super::element_wise;
use super::program::{Program, Step};
use super::rearrange::{self, expanded_shape, reborrowed, with_array};
use super::strings;
use crate::error::{Error, named};
use crate::operators::Role;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use unishape::expr::{Bound, ExprError, Lazy, Problem, Typing, lazy};
use unishape::{DType, Tensor, TensorView, broadcast_shapes, broadcast_to, element_count, to_owned};

/// One run of a program. Results of element-wise operators wait until somebody wants them; what is then
/// between them and what is there is computed in one pass.
pub(super) struct Run<'a> {
    program: &'a Program,
    held: Vec<Held<'a>>,
    /// How often each value is still wanted.
    uses: Vec<usize>,
    /// Memory that values can be computed into.
    spare: HashMap<usize, Tensor>,
}

/// A value.
enum Held<'a> {
    /// Not known yet, or not wanted any more.
    Nothing,
    /// Somebody else's, stretched perhaps.
    View(TensorView<'a>),
    Made(Tensor),
    /// Made, and seen in another shape.
    Stretched(Arc<Tensor>, Vec<usize>),
    /// It waits to be computed by this step.
    Waiting {
        step: usize,
        dtype: DType,
        shape: Vec<usize>,
    },
}

impl<'a> Run<'a> {
    pub(super) fn new(program: &'a Program, spare: HashMap<usize, Tensor>) -> Run<'a> {
        let mut held: Vec<Held<'a>> = program.names.iter().map(|_| Held::Nothing).collect();
        for (value, tensor) in &program.constants {
            held[*value] = Held::View(tensor.view());
        }
        Run { program, held, uses: program.uses.clone(), spare }
    }

    pub(super) fn give(&mut self, value: usize, view: TensorView<'a>) {
        self.held[value] = Held::View(view);
    }

    /// Takes a step: what it gives is there then, or waits.
    pub(super) fn step(&mut self, at: usize) -> Result<(), Error> {
        let program = self.program;
        let step = &program.steps[at];
        if step.version.operator.role == Role::Other {
            let made = match step.version.operator.name {
                "Expand" => self.expand(step)?,
                _ => {
                    let views: Vec<_> = step
                        .inputs
                        .iter()
                        .map(|&input| input.map(|value| self.view(value)).transpose())
                        .collect::<Result<_, _>>()?;
                    Held::Made(rearrange::run(&step.node, &step.version, &views)?)
                }
            };
            self.put(step, made);
            return Ok(());
        }
        let types = step.inputs.iter().map(|&input| input.map(|value| self.dtype(value)).transpose());
        let types = types.collect::<Result<Vec<Option<DType>>, Error>>()?;
        let dtype = element_wise::result_type(&step.node, &step.version, &types)?;
        element_wise::check(&step.node, &step.version, &types)?;
        let shape = self.result_shape(step)?;
        if dtype == DType::Str || types.contains(&Some(DType::Str)) {
            let made = self.text(step, dtype)?;
            self.put(step, made);
            return Ok(());
        }
        let is_clip = step.version.operator.name == "Clip";
        for (at, input) in step.inputs.iter().enumerate().filter_map(|(at, input)| Some((at, (*input)?))) {
            // What is stretched is computed before, once, and not again for every repetition.
            if matches!(&self.held[input], Held::Waiting { shape: its, .. } if *its != shape || is_clip && at > 0)
            {
                self.compute(input)?;
            }
        }
        self.held[step.output] = Held::Waiting { step: at, dtype, shape };
        if step.is_kept { self.compute(step.output) } else { Ok(()) }
    }

    /// The shape that an element-wise operator gives.
    fn result_shape(&self, step: &Step) -> Result<Vec<usize>, Error> {
        let shapes = step.inputs.iter().flatten().map(|&value| self.shape(value));
        let shapes = shapes.collect::<Result<Vec<&[usize]>, Error>>()?;
        let [first, ref others @ ..] = shapes[..] else {
            return Err(Error::invalid("it has no inputs"));
        };
        let names = || -> Vec<&str> {
            step.inputs.iter().flatten().map(|&value| self.program.names[value].as_str()).collect()
        };
        match step.version.operator.role {
            Role::Alone => {
                // A single number, with a dimension around it or not.
                let is_single = |shape: &&[usize]| shape.iter().all(|&size| size == 1) && shape.len() < 2;
                match step.version.operator.name {
                    "Clip" if !others.iter().all(is_single) => {
                        Err(Error::invalid("its bounds are no single numbers"))
                    }
                    _ => Ok(first.to_vec()),
                }
            }
            Role::OneWay => {
                // Arrays of nothing, for the sake of their shapes.
                let nothing = ndarray::arr0(());
                for &other in others {
                    let view = broadcast_to(&nothing, other)?;
                    broadcast_to(view, first)?;
                }
                Ok(first.to_vec())
            }
            Role::Together | Role::Other => {
                let is_old = step.version.since < 7 && others.iter().any(|&other| other != first);
                if is_old {
                    let problem = "before opset 8 its inputs must have one shape; convert the model to opset 8 or later";
                    return Err(Error::unsupported(problem));
                }
                broadcast_shapes(&shapes).map_err(|error| error.named(&names()).into())
            }
        }
    }

    /// A step has been taken, and gave this.
    fn put(&mut self, step: &Step, made: Held<'a>) {
        self.held[step.output] = made;
        self.release_all(step);
    }

    fn expand(&mut self, step: &Step) -> Result<Held<'a>, Error> {
        let [Some(input), Some(shape)] = step.inputs[..] else {
            return Err(Error::invalid("an input is left out"));
        };
        step.version.check(self.dtype(input)?)?;
        self.compute(input)?;
        self.compute(shape)?;
        let target = expanded_shape(self.shape(input)?, &self.view(shape)?)?;
        // Beyond counting is beyond computing too.
        element_count(&target)
            .map_err(|_| unishape::Error::TooLarge { shape: target.clone(), element: None })?;
        if let Held::Made(_) = self.held[input] {
            let Held::Made(tensor) = std::mem::replace(&mut self.held[input], Held::Nothing) else {
                return Err(lost());
            };
            let shape = tensor.shape().to_vec();
            self.held[input] = Held::Stretched(Arc::new(tensor), shape);
        }
        Ok(match &self.held[input] {
            Held::View(view) => Held::View(view.clone().broadcast_to(&target)?),
            Held::Stretched(tensor, _) => Held::Stretched(tensor.clone(), target),
            _ => return Err(lost()),
        })
    }

    fn text(&mut self, step: &Step, dtype: DType) -> Result<Held<'a>, Error> {
        for &input in step.inputs.iter().flatten() {
            self.compute(input)?;
        }
        let views = step.inputs.iter().flatten().map(|&value| self.view(value));
        let views = views.collect::<Result<Vec<_>, Error>>()?;
        let made = match (step.version.operator.name, &views[..]) {
            ("Identity", [x]) => x.to_owned()?,
            ("Cast" | "CastLike", [x, ..]) if dtype == DType::Str => strings::from_numbers(x)?,
            ("Cast" | "CastLike", [x, ..]) => strings::to_numbers(x, dtype)?,
            (name, views) => strings::together(name, views)?,
        };
        Ok(Held::Made(made))
    }

    /// Computes a value that waits, and with it all that it waits for, in one pass.
    fn compute(&mut self, value: usize) -> Result<(), Error> {
        let Held::Waiting { step: last, .. } = self.held[value] else { return Ok(()) };
        let program = self.program;
        let spare = self.spare.remove(&value);
        let mut steps = BTreeSet::from([last]);
        let mut open = vec![last];
        while let Some(at) = open.pop() {
            for &input in program.steps[at].inputs.iter().flatten() {
                if let Held::Waiting { step, .. } = self.held[input]
                    && steps.insert(step)
                {
                    open.push(step);
                }
            }
        }
        let mut lazies: HashMap<usize, Lazy<'_>> = HashMap::new();
        for &at in &steps {
            let step = &program.steps[at];
            let expr = self.expression(step, &mut lazies)?;
            lazies.insert(step.output, expr);
        }
        let expr = lazies.get(&value).ok_or_else(lost)?;
        let tensor = self.computed(expr, spare)?;
        drop(lazies);
        self.held[value] = Held::Made(tensor);
        self.release_all(&program.steps[last]);
        Ok(())
    }

    /// What an expression gives, in memory of an earlier result if that fits.
    fn computed(&self, expr: &Lazy<'_>, spare: Option<Tensor>) -> Result<Tensor, Error> {
        let bound = expr.bind_typed(Typing::Strict).map_err(failed)?;
        let bound = match self.program.threads {
            Some(threads) => bound.threads(threads),
            None => bound,
        };
        let spare = spare.filter(|spare| spare.dtype() == bound.dtype() && spare.shape() == bound.shape());
        let tensor = match spare {
            Some(spare) => written_over(spare, &bound),
            None => bound.compute(),
        };
        tensor.map_err(failed)
    }

    /// A step as an expression of what is there and of other expressions.
    fn expression<'r>(
        &'r self,
        step: &Step,
        lazies: &mut HashMap<usize, Lazy<'r>>,
    ) -> Result<Lazy<'r>, Error> {
        let mut from = Vec::with_capacity(step.inputs.len());
        for &input in &step.inputs {
            from.push(match input {
                None => None,
                Some(value) => Some(match lazies.get(&value) {
                    Some(known) => known.clone(),
                    None => {
                        let new = lazy(self.view(value)?);
                        lazies.insert(value, new.clone());
                        new
                    }
                }),
            });
        }
        match (step.version.operator.name, &step.inputs[..]) {
            // Squares are much faster than powers, and the expression knows a 2 when it sees one.
            ("Pow", &[Some(base), Some(exponent)]) => {
                let rank = |value: usize| self.shape(value).map(<[usize]>::len);
                if rank(exponent)? <= rank(base)? && self.is_two(exponent) {
                    let base = from.swap_remove(0).ok_or_else(lost)?;
                    return Ok(base.pow(2));
                }
            }
            // A bound is a number, whatever is around it; and what a value is cast like is of no other interest.
            ("Clip", &[_, ref bounds @ ..]) => {
                for (at, bound) in bounds.iter().enumerate() {
                    if let Some(bound) = bound {
                        from[at + 1] = Some(self.number(*bound)?);
                    }
                }
            }
            ("CastLike", _) => from.truncate(1),
            _ => {}
        }
        let types = step.inputs.iter().map(|&input| input.map(|value| self.dtype(value)).transpose());
        element_wise::build(&step.node, &step.version, &from, &types.collect::<Result<Vec<_>, Error>>()?)
    }

    /// Whether a value is there and is the number 2.
    fn is_two(&self, value: usize) -> bool {
        let Ok(view) = self.view(value) else { return false };
        with_array!(TensorView, &view, array => array.len() == 1)
            && lazy(view).equal_to(2).compute().is_ok_and(|truth| match truth {
                Tensor::Bool(truth) => truth.iter().all(|&truth| truth),
                _ => false,
            })
    }

    /// The one number that a value is, without dimensions.
    fn number<'r>(&'r self, value: usize) -> Result<Lazy<'r>, Error> {
        let view = self.view(value)?;
        let dims = view.shape().len();
        Ok(lazy(with_array!(TensorView, view, array => {
            let mut array = array;
            for _ in 0..dims {
                array = array.index_axis_move(ndarray::Axis(0), 0);
            }
            TensorView::from(array)
        })))
    }

    pub(super) fn take(&mut self, value: usize) -> Result<Tensor, Error> {
        self.compute(value)?;
        self.uses[value] = self.uses[value].saturating_sub(1);
        if self.uses[value] == 0
            && let Held::Made(_) = self.held[value]
            && let Held::Made(tensor) = std::mem::replace(&mut self.held[value], Held::Nothing)
        {
            return Ok(tensor);
        }
        let spare = self.spare.remove(&value);
        match self.view(value)? {
            TensorView::Str(words) => Ok(to_owned(words)?.into()),
            numbers => self.computed(&lazy(numbers), spare),
        }
    }

    /// A value that is there.
    fn view(&self, value: usize) -> Result<TensorView<'_>, Error> {
        Ok(match &self.held[value] {
            Held::View(view) => reborrowed(view),
            Held::Made(tensor) => tensor.view(),
            Held::Stretched(tensor, shape) => tensor.view().broadcast_to(shape)?,
            Held::Nothing | Held::Waiting { .. } => return Err(lost()),
        })
    }

    fn shape(&self, value: usize) -> Result<&[usize], Error> {
        Ok(match &self.held[value] {
            Held::View(view) => view.shape(),
            Held::Made(tensor) => tensor.shape(),
            Held::Stretched(_, shape) | Held::Waiting { shape, .. } => shape,
            Held::Nothing => return Err(self.missing(value)),
        })
    }

    fn dtype(&self, value: usize) -> Result<DType, Error> {
        Ok(match &self.held[value] {
            Held::View(view) => view.dtype(),
            Held::Made(tensor) => tensor.dtype(),
            Held::Stretched(tensor, _) => tensor.dtype(),
            Held::Waiting { dtype, .. } => *dtype,
            Held::Nothing => return Err(self.missing(value)),
        })
    }

    fn missing(&self, value: usize) -> Error {
        Error::given(format!("no value for {}", named(&self.program.names[value])))
    }

    /// A step has been taken: what it took is wanted once less.
    fn release_all(&mut self, step: &Step) {
        let mut open: Vec<usize> = step.inputs.iter().flatten().copied().collect();
        while let Some(value) = open.pop() {
            self.uses[value] = self.uses[value].saturating_sub(1);
            if self.uses[value] > 0 {
                continue;
            }
            if let Held::Waiting { step, .. } = std::mem::replace(&mut self.held[value], Held::Nothing) {
                // It never was there as a whole, nor will it be.
                open.extend(self.program.steps[step].inputs.iter().flatten());
            }
        }
    }
}

/// Computes into an array that is there, of the right type and shape.
fn written_over(spare: Tensor, bound: &Bound<'_>) -> Result<Tensor, ExprError> {
    macro_rules! by_type {
        ($($variant:ident)+) => {
            match spare {
                $(Tensor::$variant(mut array) => bound.compute_into(&mut array).map(|()| array.into()),)+
                // No expression gives strings.
                Tensor::Str(_) => bound.compute(),
            }
        };
    }
    by_type!(F16 BF16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Bool C64 C128)
}

/// What goes wrong while an expression is bound or computed.
fn failed(error: ExprError) -> Error {
    match error.problem() {
        Problem::Shapes(error) => error.clone().into(),
        _ => Error::invalid(error),
    }
}

/// Does not happen: values are computed in an order in which they can be.
fn lost() -> Error {
    Error::invalid("a value is not there when it is wanted")
}
