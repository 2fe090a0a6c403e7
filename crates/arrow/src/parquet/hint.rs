//! The Arrow schema that who wrote a file has left in it (`ARROW:schema`): types that Parquet has not. It is a message of Arrow IPC.

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{Field, root_as_message};
use arrow_schema::Schema;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::file::metadata::FileMetaData;

use super::input::WHAT;
use crate::error::Error;

/// In front of a message, with its length.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// A field of a schema, besides its texts.
const FIELD: usize = 512;

/// None if there is none, or one with types that we do not know: then columns are what Parquet says.
pub(super) fn of(file: &FileMetaData) -> Result<Option<Schema>, Error> {
    let metadata = file.key_value_metadata().map(Vec::as_slice).unwrap_or_default();
    let mut found = metadata.iter().rev().filter(|pair| pair.key == ARROW_SCHEMA_META_KEY);
    let Some(encoded) = found.find_map(|pair| pair.value.as_deref()) else {
        return Ok(None);
    };
    let malformed = || Error::Damaged("The Arrow schema in its footer is malformed.".into());
    let message = BASE64_STANDARD.decode(encoded).map_err(|_| malformed())?;
    let message = match message.strip_prefix(&CONTINUATION) {
        Some(behind) => behind.get(4..).unwrap_or_default(),
        None => &message,
    };
    let schema = root_as_message(message)
        .ok()
        .and_then(|message| message.header_as_schema());
    let schema = schema.ok_or_else(malformed)?;
    // What is written once may be there many times.
    let fields = schema.fields().into_iter().flatten();
    amax_memory::ask(
        fields.map(|field| bytes_of(&field)).fold(0, usize::saturating_add),
        WHAT,
    )?;
    Ok(try_fb_to_schema(schema).ok())
}

fn bytes_of(field: &Field<'_>) -> usize {
    let length = |text: Option<&str>| text.map_or(0, str::len);
    let metadata = field.custom_metadata().into_iter().flatten();
    let metadata = metadata.map(|pair| FIELD + length(pair.key()) + length(pair.value()));
    let children = field.children().into_iter().flatten();
    let zone = field.type_as_timestamp().and_then(|timestamp| timestamp.timezone());
    metadata
        .chain(children.map(|child| bytes_of(&child)))
        .fold(FIELD + length(field.name()) + length(zone), usize::saturating_add)
}
