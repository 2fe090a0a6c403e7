//! The events of a value, flat.

/// What memory is asked for.
pub(super) const WHAT: &str = "a document";

/// A value's nodes in the order of its events.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) nodes: Vec<Node>,
    /// Keys, strings, numeric payloads and copied containers.
    pub(super) arena: Vec<u8>,
    /// Key nodes of the objects whose keys came out of order, each object's in sorted order.
    pub(super) order: Vec<u32>,
}

impl Recorded {
    /// The node after the value at `node`.
    #[inline]
    pub(super) fn after(&self, node: usize) -> usize {
        match self.nodes[node] {
            Node {
                kind: Kind::Array | Kind::Object | Kind::Sorted,
                a,
                ..
            } => a as usize,
            _ => node + 1,
        }
    }

    /// The bytes of a node that has some.
    #[inline]
    pub(super) fn bytes(&self, node: Node) -> &[u8] {
        &self.arena[node.a as usize..][..node.b as usize]
    }
}

/// What a node is; the fields `a` and `b` depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    False,
    True,
    /// `a`, `b`: start and length in the arena. Also a key.
    String,
    /// `a`, `b`: start and length of the payload in the arena.
    Numeric,
    /// `a`, `b`: start and length of a laid out container in the arena.
    Raw,
    /// `a`, `b`: the node after the container's last, the number of elements.
    Array,
    /// `a`, `b`: the node after the container's last, the number of pairs, in order.
    Object,
    /// `a`, `b`: the node after the container's last, the number of pairs; `order` from `c` lists
    /// their keys' nodes.
    Sorted,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) c: u32,
}
