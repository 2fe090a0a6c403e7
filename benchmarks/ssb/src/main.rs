//! `amax-ssb`: writes Star Schema Benchmark tables and checks their filter
//! factors.

use amax_ssb::filter_factors::{QUERIES, measure};
use amax_ssb::scale::Scale;
use amax_ssb::sink::Format;
use amax_ssb::table::{Table, Written, generate};
use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

/// Star Schema Benchmark generator.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Args)]
struct Common {
    /// Scale factor, 0.01 or 10 for instance; 1 is six million lineorder rows
    #[arg(long, default_value = "1", value_parser = parse_scale)]
    sf: Scale,
    /// Two runs with the same seed write the same bytes
    #[arg(long, default_value_t = 42)]
    seed: u64,
}

#[derive(Subcommand)]
enum Command {
    /// Write one table
    Gen {
        #[command(flatten)]
        common: Common,
        #[arg(long)]
        table: Table,
        #[arg(long, default_value = "csv")]
        format: Format,
        /// File to write, - for standard output
        #[arg(long, default_value = "-")]
        out: PathBuf,
    },
    /// Write all tables and manifest.json (rows, bytes, seconds) into a directory
    All {
        #[command(flatten)]
        common: Common,
        #[arg(long, default_value = "csv")]
        format: Format,
        /// Directory, created if missing
        #[arg(long)]
        out: PathBuf,
    },
    /// Print the 13 queries' filter factors beside the paper's, as Markdown
    Check {
        #[command(flatten)]
        common: Common,
        /// Only the rows each query selects, as a JSON object
        #[arg(long)]
        json: bool,
    },
}

fn parse_scale(text: &str) -> Result<Scale, String> {
    Scale::new(text.parse().map_err(|error| format!("{error}"))?)
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Gen {
            common,
            table,
            format,
            out,
        } => {
            let result = if out.as_os_str() == "-" {
                generate(table, common.sf, common.seed, format, &mut io::stdout().lock())
            } else {
                let mut file = File::create(&out).with_context(|| out.display().to_string())?;
                generate(table, common.sf, common.seed, format, &mut file)
            };
            match result {
                // A reader that has seen enough is not an error.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                other => other.map(drop).context("could not write the table"),
            }
        }
        Command::All { common, format, out } => write_all(&common, format, &out),
        Command::Check { common, json } => check(&common, json),
    }
}

/// What a table's files came to, for manifest.json.
#[derive(serde::Serialize)]
struct TableEntry {
    rows: u64,
    bytes: u64,
    seconds: f64,
}

#[derive(serde::Serialize)]
struct Manifest {
    scale_factor: f64,
    seed: u64,
    tables: BTreeMap<&'static str, TableEntry>,
}

fn write_all(common: &Common, format: Format, out: &PathBuf) -> Result<()> {
    fs::create_dir_all(out).with_context(|| out.display().to_string())?;
    let extension = match format {
        Format::Csv | Format::TextKeys => "csv",
        Format::Jsonl => "jsonl",
    };
    let mut tables = BTreeMap::new();
    for table in Table::ALL {
        let path = out.join(format!("{}.{extension}", table.name()));
        let started = Instant::now();
        let mut file = File::create(&path).with_context(|| path.display().to_string())?;
        let Written { rows, bytes } =
            generate(table, common.sf, common.seed, format, &mut file).with_context(|| path.display().to_string())?;
        let seconds = started.elapsed().as_secs_f64();
        eprintln!(
            "{:<10}{rows:>12} rows{:>10.1} MB{seconds:>8.2} s{:>8.0} MB/s",
            table.name(),
            bytes as f64 / 1e6,
            bytes as f64 / 1e6 / seconds
        );
        tables.insert(table.name(), TableEntry { rows, bytes, seconds });
    }
    // Written last: its presence says that the tables are complete.
    let manifest = Manifest {
        scale_factor: common.sf.factor(),
        seed: common.seed,
        tables,
    };
    let path = out.join("manifest.json");
    let text = serde_json::to_string_pretty(&manifest)?;
    fs::write(&path, text + "\n").with_context(|| path.display().to_string())
}

fn check(common: &Common, json: bool) -> Result<()> {
    let started = Instant::now();
    let counts = measure(common.sf, common.seed);
    let seconds = started.elapsed().as_secs_f64();
    let mut out = io::stdout().lock();
    if json {
        let rows: BTreeMap<_, _> = QUERIES.iter().map(|query| query.name).zip(counts.selected).collect();
        return Ok(writeln!(out, "{}", serde_json::to_string(&rows)?)?);
    }
    writeln!(out, "lineorder: {} rows, evaluated in {seconds:.1} s\n", counts.lines)?;
    writeln!(
        out,
        "| query | paper | expected here | measured | measured / paper | rows |"
    )?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
    for (query, selected) in QUERIES.iter().zip(counts.selected) {
        let (paper, design) = (query.paper.product(), query.design().product());
        let measured = selected as f64 / counts.lines as f64;
        writeln!(
            out,
            "| {} | {paper:.7} | {design:.7} ± {:.1} % | {measured:.7} | {:.3} | {selected} |",
            query.name,
            100.0 * query.relative_deviation(common.sf),
            measured / paper
        )?;
    }
    Ok(())
}
