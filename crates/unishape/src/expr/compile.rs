//! From an expression and the types of its inputs to a chain of kernels.

use super::error::{ExprError, Problem};
use super::graph::{Graph, Node};
use super::types::{Argument, Typing, common_type, default_type, signature};
use num_complex::Complex;
use smallvec::SmallVec;
use std::collections::HashMap;
use unishape_engine::fused::{Program, Step};
use unishape_kernels::DType;
use unishape_kernels::Op;
use unishape_kernels::Scalar;
use unishape_kernels::{self as kernels, Constant, DTypeKind, Kernel};

/// What is given under a name: an array of this type, or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Given {
    Array(DType),
    Scalar(Scalar),
}

/// An expression made ready for inputs of certain types. The operands of the program are the arrays among
/// the inputs, in the order of their names.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) program: Program,
    pub(crate) dtype: DType,
    /// What the program's operands are called.
    pub(crate) names: Vec<String>,
    /// The program's constants as they are written.
    pub(crate) constants: Vec<String>,
}

/// Makes an expression ready.
pub(crate) fn compile(graph: &Graph, given: &[Given], typing: Typing) -> Result<Compiled, ExprError> {
    let mut compiler = Compiler::new(given, typing);
    let mut values: Vec<Value> = Vec::with_capacity(graph.nodes.len());
    for (at, node) in graph.nodes.iter().enumerate() {
        let value = match node {
            Node::Name(name) => Ok(compiler.inputs[*name as usize]),
            Node::Scalar(number) => Ok(Value::Scalar(*number)),
            Node::Call(op, from) => {
                let from: SmallVec<[Value; 3]> = from.iter().map(|&from| values[from as usize]).collect();
                compiler.call(*op, &from)
            }
            Node::Cast(dtype, from) => {
                let from = values[*from as usize];
                compiler.typed(from).and_then(|from| compiler.cast(from, *dtype)).map(Value::Typed)
            }
        };
        let value = value.map_err(|problem| ExprError::at(problem, graph.place(at as u32)))?;
        values.push(value);
    }
    let result = values.last().copied().unwrap_or(Value::Scalar(Scalar::Int(0)));
    let place = || graph.place(graph.nodes.len().saturating_sub(1) as u32);
    let result = compiler.typed(result).map_err(|problem| ExprError::at(problem, place()))?;
    let constants = std::mem::take(&mut compiler.constant_names);
    let arrays = graph.names.iter().zip(given).filter(|(_, given)| matches!(given, Given::Array(_)));
    let names = arrays.map(|(name, _)| name.clone()).collect();
    Ok(Compiled { program: compiler.program(result.id), dtype: result.dtype, names, constants })
}

/// A value of a known type.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Typed {
    dtype: DType,
    id: Id,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Id {
    Operand(usize),
    Constant(usize),
    Step(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Scalar(Scalar),
    Typed(Typed),
}

/// What a step does, so that it is not done twice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Deed {
    Call(Op, DType),
    /// A comparison of integers of different signs, the signed one first or not.
    CompareMixed(Op, bool),
    Cast(DType, DType),
}

/// A step, before it is known which are needed.
struct Taken {
    name: &'static str,
    kernel: Kernel,
    from: SmallVec<[Id; 3]>,
    item: usize,
}

impl Deed {
    /// What it is called in a plan.
    fn name(&self) -> &'static str {
        match self {
            Deed::Call(op, _) | Deed::CompareMixed(op, _) => op.name(),
            Deed::Cast(_, to) => to.name(),
        }
    }
}

struct Compiler {
    typing: Typing,
    inputs: Vec<Value>,
    operands: Vec<usize>,
    constants: Vec<Constant>,
    constant_ids: HashMap<Constant, usize>,
    constant_names: Vec<String>,
    steps: Vec<Taken>,
    done: HashMap<(Deed, SmallVec<[Id; 3]>), Id>,
}

impl Compiler {
    fn new(given: &[Given], typing: Typing) -> Compiler {
        let mut operands = Vec::new();
        let inputs = given.iter().map(|given| match *given {
            Given::Scalar(number) => Value::Scalar(number),
            Given::Array(dtype) => {
                operands.push(dtype.item_size());
                Value::Typed(Typed { dtype, id: Id::Operand(operands.len() - 1) })
            }
        });
        Compiler {
            typing,
            inputs: inputs.collect(),
            operands,
            constants: Vec::new(),
            constant_names: Vec::new(),
            constant_ids: HashMap::new(),
            steps: Vec::new(),
            done: HashMap::new(),
        }
    }

    /// A value with a type, its own or the one that a number has by itself.
    fn typed(&mut self, value: Value) -> Result<Typed, Problem> {
        match value {
            Value::Typed(Typed { dtype: DType::Str, .. }) => Err(Problem::Strings),
            Value::Typed(typed) => Ok(typed),
            Value::Scalar(number) => self.number(number, default_type(number)),
        }
    }

    fn number(&mut self, number: Scalar, dtype: DType) -> Result<Typed, Problem> {
        let constant = Constant::from_scalar(number, dtype)
            .ok_or_else(|| Problem::DoesNotFit { number: number.to_string(), dtype })?;
        Ok(self.constant(constant, dtype, &number.to_string()))
    }

    fn constant(&mut self, constant: Constant, dtype: DType, name: &str) -> Typed {
        let (constants, names) = (&mut self.constants, &mut self.constant_names);
        let id = *self.constant_ids.entry(constant).or_insert_with(|| {
            constants.push(constant);
            names.push(name.into());
            constants.len() - 1
        });
        Typed { dtype, id: Id::Constant(id) }
    }

    /// A value as one of this type.
    fn of_type(&mut self, value: Value, dtype: DType) -> Result<Typed, Problem> {
        match value {
            Value::Typed(typed) => self.cast(typed, dtype),
            // What it stands for, whatever type it would have by itself.
            Value::Scalar(number) => self.number(number, dtype),
        }
    }

    fn cast(&mut self, value: Typed, dtype: DType) -> Result<Typed, Problem> {
        let mut value = value;
        while value.dtype != dtype {
            let (next, kernel) = kernels::next_cast(value.dtype, dtype)
                .ok_or(Problem::NoCast { from: value.dtype, to: dtype })?;
            value = match kernel {
                Some(kernel) => self.step(Deed::Cast(value.dtype, next), kernel, &[value], next),
                None => Typed { dtype: next, ..value },
            };
        }
        Ok(value)
    }

    /// Adds a step, unless it has been taken already, or can be taken at once.
    fn step(&mut self, deed: Deed, kernel: Kernel, from: &[Typed], gives: DType) -> Typed {
        let constants: Option<SmallVec<[Constant; 3]>> = from
            .iter()
            .map(|value| match value.id {
                Id::Constant(constant) => Some(self.constants[constant]),
                Id::Operand(_) | Id::Step(_) => None,
            })
            .collect();
        if let Some(constants) = constants {
            let constant = Constant::evaluate(kernel, &constants, gives.item_size());
            return self.constant(constant, gives, "a number");
        }
        let from: SmallVec<[Id; 3]> = from.iter().map(|value| value.id).collect();
        let steps = &mut self.steps;
        let id = *self.done.entry((deed, from)).or_insert_with_key(|(deed, from)| {
            let name = deed.name();
            steps.push(Taken { name, kernel, from: from.clone(), item: gives.item_size() });
            Id::Step(steps.len() - 1)
        });
        Typed { dtype: gives, id }
    }

    /// A function of values.
    fn call(&mut self, op: Op, from: &[Value]) -> Result<Value, Problem> {
        let numbers: Option<SmallVec<[Scalar; 3]>> = from
            .iter()
            .map(|value| match value {
                Value::Scalar(number) => Some(*number),
                Value::Typed(_) => None,
            })
            .collect();
        match numbers {
            Some(numbers) => self.call_numbers(op, &numbers),
            None => self.call_typed(op, from).map(Value::Typed),
        }
    }

    fn call_typed(&mut self, op: Op, from: &[Value]) -> Result<Typed, Problem> {
        let arguments: SmallVec<[Argument; 3]> = from
            .iter()
            .map(|value| match value {
                Value::Scalar(number) => Argument::Scalar(*number),
                Value::Typed(typed) => Argument::Typed(typed.dtype),
            })
            .collect();
        let types = || -> Vec<DType> {
            let own = |argument: &Argument| match argument {
                Argument::Typed(dtype) => *dtype,
                Argument::Scalar(number) => default_type(*number),
            };
            arguments.iter().map(own).collect()
        };
        let wrong = || Problem::WrongType { op, types: types() };
        let is_truth = |argument: &Argument| {
            matches!(argument, Argument::Typed(DType::Bool) | Argument::Scalar(Scalar::Bool(_)))
        };
        if matches!(op, Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor | Op::LogicalNot) {
            if self.typing == Typing::Strict && !arguments.iter().all(is_truth) {
                return Err(wrong());
            }
            let truths = self.all_of_type(from, DType::Bool)?;
            return self.apply(op, DType::Bool, DType::Bool, &truths).ok_or_else(wrong);
        }
        if op == Op::Where {
            if self.typing == Typing::Strict && !is_truth(&arguments[0]) {
                return Err(wrong());
            }
            let common = common_type(self.typing, &arguments[1..])?;
            let condition = self.of_type(from[0], DType::Bool)?;
            let (a, b) = (self.of_type(from[1], common)?, self.of_type(from[2], common)?);
            return self.apply(op, common, common, &[condition, a, b]).ok_or_else(wrong);
        }
        if let Some(answer) = self.compare(op, from, &arguments)? {
            return Ok(answer);
        }
        let is_whole = |argument: &Argument| matches!(argument, Argument::Scalar(Scalar::Int(_)));
        // Truths beside an integer that is written become integers, as anywhere.
        let are_truths_met =
            arguments.iter().any(is_whole) && arguments.iter().all(|each| is_whole(each) || is_truth(each));
        let common = match op {
            // Integers are made fractions before they meet, so that int8 and uint8 meet at float16.
            Op::Atan2 | Op::Hypot | Op::Logaddexp | Op::Copysign | Op::Nextafter
                if self.typing == Typing::Promote
                    && !are_truths_met
                    && types().iter().all(|dtype| dtype.kind() < DTypeKind::Float) =>
            {
                let floats = arguments.iter().map(|argument| match *argument {
                    Argument::Typed(dtype) => Argument::Typed(dtype.float_dtype()),
                    number => number,
                });
                common_type(self.typing, &floats.collect::<SmallVec<[Argument; 3]>>())?
            }
            _ => common_type(self.typing, &arguments)?,
        };
        let signature = signature(self.typing, op, common).ok_or_else(wrong)?;
        if self.typing == Typing::Strict && signature.takes != common {
            return Err(wrong());
        }
        // Squaring is much faster, and gives the same.
        let is_two = |number: Scalar| matches!(number, Scalar::Int(2)) || number == Scalar::Float(2.0);
        let (op, from) = match *from {
            [ref base, Value::Scalar(number)] if op == Op::Pow && is_two(number) => {
                (Op::Square, std::slice::from_ref(base))
            }
            _ => (op, from),
        };
        let from = self.all_of_type(from, signature.takes)?;
        self.apply(op, signature.takes, signature.gives, &from).ok_or_else(wrong)
    }

    fn all_of_type(&mut self, from: &[Value], dtype: DType) -> Result<SmallVec<[Typed; 3]>, Problem> {
        from.iter().map(|&value| self.of_type(value, dtype)).collect()
    }

    /// Comparisons that are exact though there is no common type for them: of integers of different signs,
    /// and of integers with a number that is none of theirs.
    fn compare(&mut self, op: Op, from: &[Value], types: &[Argument]) -> Result<Option<Typed>, Problem> {
        use DType::{I8, I16, I32, I64, U64};
        // Whether it holds where the first is smaller, and where it is larger.
        let (if_less, if_greater) = match op {
            Op::Equal => (false, false),
            Op::NotEqual => (true, true),
            Op::Less | Op::LessEqual => (true, false),
            Op::Greater | Op::GreaterEqual => (false, true),
            _ => return Ok(None),
        };
        Ok(match *types {
            [Argument::Typed(array), Argument::Scalar(Scalar::Int(int))]
                if array.is_integer() && !array.can_hold(int) =>
            {
                let holds = if int > 0 { if_less } else { if_greater };
                Some(self.number(Scalar::Bool(holds), DType::Bool)?)
            }
            [Argument::Scalar(Scalar::Int(int)), Argument::Typed(array)]
                if array.is_integer() && !array.can_hold(int) =>
            {
                let holds = if int > 0 { if_greater } else { if_less };
                Some(self.number(Scalar::Bool(holds), DType::Bool)?)
            }
            [Argument::Typed(a), Argument::Typed(b)] if self.typing == Typing::Promote => {
                let signed = |dtype| matches!(dtype, I8 | I16 | I32 | I64);
                let signed_first = signed(a) && b == U64;
                let unsigned_first = a == U64 && signed(b);
                if !signed_first && !unsigned_first {
                    return Ok(None);
                }
                let (first, second) = if signed_first { (I64, U64) } else { (U64, I64) };
                let from = [self.of_type(from[0], first)?, self.of_type(from[1], second)?];
                let [a, b] = from;
                let (op, from, signed_first) = match op {
                    Op::Greater => (Op::Less, [b, a], !signed_first),
                    Op::GreaterEqual => (Op::LessEqual, [b, a], !signed_first),
                    op => (op, from, signed_first),
                };
                let deed = Deed::CompareMixed(op, signed_first);
                kernels::compare_mixed(op, signed_first)
                    .map(|kernel| self.step(deed, kernel, &from, DType::Bool))
            }
            _ => None,
        })
    }

    /// A function of values that have the type it computes in.
    fn apply(&mut self, op: Op, takes: DType, gives: DType, from: &[Typed]) -> Option<Typed> {
        if let Some(result) = self.apply_simply(op, takes, from) {
            return result;
        }
        if let Some(kernel) = kernels::find_kernel(op, takes) {
            return Some(self.step(Deed::Call(op, takes), kernel, from, gives));
        }
        // Half precision is computed in single precision, and rounded after each function; complex64 where
        // it has no function of its own in complex128.
        let wider = match takes {
            DType::F16 | DType::BF16 => DType::F32,
            DType::C64 => DType::C128,
            _ => return None,
        };
        let gives_wider = if gives == takes { wider } else { gives };
        let from: Option<SmallVec<[Typed; 3]>> =
            from.iter().map(|&value| self.cast(value, wider).ok()).collect();
        let result = self.apply(op, wider, gives_wider, &from?)?;
        self.cast(result, gives).ok()
    }

    /// What needs no kernel of its own: nothing is to be done, or others do it together.
    fn apply_simply(&mut self, op: Op, takes: DType, from: &[Typed]) -> Option<Option<Typed>> {
        let is_whole = takes.is_integer() || takes == DType::Bool;
        let &[a, ref others @ ..] = from else {
            return None;
        };
        Some(match (op, others) {
            (Op::Positive, _) => Some(a),
            (Op::Floor | Op::Ceil | Op::Trunc | Op::Round, _) if is_whole => Some(a),
            (Op::Conj | Op::Real, _) if !takes.is_complex() => Some(a),
            (Op::Abs, _) if takes.kind() < DTypeKind::Signed => Some(a),
            (Op::Imag, _) if !takes.is_complex() => self.number(Scalar::Int(0), takes).ok(),
            (Op::IsNan | Op::IsInf, _) if is_whole => self.number(Scalar::Bool(false), DType::Bool).ok(),
            (Op::IsFinite, _) if is_whole => self.number(Scalar::Bool(true), DType::Bool).ok(),
            (Op::Signbit, _) if takes.kind() < DTypeKind::Signed => {
                self.number(Scalar::Bool(false), DType::Bool).ok()
            }
            (Op::Signbit, _) if is_whole => {
                let zero = self.number(Scalar::Int(0), takes).ok()?;
                self.apply(Op::Less, takes, DType::Bool, &[a, zero])
            }
            (Op::Greater, &[b]) => self.apply(Op::Less, takes, DType::Bool, &[b, a]),
            (Op::GreaterEqual, &[b]) => self.apply(Op::LessEqual, takes, DType::Bool, &[b, a]),
            (Op::Clip, &[least, most]) => {
                let a = self.apply(Op::Max, takes, takes, &[a, least])?;
                self.apply(Op::Min, takes, takes, &[a, most])
            }
            (Op::LeakyRelu, _) if takes.kind() < DTypeKind::Signed => Some(a),
            (Op::LeakyRelu, &[slope]) if is_whole => {
                let zero = self.number(Scalar::Int(0), takes).ok()?;
                let below = self.apply(Op::Less, takes, DType::Bool, &[a, zero])?;
                let times = self.apply(Op::Multiply, takes, takes, &[a, slope])?;
                self.apply(Op::Where, takes, takes, &[below, times, a])
            }
            (Op::Square, _) => self.apply(Op::Multiply, takes, takes, &[a, a]),
            (Op::Divide, &[b]) if takes.is_integer() => self.apply(Op::TruncDivide, takes, takes, &[a, b]),
            (Op::Reciprocal, _) => {
                let one = self.number(Scalar::Int(1), takes).ok()?;
                self.apply(Op::Divide, takes, takes, &[one, a])
            }
            (Op::Negative, _) if is_whole => {
                let zero = self.number(Scalar::Int(0), takes).ok()?;
                self.apply(Op::Subtract, takes, takes, &[zero, a])
            }
            // Only NaN differs from itself.
            (Op::IsNan, _) => self.apply(Op::NotEqual, takes, DType::Bool, &[a, a]),
            (Op::IsInf | Op::IsFinite, _) if takes.kind() == DTypeKind::Float => {
                let size = self.apply(Op::Abs, takes, takes, &[a])?;
                let infinity = self.number(Scalar::Float(f64::INFINITY), takes).ok()?;
                let op = if op == Op::IsInf { Op::Equal } else { Op::Less };
                self.apply(op, takes, DType::Bool, &[size, infinity])
            }
            _ => return None,
        })
    }

    /// A function of numbers alone is a number, and takes the type of the arrays it meets later. Whole
    /// numbers stay whole where Python's would, and are exact.
    fn call_numbers(&mut self, op: Op, from: &[Scalar]) -> Result<Value, Problem> {
        let whole = |number: &Scalar| match *number {
            Scalar::Int(int) => Some(int),
            Scalar::Bool(truth) => Some(truth.into()),
            Scalar::Float(_) | Scalar::Complex(_) => None,
        };
        let exact = match from.iter().map(whole).collect::<Option<SmallVec<[i128; 3]>>>().as_deref() {
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
            return Ok(Value::Scalar(Scalar::Int(exact)));
        }
        // Otherwise computed as elements are; where whole numbers would be cut short, as fractions.
        let fits = |number: &Scalar| match whole(number) {
            Some(int) => DType::I64.can_hold(int),
            None => true,
        };
        let in_fractions = matches!(op, Op::Add | Op::Subtract | Op::Multiply | Op::LeakyRelu | Op::Pow)
            || !from.iter().all(fits);
        let from: SmallVec<[Value; 3]> = from
            .iter()
            .map(|&number| match whole(&number) {
                Some(int) if in_fractions => Scalar::Float(int as f64),
                _ => number,
            })
            .map(|number| match number {
                Scalar::Bool(truth) if signature(Typing::Promote, op, DType::Bool).is_none() => {
                    Scalar::Int(truth.into())
                }
                number => number,
            })
            .map(|number| self.number(number, default_type(number)).map(Value::Typed))
            .collect::<Result<_, _>>()?;
        let typing = std::mem::replace(&mut self.typing, Typing::Promote);
        let result = self.call_typed(op, &from);
        self.typing = typing;
        let Typed { dtype, id } = result?;
        let Id::Constant(constant) = id else {
            return Ok(Value::Typed(Typed { dtype, id }));
        };
        let bytes = self.constants[constant];
        let number = match dtype {
            DType::Bool => bytes.get::<u8>().map(|truth| Scalar::Bool(truth != 0)),
            DType::I8 => bytes.get::<i8>().map(Scalar::from),
            DType::I64 => bytes.get::<i64>().map(Scalar::from),
            DType::U64 => bytes.get::<u64>().map(Scalar::from),
            DType::F16 => bytes.get::<half::f16>().map(|float| Scalar::Float(float.into())),
            DType::F64 => bytes.get::<f64>().map(Scalar::from),
            DType::C128 => bytes.get::<Complex<f64>>().map(Scalar::from),
            _ => None,
        };
        Ok(number.map_or(Value::Typed(Typed { dtype, id }), Value::Scalar))
    }

    /// The steps that lead to a result, and no others.
    fn program(self, result: Id) -> Program {
        let mut is_needed = vec![false; self.steps.len()];
        if let Id::Step(step) = result {
            is_needed[step] = true;
        }
        for (at, Taken { from, .. }) in self.steps.iter().enumerate().rev() {
            if is_needed[at] {
                for id in from {
                    if let Id::Step(step) = *id {
                        is_needed[step] = true;
                    }
                }
            }
        }
        let first = self.operands.len() + self.constants.len();
        let mut numbers = vec![0; self.steps.len()];
        let mut steps = Vec::new();
        let value = |id: Id, numbers: &[usize]| match id {
            Id::Operand(operand) => operand,
            Id::Constant(constant) => self.operands.len() + constant,
            Id::Step(step) => first + numbers[step],
        };
        for (at, Taken { name, kernel, from, item }) in self.steps.iter().enumerate() {
            if is_needed[at] {
                numbers[at] = steps.len();
                let inputs = from.iter().map(|&id| value(id, &numbers)).collect();
                steps.push(Step { name, kernel: *kernel, inputs, item: *item });
            }
        }
        let result = value(result, &numbers);
        Program::new(self.operands, self.constants, steps, result)
    }
}
