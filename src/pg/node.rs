//! PostgreSQL's nodes: expressions, plans and what the executor makes of them, as handles with the fields we read.
//!
//! A `&Node` stands for a node that is well-formed: its tag says what it is, and what it points to is a node, a list of
//! nodes, or null, as PostgreSQL's headers say. Whoever takes one from PostgreSQL promises that once; all that is found
//! from there on is as well-formed, and the getters below are safe.

// Most kinds are read by the query folder, as it comes to use them.
#![allow(dead_code)]

use super::handle::handle;
use pgrx::pg_sys;
use std::ffi::CStr;
use std::marker::PhantomData;

handle! {
    /// Any node.
    Node, pg_sys::Node
}

/// A kind of node.
pub trait Kind {
    const TAG: pg_sys::NodeTag;
    type Struct;
}

impl Node {
    pub fn tag(&self) -> pg_sys::NodeTag {
        // SAFETY: every node begins with it.
        unsafe { (*self.raw()).type_ }
    }

    /// The node as one of a kind, if it is.
    pub fn as_a<T: Kind>(&self) -> Option<&T> {
        // SAFETY: the tag says that it is such a struct, of which `T` is a handle.
        (self.tag() == T::TAG).then(|| unsafe { &*self.raw().cast::<T>() })
    }

    pub fn is_a<T: Kind>(&self) -> bool {
        self.tag() == T::TAG
    }

    /// The text of a String.
    pub fn string(&self) -> Option<&CStr> {
        // SAFETY: the tag says that it is such a struct, whose text ends with a zero.
        let text = || unsafe { CStr::from_ptr((*self.raw().cast::<pg_sys::String>()).sval) };
        (self.tag() == pg_sys::NodeTag::T_String).then(text)
    }

    /// equal().
    pub fn equals(&self, other: &Node) -> bool {
        // SAFETY: two nodes.
        unsafe { pg_sys::equal(self.raw().cast(), other.raw().cast()) }
    }

    /// copyObject(): in the current memory context.
    pub fn copy<'a>(&self) -> &'a Node {
        // SAFETY: a node, and what is returned is one.
        unsafe { Node::of(pg_sys::copyObjectImpl(self.raw().cast()).cast()) }
    }

    /// exprType(), of an expression.
    pub fn type_oid(&self) -> pg_sys::Oid {
        // SAFETY: a node; PostgreSQL raises an error for one that has no type.
        unsafe { pg_sys::exprType(self.raw()) }
    }

    /// exprTypmod().
    pub fn typmod(&self) -> i32 {
        // SAFETY: as above.
        unsafe { pg_sys::exprTypmod(self.raw()) }
    }

    /// exprCollation().
    pub fn collation(&self) -> pg_sys::Oid {
        // SAFETY: as above.
        unsafe { pg_sys::exprCollation(self.raw()) }
    }
}

/// The nodes of a list.
#[derive(Clone, Copy)]
pub struct Nodes<'a> {
    list: *mut pg_sys::List,
    of: PhantomData<&'a Node>,
}

impl<'a> Nodes<'a> {
    /// # Safety
    /// A list of nodes, none of them null, or no list. It stays as it is.
    pub unsafe fn of(list: *mut pg_sys::List) -> Nodes<'a> {
        Nodes { list, of: PhantomData }
    }

    pub fn raw(self) -> *mut pg_sys::List {
        self.list
    }

    pub fn len(self) -> usize {
        // SAFETY: a list, or none.
        unsafe { self.list.as_ref() }.map_or(0, |list| list.length as usize)
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub fn get(self, at: usize) -> Option<&'a Node> {
        // SAFETY: the list has so many.
        (at < self.len()).then(|| unsafe { Node::of((*(*self.list).elements.add(at)).ptr_value.cast()) })
    }

    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'a Node> + ExactSizeIterator {
        (0..self.len()).map(move |at| self.get(at).expect("within the list"))
    }
}

/// Declares kinds of nodes, each with the fields that are read: a value is copied, `node` is another node or none, `list`
/// a list of nodes.
macro_rules! nodes {
    ($($(#[$doc:meta])* $name:ident: $tag:ident { $($field:ident: $kind:tt $(($type:ty))?),* $(,)? })*) => { $(
        handle! {
            $(#[$doc])*
            $name, pg_sys::$name
        }

        impl Kind for $name {
            const TAG: pg_sys::NodeTag = pg_sys::NodeTag::$tag;
            type Struct = pg_sys::$name;
        }

        impl std::ops::Deref for $name {
            type Target = Node;

            fn deref(&self) -> &Node {
                // SAFETY: every such struct begins with a node's tag.
                unsafe { Node::of(self.raw().cast()) }
            }
        }

        // Named as PostgreSQL's fields.
        #[allow(non_snake_case)]
        impl $name {
            $( nodes!(@field $field: $kind $(($type))?); )*
        }
    )* };
    (@field $field:ident: value ($type:ty)) => {
        pub fn $field(&self) -> $type {
            // SAFETY: a field of the struct.
            unsafe { (*self.raw()).$field as $type }
        }
    };
    (@field $field:ident: node) => {
        pub fn $field(&self) -> Option<&Node> {
            // SAFETY: a field of the struct: a node, or null.
            unsafe {
                let node = (*self.raw()).$field.cast::<pg_sys::Node>();
                (!node.is_null()).then(|| Node::of(node))
            }
        }
    };
    (@field $field:ident: list) => {
        pub fn $field(&self) -> Nodes<'_> {
            // SAFETY: a field of the struct: a list of nodes, or null.
            unsafe { Nodes::of((*self.raw()).$field) }
        }
    };
}

nodes! {
    Var: T_Var { varno: value(i32), varattno: value(i16), vartype: value(pg_sys::Oid), varlevelsup: value(u32) }
    Const: T_Const { consttype: value(pg_sys::Oid), constvalue: value(pg_sys::Datum), constisnull: value(bool) }
    Param: T_Param { paramkind: value(pg_sys::ParamKind::Type), paramid: value(i32), paramtype: value(pg_sys::Oid) }
    FuncExpr: T_FuncExpr { funcid: value(pg_sys::Oid), inputcollid: value(pg_sys::Oid), args: list }
    OpExpr: T_OpExpr { opno: value(pg_sys::Oid), opfuncid: value(pg_sys::Oid), inputcollid: value(pg_sys::Oid), args: list }
    ScalarArrayOpExpr: T_ScalarArrayOpExpr {
        opno: value(pg_sys::Oid), opfuncid: value(pg_sys::Oid), inputcollid: value(pg_sys::Oid),
        useOr: value(bool), args: list,
    }
    BoolExpr: T_BoolExpr { boolop: value(pg_sys::BoolExprType::Type), args: list }
    NullTest: T_NullTest { arg: node, nulltesttype: value(pg_sys::NullTestType::Type), argisrow: value(bool) }
    BooleanTest: T_BooleanTest { arg: node, booltesttype: value(pg_sys::BoolTestType::Type) }
    RelabelType: T_RelabelType { arg: node, resulttype: value(pg_sys::Oid) }
    CoerceViaIO: T_CoerceViaIO { arg: node, resulttype: value(pg_sys::Oid) }
    SubscriptingRef: T_SubscriptingRef { refexpr: node, refcontainertype: value(pg_sys::Oid), refupperindexpr: list, reflowerindexpr: list }
    TargetEntry: T_TargetEntry { expr: node, resno: value(i16), resjunk: value(bool) }
    Aggref: T_Aggref { aggfnoid: value(pg_sys::Oid), aggfilter: node, args: list }
    RawStmt: T_RawStmt { stmt: node }
    CopyStmt: T_CopyStmt { query: node, is_from: value(bool), is_program: value(bool), options: list }
    DefElem: T_DefElem { arg: node }
    Query: T_Query {
        commandType: value(pg_sys::CmdType::Type), querySource: value(pg_sys::QuerySource::Type),
        hasModifyingCTE: value(bool), utilityStmt: node, returningList: list,
    }
}

impl CopyStmt {
    /// The file or program that is copied to or from, if it is not the client.
    pub fn filename(&self) -> Option<&CStr> {
        // SAFETY: a string, or null.
        unsafe {
            let name = (*self.raw()).filename;
            (!name.is_null()).then(|| CStr::from_ptr(name))
        }
    }
}

impl DefElem {
    pub fn name(&self) -> &CStr {
        // SAFETY: every option has one.
        unsafe { CStr::from_ptr((*self.raw()).defname) }
    }
}
