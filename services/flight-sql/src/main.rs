//! An Arrow Flight SQL server in front of PostgreSQL with amax. README.md says what holds.

mod backend;
mod budget;
mod cancel;
mod database;
mod error;
mod ingest;
mod ipc;
mod lexer;
mod listen;
mod login;
mod metadata;
mod options;
mod parameters;
mod parts;
mod peer;
mod place;
mod pool;
mod prepared;
mod pump;
mod puts;
mod query;
mod reading;
mod rows;
mod schema;
mod service;
mod session;
mod sessions;
mod sizes;
mod statement;
mod throttle;
mod ticket;
mod transaction;
mod types;
mod update;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use tokio::sync::mpsc;
use tokio::time::timeout;

use database::Database;
use listen::Listener;
use login::Logins;
use options::Options;
use service::Service;
use sessions::Sessions;

fn main() -> ExitCode {
    let options = Options::parse();
    // No bridge from the crate `log`: tokio-postgres writes statements and their parameters there.
    tracing_subscriber::fmt()
        .with_max_level(options.log)
        .with_writer(std::io::stderr)
        .with_target(false)
        .init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return stop(&error.to_string()),
    };
    let ended = runtime.block_on(run(options));
    // What still runs has had its time.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => stop(&error),
    }
}

fn stop(error: &str) -> ExitCode {
    eprintln!("amax-flight-sql: {error}");
    ExitCode::FAILURE
}

async fn run(options: Options) -> Result<(), String> {
    let tls = options.check()?;
    let (alive, mut all_closed) = mpsc::channel(1);
    let database = Arc::new(Database::new(&options, alive)?);
    let sessions = Arc::new(Sessions::new(&options, database.clone()));
    let logins = Logins::new(&options, database, sessions.clone())?;
    let service = Service::new(&options, logins, sessions.clone());
    let listener = Listener::bind(options.listen).await?;
    // On standard output, for whoever has asked for port 0.
    println!("listening on {}", listener.address());
    tracing::info!(address = %listener.address(), tls = tls.is_some(), "listening");

    let sweeper = tokio::spawn(sessions.clone().sweep());
    let served = listen::serve(listener, tls, service, &options, sessions.clone()).await;
    sweeper.abort();
    sessions.end_all().await;
    drop(sessions);
    // Each connection to PostgreSQL holds an end of this channel until it is closed.
    if timeout(options.grace, all_closed.recv()).await.is_err() {
        tracing::warn!("connections to PostgreSQL did not close in time");
    }
    served
}
