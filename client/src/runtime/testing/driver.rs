//! The driver with a machine that does as little as possible.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sealwax_protocol::ids::NodeId;
use sealwax_protocol::response::ResponseBody;

use super::cluster::connected;
use super::peer::{Peer, names, versions_with_feature};
use crate::machine::metadata::refresh;
use crate::machine::{
    ClusterView, Destination, Directive, Lane, Machine, Outbound, RequestFailure, RequestId,
};
use crate::runtime::driver::DriverHandle;

/// Sends what it is told to, and notes everything it hears.
#[derive(Debug, Default)]
struct Parrot {
    to_send: VecDeque<&'static str>,
    sent: u64,
    in_flight: usize,
    heard: Vec<String>,
    events: VecDeque<String>,
    alarm: Option<Instant>,
    closed: bool,
}

impl Parrot {
    fn hear(&mut self, what: String) {
        self.events.push_back(what.clone());
        self.heard.push(what);
    }
}

impl Machine for Parrot {
    type Event = String;

    fn handle_cluster(&mut self, _now: Instant, view: &ClusterView) {
        self.hear(format!("features {}", view.features.epoch));
    }

    fn handle_response(
        &mut self,
        _now: Instant,
        id: RequestId,
        result: Result<ResponseBody, RequestFailure>,
    ) {
        self.in_flight -= 1;
        self.hear(format!(
            "answer {} {}",
            id.0,
            if result.is_ok() { "ok" } else { "failed" }
        ));
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.alarm.take_if(|at| *at <= now).is_some() {
            self.hear("alarm".to_owned());
        }
    }

    fn handle_close(&mut self, _now: Instant) {
        self.closed = true;
        self.hear("closed".to_owned());
    }

    fn poll_directive(&mut self) -> Option<Directive> {
        None
    }

    fn poll_request(&mut self, now: Instant) -> Option<Outbound> {
        let topic = self.to_send.pop_front()?;
        self.sent += 1;
        self.in_flight += 1;
        let body =
            sealwax_protocol::request::RequestBody::from(refresh::request(std::iter::once(topic), false));
        Some(Outbound {
            id: RequestId(self.sent),
            to: Destination::Node(NodeId(1)),
            lane: Lane::Produce,
            versions: body.versions(),
            body,
            deadline: now + Duration::from_secs(30),
        })
    }

    fn poll_event(&mut self) -> Option<String> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.alarm
    }

    fn is_drained(&self) -> bool {
        self.closed && self.in_flight == 0 && self.to_send.is_empty()
    }
}

#[tokio::test]
async fn requests_go_out_in_order_and_news_are_heard_before_the_answer() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    let handle = DriverHandle::spawn(cluster, Parrot::default(), move |event| {
        sink.lock().unwrap().push(event)
    });
    handle.with(|parrot, _| parrot.to_send.extend(["a", "b", "c"]));
    let mut conversation = peer.accept_with(&versions_with_feature(9, 2)).await;
    for topic in ["a", "b", "c"] {
        let (header, body) = conversation.receive().await;
        assert_eq!(names(&body), [topic]);
        conversation.answer(&header, peer.metadata(1)).await;
    }
    let heard = handle
        .wait_for(|parrot, _| (parrot.heard.len() == 5).then(|| parrot.heard.clone()))
        .await;
    assert_eq!(
        heard,
        [
            "features -1",
            "features 9",
            "answer 1 ok",
            "answer 2 ok",
            "answer 3 ok"
        ]
    );
    while events.lock().unwrap().len() < 5 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*events.lock().unwrap(), heard);
}

#[tokio::test]
async fn the_machine_is_woken_when_it_asked_to_be() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let handle = DriverHandle::spawn(cluster, Parrot::default(), |_| {});
    handle.with(|parrot, now| parrot.alarm = Some(now + Duration::from_millis(20)));
    handle
        .wait_for(|parrot, _| parrot.heard.iter().any(|heard| heard == "alarm").then_some(()))
        .await;
}

#[tokio::test]
async fn a_dropped_handle_lets_the_machine_finish_and_then_everything_ends() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let weak = Arc::downgrade(&cluster);
    let handle = DriverHandle::spawn(cluster, Parrot::default(), |_| {});
    handle.with(|parrot, _| parrot.to_send.push_back("a"));
    drop(handle);
    let mut conversation = peer.accept_and_greet().await;
    let (header, _) = conversation.receive().await;
    assert_eq!(weak.strong_count(), 1, "the driver still waits for the answer");
    conversation.answer(&header, peer.metadata(1)).await;
    conversation.closed().await;
    assert_eq!(weak.strong_count(), 0);
}

#[tokio::test]
async fn the_last_event_of_a_closed_machine_is_handed_out_before_the_driver_ends() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let (sink, mut events) = tokio::sync::mpsc::unbounded_channel();
    let handle = DriverHandle::spawn(cluster, Parrot::default(), move |event| {
        sink.send(event).unwrap();
    });
    drop(handle);
    let mut heard = Vec::new();
    while let Some(event) = events.recv().await {
        heard.push(event);
    }
    assert!(heard.iter().any(|event| event == "closed"), "{heard:?}");
}
