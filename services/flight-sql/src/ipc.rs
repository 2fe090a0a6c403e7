//! The stream that COPY makes of Arrow, and the messages that Flight makes of it: the same, but for what is around each message.
//!
//! A stream's message is a mark (0xFFFFFFFF), the length of what describes it, that (a flatbuffer), and a body whose length that has.

use arrow_flight::FlightData;
use arrow_ipc::MessageHeader;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use tonic::Status;

const MARK: u32 = u32::MAX;

/// Bytes of a message of a result, which is in memory as a whole.
const MOST: usize = 256 << 20;

/// What ends a stream.
pub const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// One message of a stream.
pub struct Message {
    pub kind: MessageHeader,
    pub header: Bytes,
    pub body: Bytes,
}

impl From<Message> for FlightData {
    fn from(message: Message) -> Self {
        FlightData::new()
            .with_data_header(message.header)
            .with_data_body(message.body)
    }
}

/// A stream that comes in pieces. It holds what has come of one message.
#[derive(Default)]
pub struct Decoder {
    bytes: BytesMut,
    /// What comes next.
    next: Next,
}

#[derive(Default)]
enum Next {
    #[default]
    Prefix,
    Header(usize),
    Body(MessageHeader, Bytes, usize),
    Nothing,
}

impl Decoder {
    pub fn push(&mut self, piece: &Bytes) -> Result<(), Status> {
        if self.bytes.len() + piece.len() > MOST {
            return Err(too_large());
        }
        // As much at once as is known to come, so that a body is not moved each time that it grows.
        if let Next::Body(_, _, length) = &self.next {
            self.bytes
                .reserve(length.saturating_sub(self.bytes.len()).max(piece.len()));
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// The next message, if all of it is there.
    pub fn message(&mut self) -> Result<Option<Message>, Status> {
        loop {
            match &mut self.next {
                Next::Prefix => {
                    if self.bytes.len() < 8 {
                        return Ok(None);
                    }
                    let (mark, length) = (self.bytes.get_u32_le(), self.bytes.get_i32_le());
                    self.next = match (mark, usize::try_from(length)) {
                        (MARK, Ok(0)) => Next::Nothing,
                        (MARK, Ok(length)) => Next::Header(length),
                        _ => return Err(damaged()),
                    };
                }
                Next::Header(length) => {
                    if self.bytes.len() < *length {
                        return Ok(None);
                    }
                    let header = self.bytes.split_to(*length).freeze();
                    let (kind, length) = read(&header).ok_or_else(damaged)?;
                    if length > MOST {
                        return Err(too_large());
                    }
                    self.next = Next::Body(kind, header, length);
                }
                Next::Body(kind, header, length) => {
                    if self.bytes.len() < *length {
                        return Ok(None);
                    }
                    let message = Message {
                        kind: *kind,
                        header: std::mem::take(header),
                        body: self.bytes.split_to(*length).freeze(),
                    };
                    self.next = Next::Prefix;
                    return Ok(Some(message));
                }
                Next::Nothing => return Ok(None),
            }
        }
    }

    /// The stream is over: it must have said so.
    pub fn finish(&mut self) -> Result<(), Status> {
        match std::mem::take(self).next {
            Next::Nothing => Ok(()),
            _ => Err(damaged()),
        }
    }
}

fn too_large() -> Status {
    Status::out_of_range(format!(
        "a batch of the result has more than {} MB: ask for less in a row, or set amax.arrow_batch_size to less",
        MOST >> 20
    ))
}

fn damaged() -> Status {
    Status::internal("what COPY gave is no Arrow stream")
}

/// What a message is, and its body's length.
fn read(header: &[u8]) -> Option<(MessageHeader, usize)> {
    let message = arrow_ipc::root_as_message(header).ok()?;
    Some((message.header_type(), usize::try_from(message.bodyLength()).ok()?))
}

/// A header as a message of a stream without body: what a schema is in FlightInfo.
pub fn encapsulated(header: &[u8]) -> Bytes {
    let mut bytes = prefix(header.len());
    bytes.put_slice(header);
    bytes.put_bytes(0, padding(header.len()));
    bytes.freeze()
}

fn prefix(length: usize) -> BytesMut {
    let mut bytes = BytesMut::with_capacity(8 + length + padding(length));
    bytes.put_u32_le(MARK);
    bytes.put_u32_le((length + padding(length)) as u32);
    bytes
}

fn padding(length: usize) -> usize {
    length.next_multiple_of(8) - length
}

/// What Flight's message is; None if it has none of Arrow's.
pub fn kind(data: &FlightData) -> Result<Option<MessageHeader>, Status> {
    match data.data_header.is_empty() {
        true => Ok(None),
        false => Ok(Some(checked(data)?.0)),
    }
}

fn checked(data: &FlightData) -> Result<(MessageHeader, usize), Status> {
    read(&data.data_header).ok_or_else(|| Status::invalid_argument("a message that is none of Arrow's"))
}

/// The same, of what our own reader takes. It would allocate whatever length a compressed buffer says, and takes it for granted that buffers are
/// within the body.
pub fn checked_batch(data: &FlightData) -> Result<Option<MessageHeader>, Status> {
    let Some(kind) = kind(data)? else { return Ok(None) };
    let refused = |why: &str| Err(Status::invalid_argument(why));
    let message = arrow_ipc::root_as_message(&data.data_header).ok();
    let batch = message.and_then(|message| match kind {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch()?.data(),
        _ => None,
    });
    if let Some(batch) = batch {
        if batch.compression().is_some() {
            return refused("parameters are taken without compression only");
        }
        let within = |buffer: &arrow_ipc::Buffer| {
            let (from, length) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length()));
            let end = from
                .ok()
                .zip(length.ok())
                .and_then(|(from, length)| from.checked_add(length));
            end.is_some_and(|end| end <= data.data_body.len() as u64)
        };
        if !batch.buffers().is_none_or(|buffers| buffers.iter().all(within)) {
            return refused("a buffer is not within its message's body");
        }
        let counts = |node: &arrow_ipc::FieldNode| {
            u32::try_from(node.length()).is_ok() && (0..=node.length()).contains(&node.null_count())
        };
        if u32::try_from(batch.length()).is_err() || !batch.nodes().is_none_or(|nodes| nodes.iter().all(counts)) {
            return refused("a message has numbers of rows that cannot be");
        }
    }
    Ok(Some(kind))
}

/// Flight's message as pieces of a stream. A body that has another length than its description says would have what follows
/// misread, so it is refused.
pub fn pieces(data: FlightData) -> Result<[Bytes; 3], Status> {
    let (_, length) = checked(&data)?;
    let missing = length.checked_sub(data.data_body.len()).filter(|missing| *missing < 8);
    let missing =
        missing.ok_or_else(|| Status::invalid_argument("a message's body has not the length that it says"))?;
    let zeros = Bytes::from_static(&[0; 8]).slice(..missing + padding(length));
    Ok([encapsulated(&data.data_header), data.data_body, zeros])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
    use arrow_ipc::reader::StreamReader;
    use arrow_ipc::writer::StreamWriter;

    use super::*;

    fn stream() -> (RecordBatch, Vec<u8>) {
        let columns: [(_, ArrayRef); 2] = [
            ("a", Arc::new(Int32Array::from(vec![1, 2, 3]))),
            ("b", Arc::new(StringArray::from(vec![Some("x"), None, Some("yyyy")]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.write(&batch.slice(1, 2)).unwrap();
        writer.finish().unwrap();
        (batch, writer.into_inner().unwrap())
    }

    fn decode(stream: &[u8], size: usize) -> (Vec<Message>, Decoder) {
        let mut decoder = Decoder::default();
        let mut messages = Vec::new();
        for piece in stream.chunks(size) {
            decoder.push(&Bytes::copy_from_slice(piece)).unwrap();
            while let Some(message) = decoder.message().unwrap() {
                messages.push(message);
            }
        }
        (messages, decoder)
    }

    #[test]
    fn there_and_back() {
        let (batch, stream) = stream();
        for size in [1, 7, 100, stream.len()] {
            let (messages, mut decoder) = decode(&stream, size);
            assert!(decoder.finish().is_ok());
            let mut again = Vec::new();
            for message in messages {
                pieces(message.into())
                    .unwrap()
                    .iter()
                    .for_each(|piece| again.extend_from_slice(piece));
            }
            again.extend(END);
            let batches: Vec<_> = StreamReader::try_new(again.as_slice(), None)
                .unwrap()
                .map(Result::unwrap)
                .collect();
            assert_eq!(batches, [batch.clone(), batch.slice(1, 2)]);
        }
    }

    #[test]
    fn a_stream_that_is_cut_off_is_an_error() {
        let (_, stream) = stream();
        for end in [0, 4, 8, 100, stream.len() - 8, stream.len() - 1] {
            let (_, mut decoder) = decode(&stream[..end], 64);
            assert!(decoder.finish().is_err(), "{end}");
        }
    }

    #[test]
    fn buffers_are_within_their_body() {
        let (_, stream) = stream();
        let data: FlightData = decode(&stream, 64).0.remove(1).into();
        assert!(matches!(checked_batch(&data), Ok(Some(MessageHeader::RecordBatch))));
        let half = data.data_body.slice(..data.data_body.len() / 2);
        assert!(checked_batch(&data.with_data_body(half)).is_err());
    }

    #[test]
    fn batches_are_not_larger_than_memory() {
        let mut decoder = Decoder::default();
        let piece = Bytes::from(vec![0xff; 64 << 20]);
        assert!((0..4).all(|_| decoder.push(&piece).is_ok()));
        assert!(decoder.push(&piece).is_err());
    }

    #[test]
    fn bodies_have_the_length_that_they_say() {
        let (_, stream) = stream();
        let data: FlightData = decode(&stream, 64).0.remove(1).into();
        let body = data.data_body.clone();
        assert!(pieces(data.clone().with_data_body(body.slice(..body.len() - 8))).is_err());
        assert!(pieces(data.clone().with_data_body([&body[..], &[0]].concat())).is_err());
        assert!(pieces(data.with_data_header(vec![1, 2, 3])).is_err());
        assert!(matches!(kind(&FlightData::new()), Ok(None)));
    }
}
