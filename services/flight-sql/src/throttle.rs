//! Guessing passwords takes long: who has failed from an address to log in as a role waits, the longer the more often. Others of that address,
//! and logins that succeed, change nothing for it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tonic::Status;

/// Failures that cost nothing: people mistype.
const FREE: u32 = 3;

/// What the first that costs something does; each further one doubles it, up to the longest.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(8);

/// Who would have to wait longer, because others do before, is turned away.
const QUEUE: Duration = Duration::from_secs(30);

/// When failures are forgotten: who waits that long guesses no faster.
const MEMORY: Duration = Duration::from_secs(60);

/// What is remembered at a time.
const ENTRIES: usize = 10_000;

/// An address, and a role's name, which is short.
type Key = (IpAddr, String);

#[derive(Default)]
pub struct Throttle {
    failures: Mutex<HashMap<Key, Failures>>,
}

struct Failures {
    count: u32,
    last: Instant,
    /// When the next attempt may be made.
    next: Instant,
}

impl Throttle {
    /// How long an attempt has to wait. Attempts at the same time wait for one another.
    pub fn wait(&self, address: IpAddr, user: &str, now: Instant) -> Result<Duration, Status> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(address, user);
        let Some(known) = failures.get_mut(&key) else {
            return Ok(Duration::ZERO);
        };
        if now.duration_since(known.last) > MEMORY {
            failures.remove(&key);
            return Ok(Duration::ZERO);
        }
        let at = known.next.max(now);
        let wait = at.duration_since(now);
        if wait > QUEUE {
            return Err(Status::resource_exhausted(
                "too many logins have failed: try again later",
            ));
        }
        known.next = at + delay(known.count);
        Ok(wait)
    }

    pub fn failed(&self, address: IpAddr, user: &str, now: Instant) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(address, user);
        if failures.len() >= ENTRIES && !failures.contains_key(&key) {
            // The one that failed longest ago.
            let oldest = failures.iter().min_by_key(|(_, known)| known.last);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                failures.remove(&oldest);
            }
        }
        let known = failures.entry(key).or_insert(Failures {
            count: 0,
            last: now,
            next: now,
        });
        known.count = known.count.saturating_add(1);
        known.last = now;
        known.next = known.next.max(now + delay(known.count));
    }
}

/// Whoever has an address of IPv6 has all that begin with the same 64 bits.
fn key(address: IpAddr, user: &str) -> Key {
    let address = match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    };
    (address, user.to_owned())
}

fn delay(count: u32) -> Duration {
    match count.checked_sub(FREE + 1) {
        None => Duration::ZERO,
        Some(more) => FIRST.saturating_mul(1 << more.min(8)).min(LONGEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn failures_cost_time() {
        let throttle = Throttle::default();
        let mut now = Instant::now();
        for count in 0..20 {
            let wait = throttle.wait(HERE, "a", now).unwrap();
            assert_eq!(
                wait,
                if count <= FREE { Duration::ZERO } else { delay(count) },
                "{count}"
            );
            now += wait;
            throttle.failed(HERE, "a", now);
        }
        assert_eq!(delay(100), LONGEST);
        assert_eq!(throttle.wait(HERE, "b", now).unwrap(), Duration::ZERO);
    }

    #[test]
    fn attempts_at_the_same_time_wait_for_one_another() {
        let throttle = Throttle::default();
        let now = Instant::now();
        (0..20).for_each(|_| throttle.failed(HERE, "a", now));
        let waits: Vec<_> = (0..10).map_while(|_| throttle.wait(HERE, "a", now).ok()).collect();
        assert_eq!(waits, [8, 16, 24].map(Duration::from_secs));
    }

    #[test]
    fn failures_are_forgotten() {
        let throttle = Throttle::default();
        let now = Instant::now();
        (0..20).for_each(|_| throttle.failed(HERE, "a", now));
        assert_eq!(throttle.wait(HERE, "a", now + MEMORY + FIRST).unwrap(), Duration::ZERO);
    }

    #[test]
    fn addresses_of_one_network_are_one() {
        let throttle = Throttle::default();
        let now = Instant::now();
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        (0..20).for_each(|_| throttle.failed(address("2001:db8::1"), "a", now));
        assert_eq!(throttle.wait(address("2001:db8::2"), "a", now).unwrap(), LONGEST);
        assert_eq!(
            throttle.wait(address("2001:db8:0:1::1"), "a", now).unwrap(),
            Duration::ZERO
        );
    }

    #[test]
    fn no_more_is_remembered_than_fits() {
        let throttle = Throttle::default();
        let now = Instant::now();
        (0..ENTRIES + 10).for_each(|at| throttle.failed(HERE, &at.to_string(), now));
        assert_eq!(throttle.failures.lock().unwrap().len(), ENTRIES);
    }
}
