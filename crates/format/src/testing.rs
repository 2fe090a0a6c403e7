//! What unit tests share.

use crate::{ColumnType, Leaf, LeafBuilder, LeafOptions, Value};

/// Rows of one document column, with keys from 1.
pub(crate) fn leaf<'a>(documents: impl IntoIterator<Item = &'a str>, options: LeafOptions) -> Leaf<Vec<u8>> {
    let mut builder = LeafBuilder::new(&[ColumnType::Json], options);
    for (i, text) in documents.into_iter().enumerate() {
        let payload = amax_jsonb::json::parse(text).expect("JSON");
        builder.push(i as u64 + 1, &[Value::Bytes(&payload)]).expect("row");
    }
    let image = builder.finish().expect("leaf");
    let len = image.len() as u64;
    Leaf::open(image, len).expect("opens")
}
