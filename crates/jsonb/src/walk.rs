//! A value as a flat stream of events.

use crate::reader::{Elements, Pairs};
use crate::{Error, Value};

/// One step of a [`walk()`].
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A null, boolean, numeric or string; never a container.
    Scalar(Value<'a>),
    /// The key of the pair whose value follows.
    Key(&'a [u8]),
    /// An array with this many elements opens.
    BeginArray(usize),
    /// The innermost array closes.
    EndArray,
    /// An object with this many pairs opens.
    BeginObject(usize),
    /// The innermost object closes.
    EndObject,
}

/// The events of `value` and all below it, in stored order. Nesting costs heap, not stack, so any
/// depth is safe.
pub fn walk(value: Value<'_>) -> Walk<'_> {
    Walk {
        stack: Vec::new(),
        next: Some(value),
    }
}

/// The iterator of [`walk()`]. After an error it ends.
#[derive(Debug)]
pub struct Walk<'a> {
    stack: Vec<Open<'a>>,
    /// A value already read and not yet reported.
    next: Option<Value<'a>>,
}

#[derive(Debug)]
enum Open<'a> {
    Array(Elements<'a>),
    Object(Pairs<'a>),
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<Event<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let value = match self.next.take() {
            Some(value) => value,
            None => match self.stack.last_mut()? {
                Open::Array(elements) => match elements.next() {
                    Some(Ok(value)) => value,
                    Some(Err(error)) => return self.fail(error),
                    None => {
                        self.stack.pop();
                        return Some(Ok(Event::EndArray));
                    }
                },
                Open::Object(pairs) => match pairs.next() {
                    Some(Ok((key, value))) => {
                        self.next = Some(value);
                        return Some(Ok(Event::Key(key)));
                    }
                    Some(Err(error)) => return self.fail(error),
                    None => {
                        self.stack.pop();
                        return Some(Ok(Event::EndObject));
                    }
                },
            },
        };
        Some(Ok(match value {
            Value::Array(container) => {
                self.stack.push(Open::Array(container.elements()));
                Event::BeginArray(container.len())
            }
            Value::Object(container) => {
                self.stack.push(Open::Object(container.pairs()));
                Event::BeginObject(container.len())
            }
            scalar => Event::Scalar(scalar),
        }))
    }
}

impl<'a> Walk<'a> {
    fn fail(&mut self, error: Error) -> Option<Result<Event<'a>, Error>> {
        self.stack.clear();
        Some(Err(error))
    }
}
