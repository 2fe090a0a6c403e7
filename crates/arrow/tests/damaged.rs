//! Streams that are not what they say: an error, whatever is wrong with them, and never a panic.

mod support;

use std::sync::Arc;

use amax_arrow::{Batches, Error, Rows, Stream, Target};
use arrow_array::builder::{Int32Builder, ListBuilder, StringDictionaryBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float32Array, Int64Array, LargeStringArray, RecordBatch, StringArray,
    StringViewArray, StructArray, TimestampNanosecondArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field};
use support::{Way, damage, is_refused, quietly};

fn batch(start: i64) -> RecordBatch {
    let numbers = start..start + 40;
    let mut dictionary = StringDictionaryBuilder::<Int8Type>::new();
    dictionary.extend(
        numbers
            .clone()
            .map(|n| (n % 7 != 0).then_some(["red", "green", "blue"][n as usize % 3])),
    );
    let mut list = ListBuilder::new(Int32Builder::new());
    numbers
        .clone()
        .for_each(|n| list.append_value((0..n % 4).map(|n| Some(n as i32))));
    let texts = numbers.clone().map(|n| format!("text {n}"));
    let part: ArrayRef = Arc::new(BooleanArray::from_iter(
        numbers.clone().map(|n| (n % 5 != 0).then_some(n % 2 == 0)),
    ));
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "number",
            Arc::new(Int64Array::from_iter(
                numbers.clone().map(|n| (n % 9 != 0).then_some(n)),
            )),
        ),
        (
            "price",
            Arc::new(
                Decimal128Array::from_iter_values(numbers.clone().map(i128::from))
                    .with_precision_and_scale(9, 2)
                    .unwrap(),
            ),
        ),
        (
            "half",
            Arc::new(Float32Array::from_iter_values(numbers.clone().map(|n| n as f32 / 2.0))),
        ),
        (
            "at",
            Arc::new(TimestampNanosecondArray::from_iter_values(
                numbers.clone().map(|n| n * 1_000_000),
            )),
        ),
        ("text", Arc::new(StringArray::from_iter_values(texts.clone()))),
        ("large", Arc::new(LargeStringArray::from_iter_values(texts.clone()))),
        (
            "view",
            Arc::new(StringViewArray::from_iter_values(texts.map(|text| text.repeat(3)))),
        ),
        ("color", Arc::new(dictionary.finish())),
        ("list", Arc::new(list.finish())),
        (
            "part",
            Arc::new(StructArray::from(vec![(
                Arc::new(Field::new("b", DataType::Boolean, true)),
                part,
            )])),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn streams() -> Vec<Vec<u8>> {
    let batches = [batch(0), batch(1000)];
    let mut streams = Vec::new();
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options.clone()).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        streams.push(writer.into_inner().unwrap());
        let mut writer = FileWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
        writer.write(&batches[0]).unwrap();
        streams.push(writer.into_inner().unwrap());
    }
    streams
}

/// All rows as text.
fn read(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut stream = Stream::open(bytes)?;
    let columns: Vec<usize> = (0..stream.schema().fields().len()).collect();
    let mut text = Vec::new();
    while let Some(batch) = stream.next(&columns)? {
        let targets: Vec<Target> = columns
            .iter()
            .map(|at| if at % 2 == 0 { Target::Json } else { Target::Text })
            .collect();
        let Ok(mut rows) = Rows::new(&batch, &targets) else {
            continue;
        };
        // Damage may leave a stream that claims very many rows of nothing.
        for row in 0..rows.len().min(1000) {
            let _ = rows.write(row, &mut text);
        }
    }
    Ok(text)
}

#[test]
fn all_framings_give_the_same_rows() {
    let texts: Vec<Vec<u8>> = streams().iter().map(|stream| read(stream).unwrap()).collect();
    let lines = |text: &Vec<u8>| text.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!((lines(&texts[0]), lines(&texts[1])), (80, 40));
    assert!(texts.iter().step_by(2).all(|text| *text == texts[0]));
    assert!(texts.iter().skip(1).step_by(2).all(|text| texts[0].starts_with(text)));
}

#[test]
fn a_stream_that_is_cut_off_anywhere_is_an_error() {
    for stream in streams() {
        for end in 0..stream.len() {
            assert!(read(&stream[..end]).is_err(), "{end} of {} bytes", stream.len());
        }
    }
}

#[test]
fn what_follows_the_end_is_an_error() {
    let mut stream = streams().swap_remove(0);
    stream.push(0);
    assert!(read(&stream).is_err());
}

/// So many, or AMAX_DAMAGED_STREAMS.
const STREAMS: u64 = 20_000;

#[test]
fn damage_is_an_error_or_other_rows() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let count = number("AMAX_DAMAGED_STREAMS").unwrap_or(STREAMS);
    let seed = number("AMAX_SEED").unwrap_or(1);
    let streams = streams();
    let ways: [Way; 2] = [
        |random, bytes, at| {
            let value = *random.choice(&[0, 1, -1, i32::MAX, i32::MIN, 1 << 20]).unwrap();
            put(&value.to_le_bytes(), bytes, at);
        },
        |random, bytes, at| {
            put(
                &random.choice(&[i64::MAX, 1 << 40, -2]).unwrap().to_le_bytes(),
                bytes,
                at,
            )
        },
    ];
    let mut random = fastrand::Rng::with_seed(seed);
    let mut refused = 0;
    quietly(|| {
        for nth in 0..count {
            let mut stream = random.choice(&streams).unwrap().clone();
            damage(&mut random, &mut stream, &ways);
            refused += u64::from(is_refused(|| read(&stream), &format!("stream {nth} of seed {seed}")));
        }
    });
    assert!(refused > count / 4, "{refused} of {count}");
}

/// As many of the bytes of a number as there is room for.
fn put(number: &[u8], bytes: &mut [u8], at: usize) {
    let end = bytes.len().min(at + number.len());
    bytes[at..end].copy_from_slice(&number[..end - at]);
}
