//! One event, as it is written: the fields in this order, those that are `None` left out.

use serde::Serialize;

#[derive(Serialize)]
pub struct Event {
    pub did: String,
    /// Microseconds since 1970.
    pub time_us: u64,
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
}

/// A record written or deleted.
#[derive(Serialize)]
pub struct Commit {
    pub rev: String,
    pub operation: &'static str,
    pub collection: &'static str,
    pub rkey: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cid: Option<String>,
}

#[derive(Serialize)]
pub struct Identity {
    pub did: String,
    pub handle: String,
    pub seq: u64,
    pub time: String,
}

#[derive(Serialize)]
pub struct Account {
    pub active: bool,
    pub did: String,
    pub seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    pub time: String,
}

/// What was written; `$type` is the collection.
#[derive(Serialize)]
pub struct Record {
    #[serde(rename = "$type")]
    pub collection: &'static str,
    #[serde(rename = "createdAt", skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    #[serde(flatten)]
    pub body: Body,
}

#[derive(Serialize)]
#[serde(untagged)]
pub enum Body {
    Post(Box<Post>),
    About { subject: Subject },
    Profile(Box<Profile>),
    Gate { allow: Vec<Rule>, post: String },
    Item { list: String, subject: Subject },
}

/// An object where a like or a repost is about a record, a string where a follow or a block is about a user.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Subject {
    Record(Reference),
    User(String),
}

#[derive(Serialize)]
pub struct Reference {
    pub cid: String,
    pub uri: String,
}

#[derive(Serialize)]
pub struct Post {
    pub text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub langs: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embed: Option<Embed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facets: Vec<Facet>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<&'static str>,
}

#[derive(Serialize)]
pub struct Reply {
    pub parent: Reference,
    pub root: Reference,
}

#[derive(Serialize)]
#[serde(tag = "$type")]
pub enum Embed {
    #[serde(rename = "social.embed.images")]
    Images { images: Vec<Image> },
    #[serde(rename = "social.embed.external")]
    External { external: External },
    #[serde(rename = "social.embed.record")]
    Record { record: Reference },
    #[serde(rename = "social.embed.video")]
    Video {
        #[serde(rename = "aspectRatio")]
        aspect_ratio: Ratio,
        video: Blob,
    },
}

#[derive(Serialize)]
pub struct Image {
    pub alt: String,
    #[serde(rename = "aspectRatio", skip_serializing_if = "Option::is_none")]
    pub aspect_ratio: Option<Ratio>,
    pub image: Blob,
}

#[derive(Serialize)]
pub struct Ratio {
    pub height: u64,
    pub width: u64,
}

#[derive(Serialize)]
pub struct Blob {
    #[serde(rename = "$type")]
    pub kind: &'static str,
    pub r#ref: Link,
    #[serde(rename = "mimeType")]
    pub mime_type: &'static str,
    pub size: u64,
}

#[derive(Serialize)]
pub struct Link {
    #[serde(rename = "$link")]
    pub link: String,
}

#[derive(Serialize)]
pub struct External {
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thumb: Option<Blob>,
    pub title: String,
    pub uri: String,
}

/// A part of the text, in bytes, that means something.
#[derive(Serialize)]
pub struct Facet {
    pub features: Vec<Feature>,
    pub index: Span,
}

#[derive(Serialize)]
#[serde(tag = "$type")]
pub enum Feature {
    #[serde(rename = "social.facet#tag")]
    Tag { tag: String },
    #[serde(rename = "social.facet#link")]
    Link { uri: String },
    #[serde(rename = "social.facet#mention")]
    Mention { did: String },
}

#[derive(Serialize)]
pub struct Span {
    #[serde(rename = "byteEnd")]
    pub end: usize,
    #[serde(rename = "byteStart")]
    pub start: usize,
}

#[derive(Serialize)]
pub struct Labels {
    pub values: Vec<Label>,
}

#[derive(Serialize)]
pub struct Label {
    pub val: &'static str,
}

#[derive(Serialize)]
pub struct Profile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar: Option<Blob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub banner: Option<Blob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "displayName", skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

/// Who may reply.
#[derive(Serialize)]
pub struct Rule {
    #[serde(rename = "$type")]
    pub kind: &'static str,
}
