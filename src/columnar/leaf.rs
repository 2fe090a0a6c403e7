//! Open leaves, and the columns decoded of them.

use super::alive::Alive;
use super::leaf_read::{damaged, open_image};
use super::pages::{Image, Pages, with_relation};
use super::revive;
use super::shared::{self, Found};
use crate::counters::{self, Count};
use crate::hash::QuickMap;
use crate::pg::{Relation, relation::FileId};
use crate::storage::blob;
use crate::storage::damage::corrupt;
use crate::storage::manifest::{self, Replaced};
use amax_format::{
    Column, ColumnType, Dense, Elements, Error, Found as Values, Leaf, Part, PathColumn, PathStep, Pruned, Question,
    Shaped, Tag, Unnest, Zone,
};
use amax_jsonb::jsonpath::Shape;
use amax_lsm::{Component, LeafEntry, Xids, tid};
use pgrx::pg_sys;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

mod xids;

/// Where a leaf is: its file, component and number.
pub type Place = (FileId, u64, usize);

/// What there is of paths, by attribute and steps.
type Paths<T> = RefCell<HashMap<usize, HashMap<Vec<PathStep>, T>>>;

/// The elements of arrays by attribute.
type Unnested = HashMap<(usize, Vec<Unnest>), Rc<Vec<Level>>>;

/// The elements of the arrays of one level of an unnesting.
pub struct Level {
    pub elements: Elements,
    dense: Vec<OnceCell<Dense>>,
}

impl Level {
    /// Wanted path `at` with one place per element.
    pub fn dense(&self, at: usize) -> &Dense {
        self.dense[at].get_or_init(|| {
            let dense = self.elements.paths[at].dense();
            dense.unwrap_or_else(|e| super::error::raise(e))
        })
    }
}

/// Answers about the values at paths.
type Answers = HashMap<(usize, Vec<PathStep>, Question), Rc<Dense>>;

/// What constants of queries have had decoded last, oldest first.
type Few<K, T> = RefCell<Vec<(K, Rc<T>)>>;

/// Keys from a document's root to what is wanted of it, for each such part.
pub type Keys = Vec<Vec<Vec<u8>>>;

/// A leaf in use. Page 0 is read when it is needed: not by a parallel worker that finds all columns it reads in shared
/// memory. On a standby, where the leaf's pages may be given to others while it is in use, Page 0 is read at once: with
/// the rows' keys the leaf can be made again (`revive`).
pub struct OpenLeaf {
    pub relid: pg_sys::Oid,
    pub entry: LeafEntry,
    source: Image,
    xids: OnceCell<Xids>,
    digest: OnceCell<u64>,
    opened: OnceCell<Opened>,
    /// The leaf made again.
    revived: OnceCell<Opened>,
    dense: RefCell<QuickMap<usize, Attribute>>,
    paths: Paths<Rc<Path>>,
    /// For reading few rows; with the reads so far.
    lazy_paths: Paths<(Rc<PathColumn>, usize)>,
    unnested: RefCell<Unnested>,
    answers: RefCell<Answers>,
    parts: RefCell<HashMap<(usize, Keys), Rc<Part>>>,
    shaped: Few<(usize, Shape), Shaped>,
    pruned: Few<(usize, Shape), Pruned>,
    values: Few<(usize, Vec<PathStep>, Question), Values>,
    bytes: Cell<usize>,
    /// Bytes decoded so far, those that are shared now among them.
    decoded: Cell<usize>,
    /// The oldest segment of shared memory that any of it is in.
    segment: Cell<u64>,
    place: Place,
    /// Lazy reads so far.
    reads: Cell<usize>,
    /// When the cache had its last use.
    pub(super) used: Cell<u64>,
    /// Rows that are not dead, if that is known.
    alive: RefCell<Option<Alive>>,
}

/// What is read through Page 0.
struct Opened {
    leaf: Leaf<Image>,
    columns: Vec<OnceCell<Rc<Column>>>,
    /// For reading few rows.
    lazy: Vec<OnceCell<Rc<Column>>>,
}

/// An SQL column with one place per row.
#[derive(Clone)]
pub struct Attribute {
    pub dense: Rc<Dense>,
    /// Whether they are documents.
    pub documents: bool,
}

/// A decoded path of a document column.
pub struct Path {
    pub dense: Dense,
    column: OnceCell<Rc<PathColumn>>,
}

impl Path {
    /// For rows whose value is of no simple form.
    pub fn column(&self, leaf: &OpenLeaf, at: usize, steps: &[PathStep]) -> &Rc<PathColumn> {
        self.column
            .get_or_init(|| leaf.keep_path(leaf.read(|leaf| leaf.path(at, steps))))
    }
}

fn has_values(dense: &Dense) -> bool {
    dense.all(|tag| !matches!(tag, Tag::Missing | Tag::Null))
}

/// Of what there is a dense column.
#[derive(Hash)]
enum What<'a> {
    Column(usize),
    Path(usize, &'a [PathStep]),
    Answer(usize, &'a [PathStep], &'a Question),
}

/// Answers of a leaf to questions with constants that a session keeps.
const ANSWERS: usize = 8;
/// Lazy reads of a leaf's columns that cost about as much as decoding them.
const READS: usize = 200;
/// After so many of them shared memory is asked for the column. A prime: columns of a row are read in turns.
const ASKS: usize = 17;
/// The same, of a path.
const PATH_READS: usize = 20;

impl OpenLeaf {
    /// Leaf `place.2` of a component, opened anew.
    pub fn of(rel: &Relation, component: &Component, place: Place) -> Result<OpenLeaf, Replaced> {
        let at = place.2;
        let directory = manifest::read_directory(rel, component)?;
        let Some(entry) = directory.leaves.get(at) else {
            let detail = format!("component {} has no leaf {at}", component.id);
            corrupt(rel, 0, &detail);
        };
        let source = Image::Pages(Pages::new(rel, component.id, &entry.image));
        let leaf = OpenLeaf::new(rel, entry.clone(), source, place);
        leaf.bytes.set(blob::Buffers::bytes(&entry.image));
        if manifest::on_standby() {
            match open_image(leaf.source.clone(), entry.image.len, entry) {
                Err(Error::Replaced) => return Err(Replaced),
                Err(e) => damaged(rel, entry, component.id, at, &e),
                Ok(opened) => {
                    let _ = leaf.opened.set(leaf.open_as(opened));
                }
            }
            leaf.xids(rel)?;
        }
        Ok(leaf)
    }

    /// Rows that are in no component: an image in memory, and who inserted them, which everyone sees.
    pub(super) fn in_memory(rel: &Relation, entry: LeafEntry, image: Vec<u8>, xids: Xids, place: Place) -> OpenLeaf {
        let bytes = image.len() + xids.bytes_used();
        let leaf = OpenLeaf::new(rel, entry, Image::Memory(Arc::new(image)), place);
        leaf.bytes.set(bytes);
        let _ = leaf.xids.set(xids);
        leaf
    }

    fn new(rel: &Relation, entry: LeafEntry, source: Image, place: Place) -> OpenLeaf {
        OpenLeaf {
            relid: rel.id(),
            entry,
            source,
            xids: OnceCell::new(),
            digest: OnceCell::new(),
            opened: OnceCell::new(),
            revived: OnceCell::new(),
            bytes: Cell::new(0),
            decoded: Cell::new(0),
            segment: Cell::new(u64::MAX),
            place,
            reads: Cell::new(0),
            used: Cell::new(u64::MAX),
            alive: RefCell::default(),
            dense: RefCell::default(),
            paths: RefCell::default(),
            lazy_paths: RefCell::default(),
            unnested: RefCell::default(),
            answers: RefCell::default(),
            parts: RefCell::default(),
            shaped: RefCell::default(),
            pruned: RefCell::default(),
            values: RefCell::default(),
        }
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Bytes of memory held, but for what is shared.
    pub fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// The oldest segment of shared memory that any of it is in.
    pub fn segment(&self) -> u64 {
        self.segment.get()
    }

    fn opened(&self) -> &Opened {
        if let Some(revived) = self.revived.get() {
            return revived;
        }
        self.opened.get_or_init(|| {
            let (_, component, at) = self.place;
            let leaf = open_image(self.source.clone(), self.entry.image.len, &self.entry);
            let fail = |e| with_relation(self.relid, |rel| damaged(rel, &self.entry, component, at, &e));
            self.open_as(leaf.unwrap_or_else(fail))
        })
    }

    fn open_as(&self, leaf: Leaf<Image>) -> Opened {
        self.bytes.set(self.bytes.get() + leaf.bytes_used());
        let width = leaf.schema().count();
        Opened {
            columns: (0..width).map(|_| OnceCell::new()).collect(),
            lazy: (0..width).map(|_| OnceCell::new()).collect(),
            leaf,
        }
    }

    /// Makes the leaf again, now that its place has been given to others. What was decoded of it stays; what is decoded
    /// row by row has to be asked for anew.
    pub fn revive(&self) {
        if self.revived.get().is_some() {
            return;
        }
        let (leaf, bytes) = with_relation(self.relid, |rel| self.made_again(rel));
        self.bytes.set(self.bytes.get() + bytes);
        self.lazy_paths.borrow_mut().clear();
        let _ = self.revived.set(self.open_as(leaf));
    }

    /// The leaf, gathered from where its rows are now, and the bytes of its image.
    fn made_again(&self, rel: &Relation) -> (Leaf<Image>, usize) {
        pgrx::debug1!("a leaf of relation \"{}\" is made again", rel.name());
        let image = loop {
            crate::memory::check_for_interrupts();
            match revive::image(rel, self.keys()) {
                Ok(image) => break image,
                Err(Error::Replaced) => {}
                Err(e) => super::error::raise(e),
            }
        };
        let (_, component, at) = self.place;
        let len = image.len();
        let source = Image::Memory(Arc::new(image));
        let leaf = open_image(source, len as u64, &self.entry);
        (
            leaf.unwrap_or_else(|e| damaged(rel, &self.entry, component, at, &e)),
            len,
        )
    }

    /// Reads something of the leaf, wherever it is.
    fn read<T>(&self, f: impl Fn(&Leaf<Image>) -> Result<T, Error>) -> T {
        let result = match f(self.leaf()) {
            Err(Error::Replaced) => {
                self.revive();
                f(self.leaf())
            }
            result => result,
        };
        result.unwrap_or_else(|e| super::error::raise(e))
    }

    pub fn leaf(&self) -> &Leaf<Image> {
        &self.opened().leaf
    }

    /// From the block of its first row to that of its last; those of other components may be among them.
    pub fn blocks(&self) -> Range<u32> {
        tid::block(self.entry.first)..tid::block(self.entry.last) + 1
    }

    /// Whether the leaf has the rows of a block, if its component has any.
    pub fn has_block(&self, v: u32) -> bool {
        self.blocks().contains(&v)
    }

    /// Rows, anti-matter included.
    pub fn rows(&self) -> usize {
        self.entry.rows as usize
    }

    /// Bytes of memory that what has been decoded here took.
    pub fn decoded(&self) -> usize {
        self.decoded.get()
    }

    pub fn keys(&self) -> &amax_format::Keys {
        self.leaf().keys()
    }

    /// SQL columns the leaf has; attributes added to the table since are not among them.
    pub fn width(&self) -> usize {
        self.opened().columns.len()
    }

    pub fn column(&self, at: usize) -> Rc<Column> {
        self.opened().columns[at]
            .get_or_init(|| self.keep(self.read(|leaf| leaf.column(at))))
            .clone()
    }

    /// The same, if it has been decoded.
    pub fn kept_column(&self, at: usize) -> Option<&Column> {
        self.opened().columns.get(at)?.get().map(|column| &**column)
    }

    /// The same with one place per row; None if the leaf is older than the attribute.
    pub fn dense(&self, at: usize) -> Option<Attribute> {
        if let Some(known) = self.known_dense(at) {
            return Some(known);
        }
        let (dense, documents) = self.decode_dense(at)?;
        Some(self.keep_attribute(at, dense, documents))
    }

    /// The same, if somebody has decoded it.
    fn known_dense(&self, at: usize) -> Option<Attribute> {
        if let Some(known) = self.dense.borrow().get(&at) {
            return Some(known.clone());
        }
        let found = self.find(&What::Column(at))?;
        Some(self.keep_attribute(at, found, false))
    }

    /// A column that is not one of documents, as it was decoded for scans: for rows that are looked up by themselves, of which few ask
    /// whether another session has it.
    pub fn decoded_column(&self, at: usize) -> Option<Rc<Dense>> {
        let known = self.dense.borrow().get(&at).cloned();
        let asks = || self.reads.get().is_multiple_of(ASKS);
        let known = known.or_else(|| asks().then(|| self.known_dense(at)).flatten())?;
        (!known.documents).then_some(known.dense)
    }

    fn keep_attribute(&self, at: usize, dense: Dense, documents: bool) -> Attribute {
        let attribute = Attribute {
            dense: Rc::new(dense),
            documents,
        };
        self.dense.borrow_mut().insert(at, attribute.clone());
        attribute
    }

    /// The column, and whether it is one of documents, which are not shared.
    fn decode_dense(&self, at: usize) -> Option<(Dense, bool)> {
        let Opened { leaf, columns, .. } = self.opened();
        let ty = leaf.schema().nth(at)?;
        let zone = leaf.zone(at);
        let of = |column: &Column| {
            let dense = column.dense().unwrap_or_else(|e| super::error::raise(e));
            dense.with_zone(zone)
        };
        if ty == ColumnType::Json {
            return Some((self.keep_dense(of(&self.column(at))), true));
        }
        if let Some(column) = columns[at].get() {
            return Some((self.keep_dense(of(column)), false));
        }
        let column = self.read(|leaf| leaf.column(at));
        let dense = self.share(&What::Column(at), of(&column));
        if dense.has_others() {
            let _ = columns[at].set(self.keep(column));
        }
        Some((dense, false))
    }

    /// What any session has decoded of this leaf.
    fn find(&self, what: &What) -> Option<Dense> {
        let key = self.key(what)?;
        shared::get(key).map(|found| {
            counters::count(self.relid, &[(Count::ColumnsFound, 1)]);
            self.hold(found)
        })
    }

    /// The same column; others may use it from now on, if there is room.
    fn share(&self, what: &What, dense: Dense) -> Dense {
        if !self.place.0.is_temporary() {
            counters::count(self.relid, &[(Count::ColumnsDecoded, 1)]);
        }
        match self.key(what).and_then(|key| shared::put(key, &dense)) {
            Some(found) => {
                self.decoded.set(self.decoded.get() + dense.bytes_used());
                self.hold(found)
            }
            None => self.keep_dense(dense),
        }
    }

    /// What other sessions know a column by, if they know the leaf.
    fn key(&self, what: &What) -> Option<shared::Key> {
        if self.place.0.is_temporary() || !shared::is_on() {
            return None;
        }
        let digest = self.digest()?;
        Some([0u64, 1].map(|half| {
            let mut hasher = DefaultHasher::new();
            (half, self.place, digest, what).hash(&mut hasher);
            hasher.finish()
        }))
    }

    /// A hash of all that it holds; None if, on a standby, its place has been given to others.
    pub fn digest(&self) -> Option<u64> {
        if self.revived.get().is_some() {
            return None;
        }
        if let Some(&known) = self.digest.get() {
            return Some(known);
        }
        match Leaf::digest(&self.source, self.entry.image.len) {
            Ok(digest) => Some(*self.digest.get_or_init(|| digest)),
            Err(Error::Replaced) => None,
            Err(e) => super::error::raise(e),
        }
    }

    /// Whether its rows are in no component.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.source, Image::Memory(_))
    }

    fn hold(&self, found: Found) -> Dense {
        self.segment.set(self.segment.get().min(found.segment));
        found.dense
    }

    fn keep_dense(&self, dense: Dense) -> Dense {
        self.count(dense.bytes_used());
        dense
    }

    /// A path of document column `at`; None if the leaf is older than the attribute.
    pub fn path(&self, at: usize, steps: &[PathStep]) -> Option<Rc<Path>> {
        if let Some(known) = self.known_path(at, steps) {
            return Some(known);
        }
        if at >= self.width() {
            return None;
        }
        let column = self.read(|leaf| leaf.path(at, steps));
        let dense = column.dense().unwrap_or_else(|e| super::error::raise(e));
        let dense = dense.with_zone(self.leaf().path_zone(at, steps));
        let path = self.keep_dense_path(at, steps, self.share(&What::Path(at, steps), dense));
        if path.dense.has_others() {
            let _ = path.column.set(self.keep_path(column));
        }
        Some(path)
    }

    /// A path that somebody has decoded.
    fn known_path(&self, at: usize, steps: &[PathStep]) -> Option<Rc<Path>> {
        let of_column = |paths: &HashMap<Vec<PathStep>, _>| paths.get(steps).cloned();
        let known = self.paths.borrow().get(&at).and_then(of_column);
        known.or_else(|| {
            let found = self.find(&What::Path(at, steps))?;
            Some(self.keep_dense_path(at, steps, found))
        })
    }

    fn keep_dense_path(&self, at: usize, steps: &[PathStep], dense: Dense) -> Rc<Path> {
        let path = Rc::new(Path {
            column: OnceCell::new(),
            dense,
        });
        let mut paths = self.paths.borrow_mut();
        let of_column = paths.entry(at).or_default();
        of_column.insert(steps.to_vec(), path.clone());
        path
    }

    /// Bounds of the values of a column that is not a document; see [`Leaf::zone`].
    pub fn zone(&self, at: usize) -> Option<Zone> {
        let unopened = self.opened.get().is_none();
        match unopened.then(|| self.known_dense(at)).flatten() {
            Some(known) => known.dense.zone(),
            None => self.leaf().zone(at),
        }
    }

    /// Bounds of the values at a path; see [`Leaf::path_zone`].
    pub fn path_zone(&self, at: usize, steps: &[PathStep]) -> Option<Zone> {
        let unopened = self.opened.get().is_none();
        match unopened.then(|| self.known_path(at, steps)).flatten() {
            Some(known) => known.dense.zone(),
            None => self.leaf().path_zone(at, steps),
        }
    }

    /// Whether all rows have a value in a column that is not a document, that is not NULL; false if it is not known.
    pub fn is_everywhere(&self, at: usize) -> bool {
        let unopened = self.opened.get().is_none();
        match unopened.then(|| self.known_dense(at)).flatten() {
            Some(known) => has_values(&known.dense),
            None => self.leaf().is_everywhere(at, &[]),
        }
    }

    /// The same at a path, of values that are not JSON null either.
    pub fn path_is_everywhere(&self, at: usize, steps: &[PathStep]) -> bool {
        let unopened = self.opened.get().is_none();
        match unopened.then(|| self.known_path(at, steps)).flatten() {
            Some(known) => has_values(&known.dense),
            None => self.leaf().is_everywhere(at, steps),
        }
    }

    fn keep_path(&self, column: PathColumn) -> Rc<PathColumn> {
        self.count(column.bytes_used());
        Rc::new(column)
    }

    /// A path of which few rows are read; see [`OpenLeaf::lazy_column`].
    pub fn lazy_path(&self, at: usize, steps: &[PathStep], has_room: impl Fn(usize) -> bool) -> Rc<PathColumn> {
        let dense = self.paths.borrow();
        let dense = dense.get(&at).and_then(|paths| paths.get(steps));
        if let Some(column) = dense.and_then(|path| path.column.get()) {
            return column.clone();
        }
        let known = {
            let mut paths = self.lazy_paths.borrow_mut();
            let known = paths.entry(at).or_default().get_mut(steps);
            known.map(|(path, reads)| {
                *reads += 1;
                (path.clone(), *reads)
            })
        };
        // Reading may make the leaf again, and then forgets the others.
        let column = match known {
            Some((_, PATH_READS)) if has_room(self.leaf().path_bytes(at, steps)) => {
                self.read_path(at, steps, Leaf::path)
            }
            Some((path, _)) => return path,
            None => self.read_path(at, steps, Leaf::lazy_path),
        };
        self.count(column.bytes_used());
        let reads = known.map_or(0, |(_, reads)| reads);
        let mut paths = self.lazy_paths.borrow_mut();
        let paths = paths.entry(at).or_default();
        paths.insert(steps.to_vec(), (column.clone(), reads));
        column
    }

    fn read_path(
        &self,
        at: usize,
        steps: &[PathStep],
        how: impl Fn(&Leaf<Image>, usize, &[PathStep]) -> Result<PathColumn, Error>,
    ) -> Rc<PathColumn> {
        Rc::new(self.read(|leaf| how(leaf, at, steps)))
    }

    /// The elements of arrays of document column `at`, level by level.
    pub fn unnest(&self, at: usize, arrays: &[Unnest]) -> Rc<Vec<Level>> {
        let wanted = (at, arrays.to_vec());
        if let Some(known) = self.unnested.borrow().get(&wanted) {
            return known.clone();
        }
        let levels: Vec<Level> = self
            .read(|leaf| leaf.unnest(at, arrays))
            .into_iter()
            .map(|elements| Level {
                dense: elements.paths.iter().map(|_| OnceCell::new()).collect(),
                elements,
            })
            .collect();
        // The columns are shared; each path may get one place per element beside them.
        let paths = |level: &Level| {
            let elements = level.elements.paths.first().map_or(0, |path| path.len());
            level.elements.bytes_used() + 9 * elements * level.dense.len()
        };
        let columns = levels
            .iter()
            .flat_map(|level| &level.elements.paths)
            .map(PathColumn::bytes_used)
            .max();
        self.count(columns.unwrap_or(0) + levels.iter().map(paths).sum::<usize>());
        let levels = Rc::new(levels);
        self.unnested.borrow_mut().insert(wanted, levels.clone());
        levels
    }

    /// Answers about a path of document column `at`; None if the leaf is older than the attribute.
    pub fn ask(&self, at: usize, steps: &[PathStep], question: &Question) -> Option<Rc<Dense>> {
        let wanted = (at, steps.to_vec(), question.clone());
        if let Some(known) = self.answers.borrow().get(&wanted) {
            return Some(known.clone());
        }
        let what = What::Answer(at, steps, question);
        let often = !question.has_constant();
        let dense = match often.then(|| self.find(&what)).flatten() {
            Some(dense) => dense,
            None if at >= self.width() => return None,
            None => {
                let dense = self.read(|leaf| leaf.ask(at, steps, question));
                // What no document has may be asked for by any name.
                if often && self.leaf().path_bytes(at, steps) > 0 {
                    self.share(&what, dense)
                } else {
                    self.forget_answers();
                    self.keep_dense(dense)
                }
            }
        };
        let dense = Rc::new(dense);
        self.answers.borrow_mut().insert(wanted, dense.clone());
        Some(dense)
    }

    /// Makes room for another answer to a question with a constant: they may be many, each asked once.
    fn forget_answers(&self) {
        let mut answers = self.answers.borrow_mut();
        let is_one = |key: &(usize, Vec<PathStep>, Question)| key.2.has_constant();
        if answers.keys().filter(|key| is_one(key)).count() < ANSWERS {
            return;
        }
        for (_, dense) in answers.extract_if(|key, _| is_one(key)) {
            self.bytes.set(self.bytes.get() - dense.bytes_used());
        }
    }

    /// The part of the documents of column `at` that lies at some keys.
    pub fn part(&self, at: usize, keys: &Keys) -> Rc<Part> {
        let wanted = (at, keys.clone());
        if let Some(known) = self.parts.borrow().get(&wanted) {
            return known.clone();
        }
        let part = Rc::new(self.read(|leaf| leaf.part(at, keys)));
        self.count(part.bytes_used());
        self.parts.borrow_mut().insert(wanted, part.clone());
        part
    }

    /// The documents of column `at` without the keys that a shape does not have.
    pub fn shaped(&self, at: usize, shape: &Shape) -> Rc<Shaped> {
        let read = || self.read(|leaf| leaf.shaped(at, shape));
        self.one_of(&self.shaped, (at, shape.clone()), read, Shaped::bytes_used)
    }

    /// The same of a shape that is without some keys.
    pub fn pruned(&self, at: usize, shape: &Shape) -> Rc<Pruned> {
        let read = || self.read(|leaf| leaf.pruned(at, shape));
        self.one_of(&self.pruned, (at, shape.clone()), read, Pruned::bytes_used)
    }

    /// What finds the values that a question is about, in those at a path of document column `at`.
    pub fn values(&self, at: usize, steps: &[PathStep], question: &Question) -> Rc<Values> {
        let read = || self.read(|leaf| leaf.found(at, steps, question));
        let key = (at, steps.to_vec(), question.clone());
        self.one_of(&self.values, key, read, Values::bytes_used)
    }

    /// One of few, of which the oldest makes room for it.
    fn one_of<K: PartialEq, T>(
        &self,
        few: &Few<K, T>,
        key: K,
        read: impl FnOnce() -> T,
        bytes: impl Fn(&T) -> usize,
    ) -> Rc<T> {
        if let Some((_, known)) = few.borrow().iter().find(|(known, _)| *known == key) {
            return known.clone();
        }
        let made = Rc::new(read());
        self.count(bytes(&made));
        let mut few = few.borrow_mut();
        if few.len() == ANSWERS {
            let (_, oldest) = few.remove(0);
            self.bytes.set(self.bytes.get() - bytes(&oldest));
        }
        few.push((key, made.clone()));
        made
    }

    fn count(&self, bytes: usize) {
        self.bytes.set(self.bytes.get() + bytes);
        self.decoded.set(self.decoded.get() + bytes);
    }

    /// A column of which few rows are read: most of its values are decoded when they are asked for, and soon forgotten.
    /// A leaf that is asked again and again is decoded after all, if the cache has room for so many bytes more.
    pub fn lazy_column(&self, at: usize, has_room: impl Fn(usize) -> bool) -> Rc<Column> {
        let Opened {
            leaf, columns, lazy, ..
        } = self.opened();
        if let Some(column) = columns[at].get() {
            return column.clone();
        }
        let reads = self.reads.get() + 1;
        self.reads.set(reads);
        if reads.is_multiple_of(READS) && has_room(leaf.column_bytes(at)) {
            return self.column(at);
        }
        lazy[at]
            .get_or_init(|| self.keep(self.read(|leaf| leaf.lazy_column(at))))
            .clone()
    }

    fn keep(&self, column: Column) -> Rc<Column> {
        self.count(column.bytes_used());
        Rc::new(column)
    }
}
