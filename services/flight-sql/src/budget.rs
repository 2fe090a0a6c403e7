//! Memory that prepared statements and parameters of a session may take, counted before it is taken.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

/// Bytes, nearly.
const MOST: usize = 64 << 20;

pub struct Budget(Arc<Semaphore>);

impl Default for Budget {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST)))
    }
}

impl Budget {
    pub fn share(&self) -> Share {
        Share {
            budget: self.0.clone(),
            taken: None,
        }
    }
}

/// What has been taken, and is given back when it is dropped.
pub struct Share {
    budget: Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
}

impl Share {
    pub fn take(&mut self, bytes: usize) -> Result<(), Status> {
        let bytes = u32::try_from(bytes).ok();
        let more = bytes.and_then(|bytes| self.budget.clone().try_acquire_many_owned(bytes).ok());
        let more = more.ok_or_else(|| {
            Status::resource_exhausted(format!(
                "prepared statements and parameters of a session may take {} MB",
                MOST >> 20
            ))
        })?;
        match &mut self.taken {
            Some(taken) => taken.merge(more),
            None => self.taken = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shares_together_take_no_more() {
        let budget = Budget::default();
        let (mut one, mut two) = (budget.share(), budget.share());
        one.take(MOST / 2).unwrap();
        one.take(1).unwrap();
        assert!(two.take(MOST / 2).is_err());
        assert!(two.take(usize::MAX).is_err());
        drop(one);
        two.take(MOST).unwrap();
    }
}
