//! Where rows go: CSV lines, JSON lines, or nowhere.

/// Output format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// RFC 4180 with line feeds and without a header, as PostgreSQL's and
    /// DuckDB's CSV readers take it.
    Csv,
    /// One JSON object per line, the column names as keys.
    Jsonl,
    /// The same as CSV, with the keys of joins as text: C-000012345.
    TextKeys,
}

/// The letter that a key begins with as text, if the column is one.
fn letter(column: &str) -> Option<char> {
    match column {
        "lo_custkey" | "c_custkey" => Some('C'),
        "lo_suppkey" | "s_suppkey" => Some('S'),
        "lo_partkey" | "p_partkey" => Some('P'),
        "lo_orderdate" | "d_datekey" => Some('D'),
        _ => None,
    }
}

/// Takes the fields of one row after another, in column order.
pub trait RowSink {
    /// A numeric field.
    fn int(&mut self, name: &'static str, value: u64);
    /// A text field.
    fn text(&mut self, name: &'static str, value: &str);
    /// The row is complete.
    fn end_row(&mut self);
}

/// Appends rows to a byte buffer.
pub struct Encoder {
    format: Format,
    buffer: Vec<u8>,
    first: bool,
}

impl Encoder {
    /// An empty buffer.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            buffer: Vec::new(),
            first: true,
        }
    }

    /// The bytes so far; complete rows only if called between rows.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Forgets the bytes so far, keeps the allocation.
    pub fn clear(&mut self) {
        self.buffer.clear();
    }

    fn field(&mut self, name: &'static str) {
        match self.format {
            Format::Csv | Format::TextKeys if self.first => {}
            Format::Csv | Format::TextKeys => self.buffer.push(b','),
            Format::Jsonl => {
                self.buffer.extend_from_slice(if self.first { b"{\"" } else { b",\"" });
                self.buffer.extend_from_slice(name.as_bytes());
                self.buffer.extend_from_slice(b"\":");
            }
        }
        self.first = false;
    }
}

impl RowSink for Encoder {
    fn int(&mut self, name: &'static str, value: u64) {
        let letter = (self.format == Format::TextKeys).then(|| letter(name)).flatten();
        if let Some(letter) = letter {
            return self.text(name, &format!("{letter}-{value:09}"));
        }
        self.field(name);
        self.buffer
            .extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.field(name);
        match self.format {
            Format::Csv | Format::TextKeys if value.bytes().any(|b| matches!(b, b',' | b'"' | b'\n' | b'\r')) => {
                self.buffer.push(b'"');
                self.buffer.extend_from_slice(value.replace('"', "\"\"").as_bytes());
                self.buffer.push(b'"');
            }
            Format::Csv | Format::TextKeys => self.buffer.extend_from_slice(value.as_bytes()),
            Format::Jsonl if value.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\') => {
                self.buffer.push(b'"');
                self.buffer.extend_from_slice(value.as_bytes());
                self.buffer.push(b'"');
            }
            Format::Jsonl => {
                let escaped = serde_json::Value::from(value).to_string();
                self.buffer.extend_from_slice(escaped.as_bytes());
            }
        }
    }

    fn end_row(&mut self) {
        if self.format == Format::Jsonl {
            self.buffer.push(b'}');
        }
        self.buffer.push(b'\n');
        self.first = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(format: Format) -> String {
        let mut out = Encoder::new(format);
        for (number, text) in [(1, "plain"), (22, "a \"b\", c\\")] {
            out.int("n", number);
            out.text("t", text);
            out.end_row();
        }
        String::from_utf8(out.bytes().to_vec()).unwrap()
    }

    #[test]
    fn csv_quotes_only_where_it_must() {
        assert_eq!(encode(Format::Csv), "1,plain\n22,\"a \"\"b\"\", c\\\"\n");
    }

    #[test]
    fn keys_are_text_if_wanted() {
        let mut out = Encoder::new(Format::TextKeys);
        for (name, value) in [("c_custkey", 12345), ("p_size", 7), ("d_datekey", 19_940_101)] {
            out.int(name, value);
        }
        out.end_row();
        assert_eq!(out.bytes(), b"C-000012345,7,D-019940101\n");
    }

    #[test]
    fn json_escapes() {
        assert_eq!(
            encode(Format::Jsonl),
            "{\"n\":1,\"t\":\"plain\"}\n{\"n\":22,\"t\":\"a \\\"b\\\", c\\\\\"}\n"
        );
    }
}
