//! Names of dimensions, which stand for their sizes.

use crate::explanation::{DimNames, Explanation, Form, Input};
use unishape::notation::short_shape_text;
use unishape::text::truncate;

/// Maximum length of a name, in characters.
const NAME_LENGTH: usize = 16;

impl Explanation {
    /// Names dimensions of an input.
    ///
    /// The diagram shows a name instead of the size, and says which size is drawn.
    ///
    /// There is one entry for each dimension. Does nothing for an input that does not exist or is not shown.
    ///
    /// ```
    /// use unishape::Rules;
    /// use unishape_explain::Explanation;
    ///
    /// let explanation = Explanation::new(Rules::STANDARD, &[&[2, 3][..], &[3]])?
    ///     .dim_names(0, &[Some("N"), None])
    ///     .result_dim_names(&[Some("N"), None]);
    /// let text = explanation.text(false, 80);
    /// assert!(text.starts_with("Nx3 with 3 gives Nx3\n") && text.contains("Drawn with N = 2."), "{text}");
    /// # Ok::<(), unishape::Error>(())
    /// ```
    #[must_use]
    pub fn dim_names(mut self, input: usize, names: &[Option<&str>]) -> Self {
        if let Some(input) = self.inputs.get_mut(input) {
            input.dim_names = shortened(names);
        }
        self
    }

    /// Names dimensions of the common shape.
    ///
    /// See [`dim_names`](Explanation::dim_names).
    ///
    /// ```
    /// use unishape::Rules;
    /// use unishape_explain::Explanation;
    ///
    /// let explanation = Explanation::new(Rules::STANDARD, &[[5]])?.result_dim_names(&[Some("W")]);
    /// assert!(explanation.text(false, 80).starts_with("5 alone gives W\n"));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    #[must_use]
    pub fn result_dim_names(mut self, names: &[Option<&str>]) -> Self {
        self.dim_names = shortened(names);
        self
    }

    /// The name of a dimension of a form, if it has one.
    fn dim_name<'a>(&'a self, input: &'a Input, form: Form, dim: usize) -> Option<&'a str> {
        let name = match form {
            Form::X => input.dim_names.get(dim),
            Form::Y => input.dim_names.get(dim.checked_sub(self.added(input))?),
            Form::Z => self.dim_names.get(dim),
        };
        name?.as_deref()
    }

    /// The size of a dimension of a form as text: its name, or else the size in this notation.
    pub(crate) fn size_or_name(
        &self,
        input: &Input,
        form: Form,
        dim: usize,
        size: impl FnOnce() -> String,
    ) -> String {
        self.dim_name(input, form, dim).map_or_else(size, str::to_owned)
    }

    /// The sizes of a form as texts, with names in place of sizes.
    pub(crate) fn form_sizes(&self, input: &Input, form: Form) -> Vec<String> {
        let shape = self.form_shape(input, form);
        let sizes = shape.iter().enumerate();
        sizes.map(|(dim, size)| self.size_or_name(input, form, dim, || size.to_string())).collect()
    }

    /// The shape of a form as text, `Nx3x4`.
    pub(crate) fn form_text(&self, input: &Input, form: Form) -> String {
        let names = if form == Form::Z { &self.dim_names } else { &input.dim_names };
        match names.iter().any(Option::is_some) {
            true => joined(&self.form_sizes(input, form)),
            false => short_shape_text(&self.form_shape(input, form)),
        }
    }

    /// The common shape as text.
    pub(crate) fn result_text(&self) -> String {
        if self.dim_names.iter().all(Option::is_none) {
            return short_shape_text(&self.shape);
        }
        let sizes = self.shape.iter().enumerate().map(|(dim, size)| {
            self.dim_names.get(dim).and_then(Clone::clone).unwrap_or_else(|| size.to_string())
        });
        joined(&sizes.collect::<Vec<_>>())
    }

    /// `Drawn with N = 2, H = 4.`; `None` without names.
    pub(crate) fn drawn_sizes(&self) -> Option<String> {
        let mut sizes: Vec<String> = Vec::new();
        let result = std::iter::once((&self.shape, &self.dim_names));
        let inputs = self.inputs.iter().map(|input| (&input.shape, &input.dim_names));
        for (shape, names) in inputs.chain(result) {
            for (size, name) in shape.iter().zip(names) {
                let text = name.as_ref().map(|name| format!("{name} = {size}"));
                sizes.extend(text.filter(|text| !sizes.contains(text)));
            }
        }
        (!sizes.is_empty()).then(|| format!("Drawn with {}.", sizes.join(", ")))
    }
}

fn shortened(names: &[Option<&str>]) -> DimNames {
    names.iter().map(|name| name.map(|name| truncate(name, NAME_LENGTH))).collect()
}

/// `Nx3x4`; with commas where a name has an x.
fn joined(sizes: &[String]) -> String {
    sizes.join(if sizes.iter().any(|size| size.contains('x')) { "," } else { "x" })
}
