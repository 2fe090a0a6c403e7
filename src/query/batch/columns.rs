//! The entries of a scan as columns of one batch.

use super::alone::Alone;
use super::arrays::Arrays;
use super::datums::Datums;
use super::input::Input;
use super::joined::Joined;
use super::values::Values;
use crate::columnar::{Attribute, Level, OpenLeaf};
use crate::pg::relation::FileId;
use crate::pg::state::ExprContext;
use crate::query::expr::entry::Entry;
use crate::query::expr::path::JsonPath;
use crate::query::expr::value::path_value;
use amax_exec::{Columns, Expr, held_ints};
use amax_format::{Dense, Found, PathStep, Pruned, Question, Shaped, Tag, Unnest, Words};
use amax_lsm::Origin;
use pgrx::pg_sys;
use std::cell::OnceCell;
use std::rc::Rc;

/// In place of an element: the row of an outer join without one.
const NO_ELEMENT: u32 = u32::MAX;

/// What holds rows.
#[derive(Clone)]
pub enum Home {
    /// With who loaded it.
    Leaf(Rc<OpenLeaf>, Option<Origin>),
    Alone(Rc<Alone>),
}

/// The entries of a scan as columns of one batch, decoded when they are first asked for. Rows are those of a leaf, rows by
/// themselves, or made of such.
pub struct BatchColumns {
    pub home: Home,
    entries: Rc<[Entry]>,
    inputs: Vec<OnceCell<Input>>,
    datums: Vec<OnceCell<Datums>>,
    /// Of entries that are made of documents row by row: what of.
    sources: Vec<OnceCell<Source>>,
    made: Option<Made>,
    /// The elements of arrays in the leaf.
    levels: OnceCell<Option<Rc<Vec<Level>>>>,
}

/// What is made of documents row by row.
pub enum Source {
    /// Parts of them, over which an expression is evaluated.
    Parts(Rc<Shaped>),
    /// The same: documents without some keys.
    Pruned(Rc<Pruned>),
    /// Values found in them.
    Values(Rc<Found>),
}

/// What rows are made of those of another batch.
enum Made {
    /// Elements of arrays.
    Elements(Elements),
    /// A join's.
    Joined(Rc<BatchColumns>, Joined),
}

impl BatchColumns {
    pub fn new(leaf: Rc<OpenLeaf>, origin: Option<Origin>, entries: &Rc<[Entry]>) -> BatchColumns {
        Self::of(Home::Leaf(leaf, origin), entries)
    }

    pub fn alone(rows: Rc<Alone>, entries: &Rc<[Entry]>) -> BatchColumns {
        Self::of(Home::Alone(rows), entries)
    }

    fn of(home: Home, entries: &Rc<[Entry]>) -> BatchColumns {
        BatchColumns {
            home,
            entries: entries.clone(),
            inputs: entries.iter().map(|_| OnceCell::new()).collect(),
            datums: entries.iter().map(|_| OnceCell::new()).collect(),
            sources: entries.iter().map(|_| OnceCell::new()).collect(),
            made: None,
            levels: OnceCell::new(),
        }
    }

    /// Those of a leaf: those known if they are.
    pub fn known(
        known: &mut Option<Rc<BatchColumns>>,
        (leaf, origin): (&Rc<OpenLeaf>, Option<Origin>),
        entries: &Rc<[Entry]>,
    ) -> Rc<BatchColumns> {
        let same = known.take().filter(|known| known.are_of(leaf, origin));
        let columns = same.unwrap_or_else(|| Rc::new(BatchColumns::new(leaf.clone(), origin, entries)));
        known.insert(columns).clone()
    }

    /// Whether they are those of a leaf.
    pub fn are_of(&self, leaf: &Rc<OpenLeaf>, origin: Option<Origin>) -> bool {
        matches!(&self.home, Home::Leaf(own, by) if Rc::ptr_eq(own, leaf) && *by == origin)
    }

    /// The file of the table that rows are of.
    pub fn file(&self) -> FileId {
        match &self.home {
            Home::Leaf(leaf, _) => leaf.place().0,
            Home::Alone(alone) => alone.file,
        }
    }

    /// Whether rows are in one.
    pub fn is_leaf(&self) -> bool {
        matches!(self.home, Home::Leaf(..))
    }

    /// The leaf that rows are in.
    fn leaf(&self) -> &Rc<OpenLeaf> {
        match &self.home {
            Home::Leaf(leaf, _) => leaf,
            Home::Alone(_) => unreachable!("rows by themselves are in no leaf"),
        }
    }

    /// The elements of the next arrays of some rows; see [`Elements::new`].
    pub fn unnest(self: &Rc<Self>, arrays: &Rc<Arrays>, rows: &[u32], outer: bool) -> BatchColumns {
        let levels = self.levels(arrays).expect("only others are in no column");
        BatchColumns {
            made: Some(Made::Elements(Elements::new(self, arrays, levels, rows, outer))),
            ..Self::of(self.home.clone(), &self.entries)
        }
    }

    /// Rows of a join, whose entries begin with those of the scan.
    pub fn joined(self: &Rc<Self>, rows: Joined, entries: &Rc<[Entry]>) -> BatchColumns {
        BatchColumns {
            made: Some(Made::Joined(self.clone(), rows)),
            ..Self::of(self.home.clone(), entries)
        }
    }

    /// None if the leaf is older than the documents' attribute.
    fn levels(&self, arrays: &Arrays) -> Option<Rc<Vec<Level>>> {
        let levels = self.levels.get_or_init(|| match self.elements() {
            Some(elements) => Some(elements.levels.clone()),
            None => {
                (arrays.attribute < self.leaf().width()).then(|| self.leaf().unnest(arrays.attribute, &arrays.levels))
            }
        });
        levels.clone()
    }

    /// The rows of which PostgreSQL's function has to say what elements they have.
    pub fn others(&self, arrays: &Arrays) -> Others {
        Others(self.levels(arrays), self.level())
    }

    /// Rows.
    pub fn len(&self) -> usize {
        match (self.parents(), &self.home) {
            (Some((_, rows)), _) => rows.len(),
            (None, Home::Leaf(leaf, _)) => leaf.rows(),
            (None, Home::Alone(alone)) => alone.tids.len(),
        }
    }

    pub fn elements(&self) -> Option<&Elements> {
        match &self.made {
            Some(Made::Elements(elements)) => Some(elements),
            _ => None,
        }
    }

    fn of_join(&self) -> Option<&Joined> {
        match &self.made {
            Some(Made::Joined(_, joined)) => Some(joined),
            _ => None,
        }
    }

    /// The batch that its rows are made of, and the row there of each.
    pub fn parents(&self) -> Option<(&Rc<BatchColumns>, &[u32])> {
        match self.made.as_ref()? {
            Made::Elements(elements) => Some((&elements.parent, &elements.parents)),
            Made::Joined(parent, joined) => Some((parent, &joined.parents)),
        }
    }

    /// What its rows are: 0: the leaf's rows. n: elements of the n-th arrays, or a join's.
    pub fn level(&self) -> usize {
        match &self.made {
            None => 0,
            Some(Made::Elements(elements)) => elements.level,
            Some(Made::Joined(..)) => 1,
        }
    }

    /// A row's number in the leaf, among those of its level.
    pub fn place(&self, row: u32) -> Option<u32> {
        match self.elements() {
            None => Some(row),
            Some(elements) => elements.place(row),
        }
    }

    /// The row of the leaf, or the one by itself.
    pub fn root(&self, row: u32) -> u32 {
        match self.parents() {
            None => row,
            Some((parent, rows)) => parent.root(rows[row as usize]),
        }
    }

    /// Of an entry of the batch that rows are made of.
    fn parents_input(&self, parent: &BatchColumns, rows: &[u32], at: usize) -> Input {
        known_or_not(parent.knows(at).then(|| parent.dense(at).take(rows)), rows.len())
    }

    fn element_input(&self, elements: &Elements, entry: &Entry) -> Input {
        match entry {
            Entry::Path(path) if path.level == elements.level => {
                let (levels, at) = elements.levels_of(self.leaf(), &path.steps);
                let dense = levels[path.level - 1].dense(at).take(&elements.elements);
                Input::Element(levels, at, dense)
            }
            Entry::Answer(path, question) if path.level == elements.level => {
                Input::Made(elements.answers(&path.steps, question))
            }
            Entry::Ordinality(level) if *level == elements.level => Input::Made(elements.ordinality()),
            Entry::Key(level) if *level == elements.level => Input::Made(elements.keys()),
            _ => unreachable!("elements of later arrays are in no column here"),
        }
    }

    /// An entry's value in a row, if it can be had quickly; numbers are made in the context's memory. `desc` is the
    /// table's.
    #[inline]
    pub fn datum(
        &self,
        at: usize,
        row: u32,
        desc: &crate::pg::TupleDesc,
        context: &ExprContext,
    ) -> Option<(pg_sys::Datum, bool)> {
        if let (Home::Alone(alone), None) = (&self.home, &self.made) {
            return context.within(|| alone.value(at, row));
        }
        let datums = self.datums[at].get_or_init(|| match &self.entries[at] {
            entry if entry.level() != self.level() => Datums::Others,
            entry => Datums::new(entry, self.input(at), self.dense(at), desc),
        });
        match datums {
            Datums::Others => None,
            datums => datums.get(self.dense(at), row as usize, context),
        }
    }

    /// The value of entry `at`, a path, in a row, in the current memory context; None if it is in no column.
    pub fn path_value(&self, at: usize, row: u32, path: &JsonPath) -> Option<(pg_sys::Datum, bool)> {
        let number = row as usize;
        match self.input(at) {
            Input::Path(known) => {
                let column = || &**known.column(self.leaf(), path.attribute as usize - 1, &path.steps);
                Some(path_value(&known.dense, number, column, number, path.text))
            }
            Input::Element(levels, which, dense) => {
                let column = &levels[self.level() - 1].elements.paths[*which];
                let place = self.place(row).unwrap_or(0) as usize;
                Some(path_value(dense, number, || column, place, path.text))
            }
            _ => None,
        }
    }

    /// What entry `at` is made of, if it is made of documents in a leaf; None of others, and if the leaf is older than those.
    pub fn source(&self, at: usize) -> Option<&Source> {
        let Home::Leaf(leaf, _) = &self.home else {
            return None;
        };
        let attribute = match &self.entries[at] {
            Entry::Part(attribute, _) => *attribute,
            Entry::Found(path, _) => path.attribute,
            _ => return None,
        } as usize
            - 1;
        let read = || match &self.entries[at] {
            Entry::Part(_, shape) if shape.whole => Source::Pruned(leaf.pruned(attribute, shape)),
            Entry::Part(_, shape) => Source::Parts(leaf.shaped(attribute, shape)),
            Entry::Found(path, question) => Source::Values(leaf.values(attribute, &path.steps, question)),
            _ => unreachable!("others have been seen to"),
        };
        (attribute < leaf.width()).then(|| self.sources[at].get_or_init(read))
    }

    /// The value of a join's other side in a row, in the current memory context.
    pub fn joined_value(&self, (side, column): (usize, usize), row: u32) -> Option<(pg_sys::Datum, bool)> {
        Some(self.of_join()?.value(side, column, row))
    }

    pub fn input(&self, at: usize) -> &Input {
        self.inputs[at].get_or_init(|| {
            let entry = &self.entries[at];
            match (&self.made, self.parents()) {
                (_, Some((parent, rows))) if entry.level() < self.level() => {
                    return self.parents_input(parent, rows, at);
                }
                (Some(Made::Elements(elements)), _) => return self.element_input(elements, entry),
                (Some(Made::Joined(_, joined)), _) => {
                    let Entry::Joined(side, column) = entry else {
                        unreachable!("a join has no other columns");
                    };
                    return known_or_not(joined.dense(*side, *column), joined.len());
                }
                (None, _) => {}
            }
            let leaf = match &self.home {
                Home::Leaf(leaf, _) => leaf,
                Home::Alone(alone) => {
                    let dense = alone.values(at).map_or(Ok(None), Values::dense);
                    return known_or_not(dense.unwrap_or_else(|e| crate::columnar::raise(e)), alone.tids.len());
                }
            };
            let attribute = match &self.entries[at] {
                Entry::Path(path) | Entry::Answer(path, _) => path.attribute as usize - 1,
                Entry::Attribute(attribute) => *attribute as usize - 1,
                _ => usize::MAX,
            };
            let found = match &self.entries[at] {
                Entry::Path(path) => leaf.path(attribute, &path.steps).map(Input::Path),
                Entry::Answer(path, question) => {
                    let answers = leaf.ask(attribute, &path.steps, question);
                    answers.map(Input::Column)
                }
                Entry::Attribute(_) => leaf.dense(attribute).map(|found| {
                    let Attribute { dense, documents } = found;
                    match documents {
                        true => Input::Documents(dense),
                        false => Input::Column(dense),
                    }
                }),
                _ => None,
            };
            found.unwrap_or_else(|| known_or_not(None, leaf.rows()))
        })
    }
}

/// A column; None: the rows, so many, have to be looked at one by one.
fn known_or_not(dense: Option<Dense>, rows: usize) -> Input {
    dense.map_or_else(|| Input::Unknown(Dense::filled(rows, Tag::Other)), Input::Made)
}

impl BatchColumns {
    /// The words that an expression of integers is, if all rows have one.
    pub fn words(&self, expression: &Expr) -> Option<&Words> {
        held_ints(expression, self)
    }
}

impl Columns for BatchColumns {
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

/// What makes rows of the batch elements of arrays of another batch's rows.
pub struct Elements {
    pub parent: Rc<BatchColumns>,
    /// From 1.
    pub level: usize,
    /// The row of the parent that each row here belongs to, ascending.
    pub parents: Vec<u32>,
    /// Its number in the leaf.
    pub elements: Vec<u32>,
    pub levels: Rc<Vec<Level>>,
    arrays: Rc<Arrays>,
}

impl Elements {
    /// The elements of arrays of these rows; for an outer join each row's are followed by one without element.
    pub fn new(
        parent: &Rc<BatchColumns>,
        arrays: &Rc<Arrays>,
        levels: Rc<Vec<Level>>,
        rows: &[u32],
        outer: bool,
    ) -> Self {
        let level = parent.level() + 1;
        let known = &levels[level - 1].elements;
        let (mut parents, mut elements) = (Vec::new(), Vec::new());
        for &row in rows {
            if let Some(place) = parent.place(row) {
                let of = known.of(place as usize);
                parents.resize(parents.len() + of.len(), row);
                elements.extend(of);
            }
            if outer {
                parents.push(row);
                elements.push(NO_ELEMENT);
            }
        }
        Elements {
            parent: parent.clone(),
            level,
            parents,
            elements,
            levels,
            arrays: arrays.clone(),
        }
    }

    /// The element's number in the leaf, unless there is none.
    pub fn place(&self, row: u32) -> Option<u32> {
        Some(self.elements[row as usize]).filter(|&element| element != NO_ELEMENT)
    }

    /// The levels that a path from the elements is read of, and which it is of its level's wanted paths. The next
    /// arrays are read by themselves: only where PostgreSQL's function unnests them.
    pub fn levels_of(&self, leaf: &OpenLeaf, steps: &[PathStep]) -> (Rc<Vec<Level>>, usize) {
        let arrays = &self.arrays;
        let known = arrays.levels[self.level - 1].wanted.iter().position(|w| w == steps);
        if let Some(at) = known {
            return (self.levels.clone(), at);
        }
        let mut alone: Vec<Unnest> = arrays.levels[..self.level].to_vec();
        alone.iter_mut().for_each(|level| level.wanted.clear());
        alone[self.level - 1].wanted.push(steps.to_vec());
        (leaf.unnest(arrays.attribute, &alone), 0)
    }

    /// What is asked about the values at a path from the elements.
    fn answers(&self, steps: &[PathStep], question: &Question) -> Dense {
        let mut asked = self.arrays.levels[self.level - 1].asked.iter();
        let at = asked.position(|asked| (&asked.0[..], &asked.1) == (steps, question));
        let at = at.expect("what is an entry is asked");
        self.levels[self.level - 1].elements.answers[at].take(&self.elements)
    }

    /// Each field's key.
    pub fn keys(&self) -> Dense {
        self.levels[self.level - 1].elements.keys.take(&self.elements)
    }

    /// Each element's number in its array.
    pub fn ordinality(&self) -> Dense {
        let known = &self.levels[self.level - 1].elements;
        Dense::ints((0..self.elements.len()).map(|row| {
            let element = self.place(row as u32)?;
            let place = self.parent.place(self.parents[row])?;
            Some(i64::from(element - known.of(place as usize).start) + 1)
        }))
    }
}
