//! Function calls, method calls and their arguments.

use super::{Parser, tokens::Token};
use crate::expr::error::{ExprError, ExprErrorKind};
use crate::expr::function::{Function, Parameter};
use crate::expr::graph::{Node, NodeId};
use crate::expr::reduce_op::ReduceOp;
use crate::expr::reduction::Reduction;
use crate::expr::view::View;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use unishape_kernels::{DType, Op, Scalar};

/// A call whose arguments are parsed.
pub(super) struct FunctionCall<'n> {
    function: Function,
    name: &'n str,
    /// Span of the name.
    pub(super) span: Range<usize>,
    /// Span of the opening parenthesis.
    open: Range<usize>,
    is_method: bool,
}

/// Values of the parameters of a call, after the array.
#[derive(Default)]
pub(super) struct Arguments {
    given: SmallVec<[Parameter; 4]>,
    /// Whether the last one is given by keyword.
    by_keyword: bool,
    /// `axis` or `axes`; `None` for `None`.
    pub(super) axes: Option<Vec<i64>>,
    /// Names of dimensions, in place of `axis`.
    pub(super) dims: Option<Vec<String>>,
    axis1: i64,
    axis2: i64,
    keep_dims: bool,
    ddof: Option<Scalar>,
    dtype: Option<DType>,
    initial: Option<Scalar>,
    mask: Option<NodeId>,
    norm: Option<ReduceOp>,
    shape: Vec<usize>,
    pub(super) eps: Option<NodeId>,
    pub(super) weight: Option<NodeId>,
    pub(super) bias: Option<NodeId>,
}

impl Arguments {
    pub(super) fn has(&self, parameter: Parameter) -> bool {
        self.given.contains(&parameter)
    }
}

/// Integer literals: one, or a tuple of them.
struct Integers {
    values: Vec<i64>,
    is_tuple: bool,
}

impl Parser {
    /// Parses the arguments of a function, or of a method of `object`.
    pub(super) fn call(
        &mut self,
        name: &str,
        span: Range<usize>,
        object: Option<NodeId>,
    ) -> Result<NodeId, ExprError> {
        let is_method = object.is_some();
        let function = if is_method { Function::of_method(name) } else { Function::from_name(name) };
        let Some(function) = function else {
            let kind = if is_method { ExprErrorKind::NoSuchAttribute } else { ExprErrorKind::NoSuchFunction };
            return Err(self.error(kind(name.into()), span));
        };
        let open = self.advance();
        let call = FunctionCall { function, name, span, open, is_method };
        let first = match object {
            Some(_) => object,
            None if self.peek() == Token::Symbol(")") || self.keyword().is_some() => None,
            None => Some(self.argument(&call)?),
        };
        match function {
            Function::ElementWise(_) | Function::CastTo(_) => self.element_wise(&call, first),
            Function::Extremum(..) if !self.is_reduction() => self.element_wise(&call, first),
            _ => {
                let Some(array) = first else {
                    return Err(self.missing(&call, "x"));
                };
                let arguments = self.arguments(&call)?;
                Ok(self.push_call(&call, array, &arguments))
            }
        }
    }

    /// Parses an expression as an argument, and the comma after it.
    fn argument(&mut self, call: &FunctionCall<'_>) -> Result<NodeId, ExprError> {
        let argument = self.nested(|parser| parser.binary(0))?;
        self.separator(call)?;
        Ok(argument)
    }

    /// Parses the comma after an argument, unless it is the last one.
    fn separator(&mut self, call: &FunctionCall<'_>) -> Result<(), ExprError> {
        match self.peek() {
            Token::Symbol(",") => _ = self.advance(),
            Token::Symbol(")") => {}
            Token::End => return Err(self.error(ExprErrorKind::NotClosed, call.open.clone())),
            _ => return Err(self.unexpected("an operator, a comma or )")),
        }
        Ok(())
    }

    /// Span of the name of a keyword argument, if the next argument is one.
    fn keyword(&self) -> Option<Range<usize>> {
        match &self.tokens[self.next..] {
            [(Token::Name, name), (Token::Symbol("="), _), ..] => Some(name.clone()),
            _ => None,
        }
    }

    /// Whether the call of `min` or `max` is a reduction, judged by the arguments after the first.
    ///
    /// It is element-wise where the second is not a literal axis, or where there are three.
    fn is_reduction(&mut self) -> bool {
        let start = self.next;
        let ends = |parser: &Parser| parser.peek() == Token::Symbol(")") || parser.keyword().is_some();
        let mut is_reduction = ends(self) || self.names_dims();
        if !is_reduction && (self.take_none() || self.integers().is_some()) {
            is_reduction = match self.peek() {
                Token::Symbol(",") => {
                    self.advance();
                    ends(self)
                }
                Token::Symbol(")") | Token::End => true,
                _ => false,
            };
        }
        self.next = start;
        is_reduction
    }

    /// Parses the remaining arguments of an element-wise function or a cast.
    fn element_wise(&mut self, call: &FunctionCall<'_>, first: Option<NodeId>) -> Result<NodeId, ExprError> {
        let mut arguments: SmallVec<[NodeId; 3]> = first.into_iter().collect();
        let second = self.span();
        while self.peek() != Token::Symbol(")") {
            if let Some(keyword) = self.keyword() {
                return Err(match call.function {
                    // A keyword of the reduction, whose axis is not a literal.
                    Function::Extremum(..) => self.invalid(call, Parameter::Axis, second),
                    _ => self.unknown_keyword(call, keyword),
                });
            }
            arguments.push(self.argument(call)?);
        }
        self.advance();
        let span = call.span.clone();
        let (op, arity) = match call.function {
            Function::CastTo(dtype) if arguments.len() == 1 => {
                return Ok(self.push_node(Node::Cast(dtype, arguments[0]), span));
            }
            // With a number of decimals.
            Function::ElementWise(Op::Round) if arguments.len() == 2 && call.name == "round" => {
                (Some(Op::RoundTo), 2)
            }
            Function::ElementWise(op) | Function::Extremum(_, op) => (Some(op), op.arity()),
            _ => (None, 1),
        };
        match op {
            // min and max take any number of arguments.
            Some(op @ (Op::Min | Op::Max)) if arguments.len() > 2 => {
                let mut left = arguments[0];
                for &right in &arguments[1..] {
                    left = self.push_node(Node::Call(op, smallvec![left, right]), span.clone());
                }
                Ok(left)
            }
            Some(op) if arity == arguments.len() => Ok(self.push_node(Node::Call(op, arguments), span)),
            _ => {
                let name = call.name.into();
                let kind = ExprErrorKind::Arguments { name, wanted: arity, given: arguments.len() };
                Err(self.error(kind, span))
            }
        }
    }

    /// Parses the arguments after the array, and the closing parenthesis.
    fn arguments(&mut self, call: &FunctionCall<'_>) -> Result<Arguments, ExprError> {
        let (positional, keyword_only) = call.function.parameters();
        let mut arguments = Arguments::default();
        while self.peek() != Token::Symbol(")") {
            let keyword = self.keyword();
            let parameter = match &keyword {
                Some(span) => {
                    arguments.by_keyword = true;
                    let name = match &self.text[span.clone()] {
                        // Its name in the Array API.
                        "correction" => "ddof",
                        // In place of an axis.
                        "dim" if call.function.dim().is_some() => "axis",
                        name => name,
                    };
                    let known = positional.iter().chain(keyword_only).find(|known| known.name() == name);
                    *known.ok_or_else(|| self.unknown_keyword(call, span.clone()))?
                }
                None if arguments.by_keyword => {
                    return Err(self.error(ExprErrorKind::PositionalAfterKeyword, self.span()));
                }
                None => *positional.get(arguments.given.len()).ok_or_else(|| {
                    let kind = ExprErrorKind::TooManyArguments {
                        name: call.name.into(),
                        most: positional.len() + usize::from(!call.is_method),
                        keywords: keyword_only.iter().map(|parameter| parameter.name()).collect(),
                    };
                    self.error(kind, self.span())
                })?,
            };
            if let Some(span) = keyword.clone() {
                if arguments.has(parameter) {
                    return Err(self.error(ExprErrorKind::GivenTwice(self.text[span.clone()].into()), span));
                }
                self.advance();
                self.advance();
            }
            arguments.given.push(parameter);
            let parameter = match (&keyword, call.function.dim()) {
                (Some(span), Some(dim)) if self.text[span.clone()] == *"dim" => dim,
                (None, Some(dim)) if self.names_dims() && parameter.dim().is_some() => dim,
                _ => parameter,
            };
            self.parameter(call, parameter, &mut arguments)?;
            self.separator(call)?;
        }
        if let Some(missing) = call.function.required().iter().find(|required| !arguments.has(**required)) {
            return Err(self.missing(call, missing.name()));
        }
        self.advance();
        Ok(arguments)
    }

    /// Parses the value of a parameter.
    fn parameter(
        &mut self,
        call: &FunctionCall<'_>,
        parameter: Parameter,
        arguments: &mut Arguments,
    ) -> Result<(), ExprError> {
        self.reject_module()?;
        let start = self.span();
        let value = match parameter {
            Parameter::Where | Parameter::Eps => {
                let value = Some(self.nested(|parser| parser.binary(0))?);
                *(if parameter == Parameter::Eps { &mut arguments.eps } else { &mut arguments.mask }) = value;
                return Ok(());
            }
            Parameter::Weight | Parameter::Bias => {
                let value = match self.take_none() {
                    true => None,
                    false => Some(self.nested(|parser| parser.binary(0))?),
                };
                *(if parameter == Parameter::Bias { &mut arguments.bias } else { &mut arguments.weight }) =
                    value;
                return Ok(());
            }
            Parameter::DType | Parameter::OptionalDType => {
                if parameter == Parameter::OptionalDType && self.take_none() {
                    Some(())
                } else if self.peek() == Token::Name && !self.is_none() {
                    let name = &self.text[start.clone()];
                    let dtype = DType::from_name(name);
                    let unknown = || self.error(ExprErrorKind::NoSuchType(name.into()), start.clone());
                    arguments.dtype = Some(dtype.ok_or_else(unknown)?);
                    self.advance();
                    Some(())
                } else {
                    None
                }
            }
            Parameter::KeepDims => self.flag().map(|flag| arguments.keep_dims = flag),
            Parameter::Ddof => match self.number() {
                Some(number @ (Scalar::Int(_) | Scalar::Float(_))) => {
                    arguments.ddof = Some(number);
                    Some(())
                }
                _ => None,
            },
            Parameter::Initial if self.take_none() => Some(()),
            Parameter::Initial => self.number().map(|number| arguments.initial = Some(number)),
            Parameter::Ord => self.norm().map(|norm| arguments.norm = Some(norm)),
            Parameter::Axis | Parameter::OneAxis | Parameter::Axes | Parameter::Dim | Parameter::OneDim
                if self.take_none() =>
            {
                Some(())
            }
            Parameter::Dim | Parameter::OneDim => {
                self.dims(parameter == Parameter::OneDim).map(|dims| arguments.dims = dims)
            }
            _ => self.integers().and_then(|integers| self.axes(call, parameter, integers, arguments)),
        };
        match (value, self.peek()) {
            (Some(()), Token::Symbol("," | ")") | Token::End) => Ok(()),
            (_, found) => {
                // Up to the token that is not a part of such a value.
                let last = match found {
                    Token::Symbol("," | ")") | Token::End => self.next - 1,
                    _ => self.next,
                };
                let end = self.tokens[last].1.end.max(start.end);
                Err(self.invalid(call, parameter, start.start..end))
            }
        }
    }

    /// Sets a parameter whose value is made of integers; `None` where it must be another one.
    fn axes(
        &mut self,
        call: &FunctionCall<'_>,
        parameter: Parameter,
        integers: Integers,
        arguments: &mut Arguments,
    ) -> Option<()> {
        let Integers { mut values, is_tuple } = integers;
        match parameter {
            Parameter::Shape => {
                let shape: Result<Vec<usize>, _> = values.into_iter().map(usize::try_from).collect();
                arguments.shape = shape.ok()?;
                return Some(());
            }
            Parameter::OneAxis | Parameter::Axis1 | Parameter::Axis2 if is_tuple => return None,
            Parameter::Axis1 => arguments.axis1 = values[0],
            Parameter::Axis2 => arguments.axis2 = values[0],
            // `x.transpose(2, 0, 1)`.
            Parameter::Axes if call.is_method && !is_tuple && !arguments.by_keyword => {
                while let [(Token::Symbol(","), _), (Token::Scalar(_) | Token::Symbol("-" | "+"), _), ..] =
                    self.tokens[self.next..]
                {
                    self.advance();
                    values.push(self.integer()?);
                }
            }
            _ => {}
        }
        arguments.axes = Some(values);
        Some(())
    }

    /// Whether the next argument is the name of a dimension, or a tuple of them.
    fn names_dims(&self) -> bool {
        matches!(
            &self.tokens[self.next..],
            [(Token::Text, _), ..] | [(Token::Symbol("("), _), (Token::Text, _), ..]
        )
    }

    /// Parses the name of a dimension, a tuple of them, or `...` for all; `Some(None)` are all.
    fn dims(&mut self, is_one: bool) -> Option<Option<Vec<String>>> {
        match self.peek() {
            Token::Symbol("...") => {
                self.advance();
                Some(None)
            }
            Token::Text => Some(Some(vec![self.quoted()])),
            Token::Symbol("(") => {
                self.advance();
                let mut names = Vec::new();
                while self.peek() == Token::Text {
                    names.push(self.quoted());
                    match self.peek() {
                        Token::Symbol(",") => _ = self.advance(),
                        _ => break,
                    }
                }
                if self.peek() != Token::Symbol(")") {
                    return None;
                }
                self.advance();
                (!is_one).then_some(Some(names))
            }
            _ => None,
        }
    }

    /// The next token without its quotes.
    fn quoted(&mut self) -> String {
        let span = self.advance();
        self.text[span.start + 1..span.end - 1].to_owned()
    }

    /// Parses an integer literal or a tuple of them.
    fn integers(&mut self) -> Option<Integers> {
        if self.peek() != Token::Symbol("(") {
            return Some(Integers { values: vec![self.integer()?], is_tuple: false });
        }
        self.advance();
        let (mut values, mut is_tuple) = (Vec::new(), false);
        while self.peek() != Token::Symbol(")") {
            values.push(self.integer()?);
            match self.peek() {
                Token::Symbol(",") => {
                    self.advance();
                    is_tuple = true;
                }
                Token::Symbol(")") => {}
                _ => return None,
            }
        }
        self.advance();
        let is_tuple = is_tuple || values.is_empty();
        Some(Integers { values, is_tuple })
    }

    /// Moves past `None`, if it is the next token.
    fn take_none(&mut self) -> bool {
        let is_none = self.is_none();
        if is_none {
            self.advance();
        }
        is_none
    }

    /// Parses a number, or the name of one such as `inf`, with an optional sign.
    fn number(&mut self) -> Option<Scalar> {
        let sign = match self.peek() {
            Token::Symbol(sign @ ("-" | "+")) => {
                self.advance();
                Some(sign)
            }
            _ => None,
        };
        let number = match self.peek() {
            Token::Scalar(number) => number,
            Token::Name => Scalar::from_name(&self.text[self.span()])?,
            _ => return None,
        };
        self.advance();
        match (sign, number) {
            (None, number) => Some(number),
            (Some(_), Scalar::Bool(_)) => None,
            (Some("+"), number) => Some(number),
            (_, Scalar::Int(int)) => int.checked_neg().map(Scalar::Int),
            (_, Scalar::Float(float)) => Some(Scalar::Float(-float)),
            (_, Scalar::Complex(complex)) => Some(Scalar::Complex(-complex)),
        }
    }

    fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            Scalar::Bool(flag) => Some(flag),
            Scalar::Int(flag @ (0 | 1)) => Some(flag == 1),
            _ => None,
        }
    }

    /// Parses `ord` of `norm`.
    fn norm(&mut self) -> Option<ReduceOp> {
        if self.take_none() {
            return Some(ReduceOp::Norm2);
        }
        match self.number()? {
            Scalar::Int(1) => Some(ReduceOp::Norm1),
            Scalar::Int(2) => Some(ReduceOp::Norm2),
            Scalar::Float(f64::INFINITY) => Some(ReduceOp::NormInf),
            _ => None,
        }
    }

    /// Adds the nodes of a call with parameters.
    fn push_call(&mut self, call: &FunctionCall<'_>, array: NodeId, arguments: &Arguments) -> NodeId {
        let axes = || arguments.axes.clone();
        let view = match call.function {
            Function::Cast => {
                let dtype = arguments.dtype.unwrap_or(DType::F64);
                return self.push_node(Node::Cast(dtype, array), call.span.clone());
            }
            Function::Transpose => View::Transpose(axes()),
            Function::SwapAxes => View::SwapAxes(arguments.axis1, arguments.axis2),
            Function::ExpandDims => View::ExpandDims(axes().unwrap_or_default()),
            Function::Squeeze => View::Squeeze(axes()),
            Function::BroadcastTo => View::BroadcastTo(arguments.shape.clone()),
            Function::Reduce(op) | Function::Extremum(op, _) => {
                let reduction = Reduction {
                    op: arguments.norm.unwrap_or(op),
                    axes: axes(),
                    dims: arguments.dims.clone(),
                    keep_dims: arguments.keep_dims,
                    ddof: arguments.ddof.unwrap_or(Scalar::Int(0)),
                    dtype: arguments.dtype,
                    initial: arguments.initial,
                };
                let inputs = std::iter::once(array).chain(arguments.mask).collect();
                return self.push_node(Node::Reduce(Box::new(reduction), inputs), call.span.clone());
            }
            Function::Composite(composite) => return self.composite(composite, array, arguments, &call.span),
            Function::ElementWise(_) | Function::CastTo(_) => unreachable!("these have no parameters"),
        };
        self.push_node(Node::View(Box::new(view), array), call.span.clone())
    }

    fn missing(&self, call: &FunctionCall<'_>, argument: &'static str) -> ExprError {
        let kind = ExprErrorKind::MissingArgument { name: call.name.into(), argument };
        self.error(kind, call.span.clone())
    }

    fn unknown_keyword(&self, call: &FunctionCall<'_>, keyword: Range<usize>) -> ExprError {
        let (positional, keyword_only) = call.function.parameters();
        let kind = ExprErrorKind::NoSuchKeyword {
            name: call.name.into(),
            keyword: self.text[keyword.clone()].into(),
            known: positional.iter().chain(keyword_only).map(|parameter| parameter.name()).collect(),
        };
        self.error(kind, keyword)
    }

    fn invalid(&self, call: &FunctionCall<'_>, parameter: Parameter, span: Range<usize>) -> ExprError {
        let kind = ExprErrorKind::InvalidArgument {
            name: call.name.into(),
            argument: parameter.name(),
            expected: parameter.expected(),
        };
        self.error(kind, span)
    }
}
