//! Rows for a btree that is built, handed on in the btree's own order. PostgreSQL's sort sees first whether there is
//! anything to do, and it is most of such a build: text it compares by its collation for each pair of rows, where there are
//! only so many different values, as dictionaries know. What it gets in another order than its own it sorts as ever: nothing
//! but time depends on what is done here.

use crate::memory::{ask, check_for_interrupts, make_room};
use crate::pg::btree::{Btree, Order};
use crate::pg::datum::{image_of, of_bytes, of_fixed, varlena};
use crate::pg::memory::Other;
use pgrx::pg_sys;
use std::collections::HashMap;

const WHAT: &str = "rows of an index";

/// A value of an index.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    Null,
    /// Passed by value.
    Word(pg_sys::Datum),
    /// The bytes of one of variable length.
    Bytes(&'a [u8]),
    /// Those of one of a fixed length, passed by reference.
    Fixed(&'a [u8]),
}

impl Value<'_> {
    /// In the current memory context.
    pub fn to_datum(self) -> (pg_sys::Datum, bool) {
        match self {
            Value::Null => (pg_sys::Datum::null(), true),
            Value::Word(word) => (word, false),
            Value::Bytes(bytes) => (of_bytes(bytes), false),
            Value::Fixed(bytes) => (of_fixed(bytes), false),
        }
    }
}

/// A row: where it is in the order, and the rest.
#[derive(Clone, Copy, Default)]
struct Row {
    /// Of words: the word, ordered as unsigned. Else the number of the value.
    key: u64,
    place: u64,
}

/// A TID, and whether the row is alive. Ordered as TIDs.
fn place(v: u32, offset: u16, alive: bool) -> u64 {
    u64::from(v) << 17 | u64::from(offset) << 1 | u64::from(alive)
}

const SIGN: u64 = 1 << 63;

/// What a row takes while it is sorted.
const ROW_BYTES: usize = 2 * size_of::<Row>();
/// What a value takes beside its bytes, of which there are two copies.
const VALUE_BYTES: usize = 96;

pub struct InOrder {
    btree: Btree,
    rows: Vec<Row>,
    nulls: Vec<u64>,
    /// Values by their bytes, numbered from 0.
    values: HashMap<Box<[u8]>, u32>,
    /// Bytes of memory, and how many there may be.
    bytes: usize,
    most: usize,
}

/// Takes a row: value, NULL, where it is, and whether it is alive.
pub type Take<'a> = dyn FnMut(pg_sys::Datum, bool, (u32, u16), bool) + 'a;

impl InOrder {
    /// With so much memory.
    pub fn new(btree: Btree, most: usize) -> InOrder {
        InOrder {
            btree,
            rows: Vec::new(),
            nulls: Vec::new(),
            values: HashMap::new(),
            bytes: 0,
            most,
        }
    }

    /// A value that is not NULL, in this memory context if it has to be unpacked.
    ///
    /// # Safety
    /// A value of the index.
    pub unsafe fn value<'v>(&self, value: pg_sys::Datum, memory: &Other) -> Value<'v> {
        match self.btree.order {
            Order::Words => Value::Word(value),
            // SAFETY: as the caller promises.
            Order::Compared => Value::Bytes(memory.within(|| unsafe { varlena(value) })),
        }
    }

    /// Adds a row; true: no more should come before they are handed on.
    pub fn push(&mut self, value: Value, v: u32, offset: u16, alive: bool) -> bool {
        let place = place(v, offset, alive);
        let key = match value {
            Value::Null => {
                make_room(&mut self.nulls, 1, WHAT);
                self.nulls.push(place);
                self.bytes += size_of::<u64>();
                return self.bytes >= self.most;
            }
            Value::Word(word) => self.btree.word(word) as u64 ^ SIGN,
            Value::Bytes(bytes) => self.number(bytes).into(),
            Value::Fixed(_) => unreachable!("a btree in whose order rows are handed on has values of another kind"),
        };
        make_room(&mut self.rows, 1, WHAT);
        self.rows.push(Row { key, place });
        self.bytes += ROW_BYTES;
        self.bytes >= self.most
    }

    fn number(&mut self, bytes: &[u8]) -> u32 {
        if let Some(&known) = self.values.get(bytes) {
            return known;
        }
        let number = self.values.len() as u32;
        if self.values.len() == self.values.capacity() {
            ask(2 * self.values.capacity() * VALUE_BYTES, WHAT);
        }
        self.values.insert(bytes.into(), number);
        self.bytes += VALUE_BYTES + 2 * bytes.len();
        number
    }

    /// Hands all rows on.
    pub fn hand_on(&mut self, take: &mut Take) {
        // A second of everything.
        ask(std::mem::take(&mut self.bytes) / 2, WHAT);
        let (mut rows, mut nulls) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.nulls));
        let values = std::mem::take(&mut self.values);
        // Rows come by their TIDs, but for those of a row page, whose index entries may have other ones.
        if !nulls.is_sorted() {
            nulls.sort_unstable();
        }
        if !rows.is_sorted_by_key(|row| row.place) {
            rows.sort_unstable_by_key(|row| row.place);
        }
        if self.btree.nulls_first {
            hand_nulls(&nulls, take);
        }
        match self.btree.order {
            Order::Words => self.hand_words(rows, take),
            Order::Compared => self.hand_values(rows, values, take),
        }
        if !self.btree.nulls_first {
            hand_nulls(&nulls, take);
        }
    }

    fn hand_words(&self, mut rows: Vec<Row>, take: &mut Take) {
        if self.btree.descending {
            rows.iter_mut().for_each(|row| row.key = !row.key);
        }
        sort(&mut rows, 0);
        for row in &rows {
            let key = if self.btree.descending { !row.key } else { row.key };
            hand(pg_sys::Datum::from(key ^ SIGN), false, row.place, take);
        }
    }

    fn hand_values(&self, mut rows: Vec<Row>, values: HashMap<Box<[u8]>, u32>, take: &mut Take) {
        let values = by_bytes(values);
        let numbers: Vec<u32> = values.iter().map(|value| value.number).collect();
        let images: Vec<Box<[u64]>> = values.iter().map(|value| image_of(&value.bytes, true)).collect();
        drop(values);
        let datum = |at: usize| pg_sys::Datum::from(images[at].as_ptr() as *mut std::ffi::c_void);
        let compare = |a: usize, b: usize| {
            check_for_interrupts();
            self.btree.compare(datum(a), datum(b))
        };
        // Often the order is that of the bytes.
        let mut order: Vec<usize> = (0..images.len()).collect();
        if order.windows(2).any(|pair| compare(pair[0], pair[1]).is_gt()) {
            order = merge_sort(images.len(), &mut |a, b| compare(a, b).is_gt());
        }
        if self.btree.descending {
            order.reverse();
        }
        // Of each value its place in the order above its image; equal ones have one place.
        let mut places = vec![0; images.len()];
        let mut place = 0;
        for (at, &value) in order.iter().enumerate() {
            if at > 0 && compare(order[at - 1], value).is_ne() {
                place = at;
            }
            places[numbers[value] as usize] = (place as u64) << 32 | value as u64;
        }
        rows.iter_mut().for_each(|row| row.key = places[row.key as usize]);
        sort(&mut rows, 32);
        for row in &rows {
            hand(datum(row.key as u32 as usize), false, row.place, take);
        }
    }
}

/// A value, ordered by its bytes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Numbered {
    /// The first bytes that not all values have: those in memory elsewhere are seldom looked at.
    first: u64,
    bytes: Box<[u8]>,
    number: u32,
}

fn by_bytes(values: HashMap<Box<[u8]>, u32>) -> Vec<Numbered> {
    let common = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let mut keys = values.keys();
    let shared = keys
        .next()
        .map_or(0, |one| keys.fold(one.len(), |most, key| most.min(common(one, key))));
    let first = |bytes: &[u8]| {
        let mut first = [0; 8];
        let rest = &bytes[shared..];
        let len = rest.len().min(first.len());
        first[..len].copy_from_slice(&rest[..len]);
        u64::from_be_bytes(first)
    };
    let numbered = |(bytes, number): (Box<[u8]>, u32)| Numbered {
        first: first(&bytes),
        bytes,
        number,
    };
    let mut values: Vec<Numbered> = values.into_iter().map(numbered).collect();
    values.sort_unstable();
    values
}

fn hand(value: pg_sys::Datum, null: bool, place: u64, take: &mut Take) {
    check_for_interrupts();
    let at = ((place >> 17) as u32, (place >> 1) as u16);
    take(value, null, at, place & 1 != 0);
}

fn hand_nulls(nulls: &[u64], take: &mut Take) {
    for &place in nulls {
        hand(pg_sys::Datum::null(), true, place, take);
    }
}

/// Sorts by key without its lowest bits, rows with the same one as they come: byte by byte, from the lowest one (radix sort).
fn sort(rows: &mut Vec<Row>, from: u32) {
    if rows.is_sorted_by_key(|row| row.key >> from) {
        return;
    }
    let of = rows
        .iter()
        .fold((u64::MAX, 0), |(and, or), row| (and & row.key, or | row.key));
    let differs = of.0 ^ of.1;
    let mut sorted = Vec::new();
    make_room(&mut sorted, rows.len(), WHAT);
    sorted.resize(rows.len(), Row::default());
    for shift in (from..64).step_by(8) {
        if differs >> shift & 0xff == 0 {
            continue;
        }
        check_for_interrupts();
        let digit = |row: &Row| (row.key >> shift & 0xff) as usize;
        let mut next = [0_usize; 256];
        rows.iter().for_each(|row| next[digit(row)] += 1);
        let mut before = 0;
        for count in &mut next {
            before += std::mem::replace(count, before);
        }
        for row in &*rows {
            let at = &mut next[digit(row)];
            sorted[*at] = *row;
            *at += 1;
        }
        std::mem::swap(rows, &mut sorted);
    }
}

/// The order of so many items, whatever is said of two of them: an operator class may contradict itself, which the library's
/// sorts do not take.
fn merge_sort(items: usize, is_after: &mut dyn FnMut(usize, usize) -> bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items).collect();
    let mut merged = Vec::with_capacity(items);
    let mut width = 1;
    while width < items {
        merged.clear();
        for run in order.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            while let (&[a, ..], &[b, ..]) = (left, right) {
                let from = if is_after(a, b) { &mut right } else { &mut left };
                merged.push(from[0]);
                *from = &from[1..];
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(&mut order, &mut merged);
        width *= 2;
    }
    order
}
