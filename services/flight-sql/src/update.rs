//! Statements that are run for what they do.

use futures::future::try_join_all;
use tokio_postgres::{Client, Error, Statement};
use tonic::Status;

use crate::error::Failure;
use crate::parameters::{Row, Text};
use crate::place::Place;

/// Executions on their way at a time. (As many as try_join_all asks in order.)
pub const TOGETHER: usize = 30;

/// Runs a statement once for each row of parameters, all or none, or once if it has no parameters. Returns how many rows it changed.
pub async fn run(place: &mut Place, prepared: &Statement, rows: Option<&[Row]>) -> Result<i64, Failure> {
    if prepared.params().is_empty() {
        // Without a block around it, which VACUUM and the like refuse.
        place.decides();
        return Ok(execute(place.client(), prepared, &[]).await?.cast_signed());
    }
    let rows = rows.ok_or_else(|| unbound(prepared))?;
    place.begin().await?;
    let changed = run_rows(place.client(), prepared, rows).await?;
    place.commit().await?;
    Ok(changed)
}

/// Runs it for each row, in a block that has been begun.
pub async fn run_rows(client: &Client, prepared: &Statement, rows: &[Row]) -> Result<i64, Failure> {
    rows.iter().try_for_each(|row| fits(prepared, row))?;
    let mut changed = 0;
    for chunk in rows.chunks(TOGETHER) {
        let sent = chunk.iter().map(|row| execute(client, prepared, row));
        changed += try_join_all(sent).await?.iter().sum::<u64>().cast_signed();
    }
    Ok(changed)
}

/// Whether a row has as many values as the statement has parameters.
pub fn fits(prepared: &Statement, row: &Row) -> Result<(), Status> {
    match (row.len(), prepared.params().len()) {
        (given, wanted) if given == wanted => Ok(()),
        (given, wanted) => Err(Status::invalid_argument(format!(
            "{given} parameters are bound, the statement has {wanted}"
        ))),
    }
}

pub fn unbound(prepared: &Statement) -> Status {
    Status::invalid_argument(format!(
        "the statement has {} parameters, of which none is bound",
        prepared.params().len()
    ))
}

async fn execute(client: &Client, prepared: &Statement, row: &[Option<String>]) -> Result<u64, Error> {
    client
        .execute_raw(prepared, row.iter().map(|value| Text(value.as_deref())))
        .await
}
