//! What a join index is of, as its one expression says: `amax.join_row(dimension, key, expressions…)`.

use crate::pg::Relation;
use crate::pg::expr::{Const, FuncExpr, RelabelType, Var};
use crate::pg::index;
use crate::pg::lookup::function_of_extension;
use crate::pg::node::Node;
use crate::pg::relation::Opened;
use crate::query::expr::datum::type_of_node;
use crate::query::expr::entry::reference_of;
use crate::query::expr::tree::rewrite;
use crate::storage::meta;
use amax_exec::Type;
use pgrx::pg_sys;
use std::ffi::{CStr, CString};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The access method of join indexes.
pub const METHOD: &CStr = c"amax_join";

/// What an index says of itself.
pub struct Definition {
    /// The other table.
    pub dimension: pg_sys::Oid,
    /// The unique index of the other table that rows are found by; None: its primary key.
    key: Option<CString>,
    /// Over the row of the index's table.
    pub keys: Vec<&'static Node>,
}

/// What is compared: expressions over the rows of the table, and of the other one, each of which has number 1 in them.
pub struct Keys {
    pub own: Vec<&'static Node>,
    pub others: Vec<&'static Node>,
    pub types: Vec<Type>,
}

/// Why an index is of no use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unusable {
    /// One of the tables has rows as others have them.
    NotColumnar,
    /// There is no such unique index, or none at once of all rows.
    NoKey,
    /// It has other columns, or more.
    OtherKey,
    /// Vectors do not hold what is compared.
    NoVectors,
    /// PostgreSQL would have to evaluate a key.
    NotComputed,
    /// What the index holds, and its size, would tell the table's owner of rows that are not for him.
    NotAllowed,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Unusable::NotColumnar => "both tables have to be amax tables",
            Unusable::NoKey => "the dimension has no such unique index of all rows that is checked at once",
            Unusable::OtherKey => "the keys of the dimension's unique index are of other types, or of another number",
            Unusable::NoVectors => "keys have to be integers, times, uuids or text, of a deterministic collation",
            Unusable::NotComputed => "a key is an expression that PostgreSQL would have to evaluate",
            Unusable::NotAllowed => "the table's owner may not read the dimension",
        })
    }
}

/// The function that the expression is a call of.
fn function() -> Option<pg_sys::Oid> {
    let arguments = [pg_sys::REGCLASSOID, pg_sys::NAMEOID, pg_sys::ANYOID];
    function_of_extension(c"join_row", &arguments)
}

/// Whether an open index is one.
pub fn is_join_index(index: &Relation) -> bool {
    let method = index::method(METHOD);
    method != pg_sys::InvalidOid && index::method_of(index) == method
}

/// A table's join indexes.
pub fn of_table(table: &Relation) -> Vec<pg_sys::Oid> {
    let method = index::method(METHOD);
    let mut found = Vec::new();
    table.all_indexes(|index| {
        if method != pg_sys::InvalidOid && index.method == method {
            found.push(index.id);
        }
        true
    });
    found
}

/// Without what only has values pass for ones of another type.
fn bare(node: &Node) -> &Node {
    let mut bare = node;
    while let Some(relabelled) = bare.as_a::<RelabelType>().and_then(RelabelType::arg) {
        bare = relabelled;
    }
    bare
}

/// An expression over columns (variables of INDEX_VAR), or over a row, as indexes have it: the row has number 1.
pub fn over_row(node: &'static Node, columns: &[&'static Node]) -> &'static Node {
    let first = |node: &'static Node| {
        let var = node.as_a::<Var>()?;
        Some(Var::make(
            1,
            var.varattno(),
            node.type_oid(),
            node.typmod(),
            node.collation(),
        ))
    };
    let of_row = |node| rewrite(node, &mut |node| first(node));
    bare(rewrite(node, &mut |node| match reference_of(node) {
        Some(at) => Some(of_row(columns[at])),
        None => first(node),
    }))
}

/// What vectors hold of keys, by which rows of two tables are compared.
pub fn types(own: &[&Node], others: &[&Node]) -> Result<Vec<Type>, Unusable> {
    let ty = |(own, other): (&&Node, &&Node)| match (type_of_node(own), type_of_node(other)) {
        (Some(own @ (Type::Int | Type::Text)), Some(other)) if own == other => Ok(own),
        (Some(_), Some(_)) => Err(Unusable::OtherKey),
        _ => Err(Unusable::NoVectors),
    };
    own.iter().zip(others).map(ty).collect()
}

impl Definition {
    /// None if it is no call of the function.
    pub fn of(index: &Relation) -> Option<Definition> {
        let expressions = index::expressions(index);
        let call = expressions.get(0)?.as_a::<FuncExpr>()?;
        if Some(call.funcid()) != function() {
            return None;
        }
        let args = call.args().to_vec();
        let [dimension, key, keys @ ..] = &args[..] else {
            return None;
        };
        // SAFETY: a constant of type name, which ends with a zero.
        let name = |value: pg_sys::Datum| unsafe { CStr::from_ptr(value.cast_mut_ptr()).to_owned() };
        Some(Definition {
            dimension: pg_sys::Oid::from(dimension.as_a::<Const>()?.value()?.value() as u32),
            key: key.as_a::<Const>()?.value().map(name),
            keys: keys.iter().map(|key| over_row(key, &[])).collect(),
        })
    }

    /// What is compared, with the other table as it is now.
    pub fn keys(&self, dimension: &Relation) -> Result<Keys, Unusable> {
        if !dimension.is_ours() {
            return Err(Unusable::NotColumnar);
        }
        let found = match &self.key {
            None => index::primary_key(dimension),
            Some(name) => index::named(dimension, name),
        };
        let unique = Opened::with_lock(found.ok_or(Unusable::NoKey)?, pg_sys::AccessShareLock);
        let others = index::unique_key(&unique, dimension).ok_or(Unusable::NoKey)?;
        let others: Vec<&'static Node> = others.into_iter().map(|key| over_row(key, &[])).collect();
        if others.len() != self.keys.len() {
            return Err(Unusable::OtherKey);
        }
        let types = types(&self.keys, &others)?;
        Ok(Keys {
            own: self.keys.clone(),
            others,
            types,
        })
    }
}

impl Keys {
    /// Whether rows that have these equalities in common, and no others, are those that the index finds.
    pub fn are(&self, own: &[&Node], others: &[&Node], types: &[Type]) -> bool {
        let mut left: Vec<usize> = (0..own.len()).collect();
        let pairs = self.own.iter().zip(&self.others).zip(&self.types);
        let mut found = pairs.map(|((a, b), ty)| {
            let is = |&at: &usize| types[at] == *ty && own[at].equals(a) && others[at].equals(b);
            left.iter().position(is).map(|at| left.swap_remove(at)).is_some()
        });
        own.len() == self.own.len() && found.all(|found| found)
    }

    /// A hash of it, and of what tells the two tables' rows from those of others; None while these are not told apart.
    pub fn about(&self, table: &Relation, dimension: &Relation) -> Option<u128> {
        let incarnations = (meta::incarnation(table)?, meta::incarnation(dimension)?);
        let written =
            |nodes: &[&Node]| -> Vec<CString> { nodes.iter().map(|node| node.written().to_owned()).collect() };
        let (own, others) = (written(&self.own), written(&self.others));
        let half = |half: u8| {
            let mut hasher = DefaultHasher::new();
            (half, incarnations, &own, &others).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        Some(half(0) << 64 | half(1))
    }
}
