//! Compiler: from a graph and the types of its inputs to a block program.
//!
//! Inserts casts, folds constants, and merges common subexpressions.

use super::error::{ExprError, ExprErrorKind};
use super::float_cast::FloatCast;
use super::graph::{Graph, Node};
use super::types::{ArgumentType, Typing, common_type, default_type, signature};
use num_complex::Complex;
use smallvec::SmallVec;
use std::collections::HashMap;
use unishape_engine::fused::{Program, Step};
use unishape_kernels::DType;
use unishape_kernels::Op;
use unishape_kernels::Scalar;
use unishape_kernels::{self as kernels, Constant, DTypeKind, Kernel, KernelKey};

/// Type of an input: an array of a dtype, or a scalar with its value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InputType {
    Array(DType),
    Scalar(Scalar),
}

/// Equal where a program compiled for one is right for the other. Floats are compared by their bits: −0 is not 0,
/// and a NaN equals itself.
impl PartialEq for InputType {
    fn eq(&self, other: &InputType) -> bool {
        match (self, other) {
            (InputType::Array(a), InputType::Array(b)) => a == b,
            (InputType::Scalar(Scalar::Float(a)), InputType::Scalar(Scalar::Float(b))) => {
                a.to_bits() == b.to_bits()
            }
            (InputType::Scalar(Scalar::Complex(a)), InputType::Scalar(Scalar::Complex(b))) => {
                a.re.to_bits() == b.re.to_bits() && a.im.to_bits() == b.im.to_bits()
            }
            (InputType::Scalar(a), InputType::Scalar(b)) => a == b,
            _ => false,
        }
    }
}

/// An expression compiled for inputs of certain types.
///
/// The operands of the program are the array inputs, in the order of the variables.
#[derive(Debug)]
pub(crate) struct CompiledExpr {
    pub(crate) program: Program,
    /// Dtype of the result.
    pub(crate) dtype: DType,
    /// Names of the program's operands.
    pub(crate) names: Vec<String>,
    /// Text of the program's constants.
    pub(crate) constants: Vec<String>,
}

/// The arguments of `clip`, with limits that no integer of their dtype reaches replaced by its own limits.
///
/// As in NumPy: `clip(x, -1, 300)` of uint8 changes nothing. A lower limit that is too large remains an error.
fn with_reachable_limits(arguments: &[Argument]) -> SmallVec<[Argument; 3]> {
    let typed = arguments.iter().filter_map(|argument| match argument {
        Argument::Typed(typed) => Some(ArgumentType::Typed(typed.dtype)),
        Argument::Scalar(_) => None,
    });
    let common = common_type(Typing::Promote, &typed.collect::<SmallVec<[ArgumentType; 3]>>());
    let range = common.ok().filter(|dtype| dtype.is_integer()).and_then(DType::int_range);
    let limited = arguments.iter().enumerate().map(|(position, &argument)| match (argument, &range) {
        (Argument::Scalar(Scalar::Int(int)), Some(range)) if position == 1 && int < *range.start() => {
            Argument::Scalar(Scalar::Int(*range.start()))
        }
        (Argument::Scalar(Scalar::Int(int)), Some(range)) if position == 2 && int > *range.end() => {
            Argument::Scalar(Scalar::Int(*range.end()))
        }
        _ => argument,
    });
    limited.collect()
}

/// Compiles an expression for inputs of these types.
pub(crate) fn compile(
    graph: &Graph,
    input_types: &[InputType],
    typing: Typing,
) -> Result<CompiledExpr, ExprError> {
    let mut compiler = ProgramBuilder::new(input_types, typing);
    let mut values: Vec<Argument> = Vec::with_capacity(graph.nodes.len());
    for (at, node) in graph.nodes.iter().enumerate() {
        let value = match node {
            Node::Variable(variable) => Ok(compiler.variables[*variable as usize]),
            Node::Scalar(number) => Ok(Argument::Scalar(*number)),
            Node::Call(op, inputs) => {
                let arguments: SmallVec<[Argument; 3]> =
                    inputs.iter().map(|&input| values[input as usize]).collect();
                compiler.call(*op, &arguments)
            }
            Node::Cast(dtype, input) => {
                let value = compiler.typed_value(values[*input as usize]);
                value.and_then(|value| compiler.cast(value, *dtype)).map(Argument::Typed)
            }
            Node::CastLike(cast, [input, like]) => {
                let (input, like) = (values[*input as usize], values[*like as usize]);
                compiler.cast_like(*cast, input, like)
            }
            // Expressions with such nodes are lowered to stages.
            Node::View(..) | Node::Reduce(..) => Err(ExprErrorKind::NotElementWise),
        };
        let value = value.map_err(|kind| ExprError::at(kind, graph.span(at as u32)))?;
        values.push(value);
    }
    let result = values.last().copied().unwrap_or(Argument::Scalar(Scalar::Int(0)));
    let span = || graph.span(graph.nodes.len().saturating_sub(1) as u32);
    let result = compiler.typed_value(result).map_err(|kind| ExprError::at(kind, span()))?;
    let constants = std::mem::take(&mut compiler.constant_names);
    let arrays = graph
        .names
        .iter()
        .zip(input_types)
        .filter(|(_, input_type)| matches!(input_type, InputType::Array(_)));
    let names = arrays.map(|(name, _)| name.clone()).collect();
    Ok(CompiledExpr { program: compiler.program(result.id), dtype: result.dtype, names, constants })
}

/// A value with a dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TypedValue {
    pub(super) dtype: DType,
    pub(super) id: ValueId,
}

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ValueId {
    Input(usize),
    Constant(usize),
    Step(usize),
}

/// An argument of a function: a scalar, or a value with a dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Argument {
    Scalar(Scalar),
    Typed(TypedValue),
}

/// A step of the program, unless the result does not depend on it.
struct PendingStep {
    key: KernelKey,
    kernel: Kernel,
    inputs: SmallVec<[ValueId; 3]>,
    item: usize,
}

/// Makes a program step by step.
pub(super) struct ProgramBuilder {
    typing: Typing,
    /// Value of each variable of the expression.
    pub(super) variables: Vec<Argument>,
    /// Bytes of an element of each array input.
    input_items: Vec<usize>,
    constants: Vec<Constant>,
    constant_ids: HashMap<Constant, usize>,
    pub(super) constant_names: Vec<String>,
    steps: Vec<PendingStep>,
    /// Steps by what they compute: common subexpressions are computed once.
    step_ids: HashMap<(KernelKey, SmallVec<[ValueId; 3]>), ValueId>,
}

impl ProgramBuilder {
    pub(super) fn new(input_types: &[InputType], typing: Typing) -> ProgramBuilder {
        let mut input_items = Vec::new();
        let variables = input_types.iter().map(|input_type| match *input_type {
            InputType::Scalar(number) => Argument::Scalar(number),
            InputType::Array(dtype) => {
                input_items.push(dtype.item_size());
                Argument::Typed(TypedValue { dtype, id: ValueId::Input(input_items.len() - 1) })
            }
        });
        ProgramBuilder {
            typing,
            variables: variables.collect(),
            input_items,
            constants: Vec::new(),
            constant_names: Vec::new(),
            constant_ids: HashMap::new(),
            steps: Vec::new(),
            step_ids: HashMap::new(),
        }
    }

    /// Adds an array as an operand of the program.
    pub(super) fn add_input(&mut self, dtype: DType) -> Argument {
        self.input_items.push(dtype.item_size());
        Argument::Typed(TypedValue { dtype, id: ValueId::Input(self.input_items.len() - 1) })
    }

    /// The argument as a typed value; scalars get their default dtype.
    pub(super) fn typed_value(&mut self, value: Argument) -> Result<TypedValue, ExprErrorKind> {
        match value {
            Argument::Typed(TypedValue { dtype: DType::Str, .. }) => Err(ExprErrorKind::Strings),
            Argument::Typed(typed) => Ok(typed),
            Argument::Scalar(number) => self.scalar_constant(number, default_type(number)),
        }
    }

    fn scalar_constant(&mut self, number: Scalar, dtype: DType) -> Result<TypedValue, ExprErrorKind> {
        let constant = Constant::from_scalar(number, dtype)
            .ok_or_else(|| ExprErrorKind::DoesNotFit { number: number.to_string(), dtype })?;
        Ok(self.constant(constant, dtype, &number.to_string()))
    }

    fn constant(&mut self, constant: Constant, dtype: DType, name: &str) -> TypedValue {
        let (constants, names) = (&mut self.constants, &mut self.constant_names);
        let id = *self.constant_ids.entry(constant).or_insert_with(|| {
            constants.push(constant);
            names.push(name.into());
            constants.len() - 1
        });
        TypedValue { dtype, id: ValueId::Constant(id) }
    }

    /// Casts an argument to a dtype.
    fn cast_argument(&mut self, value: Argument, dtype: DType) -> Result<TypedValue, ExprErrorKind> {
        match value {
            Argument::Typed(typed) => self.cast(typed, dtype),
            // Directly, without its default dtype in between.
            Argument::Scalar(number) => self.scalar_constant(number, dtype),
        }
    }

    pub(super) fn cast(&mut self, value: TypedValue, dtype: DType) -> Result<TypedValue, ExprErrorKind> {
        let mut value = value;
        while value.dtype != dtype {
            let (next, kernel) = kernels::next_cast(value.dtype, dtype)
                .ok_or(ExprErrorKind::NoCast { from: value.dtype, to: dtype })?;
            value = match kernel {
                Some(kernel) => self.step(KernelKey::Cast(value.dtype, next), kernel, &[value], next),
                None => TypedValue { dtype: next, ..value },
            };
        }
        Ok(value)
    }

    fn cast_like(
        &mut self,
        cast: FloatCast,
        input: Argument,
        like: Argument,
    ) -> Result<Argument, ExprErrorKind> {
        let dtype = match like {
            Argument::Typed(typed) => typed.dtype,
            Argument::Scalar(number) => default_type(number),
        };
        match cast.target(dtype) {
            Some(dtype) => self.cast_argument(input, dtype).map(Argument::Typed),
            None => Ok(input),
        }
    }

    /// Adds a step, unless an equal one exists or all inputs are constants, which are folded.
    fn step(
        &mut self,
        key: KernelKey,
        kernel: Kernel,
        inputs: &[TypedValue],
        result_dtype: DType,
    ) -> TypedValue {
        let constants: Option<SmallVec<[Constant; 3]>> = inputs
            .iter()
            .map(|value| match value.id {
                ValueId::Constant(constant) => Some(self.constants[constant]),
                ValueId::Input(_) | ValueId::Step(_) => None,
            })
            .collect();
        if let Some(constants) = constants {
            let constant = Constant::evaluate(kernel, &constants, result_dtype.item_size());
            return self.constant(constant, result_dtype, "a number");
        }
        let inputs: SmallVec<[ValueId; 3]> = inputs.iter().map(|value| value.id).collect();
        let steps = &mut self.steps;
        let id = *self.step_ids.entry((key, inputs)).or_insert_with_key(|(_, inputs)| {
            let item = result_dtype.item_size();
            steps.push(PendingStep { key, kernel, inputs: inputs.clone(), item });
            ValueId::Step(steps.len() - 1)
        });
        TypedValue { dtype: result_dtype, id }
    }

    /// Calls a function.
    pub(super) fn call(&mut self, op: Op, arguments: &[Argument]) -> Result<Argument, ExprErrorKind> {
        let numbers: Option<SmallVec<[Scalar; 3]>> = arguments
            .iter()
            .map(|value| match value {
                Argument::Scalar(number) => Some(*number),
                Argument::Typed(_) => None,
            })
            .collect();
        match numbers {
            Some(numbers) => self.call_scalars(op, &numbers),
            None => self.call_typed(op, arguments).map(Argument::Typed),
        }
    }

    fn call_typed(&mut self, op: Op, arguments: &[Argument]) -> Result<TypedValue, ExprErrorKind> {
        let limited;
        let arguments = match op {
            Op::Clip => {
                limited = with_reachable_limits(arguments);
                &limited[..]
            }
            _ => arguments,
        };
        let argument_types: SmallVec<[ArgumentType; 3]> = arguments
            .iter()
            .map(|value| match value {
                Argument::Scalar(number) => ArgumentType::Scalar(*number),
                Argument::Typed(typed) => ArgumentType::Typed(typed.dtype),
            })
            .collect();
        let types = || -> Vec<DType> {
            let dtype_of = |argument: &ArgumentType| match argument {
                ArgumentType::Typed(dtype) => *dtype,
                ArgumentType::Scalar(number) => default_type(*number),
            };
            argument_types.iter().map(dtype_of).collect()
        };
        let wrong_type = || ExprErrorKind::WrongType { op, types: types() };
        let is_bool = |argument: &ArgumentType| {
            matches!(argument, ArgumentType::Typed(DType::Bool) | ArgumentType::Scalar(Scalar::Bool(_)))
        };
        if matches!(op, Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor | Op::LogicalNot) {
            if self.typing == Typing::Strict && !argument_types.iter().all(is_bool) {
                return Err(wrong_type());
            }
            let booleans = self.cast_arguments(arguments, DType::Bool)?;
            return self.apply(op, DType::Bool, DType::Bool, &booleans).ok_or_else(wrong_type);
        }
        if op == Op::Where {
            if self.typing == Typing::Strict && !is_bool(&argument_types[0]) {
                return Err(wrong_type());
            }
            let common = common_type(self.typing, &argument_types[1..])?;
            let condition = self.cast_argument(arguments[0], DType::Bool)?;
            let (a, b) =
                (self.cast_argument(arguments[1], common)?, self.cast_argument(arguments[2], common)?);
            return self.apply(op, common, common, &[condition, a, b]).ok_or_else(wrong_type);
        }
        if let Some(result) = self.compare(op, arguments, &argument_types)? {
            return Ok(result);
        }
        if op == Op::RoundTo {
            return self.round_to(arguments)?.ok_or_else(wrong_type);
        }
        let is_int_scalar =
            |argument: &ArgumentType| matches!(argument, ArgumentType::Scalar(Scalar::Int(_)));
        // With an integer scalar, booleans become integers. Alone, they give float16 in any case.
        let are_booleans_and_integers =
            argument_types.iter().all(|each| is_int_scalar(each) || is_bool(each));
        let common = match op {
            // NumPy converts integers to floats before promotion: int8 and uint8 give float16.
            Op::Atan2
            | Op::Hypot
            | Op::Logaddexp
            | Op::Logaddexp2
            | Op::Copysign
            | Op::Nextafter
            | Op::Heaviside
                if self.typing == Typing::Promote
                    && !are_booleans_and_integers
                    && types().iter().all(|dtype| dtype.kind() < DTypeKind::Float) =>
            {
                let floats = argument_types.iter().map(|argument| match *argument {
                    ArgumentType::Typed(dtype) => ArgumentType::Typed(dtype.float_dtype()),
                    number => number,
                });
                common_type(self.typing, &floats.collect::<SmallVec<[ArgumentType; 3]>>())?
            }
            _ => common_type(self.typing, &argument_types)?,
        };
        let signature = signature(self.typing, op, common).ok_or_else(wrong_type)?;
        if self.typing == Typing::Strict && signature.operand_dtype != common {
            return Err(wrong_type());
        }
        // x * x is much faster than pow(x, 2), and has the same result.
        let is_two = |number: Scalar| matches!(number, Scalar::Int(2)) || number == Scalar::Float(2.0);
        let (op, arguments) = match *arguments {
            [ref base, Argument::Scalar(number)] if op == Op::Pow && is_two(number) => {
                (Op::Square, std::slice::from_ref(base))
            }
            _ => (op, arguments),
        };
        let arguments = self.cast_arguments(arguments, signature.operand_dtype)?;
        self.apply(op, signature.operand_dtype, signature.result_dtype, &arguments).ok_or_else(wrong_type)
    }

    fn cast_arguments(
        &mut self,
        arguments: &[Argument],
        dtype: DType,
    ) -> Result<SmallVec<[TypedValue; 3]>, ExprErrorKind> {
        arguments.iter().map(|&value| self.cast_argument(value, dtype)).collect()
    }

    /// Exact comparisons without a common dtype: of signed with unsigned integers, and of integers with a
    /// scalar beyond their range. `None` for other arguments.
    fn compare(
        &mut self,
        op: Op,
        arguments: &[Argument],
        types: &[ArgumentType],
    ) -> Result<Option<TypedValue>, ExprErrorKind> {
        use DType::{I8, I16, I32, I64, U64};
        // The result where the first argument is smaller, and where it is larger.
        let (if_less, if_greater) = match op {
            Op::Equal => (false, false),
            Op::NotEqual => (true, true),
            Op::Less | Op::LessEqual => (true, false),
            Op::Greater | Op::GreaterEqual => (false, true),
            _ => return Ok(None),
        };
        Ok(match *types {
            [ArgumentType::Typed(array), ArgumentType::Scalar(Scalar::Int(int))]
                if array.is_integer() && !array.can_hold(int) =>
            {
                let holds = if int > 0 { if_less } else { if_greater };
                Some(self.scalar_constant(Scalar::Bool(holds), DType::Bool)?)
            }
            [ArgumentType::Scalar(Scalar::Int(int)), ArgumentType::Typed(array)]
                if array.is_integer() && !array.can_hold(int) =>
            {
                let holds = if int > 0 { if_greater } else { if_less };
                Some(self.scalar_constant(Scalar::Bool(holds), DType::Bool)?)
            }
            [ArgumentType::Typed(a), ArgumentType::Typed(b)] if self.typing == Typing::Promote => {
                let signed = |dtype| matches!(dtype, I8 | I16 | I32 | I64);
                let signed_first = signed(a) && b == U64;
                let unsigned_first = a == U64 && signed(b);
                if !signed_first && !unsigned_first {
                    return Ok(None);
                }
                let (first, second) = if signed_first { (I64, U64) } else { (U64, I64) };
                let arguments =
                    [self.cast_argument(arguments[0], first)?, self.cast_argument(arguments[1], second)?];
                let [a, b] = arguments;
                let (op, arguments, signed_first) = match op {
                    Op::Greater => (Op::Less, [b, a], !signed_first),
                    Op::GreaterEqual => (Op::LessEqual, [b, a], !signed_first),
                    op => (op, arguments, signed_first),
                };
                let key = KernelKey::CompareMixed(op, signed_first);
                kernels::compare_mixed(op, signed_first)
                    .map(|kernel| self.step(key, kernel, &arguments, DType::Bool))
            }
            _ => None,
        })
    }

    /// Applies a function to arguments of the dtype that it computes in.
    fn apply(
        &mut self,
        op: Op,
        dtype: DType,
        result_dtype: DType,
        arguments: &[TypedValue],
    ) -> Option<TypedValue> {
        if let Some(result) = self.apply_without_kernel(op, dtype, arguments) {
            return result;
        }
        if let Some(kernel) = kernels::find_kernel(op, dtype) {
            return Some(self.step(KernelKey::Call(op, dtype), kernel, arguments, result_dtype));
        }
        // Half precision is computed in single precision and rounded after each function, complex64 without a
        // kernel in complex128.
        let wider = match dtype {
            DType::F16 | DType::BF16 => DType::F32,
            DType::C64 => DType::C128,
            _ => return None,
        };
        let wider_result = if result_dtype == dtype { wider } else { result_dtype };
        let arguments: Option<SmallVec<[TypedValue; 3]>> =
            arguments.iter().map(|&value| self.cast(value, wider).ok()).collect();
        let result = self.apply(op, wider, wider_result, &arguments?)?;
        self.cast(result, result_dtype).ok()
    }

    /// Rounds to a number of decimals, which is a scalar; `None` where it is not, and for dtypes that are not rounded.
    fn round_to(&mut self, arguments: &[Argument]) -> Result<Option<TypedValue>, ExprErrorKind> {
        let &[x, decimals] = arguments else { return Ok(None) };
        let decimals = match decimals {
            Argument::Scalar(Scalar::Int(decimals)) => decimals,
            Argument::Typed(TypedValue { dtype: DType::I64, id: ValueId::Constant(constant) }) => {
                self.constants[constant].get::<i64>().unwrap_or_default().into()
            }
            _ => return Ok(None),
        };
        if decimals == 0 {
            return self.call_typed(Op::Round, &arguments[..1]).map(Some);
        }
        let x = self.typed_value(x)?;
        let dtype = x.dtype;
        if signature(self.typing, Op::RoundTo, dtype).is_none() {
            return Ok(None);
        }
        if dtype.is_integer() && decimals > 0 {
            return Ok(Some(x));
        }
        // Powers of 10 beyond float64 are infinite, or 0.
        let scale = 10f64.powi(decimals.clamp(-400, 400).unsigned_abs() as i32);
        let float = if dtype.is_integer() { DType::F64 } else { dtype };
        let (x, scale) = (self.cast(x, float)?, self.scalar_constant(Scalar::Float(scale), float)?);
        let (there, back) =
            if decimals > 0 { (Op::Multiply, Op::Divide) } else { (Op::Divide, Op::Multiply) };
        let rounded = self
            .apply(there, float, float, &[x, scale])
            .and_then(|scaled| self.apply(Op::Round, float, float, &[scaled]))
            .and_then(|rounded| self.apply(back, float, float, &[rounded, scale]));
        rounded.map(|rounded| self.cast(rounded, dtype)).transpose()
    }

    /// Applies a function of floating-point numbers, computed by others.
    fn apply_float_function(&mut self, op: Op, dtype: DType, arguments: &[TypedValue]) -> Option<TypedValue> {
        let number = |builder: &mut Self, number| builder.scalar_constant(Scalar::Float(number), dtype).ok();
        match (op, arguments) {
            (Op::Deg2rad | Op::Rad2deg, &[x]) => {
                use std::f64::consts::PI;
                // Divided in the precision of the result, as NumPy does.
                let factor = match (dtype, op) {
                    (DType::F32, Op::Deg2rad) => f64::from(PI as f32 / 180.0),
                    (DType::F32, _) => f64::from(180.0 / PI as f32),
                    (_, Op::Deg2rad) => PI / 180.0,
                    _ => 180.0 / PI,
                };
                let factor = number(self, factor)?;
                self.apply(Op::Multiply, dtype, dtype, &[x, factor])
            }
            (Op::Heaviside, &[x, at_zero]) => {
                let (zero, one) = (number(self, 0.0)?, number(self, 1.0)?);
                let is_positive = self.apply(Op::Less, dtype, DType::Bool, &[zero, x])?;
                let is_negative = self.apply(Op::Less, dtype, DType::Bool, &[x, zero])?;
                let is_zero = self.apply(Op::Equal, dtype, DType::Bool, &[x, zero])?;
                // What is neither is NaN.
                let result = self.apply(Op::Where, dtype, dtype, &[is_positive, one, x])?;
                let result = self.apply(Op::Where, dtype, dtype, &[is_negative, zero, result])?;
                self.apply(Op::Where, dtype, dtype, &[is_zero, at_zero, result])
            }
            (Op::Logaddexp2, &[a, b]) => {
                let (one, log2_e) = (number(self, 1.0)?, number(self, std::f64::consts::LOG2_E)?);
                let difference = self.apply(Op::Subtract, dtype, dtype, &[a, b])?;
                let distance = self.apply(Op::Abs, dtype, dtype, &[difference])?;
                let minus = self.apply(Op::Negative, dtype, dtype, &[distance])?;
                let power = self.apply(Op::Exp2, dtype, dtype, &[minus])?;
                let log = self.apply(Op::Log1p, dtype, dtype, &[power])?;
                let log2 = self.apply(Op::Multiply, dtype, dtype, &[log, log2_e])?;
                let larger = self.apply(Op::Max, dtype, dtype, &[a, b])?;
                let sum = self.apply(Op::Add, dtype, dtype, &[larger, log2])?;
                // Also of infinities, whose difference is NaN.
                let of_equal = self.apply(Op::Add, dtype, dtype, &[a, one])?;
                let is_equal = self.apply(Op::Equal, dtype, DType::Bool, &[a, b])?;
                self.apply(Op::Where, dtype, dtype, &[is_equal, of_equal, sum])
            }
            _ => None,
        }
    }

    /// Applies a function that is the identity, a constant or a combination of others; `None` for the rest.
    fn apply_without_kernel(
        &mut self,
        op: Op,
        dtype: DType,
        arguments: &[TypedValue],
    ) -> Option<Option<TypedValue>> {
        let is_integral = dtype.is_integer() || dtype == DType::Bool;
        let &[a, ref others @ ..] = arguments else {
            return None;
        };
        Some(match (op, others) {
            (Op::Positive, _) => Some(a),
            (Op::Floor | Op::Ceil | Op::Trunc | Op::Round, _) if is_integral => Some(a),
            (Op::Conj | Op::Real, _) if !dtype.is_complex() => Some(a),
            (Op::Abs, _) if dtype.kind() < DTypeKind::Signed => Some(a),
            (Op::Imag, _) if !dtype.is_complex() => self.scalar_constant(Scalar::Int(0), dtype).ok(),
            (Op::IsNan | Op::IsInf, _) if is_integral => {
                self.scalar_constant(Scalar::Bool(false), DType::Bool).ok()
            }
            (Op::IsFinite, _) if is_integral => self.scalar_constant(Scalar::Bool(true), DType::Bool).ok(),
            (Op::Signbit, _) if dtype.kind() < DTypeKind::Signed => {
                self.scalar_constant(Scalar::Bool(false), DType::Bool).ok()
            }
            (Op::Signbit, _) if is_integral => {
                let zero = self.scalar_constant(Scalar::Int(0), dtype).ok()?;
                self.apply(Op::Less, dtype, DType::Bool, &[a, zero])
            }
            (Op::Greater, &[b]) => self.apply(Op::Less, dtype, DType::Bool, &[b, a]),
            (Op::GreaterEqual, &[b]) => self.apply(Op::LessEqual, dtype, DType::Bool, &[b, a]),
            (Op::Clip, &[least, most]) => {
                let a = self.apply(Op::Max, dtype, dtype, &[a, least])?;
                self.apply(Op::Min, dtype, dtype, &[a, most])
            }
            (Op::LeakyRelu, _) if dtype.kind() < DTypeKind::Signed => Some(a),
            (Op::LeakyRelu, &[slope]) if is_integral => {
                let zero = self.scalar_constant(Scalar::Int(0), dtype).ok()?;
                let below = self.apply(Op::Less, dtype, DType::Bool, &[a, zero])?;
                let times = self.apply(Op::Multiply, dtype, dtype, &[a, slope])?;
                self.apply(Op::Where, dtype, dtype, &[below, times, a])
            }
            (Op::Rint, _) => self.apply(Op::Round, dtype, dtype, arguments),
            (Op::FloatPower, _) => self.apply(Op::Pow, dtype, dtype, arguments),
            (Op::Fmax, _) if is_integral => self.apply(Op::Max, dtype, dtype, arguments),
            (Op::Fmin, _) if is_integral => self.apply(Op::Min, dtype, dtype, arguments),
            (Op::Fmax | Op::Fmin, &[b]) => {
                let ordered = if op == Op::Fmax { [b, a] } else { [a, b] };
                let is_first = self.apply(Op::LessEqual, dtype, DType::Bool, &ordered)?;
                let is_nan = self.apply(Op::IsNan, dtype, DType::Bool, &[b])?;
                let is_first = self.apply(Op::LogicalOr, DType::Bool, DType::Bool, &[is_first, is_nan])?;
                self.apply(Op::Where, dtype, dtype, &[is_first, a, b])
            }
            // Half precision is computed in single precision, without rounding in between.
            (Op::Deg2rad | Op::Rad2deg | Op::Heaviside | Op::Logaddexp2, _)
                if matches!(dtype, DType::F32 | DType::F64) =>
            {
                self.apply_float_function(op, dtype, arguments)
            }
            (Op::Square, _) => self.apply(Op::Multiply, dtype, dtype, &[a, a]),
            (Op::Divide, &[b]) if dtype.is_integer() => self.apply(Op::TruncDivide, dtype, dtype, &[a, b]),
            (Op::Reciprocal, _) => {
                let one = self.scalar_constant(Scalar::Int(1), dtype).ok()?;
                self.apply(Op::Divide, dtype, dtype, &[one, a])
            }
            (Op::Negative, _) if is_integral => {
                let zero = self.scalar_constant(Scalar::Int(0), dtype).ok()?;
                self.apply(Op::Subtract, dtype, dtype, &[zero, a])
            }
            // Only NaN differs from itself.
            (Op::IsNan, _) => self.apply(Op::NotEqual, dtype, DType::Bool, &[a, a]),
            (Op::IsInf | Op::IsFinite, _) if dtype.kind() == DTypeKind::Float => {
                let size = self.apply(Op::Abs, dtype, dtype, &[a])?;
                let infinity = self.scalar_constant(Scalar::Float(f64::INFINITY), dtype).ok()?;
                let op = if op == Op::IsInf { Op::Equal } else { Op::Less };
                self.apply(op, dtype, DType::Bool, &[size, infinity])
            }
            _ => return None,
        })
    }

    /// Applies a function to scalars. The result is a scalar: it takes the dtype of the arrays that it is
    /// combined with. Integer results are exact where Python's are integers.
    fn call_scalars(&mut self, op: Op, arguments: &[Scalar]) -> Result<Argument, ExprErrorKind> {
        let to_integer = |number: &Scalar| match *number {
            Scalar::Int(int) => Some(int),
            Scalar::Bool(boolean) => Some(boolean.into()),
            Scalar::Float(_) | Scalar::Complex(_) => None,
        };
        let exact = match arguments.iter().map(to_integer).collect::<Option<SmallVec<[i128; 3]>>>().as_deref()
        {
            Some(&[a, b]) => match op {
                Op::Add => a.checked_add(b),
                Op::Subtract => a.checked_sub(b),
                Op::Multiply => a.checked_mul(b),
                Op::LeakyRelu if a >= 0 => Some(a),
                Op::LeakyRelu => a.checked_mul(b),
                Op::Pow => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
                _ => None,
            },
            Some(&[a]) => match op {
                Op::Negative => a.checked_neg(),
                Op::Positive => Some(a),
                Op::Abs => a.checked_abs(),
                Op::Square => a.checked_mul(a),
                _ => None,
            },
            _ => None,
        };
        if let Some(exact) = exact {
            return Ok(Argument::Scalar(Scalar::Int(exact)));
        }
        // Other functions run the kernels, in floats where integers would overflow.
        let fits = |number: &Scalar| match to_integer(number) {
            Some(int) => DType::I64.can_hold(int),
            None => true,
        };
        let as_floats = matches!(op, Op::Add | Op::Subtract | Op::Multiply | Op::LeakyRelu | Op::Pow)
            || !arguments.iter().all(fits);
        let arguments: SmallVec<[Argument; 3]> = arguments
            .iter()
            .map(|&number| match to_integer(&number) {
                Some(int) if as_floats => Scalar::Float(int as f64),
                _ => number,
            })
            .map(|number| match number {
                Scalar::Bool(boolean) if signature(Typing::Promote, op, DType::Bool).is_none() => {
                    Scalar::Int(boolean.into())
                }
                number => number,
            })
            .map(|number| self.scalar_constant(number, default_type(number)).map(Argument::Typed))
            .collect::<Result<_, _>>()?;
        let typing = std::mem::replace(&mut self.typing, Typing::Promote);
        let result = self.call_typed(op, &arguments);
        self.typing = typing;
        let TypedValue { dtype, id } = result?;
        let ValueId::Constant(constant) = id else {
            return Ok(Argument::Typed(TypedValue { dtype, id }));
        };
        let bytes = self.constants[constant];
        let number = match dtype {
            DType::Bool => bytes.get::<u8>().map(|boolean| Scalar::Bool(boolean != 0)),
            DType::I8 => bytes.get::<i8>().map(Scalar::from),
            DType::I64 => bytes.get::<i64>().map(Scalar::from),
            DType::F16 => bytes.get::<half::f16>().map(|float| Scalar::Float(float.into())),
            DType::F64 => bytes.get::<f64>().map(Scalar::from),
            DType::C128 => bytes.get::<Complex<f64>>().map(Scalar::from),
            _ => None,
        };
        Ok(number.map_or(Argument::Typed(TypedValue { dtype, id }), Argument::Scalar))
    }

    /// The program of the steps that the result depends on.
    pub(super) fn program(self, result: ValueId) -> Program {
        let mut is_needed = vec![false; self.steps.len()];
        if let ValueId::Step(step) = result {
            is_needed[step] = true;
        }
        for (at, PendingStep { inputs, .. }) in self.steps.iter().enumerate().rev() {
            if is_needed[at] {
                for id in inputs {
                    if let ValueId::Step(step) = *id {
                        is_needed[step] = true;
                    }
                }
            }
        }
        let first = self.input_items.len() + self.constants.len();
        let mut numbers = vec![0; self.steps.len()];
        let mut steps = Vec::new();
        let value = |id: ValueId, numbers: &[usize]| match id {
            ValueId::Input(operand) => operand,
            ValueId::Constant(constant) => self.input_items.len() + constant,
            ValueId::Step(step) => first + numbers[step],
        };
        for (at, PendingStep { key, kernel, inputs, item }) in self.steps.iter().enumerate() {
            if is_needed[at] {
                numbers[at] = steps.len();
                let inputs = inputs.iter().map(|&id| value(id, &numbers)).collect();
                steps.push(Step { key: *key, kernel: *kernel, inputs, item: *item });
            }
        }
        let result = value(result, &numbers);
        Program::new(self.input_items, self.constants, steps, result)
    }
}
