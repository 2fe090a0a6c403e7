//! The entries of a scan as columns of one leaf.

use super::datums::Datums;
use super::entry::Entry;
use super::unnest::{Arrays, Elements};
use crate::columnar::{Attribute, Level, OpenLeaf, Path};
use amax_exec::Columns;
use amax_format::{Dense, Tag};
use amax_lsm::Origin;
use pgrx::pg_sys;
use std::cell::OnceCell;
use std::rc::Rc;

/// The entries of a scan as columns of one leaf, decoded when they are first asked for. Rows are the leaf's, or elements of arrays.
pub struct LeafColumns {
    pub leaf: Rc<OpenLeaf>,
    pub origin: Option<Origin>,
    entries: Rc<[Entry]>,
    inputs: Vec<OnceCell<Input>>,
    datums: Vec<OnceCell<Datums>>,
    elements: Option<Elements>,
    /// The elements of arrays in the leaf.
    levels: OnceCell<Option<Rc<Vec<Level>>>>,
}

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

impl LeafColumns {
    pub fn new(leaf: Rc<OpenLeaf>, origin: Option<Origin>, entries: &Rc<[Entry]>) -> LeafColumns {
        LeafColumns {
            leaf,
            origin,
            entries: entries.clone(),
            inputs: entries.iter().map(|_| OnceCell::new()).collect(),
            datums: entries.iter().map(|_| OnceCell::new()).collect(),
            elements: None,
            levels: OnceCell::new(),
        }
    }

    /// The elements of the next arrays of some rows; see [`Elements::new`].
    pub fn unnest(self: &Rc<Self>, arrays: &Rc<Arrays>, rows: &[u32], outer: bool) -> LeafColumns {
        let levels = self.levels(arrays).expect("only others are in no column");
        LeafColumns {
            elements: Some(Elements::new(self, arrays, levels, rows, outer)),
            ..Self::new(self.leaf.clone(), self.origin, &self.entries)
        }
    }

    /// None if the leaf is older than the documents' attribute.
    fn levels(&self, arrays: &Arrays) -> Option<Rc<Vec<Level>>> {
        let levels = self.levels.get_or_init(|| match &self.elements {
            Some(elements) => Some(elements.levels.clone()),
            None => (arrays.attribute < self.leaf.width())
                .then(|| self.leaf.unnest(arrays.attribute, &arrays.levels)),
        });
        levels.clone()
    }

    /// The rows of which PostgreSQL's function has to say what elements they have.
    pub fn others(&self, arrays: &Arrays) -> Others {
        Others(self.levels(arrays), self.level())
    }

    /// Rows.
    pub fn len(&self) -> usize {
        let elements = self.elements.as_ref();
        elements.map_or(self.leaf.rows(), |e| e.parents.len())
    }

    pub fn elements(&self) -> Option<&Elements> {
        self.elements.as_ref()
    }

    /// What its rows are: 0: the leaf's rows. n: elements of the n-th arrays.
    pub fn level(&self) -> usize {
        self.elements.as_ref().map_or(0, |elements| elements.level)
    }

    /// A row's number in the leaf, among those of its level.
    pub fn place(&self, row: u32) -> Option<u32> {
        match &self.elements {
            None => Some(row),
            Some(elements) => elements.place(row),
        }
    }

    /// The row of the leaf.
    pub fn root(&self, row: u32) -> u32 {
        match &self.elements {
            None => row,
            Some(elements) => elements.parent.root(elements.parents[row as usize]),
        }
    }

    fn element_input(&self, elements: &Elements, entry: &Entry, at: usize) -> Input {
        if entry.level() < elements.level {
            return match elements.parent.knows(at) {
                true => Input::Made(elements.parent.dense(at).take(&elements.parents)),
                false => Input::Unknown(Dense::filled(elements.parents.len(), Tag::Other)),
            };
        }
        match entry {
            Entry::Path(path) if path.level == elements.level => {
                let (levels, at) = elements.levels_of(&self.leaf, &path.steps);
                let dense = levels[path.level - 1].dense(at).take(&elements.elements);
                Input::Element(levels, at, dense)
            }
            Entry::Ordinality(level) if *level == elements.level => {
                Input::Made(elements.ordinality())
            }
            Entry::Key(level) if *level == elements.level => Input::Made(elements.keys()),
            _ => unreachable!("elements of later arrays are in no column here"),
        }
    }

    /// An entry's value in a row, if it can be had quickly; numbers are made in the given context. `desc` is the table's.
    #[inline]
    pub unsafe fn datum(
        &self,
        at: usize,
        row: u32,
        desc: pg_sys::TupleDesc,
        context: pg_sys::MemoryContext,
    ) -> Option<(pg_sys::Datum, bool)> {
        let datums = self.datums[at].get_or_init(|| match &self.entries[at] {
            entry if entry.level() != self.level() => Datums::Others,
            entry => Datums::new(entry, self.input(at), self.dense(at), desc),
        });
        match datums {
            Datums::Others => None,
            datums => datums.get(self.dense(at), row as usize, context),
        }
    }

    pub fn input(&self, at: usize) -> &Input {
        self.inputs[at].get_or_init(|| {
            if let Some(elements) = &self.elements {
                return self.element_input(elements, &self.entries[at], at);
            }
            let attribute = match &self.entries[at] {
                Entry::Path(path) | Entry::Answer(path, _) => path.attribute as usize - 1,
                Entry::Attribute(attribute) => *attribute as usize - 1,
                _ => usize::MAX,
            };
            let found = match &self.entries[at] {
                Entry::Path(path) => self.leaf.path(attribute, &path.steps).map(Input::Path),
                Entry::Answer(path, question) => {
                    let answers = self.leaf.ask(attribute, &path.steps, question);
                    answers.map(Input::Column)
                }
                Entry::Attribute(_) => self.leaf.dense(attribute).map(|found| {
                    let Attribute { dense, documents } = found;
                    match documents {
                        true => Input::Documents(dense),
                        false => Input::Column(dense),
                    }
                }),
                _ => None,
            };
            found.unwrap_or_else(|| Input::Unknown(Dense::filled(self.leaf.rows(), Tag::Other)))
        })
    }
}

impl Columns for LeafColumns {
    fn dense(&self, input: usize) -> &Dense {
        match self.input(input) {
            Input::Path(path) => &path.dense,
            Input::Column(dense) | Input::Documents(dense) => dense,
            Input::Element(_, _, dense) | Input::Made(dense) | Input::Unknown(dense) => dense,
        }
    }

    fn knows(&self, input: usize) -> bool {
        !matches!(self.input(input), Input::Unknown(_))
    }
}

/// Rows of a batch that PostgreSQL's function is called for.
pub struct Others(Option<Rc<Vec<Level>>>, usize);

impl Others {
    pub fn has(&self, place: Option<u32>) -> bool {
        match (&self.0, place) {
            (Some(levels), Some(place)) => levels[self.1].elements.is_other(place),
            (Some(_), None) => false,
            (None, _) => true,
        }
    }
}
