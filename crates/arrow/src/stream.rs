//! The IPC format, stream or file, as it is read from front to back.
//!
//! A file is a stream between two marks, with a footer behind it that says where its messages are; nobody who reads all of
//! them needs it. (Arrow Columnar Format, "Serialization and Interprocess Communication".)

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Message, MessageHeader, root_as_message};
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::batches::Batches;
use crate::error::{Error, caught};

const WHAT: &str = "reading an Arrow stream";
const FILE_MARK: &[u8; 6] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Of the widest values.
const ALIGNMENT: i64 = 16;
/// Memory grows with what has come, not with what is announced.
const STEP: usize = 1 << 20;

/// The record batches of a stream.
pub struct Stream<R> {
    input: R,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    is_file: bool,
    /// What is read of the message that follows.
    ahead: Option<[u8; 4]>,
    ended: bool,
}

/// Of a message, what describes it and what it carries.
struct Parts {
    header: Vec<u8>,
    body: Buffer,
}

impl<R: Read> Stream<R> {
    /// Reads the schema.
    ///
    /// # Errors
    /// It is none, or an error of the input.
    pub fn open(input: R) -> Result<Self, Error> {
        let mut stream = Self {
            input,
            schema: Arc::new(Schema::empty()),
            dictionaries: HashMap::new(),
            is_file: false,
            ahead: None,
            ended: false,
        };
        let mut mark = [0; 4];
        stream.input.read_exact(&mut mark).map_err(|_| not_arrow())?;
        if mark == FILE_MARK[..4] {
            if stream.word()? != [FILE_MARK[4], FILE_MARK[5], 0, 0] {
                return Err(not_arrow());
            }
            stream.is_file = true;
            // Zeros up to where the writer wants its first message, at most a cache line of them.
            for _ in 0..16 {
                let word = stream.word()?;
                if word != [0; 4] {
                    stream.ahead = Some(word);
                    break;
                }
            }
        } else if mark != CONTINUATION {
            return Err(not_arrow());
        } else {
            stream.ahead = Some(mark);
        }
        let Some(parts) = stream.message()? else {
            return Err(Error::Damaged("It has no schema.".into()));
        };
        stream.schema = checked(|| {
            let message = message_of(&parts.header)?;
            let schema = message.header_as_schema();
            let schema = schema.ok_or_else(|| ArrowError::IpcError("The first message is no schema".into()))?;
            if schema.endianness() != arrow_ipc::Endianness::Little {
                return Err(ArrowError::IpcError(
                    "Its bytes are in big-endian order, which is not supported".into(),
                ));
            }
            try_fb_to_schema(schema)
        })?
        .into();
        Ok(stream)
    }

    fn next_batch(&mut self, columns: &[usize]) -> Result<Option<RecordBatch>, Error> {
        while !self.ended {
            let Some(Parts { header, body }) = self.message()? else {
                self.ended = true;
                self.behind()?;
                break;
            };
            let message = checked(|| message_of(&header))?;
            match message.header_type() {
                MessageHeader::DictionaryBatch => {
                    check_memory(
                        message.header_as_dictionary_batch().and_then(|batch| batch.data()),
                        &body,
                    )?;
                    checked(|| {
                        let batch = message.header_as_dictionary_batch();
                        let batch =
                            batch.ok_or_else(|| ArrowError::IpcError("A message lacks its dictionary".into()))?;
                        read_dictionary(&body, batch, &self.schema, &mut self.dictionaries, &message.version())
                    })?;
                }
                MessageHeader::RecordBatch => {
                    check_memory(message.header_as_record_batch(), &body)?;
                    let batch = checked(|| {
                        let batch = message.header_as_record_batch();
                        let batch = batch.ok_or_else(|| ArrowError::IpcError("A message lacks its batch".into()))?;
                        let schema = Arc::clone(&self.schema);
                        let version = message.version();
                        read_record_batch(&body, batch, schema, &self.dictionaries, Some(columns), &version)
                    })?;
                    return Ok(Some(batch));
                }
                other => {
                    return Err(Error::Damaged(format!(
                        "A message is neither a batch nor a dictionary: {other:?}."
                    )));
                }
            }
        }
        Ok(None)
    }

    /// The next message; None for the mark of the end.
    fn message(&mut self) -> Result<Option<Parts>, Error> {
        let mut size = match self.ahead.take() {
            Some(word) => word,
            None => self.word()?,
        };
        if size == CONTINUATION {
            size = self.word()?;
        }
        let Ok(size) = usize::try_from(i32::from_le_bytes(size)) else {
            return Err(Error::Damaged("A message has a negative length.".into()));
        };
        if size == 0 {
            return Ok(None);
        }
        let header = self.bytes(size)?;
        let length = checked(|| message_of(&header))?.bodyLength();
        let Ok(length) = usize::try_from(length) else {
            return Err(Error::Damaged("A message has a negative length.".into()));
        };
        let body = Buffer::from_vec(self.bytes(length)?);
        Ok(Some(Parts { header, body }))
    }

    fn word(&mut self) -> Result<[u8; 4], Error> {
        let bytes = self.bytes(4)?;
        Ok(bytes.try_into().unwrap_or_else(|_| unreachable!("four were asked for")))
    }

    fn bytes(&mut self, count: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            let more = (count - bytes.len()).min(bytes.len().max(STEP));
            amax_memory::reserve(&mut bytes, more, WHAT)?;
            let read = self.input.by_ref().take(more as u64).read_to_end(&mut bytes);
            let read = read.map_err(|error| Error::Damaged(format!("{error}.")))?;
            if read < more {
                return Err(Error::Damaged("It ends before its end is marked.".into()));
            }
        }
        Ok(bytes)
    }

    /// Reads what is behind the end: the footer of a file, nothing of a stream.
    fn behind(&mut self) -> Result<(), Error> {
        let (mut piece, mut last) = ([0; 4096], Vec::<u8>::new());
        loop {
            let read = self
                .input
                .read(&mut piece)
                .map_err(|error| Error::Damaged(format!("{error}.")))?;
            if read == 0 {
                break;
            }
            last.extend(&piece[..read]);
            last.drain(..last.len().saturating_sub(FILE_MARK.len()));
        }
        match self.is_file {
            false if !last.is_empty() => Err(Error::Damaged("Something follows its end.".into())),
            true if last != FILE_MARK => Err(Error::Damaged("The file ends before its footer does.".into())),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Batches for Stream<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, columns: &[usize]) -> Result<Option<RecordBatch>, Error> {
        self.next_batch(columns)
    }
}

fn not_arrow() -> Error {
    Error::Damaged("It does not begin as a stream or a file of Arrow does.".into())
}

fn message_of(header: &[u8]) -> Result<Message<'_>, ArrowError> {
    root_as_message(header).map_err(|error| ArrowError::ParseError(format!("A message is malformed: {error}")))
}

/// What arrow-rs makes of damage is an error, mostly.
fn checked<T>(read: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, Error> {
    Ok(caught(read)??)
}

/// Asks for what is made of a batch besides its bytes, before anybody trusts what it says of that: buffers that are decompressed, or copied
/// as they are not aligned; and which rows are NULL.
fn check_memory(batch: Option<arrow_ipc::RecordBatch<'_>>, body: &[u8]) -> Result<(), Error> {
    let Some(batch) = batch else { return Ok(()) };
    let nodes = batch.nodes().into_iter().flatten().map(|node| node.length());
    let mut sum = 0_usize;
    for length in nodes.chain([batch.length()]) {
        let Ok(length) = i32::try_from(length).map(i32::unsigned_abs) else {
            return Err(Error::Damaged(
                "A batch has a negative number of rows, or more than 2,147,483,647.".into(),
            ));
        };
        sum = sum.saturating_add(length as usize / 8);
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let length = usize::try_from(buffer.length()).unwrap_or(0);
        let start = usize::try_from(buffer.offset()).ok().and_then(|at| body.get(at..));
        let decompressed = start.and_then(|bytes| bytes.first_chunk::<8>()).filter(|_| length > 0);
        let decompressed = decompressed.and_then(|size| usize::try_from(i64::from_le_bytes(*size)).ok());
        sum = sum.saturating_add(match (batch.compression(), buffer.offset() % ALIGNMENT) {
            (Some(_), _) => decompressed.unwrap_or(0),
            (None, 0) => 0,
            (None, _) => length,
        });
    }
    Ok(amax_memory::ask(sum.min(isize::MAX as usize), WHAT)?)
}
