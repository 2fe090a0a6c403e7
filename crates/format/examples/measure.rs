//! Measures size and speed on a file of JSON documents, one per line.
//!
//! `cargo run --release --example measure -- FILE [none|snappy|lz4|zstd:LEVEL] [MIN_VALUES] [PATH_CAP] [COLUMNS]`
//! prints, for leaves of 15,000 rows, the images' size, the speed of each step in MB of jsonb per second,
//! and the COLUMNS largest columns.

use std::time::{Duration, Instant};

use amax_format::{ColumnType, Compression, Leaf, LeafBuilder, LeafOptions, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let arg = |i: usize| args.get(i).map(String::as_str);
    let text = std::fs::read_to_string(arg(1).ok_or("which file?")?)?;
    let compression = match arg(2).unwrap_or("snappy") {
        "none" => Compression::None,
        "snappy" => Compression::Snappy,
        "lz4" => Compression::Lz4,
        zstd => Compression::Zstd(zstd.trim_start_matches("zstd:").parse()?),
    };
    let mut options = LeafOptions {
        compression,
        ..LeafOptions::default()
    };
    if let Some(min) = arg(3) {
        options.min_path_values = min.parse()?;
    }
    if let Some(cap) = arg(4) {
        options.path_cap = cap.parse()?;
    }
    let docs: Vec<Vec<u8>> = text.lines().map(amax_jsonb::json::parse).collect::<Result<_, _>>()?;
    let bytes: usize = docs.iter().map(Vec::len).sum();
    let [mut shred, mut encode, mut open, mut decode, mut assemble] = [Duration::ZERO; 5];
    let (mut total, mut page0, mut held, mut cached) = (0, 0, 0, 0);
    let mut columns = Vec::new();
    let mut buf = Vec::new();
    for rows in docs.chunks(15_000) {
        let start = Instant::now();
        let mut builder = LeafBuilder::new(&[ColumnType::Json], options);
        for (i, doc) in rows.iter().enumerate() {
            builder.push(i as u64, &[Value::Bytes(doc)])?;
        }
        shred += start.elapsed();
        held += builder.bytes();
        let start = Instant::now();
        let image = builder.finish()?;
        encode += start.elapsed();
        total += image.len();
        page0 += u32::from_le_bytes(image[12..16].try_into()?) as usize;
        let start = Instant::now();
        let leaf = Leaf::open(image.as_slice(), image.len() as u64)?;
        open += start.elapsed();
        let start = Instant::now();
        let column = leaf.column(0)?;
        decode += start.elapsed();
        cached += column.bytes_used();
        let start = Instant::now();
        for (i, doc) in rows.iter().enumerate() {
            if column.get(i, &mut buf)? != Value::Bytes(doc) {
                return Err(format!("document {i} differs").into());
            }
        }
        assemble += start.elapsed();
        columns.extend(leaf.describe());
    }
    let speed = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    println!(
        "{} documents, {:.2} MB of jsonb, images {:.3} MB (Page 0 {:.3} MB), {} columns",
        docs.len(),
        bytes as f64 / 1e6,
        total as f64 / 1e6,
        page0 as f64 / 1e6,
        columns.len()
    );
    println!(
        "MB/s: shred {:.0} encode {:.0} (together {:.0}), open {:.0} decode {:.0} assemble {:.0} (together {:.0})",
        speed(shred),
        speed(encode),
        speed(shred + encode),
        speed(open),
        speed(decode),
        speed(assemble),
        speed(open + decode + assemble)
    );
    println!(
        "memory: builders {:.1} MB, decoded columns {:.1} MB",
        held as f64 / 1e6,
        cached as f64 / 1e6
    );
    columns.sort_by_key(|c| std::cmp::Reverse(c.compressed_bytes));
    for c in columns.iter().take(arg(5).map_or(Ok(12), str::parse)?) {
        println!(
            "{:>9} {:>9} {:>8} {} {} [{}; {}] {:?}..{:?}",
            c.compressed_bytes, c.raw_bytes, c.values, c.path, c.type_name, c.encoding, c.compression, c.min, c.max
        );
    }
    Ok(())
}
