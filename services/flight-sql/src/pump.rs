//! A result on its way to a client, in a task of its own: when the client does not take it, the statement can still be cancelled, and its
//! time runs out.

use std::future::{Future, pending};
use std::time::Duration;

use arrow_flight::FlightData;
use futures::StreamExt;
use futures::stream::{BoxStream, unfold};
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::{Instant, sleep, sleep_until};
use tonic::Status;

use crate::cancel::Cancel;

/// What makes the messages. Dropped before the end, it gives up.
pub trait Source: Send + 'static {
    fn next(&mut self) -> impl Future<Output = Result<Option<FlightData>, Status>> + Send;
}

/// How long a client is waited for.
#[derive(Clone, Copy)]
pub struct Limits {
    /// For the next message that it takes, or sends.
    pub stall: Duration,
    /// For all of a result; zero: as long as it lasts.
    pub statement: Duration,
}

/// One message waits, and one is being made.
pub fn pump(mut source: impl Source, cancel: Cancel, limits: Limits) -> BoxStream<'static, Result<FlightData, Status>> {
    let (sender, receiver) = channel(1);
    tokio::spawn(async move {
        let ended = send_all(&mut source, &sender, &cancel, limits).await;
        // Before the client hears of it, who may not listen.
        drop(source);
        if let Err(status) = ended {
            let _ = sender.send(Err(status)).await;
        }
    });
    unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|message| (message, receiver))
    })
    .boxed()
}

async fn send_all(
    source: &mut impl Source,
    sender: &Sender<Result<FlightData, Status>>,
    cancel: &Cancel,
    limits: Limits,
) -> Result<(), Status> {
    let end = Some(limits.statement)
        .filter(|limit| !limit.is_zero())
        .map(|limit| Instant::now() + limit);
    let time_is_up = async {
        match end {
            Some(end) => sleep_until(end).await,
            None => pending().await,
        }
    };
    tokio::pin!(time_is_up);
    loop {
        // PostgreSQL itself looks after the time and cancels while it computes.
        let message = tokio::select! {
            message = source.next() => message?,
            () = sender.closed() => return Ok(()),
        };
        let Some(message) = message else { return Ok(()) };
        tokio::select! {
            // Who takes it is told by PostgreSQL what has become of the statement.
            biased;
            sent = sender.send(Ok(message)) => if sent.is_err() { return Ok(()) },
            () = cancel.cancelled() => return Err(Status::cancelled("the statement was cancelled")),
            () = &mut time_is_up => return Err(Status::deadline_exceeded(
                "canceling statement due to statement timeout, as the client does not take its result (--statement-timeout)",
            )),
            () = sleep(limits.stall) => return Err(stalled(limits.stall)),
        }
    }
}

/// What is said to a client that was waited for.
pub fn stalled(limit: Duration) -> Status {
    Status::deadline_exceeded(format!("the client was waited for {} s (--idle)", limit.as_secs()))
}
