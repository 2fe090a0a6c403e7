//! Which events there are, and how often.

use crate::event::*;
use crate::ids::{self, streams};
use crate::text;
use amax_ssb::rng::RowRng;
use chrono::{DateTime, SecondsFormat};
use std::io::{self, Write};

/// 2026-03-02 00:00 UTC. A stream of any size covers the 24 hours from there.
pub const START_US: u64 = 1_772_409_600_000_000;
const DAY_US: u64 = 86_400_000_000;

const POST: &str = "social.feed.post";
const LIKE: &str = "social.feed.like";
const REPOST: &str = "social.feed.repost";
const FOLLOW: &str = "social.graph.follow";
const BLOCK: &str = "social.graph.block";
const PROFILE: &str = "social.actor.profile";
const GATE: &str = "social.feed.threadgate";
const ITEM: &str = "social.graph.listitem";

/// Collections and how many commits in a thousand are theirs.
const COLLECTIONS: [(&str, u64); 8] = [
    (LIKE, 460),
    (FOLLOW, 210),
    (POST, 180),
    (REPOST, 90),
    (BLOCK, 35),
    (PROFILE, 12),
    (GATE, 7),
    (ITEM, 6),
];
const LANGUAGES: [(&str, u64); 8] = [
    ("en", 560),
    ("ja", 180),
    ("pt", 90),
    ("de", 60),
    ("es", 50),
    ("fr", 30),
    ("ko", 20),
    ("tr", 10),
];
const CLIENTS: [&str; 4] = ["Cirrus", "Nimbus for iOS", "crosspost", "Stratus"];
const STATUSES: [&str; 4] = ["deactivated", "deleted", "suspended", "takendown"];

/// One of the values, by weights that add up to 1,000.
fn weighted(rng: &mut RowRng, values: &[(&'static str, u64)]) -> &'static str {
    let mut draw = rng.below(1000);
    for &(value, weight) in values {
        if draw < weight {
            return value;
        }
        draw -= weight;
    }
    values[0].0
}

/// Whether something with a chance of so many in a thousand happens.
pub(crate) fn happens(rng: &mut RowRng, chance: u64) -> bool {
    rng.below(1000) < chance
}

/// A number below `n`, low ones more often: a few users write and are read a lot.
pub(crate) fn skewed(rng: &mut RowRng, n: u64) -> u64 {
    let unit = rng.below(1 << 32) as f64 / (1u64 << 32) as f64;
    ((n as f64 * unit.powf(2.5)) as u64).min(n - 1)
}

/// What the documents are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// What happened.
    Events,
    /// Posts as readers see them; see [`crate::view`].
    Views,
}

/// A stream of `events` events.
#[derive(Clone, Copy)]
pub struct Stream {
    pub seed: u64,
    pub events: u64,
}

impl Stream {
    /// A user for four events; half of the events are of the busiest quarter of the half.
    fn users(self) -> u64 {
        (self.events / 4).max(10)
    }

    fn user(self, rng: &mut RowRng) -> u64 {
        skewed(rng, self.users())
    }

    /// Events come nearly in order: those of 16 in a row are mixed.
    fn time_us(self, number: u64) -> u64 {
        let place = number ^ RowRng::new(self.seed, streams::ORDER, number / 16).below(16);
        let step = (DAY_US / self.events).max(1);
        START_US + place * step + RowRng::new(self.seed, streams::ORDER, !place).below(step)
    }

    /// Event `number`, from 0.
    pub fn event(self, number: u64) -> Event {
        let rng = &mut RowRng::new(self.seed, streams::EVENT, number);
        let did = ids::did(self.seed, self.user(rng));
        let time_us = self.time_us(number);
        let mut event = Event {
            did: did.clone(),
            time_us,
            kind: "commit",
            commit: None,
            identity: None,
            account: None,
        };
        match rng.below(1000) {
            0..12 => {
                event.kind = "identity";
                let handle = format!("{}{}.example.org", text::single(rng), rng.below(1000));
                event.identity = Some(Identity {
                    did,
                    handle,
                    seq: 4_000_000_000 + number,
                    time: time(time_us),
                });
            }
            12..24 => {
                event.kind = "account";
                let active = happens(rng, 600);
                let status = (!active).then(|| rng.pick(&STATUSES));
                event.account = Some(Account {
                    active,
                    did,
                    seq: 4_000_000_000 + number,
                    status,
                    time: time(time_us),
                });
            }
            _ => event.commit = Some(self.commit(rng, number, time_us)),
        }
        event
    }

    fn commit(self, rng: &mut RowRng, number: u64, time_us: u64) -> Commit {
        let collection = weighted(rng, &COLLECTIONS);
        let operation = match (collection, rng.below(1000)) {
            (PROFILE, 0..900) | (GATE, 0..300) => "update",
            (PROFILE, _) => "create",
            (_, 0..70) => "delete",
            _ => "create",
        };
        let clock = rng.below(1024);
        let rkey = match collection {
            PROFILE => "self".to_owned(),
            _ if operation == "delete" => ids::tid(time_us - rng.below(30 * DAY_US), clock),
            _ => ids::tid(time_us - rng.below(2_000_000), clock),
        };
        let record = (operation != "delete").then(|| self.record(rng, number, time_us, collection));
        Commit {
            rev: ids::tid(time_us - rng.below(500_000), rng.below(1024)),
            operation,
            collection,
            rkey,
            cid: record.is_some().then(|| ids::cid(self.seed, number)),
            record,
        }
    }

    fn record(self, rng: &mut RowRng, number: u64, time_us: u64, collection: &'static str) -> Record {
        let body = match collection {
            POST => Body::Post(Box::new(self.post(rng, number))),
            LIKE | REPOST => Body::About {
                subject: Subject::Record(self.reference(rng)),
            },
            PROFILE => Body::Profile(Box::new(self.profile(rng, number))),
            GATE => Body::Gate {
                allow: rules(rng),
                post: self.reference(rng).uri,
            },
            ITEM => Body::Item {
                list: format!("at://{}/social.graph.list/{}", self.someone(rng), self.key(rng)),
                subject: Subject::User(self.someone(rng)),
            },
            _ => Body::About {
                subject: Subject::User(self.someone(rng)),
            },
        };
        // Clocks of clients are a little late; few profiles say when they were made.
        let created_at = (collection != PROFILE || happens(rng, 300)).then(|| time(time_us - rng.below(5_000_000)));
        Record {
            collection,
            created_at,
            body,
        }
    }

    pub(crate) fn someone(self, rng: &mut RowRng) -> String {
        ids::did(self.seed, self.user(rng))
    }

    pub(crate) fn key(self, rng: &mut RowRng) -> String {
        ids::tid(START_US - rng.below(30 * DAY_US), rng.below(1024))
    }

    /// Some post: all of its ids follow from its number, so popular ones repeat.
    fn reference(self, rng: &mut RowRng) -> Reference {
        let post = skewed(rng, self.events * 4);
        let rng = &mut RowRng::new(self.seed, streams::CONTENT, !post);
        Reference {
            uri: format!("at://{}/{POST}/{}", self.someone(rng), self.key(rng)),
            cid: ids::cid(self.seed, !post),
        }
    }

    pub(crate) fn post(self, rng: &mut RowRng, number: u64) -> Post {
        let language = weighted(rng, &LANGUAGES);
        let length = 1 + skewed(rng, 48);
        let mut text = match language {
            "ja" | "ko" => text::kana(rng, 3 * length),
            _ => text::words(rng, length),
        };
        let facets = self.facets(rng, &mut text);
        let langs = match rng.below(100) {
            0..6 => vec![],
            6..9 => vec![language, "en"],
            _ => vec![language],
        };
        let reply = happens(rng, 420).then(|| {
            let parent = self.reference(rng);
            let root = if happens(rng, 500) {
                Reference {
                    cid: parent.cid.clone(),
                    uri: parent.uri.clone(),
                }
            } else {
                self.reference(rng)
            };
            Reply { parent, root }
        });
        Post {
            text,
            langs,
            reply,
            embed: self.embed(rng, number),
            facets,
            labels: happens(rng, 15).then(|| Labels {
                values: vec![Label {
                    val: rng.pick(&["sensitive", "spoiler", "graphic-media"]),
                }],
            }),
            via: happens(rng, 40).then(|| rng.pick(&CLIENTS)),
        }
    }

    fn facets(self, rng: &mut RowRng, text: &mut String) -> Vec<Facet> {
        let count = match rng.below(100) {
            0..82 => 0,
            82..93 => 1,
            93..97 => 2,
            _ => 3 + rng.below(4),
        };
        (0..count)
            .map(|_| {
                text.push(' ');
                let start = text.len();
                let feature = match rng.below(10) {
                    0..5 => {
                        let tag = text::single(rng);
                        text.push('#');
                        text.push_str(&tag);
                        Feature::Tag { tag }
                    }
                    5..8 => {
                        let uri = address(rng);
                        text.push_str(uri.trim_start_matches("https://"));
                        Feature::Link { uri }
                    }
                    _ => {
                        let name = text::single(rng);
                        text.push('@');
                        text.push_str(&name);
                        Feature::Mention { did: self.someone(rng) }
                    }
                };
                Facet {
                    features: vec![feature],
                    index: Span { end: text.len(), start },
                }
            })
            .collect()
    }

    fn embed(self, rng: &mut RowRng, number: u64) -> Option<Embed> {
        Some(match rng.below(100) {
            0..14 => Embed::Images {
                images: (0..1 + skewed(rng, 4))
                    .map(|at| {
                        let words = skewed(rng, 20);
                        Image {
                            alt: text::words(rng, words),
                            aspect_ratio: happens(rng, 800).then(|| ratio(rng)),
                            image: self.blob(rng, number * 8 + at, "image/jpeg"),
                        }
                    })
                    .collect(),
            },
            14..22 => Embed::External {
                external: External {
                    description: text::words(rng, 12),
                    thumb: happens(rng, 700).then(|| self.blob(rng, number * 8, "image/jpeg")),
                    title: text::words(rng, 5),
                    uri: address(rng),
                },
            },
            22..26 => Embed::Record {
                record: self.reference(rng),
            },
            26..28 => Embed::Video {
                aspect_ratio: ratio(rng),
                video: self.blob(rng, number * 8, "video/mp4"),
            },
            _ => return None,
        })
    }

    fn blob(self, rng: &mut RowRng, number: u64, mime_type: &'static str) -> Blob {
        let link = ids::blob(self.seed, number);
        Blob {
            kind: "blob",
            r#ref: Link { link },
            mime_type,
            size: 10_000 + rng.below(990_000),
        }
    }

    fn profile(self, rng: &mut RowRng, number: u64) -> Profile {
        Profile {
            avatar: happens(rng, 850).then(|| self.blob(rng, number * 8, "image/jpeg")),
            banner: happens(rng, 400).then(|| self.blob(rng, number * 8 + 1, "image/jpeg")),
            description: happens(rng, 600).then(|| text::words(rng, 14)),
            display_name: happens(rng, 800).then(|| text::words(rng, 2)),
        }
    }

    /// Writes all documents of a kind, a line each. Errors are those of `out`.
    pub fn write(self, kind: Kind, out: &mut impl Write) -> io::Result<()> {
        for number in 0..self.events {
            match kind {
                Kind::Events => serde_json::to_writer(&mut *out, &self.event(number))?,
                Kind::Views => serde_json::to_writer(&mut *out, &self.view(number))?,
            }
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}

pub(crate) fn time(us: u64) -> String {
    DateTime::from_timestamp_micros(us as i64)
        .unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn address(rng: &mut RowRng) -> String {
    format!(
        "https://{}.example.com/{}/{}",
        text::single(rng),
        text::single(rng),
        rng.below(1_000_000)
    )
}

fn ratio(rng: &mut RowRng) -> Ratio {
    let (height, width) = rng.pick(&[(1080, 1920), (2000, 1500), (1500, 2000), (1000, 1000), (0, 0)]);
    if height > 0 {
        return Ratio { height, width };
    }
    Ratio {
        height: rng.between(200, 2000),
        width: rng.between(200, 2000),
    }
}

fn rules(rng: &mut RowRng) -> Vec<Rule> {
    let mut rules = vec![Rule {
        kind: "social.gate#mention",
    }];
    if happens(rng, 600) {
        rules.push(Rule {
            kind: "social.gate#following",
        });
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::{BTreeMap, BTreeSet};

    fn events(seed: u64, events: u64) -> Vec<Value> {
        let mut out = Vec::new();
        Stream { seed, events }.write(Kind::Events, &mut out).unwrap();
        let lines = std::str::from_utf8(&out).unwrap().lines();
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn a_stream_repeats_and_seeds_differ() {
        assert_eq!(events(1, 100), events(1, 100));
        assert_ne!(events(1, 100), events(2, 100));
    }

    #[test]
    fn times_are_distinct_nearly_ordered_and_cover_a_day() {
        let times: Vec<u64> = events(42, 4000)
            .iter()
            .map(|e| e["time_us"].as_u64().unwrap())
            .collect();
        assert_eq!(times.iter().collect::<BTreeSet<_>>().len(), times.len());
        assert!(!times.is_sorted());
        assert!(times.windows(17).all(|w| w[0] < w[16] + 16 * DAY_US / 4000));
        let hours: BTreeSet<u64> = times.iter().map(|t| (t - START_US) / 3_600_000_000).collect();
        assert_eq!(hours.len(), 24);
    }

    #[test]
    fn events_are_of_the_shape_promised() {
        let events = events(42, 20_000);
        let bytes: usize = events.iter().map(|e| e.to_string().len() + 1).sum();
        assert!(
            (450..550).contains(&(bytes / events.len())),
            "{} bytes per event",
            bytes / events.len()
        );
        let mut kinds = BTreeMap::new();
        let mut subjects = BTreeMap::new();
        for event in &events {
            *kinds.entry(event["kind"].as_str().unwrap()).or_insert(0) += 1;
            let subject = &event["commit"]["record"]["subject"];
            *subjects.entry((subject.is_string(), subject.is_object())).or_insert(0) += 1;
        }
        assert_eq!(kinds.len(), 3);
        assert!(
            subjects[&(true, false)] > 3000 && subjects[&(false, true)] > 8000,
            "{subjects:?}"
        );
        let users: BTreeSet<&str> = events.iter().map(|e| e["did"].as_str().unwrap()).collect();
        assert!((2000..5000).contains(&users.len()), "{} users", users.len());
    }

    #[test]
    fn facets_mark_the_text() {
        let mut seen = 0;
        for event in events(42, 20_000) {
            let record = &event["commit"]["record"];
            for facet in record["facets"].as_array().into_iter().flatten() {
                let at = |name: &str| facet["index"][name].as_u64().unwrap() as usize;
                let text = &record["text"].as_str().unwrap()[at("byteStart")..at("byteEnd")];
                if let Some(tag) = facet["features"][0]["tag"].as_str() {
                    assert_eq!(text, format!("#{tag}"));
                    seen += 1;
                }
            }
        }
        assert!(seen > 100);
    }
}
