//! What tickets and handles have in them. They are worth nothing without the session that they were made in: whoever has that may
//! run any statement.

use prost::Message;
use tonic::Status;

/// Something that nobody guesses, and that is there once.
pub type Id = [u8; 16];

pub fn random<const N: usize>() -> Result<[u8; N], Status> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| Status::internal("the system has no random numbers"))?;
    Ok(bytes)
}

/// The ticket of a result. Unless that is in parts, it says all that is needed to run the statement, so nothing has to be kept for those that
/// are never used.
#[derive(Clone, PartialEq, Message)]
pub struct Ticket {
    /// What the result is called when it is cancelled; it is there once.
    #[prost(bytes = "vec", tag = "1")]
    pub id: Vec<u8>,
    #[prost(string, tag = "2")]
    pub query: String,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub transaction: Option<Vec<u8>>,
    /// A prepared statement, which has query and transaction itself.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub prepared: Option<Vec<u8>>,
    /// The number of that one's binding.
    #[prost(uint64, tag = "5")]
    pub binding: u64,
    /// It is of a part of a result, which waits in the session, and has none of the above but its name.
    #[prost(bool, tag = "6")]
    pub part: bool,
}

impl Ticket {
    pub fn part(id: Id) -> Self {
        Self {
            id: id.to_vec(),
            part: true,
            ..Self::default()
        }
    }

    pub fn read(bytes: &[u8]) -> Result<Self, Status> {
        Self::decode(bytes).map_err(|_| Status::invalid_argument("no ticket of this server's"))
    }
}
