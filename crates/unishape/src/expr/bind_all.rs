//! Several expressions bound to the same values: their reductions along the same axes read memory once.

use super::bind::{Bound, order_by_name};
use super::cache::Expr;
use super::error::{ExprError, ExprErrorKind};
use super::join::{Partner, partners};
use super::lower::{Sharing, StagedExpr};
use super::stage::{Stage, StageSource};
use super::staged::{JointMember, JointStage};
use super::value::{Value, Values, infos};
use crate::tensor::Tensor;
use crate::tuning::MIN_JOINED_REDUCTION;
use smallvec::SmallVec;
use std::sync::Arc;

impl Expr {
    /// Binds several expressions to the same values.
    ///
    /// Different reductions of the expressions that have the same loops, reduce the same axes and share an array are
    /// computed in one pass over memory, when the first of these expressions is computed, even if only a slice of it
    /// is. Their results are kept until all of these expressions are dropped. More is shared where all are computed at
    /// once, see [`passes`](Bound::passes). Each expression uses some of the values, and each value is used.
    ///
    /// ```
    /// use ndarray::{arr1, arr2};
    /// use unishape::expr::Expr;
    ///
    /// let (a, b) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), arr1(&[10.0, 100.0]));
    /// let exprs = [Expr::parse("sum(a * b, axis=1)")?, Expr::parse("max(a, axis=1)")?];
    /// let bound = Expr::bind_all(&exprs, [("a", a.view().into_dyn()), ("b", b.view().into_dyn())])?;
    /// assert_eq!(bound[0].compute()?, arr1(&[210.0, 430.0]).into());
    /// assert_eq!(bound[1].compute()?, arr1(&[2.0, 4.0]).into());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`bind`](Expr::bind).
    pub fn bind_all<'a, N: AsRef<str>, V: Into<Value<'a>>>(
        exprs: &[Expr],
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Vec<Bound<'a>>, ExprError> {
        let given: Vec<(N, Value<'a>)> =
            values.into_iter().map(|(name, value)| (name, value.into())).collect();
        let is_unused =
            |(name, _): &&(N, Value<'a>)| !exprs.iter().flat_map(Expr::names).any(|own| own == name.as_ref());
        let mut all = Union::default();
        let mut plans: Vec<BoundPart<'a>> = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let values = given.iter().map(|(name, value)| (name.as_ref(), value.clone()));
            let own = order_by_name(expr.graph(), values, true)?;
            if expr.is_element_wise() {
                plans.push(BoundPart::ElementWise(Box::new(expr.bind_values(own)?)));
                continue;
            }
            let staged = expr.staged(&infos(&own), Sharing::WithinGroups)?;
            let numbers: SmallVec<[usize; 4]> =
                expr.names().iter().zip(own).map(|(name, value)| all.number(name, value)).collect();
            plans.push(BoundPart::Staged(Arc::new(renumbered(&staged, &numbers))));
        }
        if let Some((name, _)) = given.iter().find(is_unused) {
            let mut wanted: Vec<String> = Vec::new();
            for name in exprs.iter().flat_map(Expr::names) {
                if !wanted.contains(name) {
                    wanted.push(name.clone());
                }
            }
            return Err(ExprErrorKind::UnusedName { name: name.as_ref().to_owned(), wanted }.into());
        }
        let mut joint = joint_stages(&plans);
        let bound = plans.into_iter().enumerate().map(|(at, plan)| match plan {
            BoundPart::ElementWise(bound) => *bound,
            BoundPart::Staged(staged) => {
                Bound::staged(staged, std::mem::take(&mut joint[at]), all.values.clone())
            }
        });
        Ok(bound.collect())
    }

    /// Binds several expressions to the same values and computes their results.
    ///
    /// Reductions along the same axes read memory once, see [`bind_all`](Expr::bind_all), and so do large element-wise
    /// results, see [`passes`](Bound::passes).
    ///
    /// ```
    /// use ndarray::{arr0, arr1};
    /// use unishape::expr::Expr;
    ///
    /// let x = arr1(&[3.0, 1.0, 2.0]);
    /// let results = Expr::evaluate_all(&[Expr::parse("min(x)")?, Expr::parse("max(x)")?], [("x", &x)])?;
    /// assert_eq!(results, [arr0(1.0).into(), arr0(3.0).into()]);
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`bind`](Expr::bind), and where a result cannot be allocated.
    pub fn evaluate_all<'a, N: AsRef<str>, V: Into<Value<'a>>>(
        exprs: &[Expr],
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Vec<Tensor>, ExprError> {
        Bound::compute_all(&Expr::bind_all(exprs, values)?)
    }
}

/// How one of the expressions is computed.
enum BoundPart<'a> {
    ElementWise(Box<Bound<'a>>),
    Staged(Arc<StagedExpr>),
}

/// The variables of all expressions.
#[derive(Default)]
struct Union<'n, 'a> {
    names: Vec<&'n str>,
    values: Values<'a>,
}

impl<'n, 'a> Union<'n, 'a> {
    /// The number of a variable.
    fn number(&mut self, name: &'n str, value: Value<'a>) -> usize {
        self.names.iter().position(|&other| other == name).unwrap_or_else(|| {
            self.names.push(name);
            self.values.push(value);
            self.names.len() - 1
        })
    }
}

/// The same stages with these numbers of the variables.
fn renumbered(staged: &StagedExpr, numbers: &[usize]) -> StagedExpr {
    let mut staged = staged.clone();
    if numbers.iter().enumerate().all(|(own, &number)| own == number) {
        return staged;
    }
    for input in staged.stages.iter_mut().flat_map(|stage| &mut Arc::make_mut(stage).inputs) {
        if let StageSource::Variable(variable) = &mut input.source {
            *variable = numbers[*variable];
        }
    }
    staged
}

/// Whether a stage's results, which are kept until all expressions are computed, are a small part of its loops.
fn is_small(stage: &Stage) -> bool {
    let count = |shape: &[usize]| shape.iter().copied().fold(1, usize::saturating_mul);
    count(&stage.output_shape()) <= count(&stage.shape) / MIN_JOINED_REDUCTION
}

/// The stages of each expression that are computed together with those of others.
fn joint_stages(plans: &[BoundPart<'_>]) -> Vec<Vec<JointMember>> {
    let mut found: Vec<Vec<JointMember>> = plans.iter().map(|_| Vec::new()).collect();
    let mut candidates = Vec::new();
    for (expr, plan) in plans.iter().enumerate() {
        let BoundPart::Staged(staged) = plan else { continue };
        for group in &staged.groups {
            // Not those that run row by row with others, whose results stay in the cache.
            let stage = &*staged.stages[group.last()];
            let is_first =
                !stage.inputs.iter().any(|input| matches!(input.source, StageSource::Stage { .. }));
            if group.members.len() == 1 && is_first && is_small(stage) {
                candidates.push(Partner { expr, number: group.last(), stage, first_result: 0 });
            }
        }
    }
    for (stage, partners) in partners(candidates) {
        let joint = Arc::new(JointStage::new(stage));
        for Partner { expr, number, first_result, .. } in partners {
            found[expr].push(JointMember { stage: number, joint: joint.clone(), first_result });
        }
    }
    found
}
