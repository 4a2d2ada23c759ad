//! The scalar program of a stage as C statements.

use crate::stage::{Stage, StageResult};
use crate::types::{c_type, literal, raw_type};
use std::fmt::Write;
use unishape_kernels::{Constant, DType, FoldOp, KernelKey, Op, find_fold};

/// A scalar program: values are numbered, operands first, then constants, then the results of steps.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// Bytes of an element of each operand.
    pub(crate) items: Vec<usize>,
    pub(crate) constants: Vec<Constant>,
    steps: Vec<(KernelKey, Vec<usize>)>,
    pub(crate) results: Vec<StageResult>,
    /// Results that depend on each other.
    pub(crate) joint: Option<Joint>,
}

/// Results that are folded together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Joint {
    /// An extreme value, and its position.
    Position,
    /// A sum, the sum of squared deviations from the mean, and the number of elements. The program has the elements only.
    Deviations,
    /// The same, of parts.
    PartialDeviations,
}

impl Body {
    pub(crate) fn of_stage(stage: &Stage) -> Body {
        Body {
            items: stage.reads.iter().map(|read| read.item).collect(),
            constants: stage.constants.clone(),
            steps: stage.steps.clone(),
            results: stage.results.clone(),
            joint: None,
        }
    }

    /// Folds operands as they are: the second pass of a reduction, over the results of the first.
    pub(crate) fn of_partial_results(&self) -> Body {
        let results = &self.results;
        Body {
            joint: match self.joint {
                Some(Joint::Deviations) => Some(Joint::PartialDeviations),
                joint => joint,
            },
            items: results.iter().map(|result| result.dtype.item_size()).collect(),
            constants: Vec::new(),
            steps: Vec::new(),
            results: results
                .iter()
                .enumerate()
                .map(|(value, &result)| StageResult { value, ..result })
                .collect(),
        }
    }

    /// Number of operations for each element.
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Statements that fold values into accumulators, which `own` gives the C expressions of.
    pub(crate) fn accumulate(&self, values: &[Computed], own: &dyn Fn(usize) -> String) -> String {
        match self.joint {
            Some(Joint::Position) => return self.choose(own, &|number| values[number].value.clone()),
            Some(Joint::PartialDeviations) => return self.merge(own, &|number| values[number].value.clone()),
            Some(Joint::Deviations) => {
                let [sum, squares, count, shift] = [0, 1, 2, 3].map(own);
                let (c_type, x) = (c_type(self.results[0].dtype), &values[0].value);
                return format!(
                    "{{ const {c_type} x = {x}; if ({count} == 0) {shift} = x;\n  const {c_type} d = x - {shift}; \
                     {sum} += d; {squares} += d * d; {count} += 1; }}\n"
                );
            }
            None => {}
        }
        self.folds()
            .map(|(number, result, fold)| values[number].accumulate(fold, result.dtype, &own(number)) + "\n")
            .collect()
    }

    /// The results that are folded, with their numbers and folds.
    fn folds(&self) -> impl Iterator<Item = (usize, &StageResult, FoldOp)> {
        let results = self.results.iter().enumerate();
        results.filter_map(|(number, result)| Some((number, result, result.fold?)))
    }

    /// Statements that fold accumulators into others.
    pub(crate) fn merge(&self, own: &dyn Fn(usize) -> String, other: &dyn Fn(usize) -> String) -> String {
        match self.joint {
            Some(Joint::Position) => return self.choose(own, other),
            Some(Joint::Deviations | Joint::PartialDeviations) => {
                let [a, b] = [own, other].map(|side| [0, 1, 2].map(side).join(", "));
                return format!("merge_deviations({a}, {b});\n");
            }
            None => {}
        }
        let merged = |(number, result, fold): (usize, &StageResult, FoldOp)| {
            let (own, other) = (own(number), other(number));
            format!("{own} = {};\n", combine(fold, result.dtype, &own, &other))
        };
        self.folds().map(merged).collect()
    }

    /// Accumulators beside those of the results: the element that others are compared with, which is the first one.
    pub(crate) fn extra_accumulators(&self) -> Vec<(usize, DType)> {
        match self.joint {
            Some(Joint::Deviations) => vec![(3, self.results[0].dtype)],
            _ => Vec::new(),
        }
    }

    /// How many iterations of a loop over elements are unrolled. Parts are few, and compiling their long statements takes
    /// longer than they do.
    pub(crate) fn unrolled(&self) -> usize {
        if self.joint == Some(Joint::PartialDeviations) { 1 } else { 4 }
    }

    /// Statements after all elements of a thread: deviations from the first element become those from the mean.
    pub(crate) fn finish(&self, own: &dyn Fn(usize) -> String) -> String {
        match self.joint {
            Some(Joint::Deviations) => format!("finish_deviations({});\n", [0, 1, 2, 3].map(own).join(", ")),
            _ => String::new(),
        }
    }

    /// Statements that replace a value and its position, where others come before them. Most do not.
    fn choose(&self, own: &dyn Fn(usize) -> String, other: &dyn Fn(usize) -> String) -> String {
        let (after, name) = match self.results[0].fold {
            Some(FoldOp::Max) => ("<", "is_before_max"),
            _ => (">", "is_before_min"),
        };
        let [a, i, b, j] = [own(0), own(1), other(0), other(1)];
        format!("if (!({b} {after} {a}) && {name}({b}, {j}, {a}, {i})) {{ {a} = {b}; {i} = {j}; }}\n")
    }

    /// The operand whose value is the position of an extreme element, where that is folded.
    pub(crate) fn position(&self) -> Option<usize> {
        let position = self.results.get(1)?.value;
        (self.joint == Some(Joint::Position) && position < self.items.len()).then_some(position)
    }

    /// Statements that fold an extreme value, and keep the iteration that found it. Later iterations have later positions.
    /// What is no number becomes the extreme value, but its iteration is not kept.
    pub(crate) fn choose_first(
        &self,
        values: &[Computed],
        own: &dyn Fn(usize) -> String,
        kept: &str,
        iteration: &str,
    ) -> String {
        let StageResult { fold, dtype, .. } = self.results[0];
        let (fold, better) = if fold == Some(FoldOp::Max) { (FoldOp::Max, ">") } else { (FoldOp::Min, "<") };
        let (value, own) = (&values[0].value, own(0));
        // Without a branch: compilers make selections of it.
        format!(
            "{kept} = {value} {better} {own} ? {iteration} : {kept};\n{own} = {};\n",
            combine(fold, dtype, &own, value)
        )
    }

    /// Whether all results are sums of floating-point numbers. They are added in another order than on the CPU, and so are
    /// rounded differently: kernels need not round their terms as the CPU does.
    pub(crate) fn is_sum(&self) -> bool {
        let is_sum = |result: &StageResult| result.fold == Some(FoldOp::Sum) && !result.dtype.is_integer();
        self.results.iter().all(is_sum)
    }

    /// Which parts of the prelude the statements need.
    pub(crate) fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        for (key, _) in &self.steps {
            match *key {
                KernelKey::Call(Op::Where, _) => {}
                KernelKey::Call(op, dtype) => needs.add(op, dtype),
                KernelKey::CompareMixed(..) => needs.integer = true,
                KernelKey::Cast(..) => needs.casts = true,
            }
        }
        for result in self.results.iter().filter(|result| result.fold.is_some()) {
            needs.add(Op::Add, result.dtype);
        }
        needs
    }

    /// The value whose square root a term of a sum is divided by. The product with its reciprocal square root, which is one
    /// instruction, is within 2 ulp of the quotient, and equal to it where that is 0, infinite or no number.
    fn reciprocal_sqrt(&self, key: KernelKey, inputs: &[usize]) -> Option<usize> {
        let first = self.items.len() + self.constants.len();
        if key != KernelKey::Call(Op::Divide, DType::F32) || !self.is_sum() {
            return None;
        }
        match self.steps.get(inputs.get(1)?.checked_sub(first)?)? {
            (KernelKey::Call(Op::Sqrt, DType::F32), root) => root.first().copied(),
            _ => None,
        }
    }

    /// Statements that compute the results, and the expressions of the results.
    ///
    /// `operand(n)` and `constant(n)` are expressions of bits.
    pub(crate) fn statements(
        &self,
        operand: impl Fn(usize) -> String,
        constant: impl Fn(usize) -> String,
    ) -> (String, Vec<Computed>) {
        let first = self.items.len() + self.constants.len();
        let value = |number: usize, dtype: DType| {
            let (expression, has) = match number {
                _ if number < self.items.len() => (operand(number), raw_type(self.items[number])),
                _ if number < first => {
                    let own = number - self.items.len();
                    (constant(own), raw_type(self.constants[own].bytes().len()))
                }
                _ => (format!("t{}", number - first), c_type(self.steps[number - first].0.result_dtype())),
            };
            let wanted = c_type(dtype);
            if has == wanted { expression } else { format!("as<{wanted}>({expression})") }
        };
        let mut text = String::new();
        for (number, (key, own)) in self.steps.iter().enumerate() {
            let inputs: Vec<String> =
                own.iter().enumerate().map(|(at, &input)| value(input, key.input_dtype(at))).collect();
            let result = c_type(key.result_dtype());
            let called = match self.reciprocal_sqrt(*key, own) {
                Some(root) => format!("{} * rsqrtf({})", inputs[0], value(root, DType::F32)),
                None => call(*key, &inputs),
            };
            let _ = writeln!(text, "      const {result} t{number} = {called};");
        }
        // A position that is neutral unless a condition holds, which it rarely does: then nothing is folded.
        let selected = |result: &StageResult| {
            let (key, inputs) = &self.steps.get(result.value.checked_sub(first)?)?;
            let is_position =
                matches!(result.fold, Some(FoldOp::Min | FoldOp::Max)) && result.dtype.is_integer();
            let (&[condition, chosen, other], KernelKey::Call(Op::Where, _)) = (&inputs[..], key) else {
                return None;
            };
            let other = self.constants.get(other.checked_sub(self.items.len())?)?;
            let neutral = find_fold(result.fold?, result.dtype)?.identity;
            (is_position && *other == neutral)
                .then(|| (value(condition, DType::Bool), value(chosen, result.dtype)))
        };
        let computed = |result: &StageResult| Computed {
            value: value(result.value, result.dtype),
            selected: selected(result),
        };
        (text, self.results.iter().map(computed).collect())
    }
}

/// A result of a program, as C expressions.
#[derive(Debug)]
pub(crate) struct Computed {
    /// The result in its dtype.
    pub(crate) value: String,
    /// A condition and a value, where the result is this value or else neutral.
    selected: Option<(String, String)>,
}

impl Computed {
    /// The statement that folds it into an accumulator.
    pub(crate) fn accumulate(&self, fold: FoldOp, dtype: DType, accumulator: &str) -> String {
        match &self.selected {
            Some((condition, value)) => {
                format!("if ({condition} != 0) {accumulator} = {};", combine(fold, dtype, accumulator, value))
            }
            None => format!("{accumulator} = {};", combine(fold, dtype, accumulator, &self.value)),
        }
    }
}

/// Parts of the prelude.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs {
    casts: bool,
    integer: bool,
    float: bool,
    complex: bool,
    complex_functions: bool,
    pub(crate) threads: bool,
}

impl Needs {
    fn add(&mut self, op: Op, dtype: DType) {
        match dtype {
            DType::C64 | DType::C128 => {
                (self.float, self.complex) = (true, true);
                self.complex_functions |= is_complex_function(op);
            }
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => self.float = true,
            _ => self.integer = true,
        }
    }

    /// What one of two needs.
    pub(crate) fn and(self, other: Needs) -> Needs {
        Needs {
            casts: self.casts | other.casts,
            integer: self.integer | other.integer,
            float: self.float | other.float,
            complex: self.complex | other.complex,
            complex_functions: self.complex_functions | other.complex_functions,
            threads: self.threads | other.threads,
        }
    }

    /// The text before a kernel.
    pub(crate) fn prelude(self) -> String {
        let mut text = include_str!("prelude/types.cu").to_owned();
        for (is_needed, part) in [
            (self.casts, include_str!("prelude/casts.cu")),
            (self.integer, include_str!("prelude/integer.cu")),
            (self.float, include_str!("prelude/float.cu")),
            (self.complex, include_str!("prelude/complex.cu")),
            (self.complex_functions, include_str!("prelude/complex_functions.cu")),
            (self.threads, include_str!("prelude/threads.cu")),
        ] {
            if is_needed {
                text += "\n";
                text += part;
            }
        }
        text
    }
}

/// Whether an operation on complex numbers is an elementary function.
fn is_complex_function(op: Op) -> bool {
    !matches!(
        op,
        Op::Add
            | Op::Subtract
            | Op::Multiply
            | Op::Divide
            | Op::Negative
            | Op::Conj
            | Op::Real
            | Op::Imag
            | Op::Equal
            | Op::NotEqual
            | Op::Less
            | Op::LessEqual
            | Op::Min
            | Op::Max
            | Op::Round
            | Op::IsInf
            | Op::IsFinite
            | Op::Abs
    )
}

/// The C expression of a kernel's result.
fn call(key: KernelKey, inputs: &[String]) -> String {
    let function = |name: &str| format!("{name}({})", inputs.join(", "));
    match key {
        KernelKey::Call(Op::Where, _) => format!("{} != 0 ? {} : {}", inputs[0], inputs[1], inputs[2]),
        KernelKey::Call(op, dtype) => match (op, dtype) {
            (Op::Invert | Op::LogicalNot, DType::Bool) => function("bool_not"),
            (Op::Add | Op::LogicalOr | Op::Max | Op::Or, DType::Bool) => function("int_bitwise_or"),
            (Op::Multiply | Op::LogicalAnd | Op::Min | Op::And, DType::Bool) => function("int_bitwise_and"),
            (Op::LogicalXor | Op::NotEqual | Op::Xor, DType::Bool) => function("int_bitwise_xor"),
            (Op::Nextafter, DType::F16) => function("half_nextafter"),
            (Op::Nextafter, DType::BF16) => function("brain_nextafter"),
            (_, DType::C64 | DType::C128) => function(&format!("complex_{}", op.name())),
            (_, DType::F32 | DType::F64) => function(&format!("float_{}", op.name())),
            _ => function(&format!("int_{}", op.name())),
        },
        KernelKey::CompareMixed(op, _) => function(&format!("mixed_{}", op.name())),
        KernelKey::Cast(from, to) => match (from, to) {
            (DType::F16 | DType::BF16, DType::Bool) => function("half_to_bool"),
            (_, DType::Bool) => function("to_bool"),
            (DType::F16, _) => function("half_to_float"),
            (DType::BF16, _) => function("brain_to_float"),
            (DType::F32, DType::F16) => function("float_to_half"),
            (_, DType::F16) => function("double_to_half"),
            (DType::F32, DType::BF16) => function("float_to_brain"),
            (_, DType::BF16) => function("double_to_brain"),
            (_, DType::C64) => function("to_c64"),
            (_, DType::C128) => function("to_c128"),
            (DType::F64, _) if to.is_integer() => function(&format!("truncated<{}>", c_type(to))),
            _ => format!("({})({})", c_type(to), inputs[0]),
        },
    }
}

/// The C expression of two values of a fold, folded.
pub(crate) fn combine(fold: FoldOp, dtype: DType, a: &str, b: &str) -> String {
    let kind = match dtype {
        DType::C64 | DType::C128 => "complex",
        DType::F32 | DType::F64 => "float",
        _ => "int",
    };
    // Of equal numbers, any: that is one instruction. Element-wise, it is the first, as on the CPU.
    if matches!((dtype, fold), (DType::F32, FoldOp::Min | FoldOp::Max)) {
        let name = if fold == FoldOp::Min { "smallest" } else { "largest" };
        return format!("{name}({a}, {b})");
    }
    let operation = match fold {
        FoldOp::Sum => "add",
        FoldOp::Product => "multiply",
        // Stages for GPUs find positions by two folds.
        FoldOp::Min | FoldOp::All | FoldOp::ArgMin => "minimum",
        FoldOp::Max | FoldOp::Any | FoldOp::ArgMax => "maximum",
    };
    format!("{kind}_{operation}({a}, {b})")
}

/// The C expression of a fold's neutral element.
pub(crate) fn identity(fold: FoldOp, dtype: DType) -> String {
    match find_fold(fold, dtype) {
        Some(kernel) => literal(kernel.identity.bytes(), dtype),
        // Stages have only folds that there are kernels for.
        None => format!("{}()", c_type(dtype)),
    }
}
