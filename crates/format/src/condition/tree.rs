//! Over the columns of a value.

use amax_jsonb::Value as Json;
use amax_jsonb::jsonpath::{Condition, Finds, Literal, Sought, Step};

use super::json::{NOBODY_TAKES, Place, Root, Taken, Taker, follow};
use super::truth::{Truth, any, is_as};
use crate::assemble::leaf;
use crate::contains::levels;
use crate::error::{Result, corrupt};
use crate::kind::Kind;
use crate::load::Wanted;
use crate::path::{everything, field, named, overflowing};
use crate::scalar::Scalar;
use crate::schema::{Body as SchemaBody, Node as SchemaNode};
use crate::tree::{Body, Tree};
use crate::values::Values;

/// Adds the columns that tell whether a value is there.
pub(crate) type Existence<'a> = dyn Fn(&SchemaNode, usize, &mut Vec<Wanted>) + 'a;

/// The columns needed to tell what a condition is of the values at `node`, but for that they are there. Of an array only
/// what its elements are asked for: it may seem to end after the last of them.
pub(crate) fn wanted(
    node: &SchemaNode,
    condition: &Condition,
    arrays: usize,
    existence: &Existence<'_>,
    out: &mut Vec<Wanted>,
) {
    let nodes = std::slice::from_ref(node);
    condition.each_within(&mut |finds| {
        if finds.from_root {
            along(nodes, &finds.steps, true, &finds.sought, arrays, existence, out);
        }
    });
}

/// The columns needed for steps from a place.
fn along(
    nodes: &[SchemaNode],
    steps: &[Step],
    unwrap: bool,
    sought: &Sought,
    arrays: usize,
    existence: &Existence<'_>,
    out: &mut Vec<Wanted>,
) {
    for node in nodes {
        let this = std::slice::from_ref(node);
        let Some((step, rest)) = steps.split_first() else {
            at_end(node, sought, arrays, existence, out);
            continue;
        };
        match (step, &node.body) {
            (_, SchemaBody::Leaf) if node.kind == Kind::Raw => everything(node, arrays, out),
            (Step::Key(name), SchemaBody::Object { keys, rest: overflow }) => {
                field(keys, *overflow, name, arrays, out, |alternatives, out| {
                    along(alternatives, rest, true, sought, arrays, existence, out);
                });
            }
            (Step::Key(_) | Step::Filter(_), SchemaBody::Array(elements)) if unwrap => {
                along(elements, steps, false, sought, arrays + 1, existence, out);
            }
            (Step::Key(_), _) => {}
            (Step::Elements | Step::Element(_), SchemaBody::Array(elements)) => {
                along(elements, rest, true, sought, arrays + 1, existence, out);
            }
            (Step::Last, SchemaBody::Array(elements)) => {
                // Only all columns below together know where an array ends.
                levels(node, arrays, out);
                along(elements, rest, true, sought, arrays + 1, existence, out);
            }
            (Step::Elements | Step::Element(0) | Step::Last, _) if node.kind != Kind::EmptyArray => {
                along(this, rest, true, sought, arrays, existence, out);
            }
            (Step::Elements | Step::Element(_) | Step::Last, _) => {}
            (Step::Filter(condition), _) => {
                let needs_value = condition.needs_value();
                if !needs_value {
                    existence(node, arrays, out);
                }
                condition.each(&mut |finds| {
                    if !finds.from_root {
                        along(this, &finds.steps, true, &finds.sought, arrays, existence, out);
                    }
                });
                // What passes is there.
                if !(rest.is_empty() && *sought == Sought::Anything) {
                    along(this, rest, true, sought, arrays, existence, out);
                }
            }
        }
    }
}

fn at_end(node: &SchemaNode, sought: &Sought, arrays: usize, existence: &Existence<'_>, out: &mut Vec<Wanted>) {
    match node.body {
        _ if *sought == Sought::Taken => everything(node, arrays, out),
        SchemaBody::Leaf if depends(node.kind, sought) => everything(node, arrays, out),
        _ => existence(node, arrays, out),
    }
}

/// Whether it depends on the value of a leaf whether it is as it is sought.
fn depends(kind: Kind, sought: &Sought) -> bool {
    match (kind, sought) {
        (_, Sought::Anything | Sought::Taken) => false,
        (Kind::Raw | Kind::Bytes, Sought::Prefixed(_)) => true,
        (_, Sought::Prefixed(_)) => false,
        (kind, Sought::Compared(_, literal)) => matches!(
            (kind, literal),
            (Kind::Raw, _)
                | (Kind::Bool, Literal::Bool(_))
                | (Kind::Int | Kind::Decimal | Kind::Numeric, Literal::Number(..))
                | (Kind::Bytes, Literal::String(_))
        ),
    }
}

/// A condition on the values of a node.
#[derive(Debug)]
pub(crate) struct Test<'q> {
    when: When<'q>,
    /// The paths from `$`.
    roots: Vec<(&'q Finds, Option<Hop<'q>>)>,
}

#[derive(Debug)]
enum When<'q> {
    And(Box<[When<'q>; 2]>),
    Or(Box<[When<'q>; 2]>),
    Not(Box<When<'q>>),
    IsUnknown(Box<When<'q>>),
    /// A path from `@` finds it; None if it never does.
    Finds(Option<Box<Hop<'q>>>),
    /// A path from `$`.
    FromRoot(&'q Finds),
}

/// What steps do from the values of a node.
#[derive(Debug)]
struct Hop<'q> {
    node: u32,
    then: Then<'q>,
}

#[derive(Debug)]
enum Then<'q> {
    /// This is a value that is wanted.
    Take,
    /// This is the value, and whatever it is, it is the same to the condition.
    Always(Truth),
    /// This is the value: what it is by its code in the dictionary.
    Codes(Vec<Truth>),
    /// This is the value.
    Value(&'q Sought),
    /// A field, or a key in the overflow column: (node, index of the key), and what follows that.
    Field(Vec<Hop<'q>>, Option<(u32, u32)>, &'q [Step], &'q Sought),
    /// All elements.
    Elements(Vec<Hop<'q>>),
    /// One element.
    Element(u32, Vec<Hop<'q>>),
    /// The last element.
    Last(Vec<Hop<'q>>),
    /// If it passes.
    Filter(When<'q>, Box<Hop<'q>>),
    /// In the jsonb this column holds.
    Inside(&'q [Step], bool, &'q Sought),
}

/// What `$` is, in columns.
struct Document<'a> {
    tree: &'a Tree,
    test: &'a Test<'a>,
    place: u32,
    instance: u32,
    taker: Option<&'a Taker<'a>>,
}

impl<'q> Test<'q> {
    /// The test of a node.
    pub(crate) fn new(tree: &Tree, node: u32, condition: &'q Condition) -> Result<Self> {
        let mut roots = Vec::new();
        let mut result = Ok(());
        condition.each_within(&mut |finds| {
            if finds.from_root && result.is_ok() {
                match hop(tree, node, &finds.steps, true, &finds.sought) {
                    Ok(hop) => roots.push((finds, hop)),
                    Err(error) => result = Err(error),
                }
            }
        });
        result?;
        Ok(Self {
            when: when(tree, node, condition)?,
            roots,
        })
    }

    /// What the condition is of the value `instance`, which is at `place`.
    pub(crate) fn of(&self, tree: &Tree, place: u32, instance: u32) -> Result<Truth> {
        self.run(tree, place, instance, None)
    }

    /// Has the values taken that it finds in the value `instance`, which is at `place`.
    pub(crate) fn take(&self, tree: &Tree, place: u32, instance: u32, taker: &Taker<'_>) -> Result<Truth> {
        self.run(tree, place, instance, Some(taker))
    }

    fn run(&self, tree: &Tree, place: u32, instance: u32, taker: Option<&Taker<'_>>) -> Result<Truth> {
        let root = Document {
            tree,
            test: self,
            place,
            instance,
            taker,
        };
        root.when(&self.when, place, instance)
    }
}

/// A condition on what is at a node.
fn when<'q>(tree: &Tree, node: u32, condition: &'q Condition) -> Result<When<'q>> {
    let both = |both: &'q [Condition; 2]| -> Result<_> {
        Ok(Box::new([when(tree, node, &both[0])?, when(tree, node, &both[1])?]))
    };
    Ok(match condition {
        Condition::And(conditions) => When::And(both(conditions)?),
        Condition::Or(conditions) => When::Or(both(conditions)?),
        Condition::Not(inner) => When::Not(Box::new(when(tree, node, inner)?)),
        Condition::IsUnknown(inner) => When::IsUnknown(Box::new(when(tree, node, inner)?)),
        Condition::Finds(finds) if finds.from_root => When::FromRoot(finds),
        Condition::Finds(finds) => When::Finds(hop(tree, node, &finds.steps, true, &finds.sought)?.map(Box::new)),
    })
}

/// What steps do from a node; None if they lead to nothing that is sought.
fn hop<'q>(tree: &Tree, node: u32, steps: &'q [Step], unwrap: bool, sought: &'q Sought) -> Result<Option<Hop<'q>>> {
    let at = &tree.nodes[node as usize];
    let Some((step, rest)) = steps.split_first() else {
        let then = end(tree, node, sought)?;
        return Ok(then.map(|then| Hop { node, then }));
    };
    let all = |nodes: &[u32], steps, unwrap| -> Result<Option<Vec<Hop<'q>>>> {
        let hops = nodes
            .iter()
            .filter_map(|&node| hop(tree, node, steps, unwrap, sought).transpose())
            .collect::<Result<Vec<_>>>()?;
        Ok((!hops.is_empty()).then_some(hops))
    };
    let then = match (step, &at.body) {
        (_, Body::Leaf(_)) if at.kind == Kind::Raw => Some(Then::Inside(steps, unwrap, sought)),
        (Step::Key(name), Body::Object(object)) => {
            let (fields, overflow) = named(tree, object, name);
            match (all(&fields, rest, true)?, overflow) {
                (None, None) => None,
                (hops, overflow) => Some(Then::Field(hops.unwrap_or_default(), overflow, rest, sought)),
            }
        }
        (Step::Key(_) | Step::Filter(_), Body::Array { alternatives, .. }) if unwrap => {
            all(alternatives, steps, false)?.map(Then::Elements)
        }
        // An empty array has no elements.
        (Step::Filter(_), Body::Leaf(_)) if unwrap && at.kind == Kind::EmptyArray => None,
        (Step::Key(_), _) => None,
        (Step::Elements, Body::Array { alternatives, .. }) => all(alternatives, rest, true)?.map(Then::Elements),
        (Step::Element(i), Body::Array { alternatives, .. }) => {
            all(alternatives, rest, true)?.map(|hops| Then::Element(*i, hops))
        }
        (Step::Last, Body::Array { alternatives, .. }) => all(alternatives, rest, true)?.map(Then::Last),
        (Step::Elements | Step::Element(0) | Step::Last, _) if at.kind != Kind::EmptyArray => {
            return hop(tree, node, rest, true, sought);
        }
        (Step::Elements | Step::Element(_) | Step::Last, _) => None,
        (Step::Filter(condition), _) => match hop(tree, node, rest, true, sought)? {
            Some(next) => Some(Then::Filter(when(tree, node, condition)?, Box::new(next))),
            None => None,
        },
    };
    Ok(then.map(|then| Hop { node, then }))
}

/// What the values of a node are to the condition; None if none is as it is sought, nor unknown.
fn end<'q>(tree: &Tree, node: u32, sought: &'q Sought) -> Result<Option<Then<'q>>> {
    if *sought == Sought::Taken {
        return Ok(Some(Then::Take));
    }
    let node = &tree.nodes[node as usize];
    let values = match &node.body {
        Body::Leaf(values) => values,
        _ => return Ok(always(is_as(Scalar::Payload(&[]), sought))),
    };
    if !depends(node.kind, sought) {
        // Any value of this kind. The columns have none where it does not matter.
        return Ok(always(match node.kind {
            Kind::Bool => is_as(Scalar::Bool(false), sought),
            Kind::Int | Kind::Decimal | Kind::Numeric => is_as(Scalar::Int(0), sought),
            Kind::Bytes => is_as(Scalar::String(&[]), sought),
            Kind::Null => is_as(Scalar::Null, sought),
            _ => is_as(Scalar::Payload(&[]), sought),
        }));
    }
    Ok(Some(match &**values {
        Values::Dictionary { entries, .. } if node.kind == Kind::Bytes => {
            let mut truths = Vec::new();
            amax_memory::reserve(&mut truths, entries.len(), "what a dictionary is to a condition")?;
            truths.extend(entries.iter().map(|entry| is_as(Scalar::String(entry), sought)));
            Then::Codes(truths)
        }
        _ if node.kind == Kind::Raw => Then::Inside(&[], true, sought),
        _ => Then::Value(sought),
    }))
}

fn always<'q>(truth: Truth) -> Option<Then<'q>> {
    (truth != Truth::False).then_some(Then::Always(truth))
}

impl Place for Document<'_> {
    fn finds(&self, finds: &Finds) -> Result<Truth> {
        match self.test.roots.iter().find(|(known, _)| std::ptr::eq(*known, finds)) {
            Some((_, Some(hop))) => self.run(hop, self.place, self.instance),
            Some((_, None)) => Ok(Truth::False),
            None => corrupt("path of another condition"),
        }
    }

    fn take(&self, value: Json<'_>) -> Result<Truth> {
        self.taken(Taken::Json(value))
    }
}

impl Document<'_> {
    fn when(&self, when: &When<'_>, place: u32, instance: u32) -> Result<Truth> {
        match when {
            When::And(both) => self
                .when(&both[0], place, instance)?
                .and(|| self.when(&both[1], place, instance)),
            When::Or(both) => self
                .when(&both[0], place, instance)?
                .or(|| self.when(&both[1], place, instance)),
            When::Not(inner) => self.when(inner, place, instance).map(Truth::not),
            When::IsUnknown(inner) => {
                let inner = self.when(inner, place, instance)?;
                Ok((inner == Truth::Unknown).into())
            }
            When::Finds(None) => Ok(Truth::False),
            When::Finds(Some(hop)) => self.run(hop, place, instance),
            When::FromRoot(finds) => self.finds(finds),
        }
    }

    /// The same for what is at a place, whose value is of one of some nodes, or of none.
    #[inline]
    fn at(&self, hops: &[Hop<'_>], place: u32) -> Result<Truth> {
        for hop in hops {
            if let Some(instance) = self.tree.nodes[hop.node as usize].presence.get(place) {
                return self.run(hop, place, instance);
            }
        }
        Ok(Truth::False)
    }

    fn taken(&self, value: Taken<'_>) -> Result<Truth> {
        let take = self.taker.ok_or(NOBODY_TAKES)?;
        take(value).map(Truth::from)
    }

    fn run(&self, hop: &Hop<'_>, place: u32, instance: u32) -> Result<Truth> {
        let node = &self.tree.nodes[hop.node as usize];
        let i = instance as usize;
        match (&hop.then, &node.body) {
            (Then::Take, _) => self.taken(Taken::Node {
                node: hop.node,
                place,
                instance,
            }),
            (Then::Always(truth), _) => Ok(*truth),
            (Then::Codes(truths), Body::Leaf(values)) => match &**values {
                Values::Dictionary { codes, .. } => Ok(truths[codes[i] as usize]),
                _ => corrupt("code of no dictionary"),
            },
            (Then::Value(sought), Body::Leaf(values)) => Ok(is_as(leaf(node.kind, values, i), sought)),
            (Then::Field(hops, overflow, rest, sought), Body::Object(_)) => {
                if let Some((column, key)) = *overflow {
                    let column = &self.tree.nodes[column as usize];
                    let mut buffer = Vec::new();
                    if let (Some(record), Body::Leaf(values)) = (column.presence.get(place), &column.body)
                        && overflowing(values, record as usize, key, self.tree.max_values, &mut buffer)?
                    {
                        let value = amax_jsonb::root(&buffer)?;
                        return follow(value, rest, true, sought, Root::Place(self));
                    }
                }
                self.at(hops, place)
            }
            (Then::Elements(hops), Body::Array { starts, .. }) => {
                any(starts[i]..starts[i + 1], |slot| self.at(hops, slot))
            }
            (Then::Element(n, hops), Body::Array { starts, .. }) => match starts[i].checked_add(*n) {
                Some(slot) if slot < starts[i + 1] => self.at(hops, slot),
                _ => Ok(Truth::False),
            },
            (Then::Last(hops), Body::Array { starts, .. }) => match starts[i + 1].checked_sub(1) {
                Some(slot) if slot >= starts[i] => self.at(hops, slot),
                _ => Ok(Truth::False),
            },
            (Then::Filter(when, next), _) => match self.when(when, place, instance)? {
                Truth::True => self.run(next, place, instance),
                _ => Ok(Truth::False),
            },
            (Then::Inside(steps, unwrap, sought), Body::Leaf(values)) => {
                let value = amax_jsonb::root(values.bytes(i))?;
                follow(value, steps, *unwrap, sought, Root::Place(self))
            }
            _ => corrupt("condition and structure differ"),
        }
    }
}
