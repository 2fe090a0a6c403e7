//! Connections to PostgreSQL, each as the role of who has logged in.

use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, Connection, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;
use tonic::Status;

use crate::backend::Backend;
use crate::error;
use crate::options::Options;

/// How long connecting may take in all, logging in included.
const CONNECT: Duration = Duration::from_secs(20);

/// What statements are read with: our lexer, and Arrow's strings, hold for nothing else. PostgreSQL says when a session changes it.
const READ_WITH: [(&str, &str); 2] = [("standard_conforming_strings", "on"), ("client_encoding", "UTF8")];

/// TLS to the database; None: without.
pub type Tls = Option<MakeRustlsConnect>;

/// The database that this server is in front of.
pub struct Database {
    config: Config,
    tls: Tls,
    /// A clone of it is with each connection until that is closed.
    alive: mpsc::Sender<()>,
}

impl Database {
    pub fn new(options: &Options, alive: mpsc::Sender<()>) -> Result<Self, String> {
        let (mut config, tls) = options.database()?;
        let tls = match tls {
            true => Some(MakeRustlsConnect::new(tls_config(options)?)),
            false => None,
        };
        // Larger batches are in no processor's cache when they are copied into a message; clients take 16 MB by default. A backend that
        // computes looks every second whether we are still there: kill -9 of this server leaves none. What is last holds.
        let mut settings = format!(
            "-c amax.arrow_batch_size=1MB {} -c client_connection_check_interval=1000 -c standard_conforming_strings=on",
            config.get_options().unwrap_or_default()
        );
        if !options.statement_timeout.is_zero() {
            settings += &format!(" -c statement_timeout={}", options.statement_timeout.as_millis());
        }
        config.options(settings);
        if config.get_application_name().is_none() {
            config.application_name("amax-flight-sql");
        }
        Ok(Self { config, tls, alive })
    }

    /// A first connection as a role that has yet to show who it is, and what further ones are made with.
    pub async fn login(&self, user: &str, password: &[u8]) -> Result<(Config, Backend), Status> {
        let mut config = timeout(CONNECT, self.locked(user)).await.map_err(|_| silent())??;
        config.password(password);
        let backend = self.connect(&config).await?;
        Ok((config, backend))
    }

    /// Where the database asks for this role's password.
    ///
    /// A server that asks for none (pg_hba.conf: trust, or peer, where the role's name is that of the system's user whom this
    /// server runs as) would let anybody in under any name. The client's side of the protocol does not tell what was asked
    /// for, so we try without a password first, and at one address: another may have other rules.
    async fn locked(&self, user: &str) -> Result<Config, Status> {
        let mut last = None;
        for address in self.addresses().await? {
            let mut config = self.config.clone();
            config.user(user);
            if let Some(address) = address {
                config.hostaddr(address);
            }
            match self.open(&config).await {
                Ok(_) => {
                    tracing::error!(
                        user,
                        "the database lets this role in without a password; see pg_hba.conf"
                    );
                    return Err(Status::unauthenticated(
                        "the database lets this role in without a password, so nobody can show to be it: see pg_hba.conf",
                    ));
                }
                Err(error) if error::wants_password(&error) => return Ok(config),
                Err(error) if error.as_db_error().is_some() => return Err(error::connecting(&error)),
                Err(error) => last = Some(error::connecting(&error)),
            }
        }
        Err(last.unwrap_or_else(|| Status::unavailable("the database's host has no address")))
    }

    /// Those of the host, if it has a name.
    async fn addresses(&self) -> Result<Vec<Option<IpAddr>>, Status> {
        match (self.config.get_hosts(), self.config.get_hostaddrs()) {
            ([Host::Tcp(name)], []) => {
                let found = tokio::net::lookup_host((name.as_str(), 0)).await;
                let found = found.map_err(|error| Status::unavailable(format!("could not find {name}: {error}")))?;
                Ok(found.map(|address| Some(address.ip())).collect())
            }
            _ => Ok(vec![None]),
        }
    }

    /// A connection.
    pub async fn connect(&self, config: &Config) -> Result<Backend, Status> {
        let opened = timeout(CONNECT, self.open(config)).await.map_err(|_| silent())?;
        let mut backend = opened.map_err(|error| error::connecting(&error))?;
        backend.load().await?;
        Ok(backend)
    }

    async fn open(&self, config: &Config) -> Result<Backend, tokio_postgres::Error> {
        let misread = Arc::new(AtomicBool::new(false));
        let (client, task): (Client, _) = match &self.tls {
            None => {
                let (client, connection) = config.connect(NoTls).await?;
                (
                    client,
                    tokio::spawn(drive(connection, misread.clone(), self.alive.clone())),
                )
            }
            Some(tls) => {
                let (client, connection) = config.connect(tls.clone()).await?;
                (
                    client,
                    tokio::spawn(drive(connection, misread.clone(), self.alive.clone())),
                )
            }
        };
        Ok(Backend::new(client, task, misread, self.tls.clone()))
    }
}

/// Reads and writes what there is, until the connection closes, or statements would be read differently on it.
async fn drive<S, T>(mut connection: Connection<S, T>, misread: Arc<AtomicBool>, _alive: mpsc::Sender<()>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    poll_fn(|cx| {
        loop {
            let polled = connection.poll_message(cx);
            if READ_WITH
                .iter()
                .any(|(name, value)| connection.parameter(name).is_some_and(|now| now != *value))
            {
                misread.store(true, Ordering::SeqCst);
                return Poll::Ready(());
            }
            match polled {
                // Notices, and notifications.
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await;
}

fn silent() -> Status {
    Status::unavailable("PostgreSQL does not answer")
}

/// Certificates are verified, and the host's name in them.
fn tls_config(options: &Options) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    match &options.database_ca {
        Some(path) => {
            let shown = path.display();
            let certificates = CertificateDer::pem_file_iter(path).map_err(|error| format!("{shown}: {error}"))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| format!("{shown}: {error}"))?;
                roots.add(certificate).map_err(|error| format!("{shown}: {error}"))?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
    }
    if roots.is_empty() {
        return Err("no certificate that the database's could be signed by: give --database-ca".into());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tonic::Code;

    use super::*;

    /// What a database says to connections, one after the other; how many it had, and what comes of a login.
    async fn login(answers: &'static [&'static [u8]]) -> (usize, Status) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (counted, mut count) = mpsc::channel(10);
        let answering = tokio::spawn(async move {
            for answer in answers {
                let (mut socket, _) = listener.accept().await.unwrap();
                counted.send(()).await.unwrap();
                let mut startup = [0; 1000];
                assert!(socket.read(&mut startup).await.unwrap() > 0);
                socket.write_all(answer).await.unwrap();
                // The answer to it, or the end.
                let _ = socket.read(&mut startup).await;
            }
        });
        let given = format!("host=127.0.0.1 port={port} dbname=a");
        let options = Options::parse_from(["amax-flight-sql", "--database", &given]);
        let database = Database::new(&options, mpsc::channel(1).0).unwrap();
        let status = database.login("a", b"b").await.err().expect("no login");
        answering.abort();
        let mut connections = 0;
        while count.try_recv().is_ok() {
            connections += 1;
        }
        (connections, status)
    }

    const STARTING: &[u8] = b"E\0\0\0\x1eSFATAL\0VFATAL\0C57P03\0Mno\0\0";
    const REJECTED: &[u8] = b"E\0\0\0\x1eSFATAL\0VFATAL\0C28000\0Mno\0\0";
    const PASSWORD: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
    const LOGGED_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";

    #[tokio::test]
    async fn only_who_is_asked_for_a_password_logs_in_with_it() {
        // The database would let anybody in, once it has started.
        let (connections, status) = login(&[STARTING, LOGGED_IN]).await;
        assert_eq!((connections, status.code()), (1, Code::Unavailable));
        let (connections, status) = login(&[b"", LOGGED_IN]).await;
        assert_eq!((connections, status.code()), (1, Code::Unavailable));
        let (connections, status) = login(&[LOGGED_IN, LOGGED_IN]).await;
        assert_eq!((connections, status.code()), (1, Code::Unauthenticated));
        let (connections, status) = login(&[PASSWORD, REJECTED]).await;
        assert_eq!((connections, status.code()), (2, Code::Unauthenticated));
    }
}
