//! Where the values of an entry are, in a leaf.

use crate::columnar::{Level, Path};
use amax_format::Dense;
use std::rc::Rc;

pub enum Input {
    Path(Rc<Path>),
    Column(Rc<Dense>),
    /// Documents: which there are; what they are is another matter.
    Documents(Rc<Dense>),
    /// A path from elements: the levels it is in, and which of the wanted paths of its level.
    Element(Rc<Vec<Level>>, usize, Dense),
    /// Of the rows that the elements belong to, or elements' numbers or keys.
    Made(Dense),
    /// Not in the leaf: rows have to be looked at one by one.
    Unknown(Dense),
}
