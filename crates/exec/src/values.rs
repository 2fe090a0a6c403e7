//! Numbers for the distinct values of an expression.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::codes::Codes;
use crate::error::{Error, Result};
use crate::range::Range;
use crate::store::{Floats, NULL_HASH, Numbers, Store, Strings, Words, check_numerics};
use crate::table::{Keys, NONE, Table};
use crate::vector::{Scalar, Type, Vector, View};

/// What is not known yet; no number and not [`NONE`].
pub(crate) const UNKNOWN: u32 = NONE - 1;

/// The distinct values of one expression, numbered in the order they were first seen. NULL is one of them.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    ty: Type,
    any: Any,
    /// NULL's number; whatever the store has there is no value.
    null: Option<u32>,
    memo: Vec<u32>,
    rows: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Any {
    Words(Hashed<Words>),
    Floats(Hashed<Floats>),
    Numbers(Hashed<Numbers>),
    Strings(Hashed<Strings>),
}

/// Evaluates `$body` for the store of whichever type.
macro_rules! with {
    ($any:expr, $store:ident => $body:expr) => {
        match $any {
            Any::Words($store) => $body,
            Any::Floats($store) => $body,
            Any::Numbers($store) => $body,
            Any::Strings($store) => $body,
        }
    };
}

#[derive(Clone, Debug, Default)]
struct Hashed<S> {
    store: S,
    table: Table,
}

/// The keys of a batch beside those of a store.
struct Batch<'a, 'b, S> {
    store: &'a mut S,
    view: &'a View<'b>,
}

impl<S: Store> Keys for Batch<'_, '_, S> {
    #[inline]
    fn hash(&self, row: u32) -> u64 {
        S::hash(S::key(self.view, row as usize))
    }

    #[inline]
    fn touch(&self, number: u32) -> u32 {
        self.store.touch(number as usize)
    }

    #[inline]
    fn equal(&self, number: u32, row: u32) -> bool {
        let key = S::key(self.view, row as usize);
        S::same(self.store.get(number as usize), key)
    }

    fn push(&mut self, row: u32) -> Result<()> {
        self.store.push(S::key(self.view, row as usize))
    }
}

impl<S: Store> Hashed<S> {
    fn of_store(store: S, null: Option<u32>) -> Self {
        let table = Table::of_hashes(
            (0..store.len()).map(|number| (null != Some(number as u32)).then(|| S::hash(store.get(number)))),
        );
        Self { store, table }
    }

    /// Of a store that another process sent; nothing is found in it.
    fn without_table(ty: Type, store: S, null: Option<u32>) -> Result<Self> {
        store.check(ty)?;
        if null.is_some_and(|null| null as usize >= store.len()) || store.len() >= UNKNOWN as usize {
            return Err(Error::Corrupt("serialized values are damaged"));
        }
        let table = Table::default();
        Ok(Self { store, table })
    }

    fn numbers(&mut self, view: &View<'_>, rows: &[u32], out: &mut [u32]) -> Result<()> {
        let store = &mut self.store;
        self.table.numbers(&mut Batch { store, view }, rows, out)
    }

    fn number(&mut self, view: &View<'_>, row: usize) -> Result<u32> {
        let store = &mut self.store;
        self.table.number(&mut Batch { store, view }, row as u32)
    }

    fn add_none(&mut self) -> u32 {
        self.store.push_none();
        self.table.skip()
    }

    /// As [`Values::retain`].
    fn retain(&mut self, null: &mut Option<u32>, keep: &[bool]) -> Result<Vec<u32>> {
        let old = std::mem::take(&mut self.store);
        let mut kept_null = None;
        let mut moved = vec![NONE; old.len()];
        for number in (0..old.len()).filter(|&number| keep[number]) {
            let next = self.store.len() as u32;
            if *null == Some(number as u32) {
                kept_null = Some(next);
                self.store.push_none();
            } else {
                self.store.push(old.get(number))?;
            }
            moved[number] = next;
        }
        *null = kept_null;
        let store = std::mem::take(&mut self.store);
        *self = Self::of_store(store, kept_null);
        Ok(moved)
    }
}

impl Values {
    pub(crate) fn new(ty: Type) -> Self {
        let any = match ty {
            Type::Bool | Type::Int => Any::Words(Hashed::default()),
            Type::Float => Any::Floats(Hashed::default()),
            Type::Numeric => Any::Numbers(Hashed::default()),
            Type::Text => Any::Strings(Hashed::default()),
        };
        Self::of(ty, any, None)
    }

    fn of(ty: Type, any: Any, null: Option<u32>) -> Self {
        Self {
            ty,
            any,
            null,
            memo: Vec::new(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn ty(&self) -> Type {
        self.ty
    }

    pub(crate) fn len(&self) -> usize {
        with!(&self.any, hashed => hashed.store.len())
    }

    /// Of the values and their table; what is kept for a batch is not counted.
    pub(crate) fn heap_bytes(&self) -> usize {
        with!(&self.any, hashed => hashed.store.heap_bytes() + hashed.table.heap_bytes())
    }

    /// The value of a number.
    pub(crate) fn get(&self, number: u32) -> Scalar<'_> {
        if self.null == Some(number) {
            return Scalar::Null;
        }
        with!(&self.any, hashed => hashed.store.scalar(number as usize, self.ty))
    }

    /// All values by number; borrowed.
    pub(crate) fn vector(&self) -> Vector<'_> {
        let mut vector = with!(&self.any, hashed => hashed.store.vector(self.ty));
        if let Some(null) = self.null {
            let mut valid = vec![true; self.len()];
            valid[null as usize] = false;
            vector.valid = Some(valid.into());
        }
        vector
    }

    /// # Errors
    /// [`Error::Corrupt`] if the vector is of another type or holds a damaged numeric.
    pub(crate) fn check(&self, view: &View<'_>) -> Result<()> {
        if view.ty != self.ty {
            return Err(Error::Corrupt("a vector is of another type than declared"));
        }
        if view.ty == Type::Numeric {
            check_numerics(view)?;
        }
        Ok(())
    }

    /// As [`hash_row`], of a value by its number.
    pub(crate) fn hash(&self, number: u32) -> u64 {
        fn hash<S: Store>(hashed: &Hashed<S>, number: u32) -> u64 {
            S::hash(hashed.store.get(number as usize))
        }
        if self.null == Some(number) {
            return NULL_HASH;
        }
        with!(&self.any, hashed => hash(hashed, number))
    }

    /// What a range is asked for, of a value by its number.
    pub(crate) fn place(&self, number: u32, range: &Range) -> u64 {
        let word = |number: u32| match self.get(number) {
            Scalar::Int(word) => Some(word),
            _ => None,
        };
        match range.is_ordered() {
            true => range.distance(word(number)).unwrap_or(0),
            false => self.hash(number),
        }
    }

    /// The number of a row's value.
    pub(crate) fn number(&mut self, view: &View<'_>, row: usize) -> Result<u32> {
        if view.is_valid(row) {
            return with!(&mut self.any, hashed => hashed.number(view, row));
        }
        let any = &mut self.any;
        let null = *self.null.get_or_insert_with(|| with!(any, hashed => hashed.add_none()));
        Ok(null)
    }

    #[inline(never)]
    fn number_in(&mut self, view: &View<'_>, row: usize, range: &mut Range) -> Result<u32> {
        if !range.is_all() && !range.admit_row(view, row) {
            return Ok(NONE);
        }
        self.number(view, row)
    }

    /// Sets `out` to the numbers of all rows' values, [`NONE`] where the value's hash is not in `range` and
    /// where `out` was [`NONE`] before. `view` has been checked, and `out` is as long.
    pub(crate) fn numbers(&mut self, view: &View<'_>, range: &mut Range, out: &mut [u32]) -> Result<()> {
        if let Some(codes) = Codes::of(view) {
            self.memo.clear();
            self.memo.resize(codes.len(), UNKNOWN);
            return match view.valid {
                None => self.numbers_by_code(view, codes.dense(view), range, out),
                Some(valid) => self.numbers_by_code(view, codes.nullable(view, valid), range, out),
            };
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        for (row, out) in out.iter_mut().enumerate() {
            if *out == NONE {
                continue;
            }
            if !view.is_valid(row) {
                *out = self.number_in(view, row, range)?;
            } else if range.is_all() || range.admit_row(view, row) {
                rows.push(row as u32);
            } else {
                *out = NONE;
            }
        }
        with!(&mut self.any, hashed => hashed.numbers(view, &rows, out))?;
        self.rows = rows;
        Ok(())
    }

    /// As [`Values::numbers`], with one look-up per code. The memo is unknown for all of them.
    #[inline(never)]
    fn numbers_by_code(
        &mut self,
        view: &View<'_>,
        codes: impl Iterator<Item = usize>,
        range: &mut Range,
        out: &mut [u32],
    ) -> Result<()> {
        let mut memo = std::mem::take(&mut self.memo);
        for (row, (out, code)) in out.iter_mut().zip(codes).enumerate() {
            let mut number = memo[code];
            if number == UNKNOWN && *out != NONE {
                number = self.number_in(view, row, range)?;
                memo[code] = number;
            }
            *out = if *out == NONE { NONE } else { number };
        }
        self.memo = memo;
        Ok(())
    }

    /// Keeps the values of the numbers that `keep` says, in their order. Returns all values' new numbers,
    /// [`NONE`] for those that are gone.
    pub(crate) fn retain(&mut self, keep: &[bool]) -> Result<Vec<u32>> {
        let null = &mut self.null;
        with!(&mut self.any, hashed => hashed.retain(null, keep))
    }
}

/// What is sent to another process.
#[derive(Serialize, Deserialize)]
struct Sent<S> {
    null: Option<u32>,
    store: S,
}

impl Values {
    pub(crate) fn serialize(&self, out: Vec<u8>) -> Vec<u8> {
        fn to<S: Serialize>(null: Option<u32>, store: S, out: Vec<u8>) -> Vec<u8> {
            postcard::to_extend(&Sent { null, store }, out).expect("memory does not refuse bytes")
        }
        with!(&self.any, hashed => to(self.null, &hashed.store, out))
    }

    /// What [`Values::serialize`] wrote of values of this type, from the start of `from`; nothing is found in it.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub(crate) fn deserialize(ty: Type, from: &mut &[u8]) -> Result<Self> {
        fn of<S: Store + DeserializeOwned>(ty: Type, from: &mut &[u8]) -> Result<(Hashed<S>, Option<u32>)> {
            let (sent, rest): (Sent<S>, _) =
                postcard::take_from_bytes(from).map_err(|_| Error::Corrupt("serialized values are damaged"))?;
            *from = rest;
            Ok((Hashed::without_table(ty, sent.store, sent.null)?, sent.null))
        }
        let (any, null) = match ty {
            Type::Bool | Type::Int => of(ty, from).map(|(hashed, null)| (Any::Words(hashed), null)),
            Type::Float => of(ty, from).map(|(hashed, null)| (Any::Floats(hashed), null)),
            Type::Numeric => of(ty, from).map(|(hashed, null)| (Any::Numbers(hashed), null)),
            Type::Text => of(ty, from).map(|(hashed, null)| (Any::Strings(hashed), null)),
        }?;
        Ok(Self::of(ty, any, null))
    }
}
