//! Messages of strangers are small: only who has logged in may have large ones held in memory.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow_flight::flight_service_server::FlightServiceServer;
use http::{Request, Response};
use tonic::body::Body;

use crate::login::bearer;
use crate::options::STRANGERS_MESSAGE;
use crate::peer::Peer;
use crate::service::Service;
use crate::sessions::Sessions;

#[derive(Clone)]
pub struct Sizes {
    known: FlightServiceServer<Service>,
    strangers: FlightServiceServer<Service>,
    sessions: Arc<Sessions>,
}

impl Sizes {
    pub fn new(service: Service, message: usize, sessions: Arc<Sessions>) -> Self {
        let service = Arc::new(service);
        let of = |size| FlightServiceServer::from_arc(service.clone()).max_decoding_message_size(size);
        Self {
            known: of(message),
            strangers: of(STRANGERS_MESSAGE.min(message)),
            sessions,
        }
    }
}

impl tower_service::Service<Request<Body>> for Sizes {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = <FlightServiceServer<Service> as tower_service::Service<Request<Body>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let peer = request.extensions().get::<Arc<Peer>>();
        let header = request.headers().get(http::header::AUTHORIZATION);
        let token = header.and_then(|header| header.to_str().ok()).and_then(bearer);
        let known = peer.is_some_and(|peer| peer.has_logged_in())
            || token.is_some_and(|token| self.sessions.find(token).is_some());
        match known {
            true => tower_service::Service::call(&mut self.known, request),
            false => tower_service::Service::call(&mut self.strangers, request),
        }
    }
}
