//! What every format draws: for each part three arrays, the steps between them, and sentences.

use crate::layout::{self, Frame, Level, MAX_DRAWN_RANK};
use crate::size::Sizes;

/// A diagram, independent of its format.
pub(crate) trait Diagram {
    /// What is explained, for titles.
    fn subject(&self) -> &'static str;

    /// The shapes in one line.
    fn headline(&self) -> String;

    /// The steps in a few sentences.
    fn introduction(&self) -> String;

    /// Number of elements of the result.
    fn summary(&self) -> String;

    /// Legend of the cells; `None` where they need none.
    fn legend(&self) -> Option<Legend>;

    /// How to use the page.
    fn hint(&self) -> &'static str;

    /// The shape of the array with most cells.
    fn largest_shape(&self) -> &[usize];

    /// Number of parts; each has its own color.
    fn parts(&self) -> usize;

    /// Heading of a part, in the page.
    fn heading(&self, part: usize) -> String;

    /// Name of the array that a part starts with, if it has one.
    fn name(&self, part: usize) -> Option<&str>;

    /// Names and shapes of the three arrays of a part.
    fn captions(&self, part: usize) -> [Caption; 3];

    /// The three arrays of a part; `None` if their rank is too large.
    fn arrays(&self, part: usize, level: Level) -> Option<[DrawnArray<'_>; 3]>;

    /// Short descriptions of the two steps of a part.
    fn steps(&self, part: usize) -> [String; 2];

    /// A sentence about each dimension of a part.
    fn lines(&self, part: usize) -> Vec<String>;

    /// Rows of a table of the dimensions of a part, its header first.
    fn table(&self, part: usize) -> Vec<[String; 5]>;

    /// Which elements are read, as a formula.
    fn map(&self, part: usize) -> String;

    /// How often elements are read.
    fn reads(&self, part: usize) -> String;

    /// The sentence about parts that are not shown.
    fn omitted_parts(&self) -> Option<String>;

    /// The interactive part of the page, if it has one.
    fn interaction(&self) -> Option<Interaction>;
}

impl dyn Diagram + '_ {
    /// Whether cells are drawn, so that a legend is needed.
    pub(crate) fn has_cells(&self) -> bool {
        self.parts() > 0 && !self.largest_shape().contains(&0)
    }

    /// Whether the diagram omits cells at a level.
    pub(crate) fn is_shortened(&self, level: Level) -> bool {
        Frame::new(self.largest_shape(), level)
            .is_some_and(|frame| (0..MAX_DRAWN_RANK).any(|axis| frame.shortened(axis).is_some()))
    }

    /// Why there is no diagram, if there is none.
    pub(crate) fn no_diagram_reason(&self) -> Option<String> {
        let rank = self.largest_shape().len();
        (rank > MAX_DRAWN_RANK)
            .then(|| format!("{rank} dimensions are too many for a picture; here they are one by one."))
    }

    /// Name of the first array of a part, and its name in the program or file.
    pub(crate) fn title(&self, part: usize) -> String {
        let [first, ..] = self.captions(part);
        match self.name(part) {
            Some(name) => format!("{}  {name}", first.name),
            None => first.name,
        }
    }
}

/// The meaning of the cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Legend {
    /// Where there may be no colors.
    pub(crate) plain: &'static str,
    /// Where there are colors.
    pub(crate) colored: &'static str,
}

/// Legend of diagrams that omit cells.
pub(crate) const BLOCKS: &str = "Dots leave cells out; the size of that dimension is written along it.";

/// Name and shape of an array; some of its dimensions are marked.
#[derive(Clone, Debug)]
pub(crate) struct Caption {
    pub(crate) name: String,
    /// Its shape in one line.
    pub(crate) shape: String,
    /// Size or name of each dimension.
    pub(crate) sizes: Vec<String>,
    /// Whether each dimension is marked.
    pub(crate) marked: Vec<bool>,
    /// What the marks mean, in a word and in a few.
    pub(crate) mark: [&'static str; 2],
}

/// Data and script of the page.
pub(crate) struct Interaction {
    /// HTML of a form, before the answer.
    pub(crate) form: String,
    /// JSON for the script.
    pub(crate) data: String,
    pub(crate) script: &'static str,
}

/// One cell of a diagram.
pub(crate) struct Cell {
    /// Index in its array.
    pub(crate) index: Vec<usize>,
    /// Index of the element that determines its shade.
    pub(crate) source: Vec<usize>,
    /// Not a repetition of another cell.
    pub(crate) original: bool,
    /// Text of the cell.
    pub(crate) label: String,
}

/// One array, to be drawn.
pub(crate) struct DrawnArray<'a> {
    pub(crate) name: String,
    /// Number of its color.
    pub(crate) part: usize,
    pub(crate) frame: Frame,
    pub(crate) sizes: Sizes,
    /// Whether cells show numbers of elements, whose last digits matter most.
    pub(crate) is_numbered: bool,
    /// The frame of the array whose elements have a shade each.
    pub(crate) shades: Frame,
    /// The cell at an index.
    pub(crate) cell: Box<dyn Fn(Vec<usize>) -> Cell + 'a>,
}

impl DrawnArray<'_> {
    /// The cell at positions along the axes of the frame.
    pub(crate) fn cell(&self, place: [usize; MAX_DRAWN_RANK]) -> Cell {
        (self.cell)(self.frame.index(place))
    }

    /// The shade of a cell.
    pub(crate) fn shade(&self, cell: &Cell) -> usize {
        layout::shade(&self.shades, &cell.source)
    }

    /// Labels of all cells.
    pub(crate) fn labels(&self) -> impl Iterator<Item = String> {
        self.frame.indices().map(|index| (self.cell)(index).label)
    }
}
