//! A post as a reader sees it, with its author and replies: the row of an application's table, 1 to 2 kB.

use crate::event::Post;
use crate::ids::{self, streams};
use crate::stream::{START_US, Stream, happens, skewed, time};
use crate::text;
use amax_ssb::rng::RowRng;
use serde::Serialize;

#[derive(Serialize)]
pub struct View {
    pub id: u64,
    pub uri: String,
    pub cid: String,
    pub author: Author,
    pub record: Post,
    pub metrics: Metrics,
    pub replies: Vec<Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub viewer: Option<Viewer>,
    #[serde(rename = "indexedAt")]
    pub indexed_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    pub did: String,
    pub handle: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    pub avatar: String,
    pub created_at: String,
    pub counts: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Serialize)]
pub struct Counts {
    pub followers: u64,
    pub follows: u64,
    pub posts: u64,
}

#[derive(Serialize)]
pub struct Metrics {
    pub likes: u64,
    pub reposts: u64,
    pub replies: u64,
    pub quotes: u64,
    pub bookmarks: u64,
}

#[derive(Serialize)]
pub struct Answer {
    pub did: String,
    pub text: String,
    pub likes: u64,
    #[serde(rename = "createdAt")]
    pub created_at: String,
}

#[derive(Serialize)]
pub struct Viewer {
    pub muted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub following: Option<String>,
}

impl Stream {
    /// View `number`, from 0.
    pub fn view(self, number: u64) -> View {
        let rng = &mut RowRng::new(self.seed, streams::VIEW, number);
        let at = START_US + number * 1000;
        let did = self.someone(rng);
        let replies = (0..skewed(rng, 6)).map(|_| self.answer(rng, at)).collect::<Vec<_>>();
        View {
            id: number + 1,
            uri: format!("at://{did}/social.feed.post/{}", self.key(rng)),
            cid: ids::cid(self.seed, number),
            author: Author {
                handle: format!("{}{}.example.org", text::single(rng), rng.below(1000)),
                display_name: happens(rng, 900).then(|| text::words(rng, 2)),
                avatar: format!("https://cdn.example.com/avatar/{did}/{}", ids::blob(self.seed, number)),
                created_at: time(at - rng.below(900 * 86_400_000_000)),
                counts: Counts {
                    followers: skewed(rng, 100_000),
                    follows: skewed(rng, 5_000),
                    posts: skewed(rng, 50_000),
                },
                verified: happens(rng, 50).then_some(true),
                description: happens(rng, 600).then(|| text::words(rng, 14)),
                did,
            },
            record: self.post(rng, number),
            metrics: Metrics {
                likes: skewed(rng, 3_000),
                reposts: skewed(rng, 500),
                replies: replies.len() as u64,
                quotes: skewed(rng, 50),
                bookmarks: skewed(rng, 100),
            },
            replies,
            viewer: happens(rng, 300).then(|| Viewer {
                muted: happens(rng, 20),
                following: happens(rng, 500).then(|| self.key(rng)),
            }),
            indexed_at: time(at + rng.below(5_000_000)),
        }
    }

    fn answer(self, rng: &mut RowRng, at: u64) -> Answer {
        let length = 1 + skewed(rng, 40);
        Answer {
            did: self.someone(rng),
            text: text::words(rng, length),
            likes: skewed(rng, 300),
            created_at: time(at + rng.below(3_600_000_000)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_of_one_to_two_kilobytes() {
        let stream = Stream { seed: 42, events: 5000 };
        let bytes: usize = (0..5000)
            .map(|n| serde_json::to_string(&stream.view(n)).unwrap().len())
            .sum();
        assert!((1_000..2_000).contains(&(bytes / 5000)), "{} bytes", bytes / 5000);
    }
}
