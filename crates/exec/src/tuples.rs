//! Numbers for the distinct tuples of numbers.

use crate::error::{Error, Result};
use crate::store::hash_words;
use crate::table::{Keys, Table};

/// Tuples of `width` numbers, numbered in the order they were first seen.
#[derive(Clone, Debug)]
pub(crate) struct Tuples {
    width: usize,
    /// `width` per tuple.
    members: Vec<u32>,
    table: Table,
}

/// Tuples of a batch: member `c` of row `row` is `columns[c][row]`.
struct Batch<'a> {
    width: usize,
    members: &'a mut Vec<u32>,
    columns: &'a [&'a [u32]],
}

#[inline]
fn hash(members: impl Iterator<Item = u32>) -> u64 {
    hash_words(members.map(u64::from))
}

impl Batch<'_> {
    #[inline]
    fn row(&self, row: u32) -> impl Iterator<Item = u32> + '_ {
        self.columns.iter().map(move |column| column[row as usize])
    }
}

impl Keys for Batch<'_> {
    #[inline]
    fn hash(&self, row: u32) -> u64 {
        hash(self.row(row))
    }

    #[inline]
    fn touch(&self, number: u32) -> u32 {
        self.members[number as usize * self.width]
    }

    #[inline]
    fn equal(&self, number: u32, row: u32) -> bool {
        let start = number as usize * self.width;
        self.members[start..start + self.width]
            .iter()
            .copied()
            .eq(self.row(row))
    }

    fn push(&mut self, row: u32) -> Result<()> {
        let columns = self.columns;
        self.members.extend(columns.iter().map(|column| column[row as usize]));
        Ok(())
    }
}

impl Tuples {
    pub(crate) fn new(width: usize) -> Self {
        Self::of_members(width, Vec::new())
    }

    /// Of tuples that differ, back to back.
    pub(crate) fn of_members(width: usize, members: Vec<u32>) -> Self {
        let table = Table::of_hashes(
            members
                .chunks_exact(width)
                .map(|tuple| Some(hash(tuple.iter().copied()))),
        );
        Self { width, members, table }
    }

    /// As [`Tuples::of_members`]; none of them is found.
    pub(crate) fn without_table(width: usize, members: Vec<u32>) -> Self {
        Self {
            width,
            members,
            table: Table::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len() / self.width
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.members.len() * 4 + self.table.heap_bytes()
    }

    /// All tuples, back to back.
    pub(crate) fn members(&self) -> &[u32] {
        &self.members
    }

    pub(crate) fn get(&self, number: usize) -> &[u32] {
        &self.members[number * self.width..(number + 1) * self.width]
    }

    /// As [`Table::numbers`].
    pub(crate) fn numbers(&mut self, columns: &[&[u32]], rows: &[u32], out: &mut [u32]) -> Result<()> {
        let (width, members) = (self.width, &mut self.members);
        let mut batch = Batch {
            width,
            members,
            columns,
        };
        self.table.numbers(&mut batch, rows, out)
    }

    /// The number of one tuple.
    pub(crate) fn number(&mut self, tuple: &[u32]) -> Result<u32> {
        let columns: Vec<&[u32]> = tuple.chunks(1).collect();
        let (width, members) = (self.width, &mut self.members);
        let mut batch = Batch {
            width,
            members,
            columns: &columns,
        };
        self.table.number(&mut batch, 0)
    }

    /// Keeps the tuples that `keep` says, having changed their members; they still differ.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&mut [u32]) -> bool) {
        let mut kept = Vec::new();
        for tuple in self.members.chunks_exact_mut(self.width) {
            if keep(tuple) {
                kept.extend_from_slice(tuple);
            }
        }
        *self = Self::of_members(self.width, kept);
    }
}

/// The members of tuples that another process sent, of `limits.len()` numbers each below its limit.
///
/// # Errors
/// [`Error::Corrupt`] if they are not.
pub(crate) fn check_members(members: &[u32], limits: &[usize]) -> Result<()> {
    let tuples = members.chunks_exact(limits.len());
    let whole = tuples.remainder().is_empty();
    let below = |tuple: &[u32]| {
        let mut pairs = tuple.iter().zip(limits);
        pairs.all(|(&member, &limit)| (member as usize) < limit)
    };
    if whole && tuples.into_iter().all(below) {
        return Ok(());
    }
    Err(Error::Corrupt("serialized groups are damaged"))
}
