//! What documents have been seen to hold, place by place. A place is the document, the elements of arrays at a place, or the values of
//! a key of objects at one.

use amax_jsonb::{Container, Error, Value};

use super::keys::Keys;
use super::kind::{Kind, Mixed, Nulls};
use super::number::Numbers;

/// Objects with more keys at one place are maps: what the keys are is data.
const MOST_KEYS: usize = 1_000;
/// What the places of a column may take: all of them are part of the schema, which readers have in memory. It is some 4,000 places.
const MOST_BYTES: usize = 1 << 20;
/// What a place takes besides its key.
const PLACE: usize = 256;
/// So much becomes free at once, where there is no room: a document is looked at again then.
const FREED: usize = MOST_BYTES / 8;
/// Levels of columns within columns, the document's being the first. Readers of Arrow and of Parquet stop at 64, and Parquet has two levels
/// for a list.
const DEEPEST: usize = 32;

/// A column of documents, as far as they have been seen.
#[derive(Debug)]
pub struct Inference {
    root: Shape,
    left: Left,
    mixed: Mixed,
}

#[derive(Debug)]
enum Shape {
    /// Nothing but null.
    Nothing,
    Bool,
    Number(Numbers),
    String,
    Array(Box<Shape>),
    Object(Object),
    /// Of different kinds. If one is text, it has what is of no other.
    Union(Vec<Shape>),
    /// It is not taken apart.
    Text,
}

#[derive(Debug, Default)]
struct Object {
    keys: Keys,
    values: Vec<Shape>,
    /// What the places of its keys take.
    bytes: usize,
}

/// Bytes that places may still take.
#[derive(Debug)]
struct Left(usize);

/// Why a document has not been seen to its end.
enum Stop {
    /// There is no room for another place.
    Full,
    Broken(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

impl Inference {
    pub fn new(mixed: Mixed) -> Self {
        Self {
            root: Shape::Nothing,
            left: Left(MOST_BYTES),
            mixed,
        }
    }

    /// Sees a document: jsonb whose strings are UTF-8. `pause` is called before a part of it is seen again.
    ///
    /// # Errors
    /// If its bytes are broken.
    pub fn see(&mut self, document: &[u8], pause: &mut dyn FnMut()) -> Result<(), Error> {
        let value = amax_jsonb::root(document)?;
        // Seeing a part of it twice is seeing it once.
        loop {
            match self.root.see(value, 1, self.mixed, &mut self.left) {
                Ok(()) => return Ok(()),
                Err(Stop::Broken(error)) => return Err(error),
                Err(Stop::Full) => {
                    pause();
                    self.make_room();
                }
            }
        }
    }

    /// Objects without objects below become text, those whose keys take most first: they are the likeliest to be maps, and what is above
    /// stays as it is.
    fn make_room(&mut self) {
        while self.left.0 < FREED {
            let widest = self.root.widest();
            self.root.give_up(widest, &mut self.left);
        }
    }

    /// What has all documents that have been seen.
    pub fn kind(&self, nulls: Nulls) -> Kind {
        self.root.kind(nulls)
    }
}

impl Shape {
    fn see(&mut self, value: Value<'_>, level: usize, mixed: Mixed, left: &mut Left) -> Result<(), Stop> {
        if matches!(self, Self::Nothing) {
            *self = Self::first(&value, level, left)?;
        }
        let is_other =
            !matches!((&*self, &value), (Self::Text | Self::Union(_), _) | (_, Value::Null)) && !self.is_of(&value);
        if is_other && mixed == Mixed::Union {
            *self = Self::Union(vec![std::mem::replace(self, Self::Nothing)]);
        }
        let fits = match (&mut *self, value) {
            (_, Value::Null) | (Self::Text, _) => true,
            (Self::Bool, Value::Bool(_)) | (Self::String, Value::String(_)) => true,
            (Self::Number(numbers), Value::Numeric(payload)) => {
                numbers.see(payload);
                true
            }
            (Self::Array(item), Value::Array(array)) => {
                for element in array.elements() {
                    item.see(element?, level + 1, mixed, left)?;
                }
                true
            }
            (Self::Object(object), Value::Object(pairs)) => object.see(pairs, level, mixed, left)?,
            (Self::Union(shapes), value) => {
                // One that is nothing has been begun before there was room for it.
                let of_kind = |shape: &Self| matches!(shape, Self::Nothing) || shape.is_of(&value);
                let at = shapes.iter().position(of_kind);
                let at = at.or_else(|| shapes.iter().position(|shape| matches!(shape, Self::Text)));
                if at.is_none() {
                    shapes.push(Self::Nothing);
                }
                let at = at.unwrap_or(shapes.len() - 1);
                shapes[at].see(value, level, mixed, left)?;
                true
            }
            _ => false,
        };
        if !fits {
            self.become_text(left);
        }
        Ok(())
    }

    /// Whether a value is of the kind that this is taken apart as.
    fn is_of(&self, value: &Value<'_>) -> bool {
        matches!(
            (self, value),
            (Self::Bool, Value::Bool(_))
                | (Self::Number(_), Value::Numeric(_))
                | (Self::String, Value::String(_))
                | (Self::Array(_), Value::Array(_))
                | (Self::Object(_), Value::Object(_))
        )
    }

    /// What a place is by its first value.
    fn first(value: &Value<'_>, level: usize, left: &mut Left) -> Result<Self, Stop> {
        Ok(match value {
            Value::Null => Self::Nothing,
            Value::Bool(_) => Self::Bool,
            Value::Numeric(_) => Self::Number(Numbers::new()),
            Value::String(_) => Self::String,
            Value::Array(_) | Value::Object(_) if level >= DEEPEST => Self::Text,
            Value::Array(_) => {
                left.take(PLACE)?;
                Self::Array(Box::new(Self::Nothing))
            }
            Value::Object(_) => Self::Object(Object::default()),
        })
    }

    /// It is not taken apart, and the places below it are free.
    fn become_text(&mut self, left: &mut Left) {
        left.0 += self.bytes();
        *self = Self::Text;
    }

    /// What the places below it take.
    fn bytes(&self) -> usize {
        match self {
            Self::Array(item) => PLACE + item.bytes(),
            Self::Object(object) => object.bytes + object.values.iter().map(Self::bytes).sum::<usize>(),
            Self::Union(shapes) => shapes.iter().map(Self::bytes).sum(),
            _ => 0,
        }
    }

    /// The most that the keys of one object take, of those without objects below that have keys. 0: there is none.
    fn widest(&self) -> usize {
        match self {
            Self::Array(item) => item.widest(),
            Self::Object(object) => match object.values.iter().map(Self::widest).max() {
                None | Some(0) => object.bytes,
                Some(below) => below,
            },
            Self::Union(shapes) => shapes.iter().map(Self::widest).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// The first such object whose keys take so much becomes text. Whether there is one.
    fn give_up(&mut self, bytes: usize, left: &mut Left) -> bool {
        match self {
            Self::Array(item) => item.give_up(bytes, left),
            Self::Object(object) => {
                let innermost = object.values.iter().all(|value| value.widest() == 0);
                match innermost && object.bytes == bytes {
                    true => self.become_text(left),
                    false => return object.values.iter_mut().any(|value| value.give_up(bytes, left)),
                }
                true
            }
            Self::Union(shapes) => shapes.iter_mut().any(|shape| shape.give_up(bytes, left)),
            _ => false,
        }
    }

    fn kind(&self, nulls: Nulls) -> Kind {
        match self {
            Self::Nothing if nulls == Nulls::String => Kind::String,
            Self::Nothing => Kind::Null,
            Self::Bool => Kind::Bool,
            Self::Number(numbers) => numbers.kind(),
            Self::String => Kind::String,
            Self::Array(item) => Kind::List(Box::new(item.kind(nulls))),
            // A struct without fields is no column in Parquet, and many who read Arrow have none.
            Self::Object(object) if object.values.is_empty() => Kind::Json,
            Self::Object(Object { keys, values, .. }) => {
                let kinds = values.iter().map(|value| value.kind(nulls));
                Kind::Struct(keys.names().map(Box::from).zip(kinds).collect())
            }
            Self::Union(shapes) => {
                let kinds = shapes.iter().map(|shape| shape.kind(nulls));
                let (texts, mut kinds): (Vec<Kind>, Vec<Kind>) = kinds.partition(|kind| *kind == Kind::Json);
                // Last, as it takes what is of no other kind.
                kinds.extend(texts.into_iter().take(1));
                match kinds.len() {
                    1 => kinds.swap_remove(0),
                    _ => Kind::Union(kinds),
                }
            }
            Self::Text => Kind::Json,
        }
    }
}

impl Object {
    /// Whether it still has as few keys as an object may have.
    fn see(&mut self, object: Container<'_>, level: usize, mixed: Mixed, left: &mut Left) -> Result<bool, Stop> {
        let mut next = 0;
        for pair in object.pairs() {
            let (key, value) = pair?;
            let number = match self.keys.find(key, next) {
                Some(number) => number,
                None => {
                    let bytes = PLACE + key.len();
                    if self.keys.len() == MOST_KEYS || bytes > FREED {
                        return Ok(false);
                    }
                    let key = std::str::from_utf8(key).map_err(|_| Error::Corrupt("key is not UTF-8"))?;
                    left.take(bytes)?;
                    self.bytes += bytes;
                    self.values.push(Shape::Nothing);
                    self.keys.add(key)
                }
            };
            next = number + 1;
            self.values[number].see(value, level + 1, mixed, left)?;
        }
        Ok(true)
    }
}

impl Left {
    fn take(&mut self, bytes: usize) -> Result<(), Stop> {
        self.0 = self.0.checked_sub(bytes).ok_or(Stop::Full)?;
        Ok(())
    }
}
