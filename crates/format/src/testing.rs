//! What unit tests share.

use crate::{ColumnType, Leaf, LeafBuilder, LeafOptions, Value};

/// Rows of one document column, with keys from 1.
pub(crate) fn leaf<'a>(documents: impl IntoIterator<Item = &'a str>, options: LeafOptions) -> Leaf<Vec<u8>> {
    let payloads = documents
        .into_iter()
        .map(|text| amax_jsonb::json::parse(text).expect("JSON"));
    leaf_of(payloads, options)
}

/// The same of documents as jsonb.
pub(crate) fn leaf_of(documents: impl IntoIterator<Item = Vec<u8>>, options: LeafOptions) -> Leaf<Vec<u8>> {
    let mut builder = LeafBuilder::new(&[ColumnType::Json], options);
    for (i, payload) in documents.into_iter().enumerate() {
        builder.push(i as u64 + 1, &[Value::Bytes(&payload)]).expect("row");
    }
    let image = builder.finish().expect("leaf");
    let len = image.len() as u64;
    Leaf::open(image, len).expect("opens")
}
