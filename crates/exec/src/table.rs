//! A hash table of numbers: it knows which number a key has been given, and its user keeps the keys.
//!
//! Open addressing with linear probing. A slot holds 32 bits of the hash beside the number, so a lookup hardly
//! ever compares a wrong key, and growing does not look at keys. Lookups are made for many rows at a time, in
//! steps of independent loads, so that the machine waits for many cache misses at once rather than for each.

use crate::error::{Error, Result};

/// No number: of a row that is left out.
pub const NONE: u32 = u32::MAX;
/// Numbers are below this.
const LIMIT: usize = u32::MAX as usize - 2;
const EMPTY: u64 = u64::MAX;
/// Rows per step of lookups: what is kept of them between steps stays in the first-level cache.
const STEP: usize = 256;

/// The numbers of what is kept, one after the other, and [`NONE`] for the rest.
pub(crate) fn renumbered(keep: &[bool]) -> Vec<u32> {
    let mut next = 0;
    let number = |&keep: &bool| {
        let number = if keep { next } else { NONE };
        next += u32::from(keep);
        number
    };
    keep.iter().map(number).collect()
}

/// Keys by number, and rows that have keys.
pub(crate) trait Keys {
    fn hash(&self, row: u32) -> u64;
    /// Something of the key `number` that has to be in the cache for `equal`.
    fn touch(&self, number: u32) -> u32;
    fn equal(&self, number: u32, row: u32) -> bool;
    /// Keeps the row's key as the next number.
    fn push(&mut self, row: u32) -> Result<()>;
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// A power of two of them, or none: the low half of the hash above the number.
    slots: Vec<u64>,
    len: usize,
}

#[inline]
fn slot(hash: u64, number: u32) -> u64 {
    hash << 32 | u64::from(number)
}

impl Table {
    /// Of keys that differ, by their hashes in the order of their numbers; `None` is as [`Table::skip`].
    pub(crate) fn of_hashes(hashes: impl ExactSizeIterator<Item = Option<u64>>) -> Self {
        let mut table = Self::default();
        table.resize(hashes.len());
        for hash in hashes {
            match hash {
                Some(hash) => table.add(hash),
                None => table.len += 1,
            }
        }
        table
    }

    /// Gives the next number to something that is not looked up.
    pub(crate) fn skip(&mut self) -> u32 {
        self.len += 1;
        self.len as u32 - 1
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.slots.len() * 8
    }

    /// Makes room for `len` keys at a load of at most three quarters.
    fn resize(&mut self, len: usize) {
        let slots = (len + len / 3 + 1).max(16).next_power_of_two();
        let old = std::mem::replace(&mut self.slots, vec![EMPTY; slots]);
        for old in old.into_iter().filter(|&slot| slot != EMPTY) {
            self.place(old);
        }
    }

    fn place(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = (slot >> 32) as usize & mask;
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    fn is_full(&self) -> bool {
        (self.len + 1) * 4 > self.slots.len() * 3
    }

    /// Adds a key that is not in the table as the next number.
    fn add(&mut self, hash: u64) {
        if self.is_full() {
            self.resize(self.len + 1);
        }
        self.place(slot(hash, self.len as u32));
        self.len += 1;
    }

    /// The first slot to look at for a hash.
    #[inline]
    fn first(&self, hash: u64) -> u32 {
        let mask = self.slots.len().wrapping_sub(1);
        let slot = self.slots.get(hash as u32 as usize & mask);
        slot.map_or(0, |&slot| slot as u32)
    }

    /// The number that has the same part of the hash and is in all likelihood the key's.
    #[inline]
    fn candidate(&self, hash: u64) -> u32 {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as u32 as usize & mask;
        while let Some(&found) = self.slots.get(at) {
            let number = found as u32;
            if found == EMPTY || found == slot(hash, number) {
                return number; // that of EMPTY is NONE
            }
            at = (at + 1) & mask;
        }
        NONE
    }

    /// The number with this hash of which `equal` is true, [`NONE`] if there is none.
    #[inline]
    pub(crate) fn find(&self, hash: u64, equal: impl Fn(u32) -> bool) -> u32 {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as u32 as usize & mask;
        while let Some(&found) = self.slots.get(at) {
            let number = found as u32;
            if found == EMPTY || found == slot(hash, number) && equal(number) {
                return number; // that of EMPTY is NONE
            }
            at = (at + 1) & mask;
        }
        NONE
    }

    /// The number of the row's key, a new one if there is none.
    pub(crate) fn number<K: Keys>(&mut self, keys: &mut K, row: u32) -> Result<u32> {
        let hash = keys.hash(row);
        self.find_or_add(keys, row, hash)
    }

    #[inline(never)]
    fn find_or_add<K: Keys>(&mut self, keys: &mut K, row: u32, hash: u64) -> Result<u32> {
        if !self.slots.is_empty() {
            let mask = self.slots.len() - 1;
            let mut at = hash as u32 as usize & mask;
            while self.slots[at] != EMPTY {
                let number = self.slots[at] as u32;
                if self.slots[at] == slot(hash, number) && keys.equal(number, row) {
                    return Ok(number);
                }
                at = (at + 1) & mask;
            }
        }
        if self.len >= LIMIT {
            return Err(Error::Limit("4 billion groups or distinct values"));
        }
        if self.is_full() {
            amax_memory::ask(self.slots.len() * 16, "a hash table")?;
        }
        keys.push(row)?;
        self.add(hash);
        Ok(self.len as u32 - 1)
    }

    /// Sets `out[row]` to the number of the row's key, for all `rows`; new numbers are given in their order.
    pub(crate) fn numbers<K: Keys>(&mut self, keys: &mut K, rows: &[u32], out: &mut [u32]) -> Result<()> {
        let mut hashes = [0; STEP];
        let mut numbers = [NONE; STEP];
        let mut touched = 0;
        for rows in rows.chunks(STEP) {
            for (hash, &row) in hashes.iter_mut().zip(rows) {
                *hash = keys.hash(row);
            }
            // Without a branch that depends on what is loaded, so that no load waits for another.
            for &hash in hashes.iter().take(rows.len()) {
                touched ^= self.first(hash);
            }
            for (number, &hash) in numbers.iter_mut().zip(&hashes).take(rows.len()) {
                *number = self.candidate(hash);
            }
            for &number in numbers.iter().take(rows.len()) {
                if number != NONE {
                    touched ^= keys.touch(number);
                }
            }
            for ((&row, &hash), &number) in rows.iter().zip(&hashes).zip(&numbers) {
                out[row as usize] = if number != NONE && keys.equal(number, row) {
                    number
                } else {
                    self.find_or_add(keys, row, hash)?
                };
            }
        }
        std::hint::black_box(touched);
        Ok(())
    }
}
