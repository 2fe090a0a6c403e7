//! Who a call is from: a role that has shown its password, or the token of a session.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use crate::database::Database;
use crate::options::Options;
use crate::peer::Peer;
use crate::session::Session;
use crate::sessions::{Sessions, Token};
use crate::throttle::Throttle;
use crate::ticket::random;

/// How long a login waits for those before it.
const WAIT: Duration = Duration::from_secs(90);

/// Bytes that a role's name may have.
const NAME: usize = 63;

pub struct Logins {
    database: Arc<Database>,
    sessions: Arc<Sessions>,
    throttle: Throttle,
    slots: Semaphore,
    /// Makes digests of passwords worthless elsewhere.
    key: [u8; 32],
}

/// What a call has in its header.
enum Credentials {
    Basic { user: String, password: Vec<u8> },
    Bearer(String),
}

impl Logins {
    pub fn new(options: &Options, database: Arc<Database>, sessions: Arc<Sessions>) -> Result<Self, String> {
        Ok(Self {
            database,
            sessions,
            throttle: Throttle::default(),
            slots: Semaphore::new(options.max_logins),
            key: random().map_err(|status| status.message().to_owned())?,
        })
    }

    /// The session of a call. One with a password begins a session, whose token is returned, unless the same was the last on that
    /// connection.
    pub async fn enter(
        &self,
        metadata: &MetadataMap,
        peer: &Arc<Peer>,
    ) -> Result<(Arc<Session>, Option<Token>), Status> {
        let (user, password) = match credentials(metadata)? {
            Credentials::Bearer(token) => {
                let session = self.sessions.find(&token);
                let session = session.ok_or_else(|| Status::unauthenticated("the session has ended: log in again"))?;
                session.attach(peer);
                return Ok((session, None));
            }
            Credentials::Basic { user, password } => (user, password),
        };
        let digest = self.digest(&user, &password);
        let stranger = peer.strangers.try_acquire();
        if stranger.is_err() && !peer.has_logged_in() {
            return Err(Status::resource_exhausted(
                "too many calls wait for a login on this connection",
            ));
        }
        // One login at a time on each connection.
        let mut last = peer.login.lock().await;
        if let Some((known, session)) = &*last
            && *known == digest
            && let Some(session) = session.upgrade()
            && !session.has_ended()
        {
            session.attach(peer);
            return Ok((session, None));
        }
        let (token, session) = self.log_in(&user, password, peer).await?;
        *last = Some((digest, Arc::downgrade(&session)));
        Ok((session, Some(token)))
    }

    /// A login that asks for a token.
    pub async fn handshake(&self, metadata: &MetadataMap, peer: &Arc<Peer>) -> Result<Token, Status> {
        match credentials(metadata)? {
            Credentials::Basic { user, password } => {
                let _one_at_a_time = peer.login.lock().await;
                Ok(self.log_in(&user, password, peer).await?.0)
            }
            Credentials::Bearer(_) => Err(Status::unauthenticated("a handshake has a name and a password")),
        }
    }

    async fn log_in(&self, user: &str, password: Vec<u8>, peer: &Arc<Peer>) -> Result<(Token, Arc<Session>), Status> {
        let wait = self.throttle.wait(peer.address, user, Instant::now())?;
        tokio::time::sleep(wait).await;
        let Ok(Ok(_slot)) = timeout(WAIT, self.slots.acquire()).await else {
            return Err(Status::resource_exhausted("too many logins at a time (--max-logins)"));
        };
        let (config, backend) = match self.database.login(user, &password).await {
            Ok(shown) => shown,
            Err(status) => {
                if status.code() == Code::Unauthenticated {
                    self.throttle.failed(peer.address, user, Instant::now());
                }
                tracing::info!(user, peer = %peer.address, code = ?status.code(), "login has failed");
                return Err(status);
            }
        };
        // Not before: strangers end nobody's session.
        self.sessions.make_room().await?;
        let (token, session) = self.sessions.open(config, backend, peer)?;
        tracing::info!(user, peer = %peer.address, "login");
        Ok((token, session))
    }

    fn digest(&self, user: &str, password: &[u8]) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(self.key);
        digest.update((user.len() as u64).to_le_bytes());
        digest.update(user);
        digest.update(password);
        digest.finalize().into()
    }
}

/// The token of a call, if it has one.
pub fn bearer(header: &str) -> Option<&str> {
    let (scheme, rest) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| rest.trim())
}

fn credentials(metadata: &MetadataMap) -> Result<Credentials, Status> {
    let header = metadata.get("authorization").ok_or_else(|| {
        Status::unauthenticated(
            "log in first: a header \"authorization\" with name and password (Basic), or a handshake",
        )
    })?;
    let header = header.to_str().map_err(|_| unreadable())?;
    if let Some(token) = bearer(header) {
        return Ok(Credentials::Bearer(token.to_owned()));
    }
    let (scheme, rest) = header.split_once(' ').ok_or_else(unreadable)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(unreadable());
    }
    // Go's library writes no padding.
    let pair = rest.trim().trim_end_matches('=');
    let pair = BASE64_STANDARD_NO_PAD.decode(pair).map_err(|_| unreadable())?;
    let colon = pair.iter().position(|byte| *byte == b':').ok_or_else(unreadable)?;
    let user = String::from_utf8(pair[..colon].to_vec()).map_err(|_| unreadable())?;
    if user.is_empty() || user.contains('\0') {
        return Err(unreadable());
    }
    if user.len() > NAME {
        // PostgreSQL would cut it off, and take it for another's.
        return Err(Status::unauthenticated(format!(
            "a role's name has at most {NAME} bytes"
        )));
    }
    Ok(Credentials::Basic {
        user,
        password: pair[colon + 1..].to_vec(),
    })
}

fn unreadable() -> Status {
    Status::unauthenticated("the header \"authorization\" is neither Basic nor Bearer")
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    fn read(header: &str) -> Option<(String, Vec<u8>)> {
        let mut metadata = MetadataMap::new();
        metadata.insert("authorization", header.parse().unwrap());
        match credentials(&metadata) {
            Ok(Credentials::Basic { user, password }) => Some((user, password)),
            Ok(Credentials::Bearer(token)) => Some((token, Vec::new())),
            Err(status) => {
                assert_eq!(status.code(), Code::Unauthenticated);
                None
            }
        }
    }

    #[test]
    fn headers() {
        let basic = |pair: &str| format!("Basic {}", BASE64_STANDARD.encode(pair));
        assert_eq!(read(&basic("a:b:c")), Some(("a".into(), b"b:c".to_vec())));
        assert_eq!(read(&basic("a:")), Some(("a".into(), Vec::new())));
        assert_eq!(
            read(basic("a:b").trim_end_matches('=')),
            Some(("a".into(), b"b".to_vec()))
        );
        assert_eq!(read("bearer  x"), Some(("x".into(), Vec::new())));
        for wrong in [
            "",
            "Basic",
            "Basic !",
            &basic("a"),
            &basic(":b"),
            &basic("a\0:b"),
            &basic(&format!("{}:b", "a".repeat(64))),
            "Digest x",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert!(credentials(&MetadataMap::new()).is_err());
    }
}
