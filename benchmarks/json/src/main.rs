//! `amax-events`: writes a stream of events as JSON lines.

use amax_events::stream::{Kind, Stream};
use anyhow::{Context, Result};
use clap::Parser;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;

/// Writes the event stream of a social network, a JSON document per line.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    /// How many events; about 500 bytes each
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    events: u64,
    /// What the documents are: events, or posts as readers see them, 1 to 2 kB
    #[arg(long, default_value = "events")]
    kind: Kind,
    /// Two runs with the same seed and number write the same bytes
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// File to write, - for standard output
    #[arg(long, default_value = "-")]
    out: PathBuf,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let stream = Stream {
        seed: cli.seed,
        events: cli.events,
    };
    let result = if cli.out.as_os_str() == "-" {
        stream.write(cli.kind, &mut BufWriter::with_capacity(1 << 18, io::stdout().lock()))
    } else {
        let file = File::create(&cli.out).with_context(|| cli.out.display().to_string())?;
        stream.write(cli.kind, &mut BufWriter::with_capacity(1 << 18, file))
    };
    match result {
        // A reader that has seen enough is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("could not write the stream"),
    }
}
