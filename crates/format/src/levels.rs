//! Extended Dremel's level streams (AMAX paper §3.1): definition levels only, array ends as delimiters.
//!
//! A column below `k` arrays has levels `0..=k+1`. Level `k+1` is a value. At the start of an element of
//! the array at depth `d` (depth 0: at the start of a row), level `L >= d` opens the arrays down to depth
//! `min(L, k)`, whose first element is absent unless `L` is `k+1`. Right after a value, a level `L < k` is a
//! delimiter: it ends the arrays deeper than `L`, and with `L = 0` the row.
//!
//! Two differences from the paper, both to keep thousands of sparse columns small. Objects add no level: an
//! object is there if any column below it is (empty objects are a column of their own), so a column does
//! not repeat its ancestors' presence. And a column ends an array after its own last value: the array's
//! length is the longest of its columns'.

use std::sync::Arc;

use crate::bytes::{Reader, put_varint};
use crate::encode::bitpack::{unpack, unpack_some, width_of};
use crate::encode::hybrid::{Encoder, Run, Runs};
use crate::error::{Error, Result, corrupt};
use crate::presence::Presence;

/// Arrays a column may lie below.
pub(crate) const MAX_ARRAYS: usize = 200;

/// Entries one level stream may have: more than any leaf a writer makes, little enough to count in `u32`.
pub(crate) const MAX_ENTRIES: u64 = 1 << 30;

/// The arrays above a column, outermost first, as the writer knows them.
pub(crate) struct ArrayAbove<'a> {
    /// Place of each instance in the universe of the array above it (rows for the outermost).
    pub(crate) places: &'a [u32],
    /// First slot of each instance; slots are counted through all instances.
    pub(crate) starts: &'a [u32],
}

/// Encodes the levels of a column whose values lie at `places`, slots of the innermost array above (rows if
/// there is none). `None` if there is a value in every row and no array above: no levels are needed.
///
/// With `aligned`, a level takes a whole byte: larger, but repetitions are visible to a compressor.
pub(crate) fn encode(rows: u32, arrays: &[ArrayAbove<'_>], places: &[u32], aligned: bool) -> Option<Vec<u8>> {
    let k = arrays.len();
    if k == 0 && places.len() == rows as usize {
        return None;
    }
    let width = if aligned { 8 } else { width_of(k as u64 + 1) };
    let mut sink = Entries {
        encoder: Encoder::new(width),
        count: 0,
    };
    if k == 0 {
        let mut row = 0;
        for &place in places {
            sink.push(0, (place - row) as usize);
            sink.push(1, 1);
            row = place + 1;
        }
        sink.push(0, (rows - row) as usize);
    } else if let [array] = arrays {
        encode_below_one(rows, array, places, &mut sink);
    } else {
        encode_nested(rows, arrays, places, &mut sink);
    }
    let mut out = Vec::new();
    put_varint(&mut out, sink.count);
    out.push(width as u8);
    out.append(&mut sink.encoder.finish());
    Some(out)
}

struct Entries {
    encoder: Encoder,
    count: u64,
}

impl Entries {
    #[inline]
    fn push(&mut self, level: usize, n: usize) {
        if n > 0 {
            self.encoder.push(level as u32, n);
            self.count += n as u64;
        }
    }
}

/// The same as [`encode_nested`] below one array, which most arrays are.
fn encode_below_one(rows: u32, array: &ArrayAbove<'_>, places: &[u32], sink: &mut Entries) {
    let mut instances = array.places.iter().zip(array.starts);
    let mut ends = array.starts.iter().skip(1);
    // The first row that is not complete, and the next element of the array it has.
    let (mut next_row, mut next, mut end) = (0, 0, 0);
    for &place in places {
        if place >= end {
            if end > 0 {
                sink.push(0, 1);
            }
            while place >= end {
                let Some((&row, &start)) = instances.next() else {
                    return;
                };
                end = ends.next().copied().unwrap_or(u32::MAX);
                if place < end {
                    sink.push(0, (row - next_row) as usize);
                    (next_row, next) = (row + 1, start);
                }
            }
        }
        sink.push(1, (place - next) as usize);
        sink.push(2, 1);
        next = place + 1;
    }
    if end > 0 {
        sink.push(0, 1);
    }
    sink.push(0, (rows - next_row) as usize);
}

fn encode_nested(rows: u32, arrays: &[ArrayAbove<'_>], places: &[u32], sink: &mut Entries) {
    let k = arrays.len();
    // Per array: the instance the last value was in, and its element there; the row in front.
    let mut instance = vec![0usize; k];
    let mut last = vec![u32::MAX; k + 1];
    let mut now = vec![0u32; k + 1];
    for &place in places {
        let mut place = place;
        for d in (0..k).rev() {
            let starts = arrays[d].starts;
            let mut at = instance[d];
            // Empty arrays are another column, so starts ascend strictly.
            while at + 1 < starts.len() && starts[at + 1] <= place {
                at += 1;
            }
            instance[d] = at;
            now[d + 1] = place - starts[at];
            place = arrays[d].places[at];
        }
        now[0] = place;
        let differs = if last[0] == u32::MAX {
            0
        } else {
            (0..=k).find(|&d| now[d] != last[d]).unwrap_or(k)
        };
        if differs == 0 {
            let next_row = if last[0] == u32::MAX {
                0
            } else {
                sink.push(0, 1);
                last[0] + 1
            };
            sink.push(0, (now[0] - next_row) as usize);
        } else {
            if differs < k {
                sink.push(differs, 1);
            }
            sink.push(differs, (now[differs] - last[differs] - 1) as usize);
        }
        for (d, &index) in now.iter().enumerate().skip(differs + 1) {
            sink.push(d, index as usize);
        }
        sink.push(k + 1, 1);
        last.copy_from_slice(&now);
    }
    let done = if last[0] == u32::MAX {
        0
    } else {
        sink.push(0, 1);
        last[0] + 1
    };
    sink.push(0, (rows - done) as usize);
}

/// One array level of a decoded stream: which elements of the level above hold an array, and where its
/// elements start.
#[derive(Clone, Debug)]
pub(crate) struct ListLevel {
    pub(crate) places: Arc<Vec<u32>>,
    /// One more than `places`: the last is the number of elements.
    pub(crate) starts: Arc<Vec<u32>>,
}

/// A decoded level stream: the structure of one column.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) lists: Vec<ListLevel>,
    /// Which elements of the innermost array (rows if none) hold a value.
    pub(crate) leaf: Arc<Presence>,
}

impl Shape {
    /// The shape of a column with a value in each row.
    pub(crate) fn all(rows: u32) -> Self {
        Self {
            lists: Vec::new(),
            leaf: Arc::new(Presence::All(rows)),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.leaf.heap_bytes()
            + self
                .lists
                .iter()
                .map(|l| (l.places.len() + l.starts.len()) * 4)
                .sum::<usize>()
    }
}

/// Decodes the levels of a column below `k` arrays over `rows` rows. At most `budget` values and arrays are
/// made, which bounds the memory to some 8 bytes times that.
pub(crate) fn decode(bytes: &[u8], rows: u32, k: usize, budget: usize) -> Result<Shape> {
    if k > MAX_ARRAYS {
        return corrupt("too many nested arrays");
    }
    let mut reader = Reader::new(bytes);
    let entries = reader.varint()?;
    if entries > MAX_ENTRIES {
        return corrupt("too many levels");
    }
    let width = u32::from(reader.u8()?);
    if width > 8 {
        return corrupt("level width exceeds 8 bits");
    }
    let mut machine = Machine {
        rows,
        k,
        budget,
        row: 0,
        depth: 0,
        after_value: false,
        elements: vec![0; k + 1],
        lists: vec![(Vec::new(), Vec::new()); k],
        leaf: Places::default(),
    };
    let mut runs = Runs::new(reader.rest(), entries as usize, width);
    while let Some(run) = runs.next()? {
        match run {
            Run::Repeated(level, n) => machine.repeated(level as usize, n)?,
            // A list and a value for each level at most.
            Run::Packed(packed, n) if k == 1 && machine.budget / 2 >= n => machine.below_one_array(packed, n, width)?,
            Run::Packed(packed, n) => {
                let mut result = Ok(());
                unpack(packed, n, width, |level| {
                    if result.is_ok() {
                        result = machine.entry(level as usize);
                    }
                })?;
                result?;
            }
        }
    }
    machine.finish()
}

struct Machine {
    rows: u32,
    k: usize,
    budget: usize,
    /// Rows begun; at depth 0 all of them have ended.
    row: u32,
    /// Arrays open.
    depth: usize,
    after_value: bool,
    /// `elements[d]`: elements of the arrays at depth `d` begun so far.
    elements: Vec<u32>,
    lists: Vec<(Vec<u32>, Vec<u32>)>,
    leaf: Places,
}

/// Ascending places. Those from 0 on without a gap, which in most columns are all, are only counted.
#[derive(Debug, Default, PartialEq)]
struct Places {
    first: u32,
    others: Vec<u32>,
}

impl Places {
    #[inline]
    fn push(&mut self, place: u32) {
        if place == self.first && self.others.is_empty() {
            self.first += 1;
        } else {
            self.others.push(place);
        }
    }

    /// `n` places from `start` on.
    fn extend(&mut self, start: u32, n: u32) {
        if start == self.first && self.others.is_empty() {
            self.first += n;
        } else {
            self.others.extend(start..start + n);
        }
    }

    fn len(&self) -> usize {
        self.first as usize + self.others.len()
    }

    fn below(self, universe: u32) -> Presence {
        if self.first == universe {
            return Presence::All(universe);
        }
        let mut places = self.others;
        places.splice(0..0, 0..self.first);
        Presence::new(places, universe)
    }
}

impl Machine {
    #[inline]
    fn entry(&mut self, level: usize) -> Result<()> {
        let k = self.k;
        if self.after_value && level < k {
            self.after_value = false;
            self.depth = level;
            return Ok(());
        }
        if level < self.depth || level > k + 1 {
            return corrupt("definition level out of place");
        }
        if self.depth == 0 {
            if self.row == self.rows {
                return corrupt("levels of more rows than there are");
            }
            self.row += 1;
            if level == 0 {
                return Ok(());
            }
        }
        let bottom = level.min(k);
        for d in self.depth..bottom {
            let place = if d == 0 { self.row - 1 } else { self.next_element(d) };
            self.spend(1)?;
            self.lists[d].0.push(place);
            self.lists[d].1.push(self.elements[d + 1]);
        }
        if level == k + 1 {
            self.spend(1)?;
            let place = if k == 0 { self.row - 1 } else { self.next_element(k) };
            self.leaf.push(place);
            self.after_value = k > 0;
        } else {
            self.next_element(level);
            self.after_value = false;
        }
        self.depth = bottom;
        if k == 0 {
            self.depth = 0;
        }
        Ok(())
    }

    #[inline]
    fn next_element(&mut self, depth: usize) -> u32 {
        let place = self.elements[depth];
        // MAX_ENTRIES keeps the count far below u32::MAX.
        self.elements[depth] += 1;
        place
    }

    #[inline]
    fn spend(&mut self, n: usize) -> Result<()> {
        self.budget = self
            .budget
            .checked_sub(n)
            .ok_or(Error::Limit("memory for definition levels"))?;
        Ok(())
    }

    /// `n` entries of a column below one array, which most arrays are: the same as `entry`, without asking at each what can
    /// be asked at the end.
    fn below_one_array(&mut self, packed: &[u8], n: usize, width: u32) -> Result<()> {
        let (mut row, mut is_open, mut after_value) = (self.row, self.depth == 1, self.after_value);
        let mut elements = self.elements[1];
        let mut misplaced = false;
        let (places, starts) = &mut self.lists[0];
        let leaf = &mut self.leaf;
        let before = places.len() + leaf.len();
        // As many as most need; an array takes two levels at least.
        let arrays = (n / 2 + 1).min((self.rows - row.min(self.rows)) as usize + 1);
        places.reserve(arrays);
        starts.reserve(arrays + 1);
        if !leaf.others.is_empty() {
            leaf.others.reserve(n);
        }
        let mut levels = Vec::with_capacity(n);
        unpack_some(packed, n, width, |some| {
            levels.extend(some.iter().map(|&level| level as u8))
        })?;
        for level in levels {
            match level {
                0 if after_value => (is_open, after_value) = (false, false),
                0 => {
                    misplaced |= is_open;
                    row += 1;
                }
                1 | 2 => {
                    if !is_open {
                        places.push(row);
                        starts.push(elements);
                        row += 1;
                        is_open = true;
                    }
                    after_value = level == 2;
                    if after_value {
                        leaf.push(elements);
                    }
                    elements += 1;
                }
                _ => misplaced = true,
            }
        }
        if misplaced {
            return corrupt("definition level out of place");
        }
        if row > self.rows {
            return corrupt("levels of more rows than there are");
        }
        let made = places.len() + leaf.len() - before;
        self.spend(made)?;
        (self.row, self.depth, self.after_value) = (row, usize::from(is_open), after_value);
        self.elements[1] = elements;
        Ok(())
    }

    /// `n` entries of one level; runs of rows without a value, of absent elements and of values at once.
    fn repeated(&mut self, level: usize, n: usize) -> Result<()> {
        if n == 0 {
            return Ok(());
        }
        self.entry(level)?;
        let left = n - 1;
        if left == 0 {
            return Ok(());
        }
        if level == 0 {
            // The first may have been a delimiter; the others are rows.
            if left > (self.rows - self.row) as usize || self.depth != 0 {
                return corrupt("levels of more rows than there are");
            }
            self.row += left as u32;
            return Ok(());
        }
        if level <= self.k {
            // The first may have been a delimiter or opened arrays; the others are absent elements.
            self.elements[level] += left as u32;
            return Ok(());
        }
        if self.k == 0 {
            if left > (self.rows - self.row) as usize {
                return corrupt("levels of more rows than there are");
            }
            self.spend(left)?;
            self.leaf.extend(self.row, left as u32);
            self.row += left as u32;
        } else {
            self.spend(left)?;
            let first = self.elements[self.k];
            self.leaf.extend(first, left as u32);
            self.elements[self.k] += left as u32;
        }
        Ok(())
    }

    fn finish(self) -> Result<Shape> {
        if self.depth != 0 || self.row != self.rows {
            return corrupt("levels end before the last row");
        }
        let lists = self
            .lists
            .into_iter()
            .zip(&self.elements[1..])
            .map(|((places, mut starts), &elements)| {
                starts.push(elements);
                ListLevel {
                    places: Arc::new(places),
                    starts: Arc::new(starts),
                }
            })
            .collect();
        let universe = if self.k == 0 { self.rows } else { self.elements[self.k] };
        Ok(Shape {
            lists,
            leaf: Arc::new(self.leaf.below(universe)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A column below two arrays, as nested lists of optional values; no empty lists.
    type Rows = Vec<Vec<Vec<bool>>>;

    fn rows() -> impl Strategy<Value = Rows> {
        let inner = prop::collection::vec(any::<bool>(), 1..4);
        prop::collection::vec(prop::collection::vec(inner, 0..4), 0..12)
    }

    fn shape_of(rows: &Rows, aligned: bool) -> Shape {
        let (mut outer, mut inner) = ((vec![], vec![]), (vec![], vec![]));
        let (mut slots, mut elements, mut places) = (0u32, 0u32, vec![]);
        for (row, lists) in rows.iter().enumerate() {
            if !lists.is_empty() {
                outer.0.push(row as u32);
                outer.1.push(slots);
            }
            for list in lists {
                inner.0.push(slots);
                inner.1.push(elements);
                slots += 1;
                for &present in list {
                    if present {
                        places.push(elements);
                    }
                    elements += 1;
                }
            }
        }
        let above = [
            ArrayAbove {
                places: &outer.0,
                starts: &outer.1,
            },
            ArrayAbove {
                places: &inner.0,
                starts: &inner.1,
            },
        ];
        let bytes = encode(rows.len() as u32, &above, &places, aligned).unwrap();
        decode(&bytes, rows.len() as u32, 2, 10_000).unwrap()
    }

    proptest! {
        #[test]
        fn two_arrays(rows in rows(), aligned: bool) {
            let shape = shape_of(&rows, aligned);
            for (row, lists) in rows.iter().enumerate() {
                for (i, list) in lists.iter().enumerate() {
                    for (j, &present) in list.iter().enumerate() {
                        let found = (|| {
                            let a = shape.lists[0].places.binary_search(&(row as u32)).ok()?;
                            let slot = shape.lists[0].starts[a] + i as u32;
                            (slot < shape.lists[0].starts[a + 1]).then_some(())?;
                            let b = shape.lists[1].places.binary_search(&slot).ok()?;
                            let element = shape.lists[1].starts[b] + j as u32;
                            (element < shape.lists[1].starts[b + 1]).then_some(())?;
                            shape.leaf.get(element)
                        })();
                        prop_assert_eq!(found.is_some(), present);
                    }
                }
            }
            let values = rows.iter().flatten().flatten().filter(|&&p| p).count();
            prop_assert_eq!(shape.leaf.len() as usize, values);
        }

        #[test]
        fn one_array_as_any(lists in prop::collection::vec(prop::collection::vec(any::<bool>(), 0..5), 0..30)) {
            let (mut arrays, mut starts, mut places, mut elements) = (vec![], vec![], vec![], 0);
            for (row, list) in (0..).zip(&lists) {
                if !list.is_empty() {
                    arrays.push(row);
                    starts.push(elements);
                }
                places.extend((elements..).zip(list).filter(|element| *element.1).map(|element| element.0));
                elements += list.len() as u32;
            }
            let array = ArrayAbove { places: &arrays, starts: &starts };
            let entries = || Entries { encoder: Encoder::new(2), count: 0 };
            let (mut one, mut any) = (entries(), entries());
            encode_below_one(lists.len() as u32, &array, &places, &mut one);
            encode_nested(lists.len() as u32, &[array], &places, &mut any);
            prop_assert_eq!(one.count, any.count);
            prop_assert_eq!(one.encoder.finish(), any.encoder.finish());
        }

        /// Whatever the levels say, sound or not.
        #[test]
        fn below_one_array(levels in prop::collection::vec(0u8..4, 0..60), rows in 0u32..40, split in 0usize..60) {
            let machine = || Machine {
                rows,
                k: 1,
                budget: 1000,
                row: 0,
                depth: 0,
                after_value: false,
                elements: vec![0; 2],
                lists: vec![(Vec::new(), Vec::new())],
                leaf: Places::default(),
            };
            let (mut one, mut other) = (machine(), machine());
            let (first, last) = levels.split_at(split.min(levels.len()));
            let fast = [first, last].iter().try_for_each(|levels| one.below_one_array(levels, levels.len(), 8));
            let slow = levels.iter().try_for_each(|&level| other.entry(level as usize));
            prop_assert_eq!(fast.is_ok(), slow.is_ok());
            if slow.is_ok() {
                let state = |m: Machine| (m.row, m.depth, m.after_value, m.elements, m.lists, m.leaf, m.budget);
                prop_assert_eq!(state(one), state(other));
            }
        }

        #[test]
        fn hostile(bytes in prop::collection::vec(any::<u8>(), 0..60), rows in 0u32..100, k in 0usize..4) {
            let _ = decode(&bytes, rows, k, 10_000);
        }
    }

    /// The paper's Figure 3, columns 4 and 5 (without the level of the object inside the array).
    #[test]
    fn figure_3() {
        let games = ArrayAbove {
            places: &[0, 1],
            starts: &[0, 1],
        };
        let bytes = encode(3, &[games], &[0, 2], true).unwrap();
        // NBA | absent, NFL | no array
        let shape = decode(&bytes, 3, 1, 100).unwrap();
        assert_eq!(shape.leaf.iter().collect::<Vec<_>>(), [0, 2]);
        let levels = crate::encode::hybrid::decode(&bytes[2..], 6, 8).unwrap();
        assert_eq!(levels, [2, 0, 1, 2, 0, 0]);
    }
}
