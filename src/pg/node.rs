//! PostgreSQL's nodes: expressions, plans and what the executor makes of them, as handles with the fields we read.
//!
//! A `&Node` stands for a node that is well-formed: its tag says what it is, and what it points to is a node, a list of
//! nodes, or null, as PostgreSQL's headers say. Whoever takes one from PostgreSQL promises that once; all that is found
//! from there on is as well-formed, and the getters below are safe.

use super::handle::handle;
use pgrx::pg_sys;
use std::ffi::CStr;
use std::marker::PhantomData;

handle! {
    /// Any node.
    Node, pg_sys::Node
}

/// A kind of node.
///
/// # Safety
/// A node with this tag is such a struct, of which the type is a handle.
pub unsafe trait Kind {
    const TAG: pg_sys::NodeTag;
    type Struct;
}

impl Node {
    pub fn tag(&self) -> pg_sys::NodeTag {
        // SAFETY: every node begins with it.
        unsafe { (*self.raw()).type_ }
    }

    /// None for null.
    ///
    /// # Safety
    /// As of [`Node::of`], if it is not null.
    pub unsafe fn of_any<'a>(node: *mut pg_sys::Node) -> Option<&'a Node> {
        // SAFETY: as the caller promises.
        (!node.is_null()).then(|| unsafe { Node::of(node) })
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

    /// The numbers of a list of integers; of anything else none.
    pub fn integers(&self) -> Vec<i32> {
        if self.tag() != pg_sys::NodeTag::T_IntList {
            return Vec::new();
        }
        // SAFETY: the tag says that it is such a list, which has so many.
        unsafe {
            let list = &*self.raw().cast::<pg_sys::List>();
            let number = |at| (*list.elements.add(at)).int_value;
            (0..list.length as usize).map(number).collect()
        }
    }

    /// nodeToString(): the same for nodes that are equal, but where they were written.
    pub fn written(&self) -> &CStr {
        // SAFETY: a node; a string in the current memory context.
        unsafe { CStr::from_ptr(pg_sys::nodeToString(self.raw().cast())) }
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

    /// A copy for a query that is so many levels above this one, or below it: variables of the queries from there up stay theirs (IncrementVarSublevelsUp()).
    pub fn of_level<'a>(&self, below: i32) -> &'a Node {
        let copy = self.copy();
        // SAFETY: a node, which is ours.
        unsafe { pg_sys::IncrementVarSublevelsUp(copy.raw(), below, (-below).max(0)) };
        copy
    }

    /// expression_planner(): ready to be prepared, as expressions that come from no plan are not. They lack the arguments that
    /// functions have by default.
    pub fn planned<'a>(&self) -> &'a Node {
        // SAFETY: an expression, and what is returned is one.
        unsafe { Node::of(pg_sys::expression_planner(self.raw().cast()).cast()) }
    }

    /// contain_volatile_functions().
    pub fn is_volatile(&self) -> bool {
        // SAFETY: a node.
        unsafe { pg_sys::contain_volatile_functions(self.raw()) }
    }

    /// contain_mutable_functions(): whether it may be another value in another transaction.
    pub fn is_mutable(&self) -> bool {
        // SAFETY: a node.
        unsafe { pg_sys::contain_mutable_functions(self.raw()) }
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

/// Whether the expression may be evaluated for other rows, in another order or less often than written.
pub fn is_pure(node: &Node) -> bool {
    // SAFETY: a node.
    !node.is_volatile() && unsafe { !pg_sys::contain_subplans(node.raw()) }
}

/// The nodes of a list. Where an element may be null it is left out.
#[derive(Clone, Copy)]
pub struct Nodes<'a> {
    list: *mut pg_sys::List,
    of: PhantomData<&'a Node>,
}

impl<'a> Nodes<'a> {
    /// No list.
    pub const NONE: Nodes<'static> = Nodes {
        list: std::ptr::null_mut(),
        of: PhantomData,
    };

    /// # Safety
    /// A list of nodes, or no list. It stays as it is.
    pub unsafe fn of(list: *mut pg_sys::List) -> Nodes<'a> {
        Nodes { list, of: PhantomData }
    }

    pub fn raw(self) -> *mut pg_sys::List {
        self.list
    }

    /// The list as a node of its own, for walks.
    pub fn as_node(self) -> Option<&'a Node> {
        // SAFETY: a list begins with a node's tag.
        (!self.list.is_null()).then(|| unsafe { Node::of(self.list.cast()) })
    }

    /// The list that a node is; none if it is none.
    pub fn of_node(node: Option<&'a Node>) -> Nodes<'a> {
        match node {
            // SAFETY: a list of nodes.
            Some(node) if node.tag() == pg_sys::NodeTag::T_List => unsafe { Nodes::of(node.raw().cast()) },
            _ => Nodes::NONE,
        }
    }

    pub fn len(self) -> usize {
        // SAFETY: a list, or none.
        unsafe { self.list.as_ref() }.map_or(0, |list| list.length as usize)
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether there is a list at all, which may be empty.
    pub fn is_some(self) -> bool {
        !self.list.is_null()
    }

    pub fn get(self, at: usize) -> Option<&'a Node> {
        if at >= self.len() {
            return None;
        }
        // SAFETY: the list has so many: nodes, or null.
        unsafe { Node::of_any((*(*self.list).elements.add(at)).ptr_value.cast()) }
    }

    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'a Node> {
        (0..self.len()).filter_map(move |at| self.get(at))
    }

    /// Those of a kind.
    pub fn all<T: Kind + 'a>(self) -> impl DoubleEndedIterator<Item = &'a T> {
        self.iter().filter_map(|node| node.as_a::<T>())
    }

    pub fn to_vec(self) -> Vec<&'a Node> {
        self.iter().collect()
    }

    /// The same list with one more at its end (lappend()).
    pub fn with(self, node: &'a Node) -> Nodes<'a> {
        // SAFETY: a list, or none, and a node.
        unsafe { Nodes::of(pg_sys::lappend(self.list, node.raw().cast())) }
    }
}

/// A new list.
impl<'a> FromIterator<&'a Node> for Nodes<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Node>>(nodes: I) -> Nodes<'a> {
        nodes.into_iter().fold(Nodes::NONE, Nodes::with)
    }
}

/// A node of a kind, all zeros but for its tag (makeNode()).
///
/// # Safety
/// Such a struct may be all zeros until its fields are set.
pub unsafe fn make<'a, T: Kind>() -> &'a T {
    // SAFETY: memory of that size, which begins with a node's tag.
    unsafe {
        let node = pg_sys::palloc0(size_of::<T::Struct>()) as *mut pg_sys::Node;
        (*node).type_ = T::TAG;
        &*node.cast()
    }
}

/// A copy of the struct alone.
pub fn duplicate<'a, T: Kind>(node: &T) -> &'a T {
    // SAFETY: the node is such a struct.
    unsafe { &*copied(std::ptr::from_ref(node).cast::<T::Struct>()).cast() }
}

/// # Safety
/// A struct, which is copied as it is.
pub unsafe fn copied<T>(from: *const T) -> *mut T {
    // SAFETY: see above; as many bytes.
    unsafe {
        let copy = pg_sys::palloc(size_of::<T>()).cast::<T>();
        std::ptr::copy_nonoverlapping(from, copy, 1);
        copy
    }
}

/// A node's pointer, or null.
pub fn raw_of(node: Option<&Node>) -> *mut pg_sys::Node {
    node.map_or(std::ptr::null_mut(), Node::raw)
}

/// Getters of a struct's fields: a value is copied, `node` is another node or none, `list` a list of nodes, `rels` a set of
/// relations, `of` a struct that is always there, `some` one that need not be.
macro_rules! fields {
    ($name:ident { $($field:ident: $kind:tt $(($type:ty))?),* $(,)? }) => {
        // Named as PostgreSQL's fields.
        #[allow(non_snake_case)]
        impl $name {
            $( $crate::pg::node::fields!(@field $field: $kind $(($type))?); )*
        }
    };
    (@field $field:ident: value ($type:ty)) => {
        pub fn $field(&self) -> $type {
            // SAFETY: a field of the struct.
            unsafe { (*self.raw()).$field as $type }
        }
    };
    (@field $field:ident: node) => {
        pub fn $field(&self) -> Option<&$crate::pg::node::Node> {
            // SAFETY: a field of the struct: a node, or null.
            unsafe { $crate::pg::node::Node::of_any((*self.raw()).$field.cast()) }
        }
    };
    (@field $field:ident: list) => {
        pub fn $field(&self) -> $crate::pg::node::Nodes<'_> {
            // SAFETY: a field of the struct: a list of nodes, or null.
            unsafe { $crate::pg::node::Nodes::of((*self.raw()).$field) }
        }
    };
    (@field $field:ident: rels) => {
        pub fn $field(&self) -> $crate::pg::relids::Relids {
            // SAFETY: a field of the struct: a set, or null for an empty one.
            unsafe { $crate::pg::relids::Relids::of((*self.raw()).$field) }
        }
    };
    (@field $field:ident: of ($type:ty)) => {
        pub fn $field(&self) -> &$type {
            // SAFETY: a field of the struct, which is never null.
            unsafe { <$type>::of((*self.raw()).$field.cast()) }
        }
    };
    (@field $field:ident: some ($type:ty)) => {
        pub fn $field(&self) -> Option<&$type> {
            // SAFETY: a field of the struct: such a struct, or null.
            unsafe {
                let found = (*self.raw()).$field;
                (!found.is_null()).then(|| <$type>::of(found.cast()))
            }
        }
    };
}
pub(crate) use fields;

/// Declares kinds of nodes, each with the fields that are read.
macro_rules! nodes {
    ($($(#[$doc:meta])* $name:ident: $tag:ident { $($fields:tt)* })*) => { $(
        $crate::pg::handle::handle! {
            $(#[$doc])*
            $name, pgrx::pg_sys::$name
        }

        // SAFETY: tags are named as their structs.
        unsafe impl $crate::pg::node::Kind for $name {
            const TAG: pgrx::pg_sys::NodeTag = pgrx::pg_sys::NodeTag::$tag;
            type Struct = pgrx::pg_sys::$name;
        }

        impl std::ops::Deref for $name {
            type Target = $crate::pg::node::Node;

            fn deref(&self) -> &$crate::pg::node::Node {
                // SAFETY: every such struct begins with a node's tag.
                unsafe { $crate::pg::node::Node::of(self.raw().cast()) }
            }
        }

        $crate::pg::node::fields!($name { $($fields)* });
    )* };
}
pub(crate) use nodes;

nodes! {
    Integer: T_Integer { ival: value(i32) }
}

impl Integer {
    /// makeInteger().
    pub fn make<'a>(value: i32) -> &'a Node {
        // SAFETY: a new node.
        unsafe { Node::of(pg_sys::makeInteger(value).cast()) }
    }
}

/// makeString(), of a copy.
pub fn new_string<'a>(text: &CStr) -> &'a Node {
    // SAFETY: a string; a new node.
    unsafe { Node::of(pg_sys::makeString(pg_sys::pstrdup(text.as_ptr())).cast()) }
}
