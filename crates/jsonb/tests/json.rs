//! What is JSON to `jsonb_in`, and what is not.

use amax_jsonb::{Error, json};

#[test]
fn what_is_not_json_is_refused_where_it_breaks() {
    for (text, offset) in [
        ("", 0),
        ("  ", 2),
        ("[1,]", 3),
        ("[1 2]", 3),
        ("{\"a\"}", 4),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("nul", 3),
        ("tru e", 3),
        ("1 2", 2),
        ("[1]]", 3),
        ("'a'", 0),
        ("NaN", 0),
        ("Infinity", 0),
        ("-Infinity", 1),
        ("\"abc", 4),
        ("\"a\nb\"", 2),
        ("\"\\x\"", 2),
    ] {
        match json::parse(text) {
            Err(Error::Syntax { offset: found, .. }) => assert_eq!(found, offset, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    for text in [
        "01",
        "-",
        "1.",
        ".5",
        "+1",
        "1e",
        "1e+",
        "-01",
        "00",
        "[01]",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\\u12g4\"",
        "[",
        "{",
        "{\"a\":",
        "\u{feff}1",
    ] {
        assert!(matches!(json::parse(text), Err(Error::Syntax { .. })), "{text}");
    }
}

#[test]
fn nul_is_refused_in_strings_and_keys() {
    for text in [r#""\u0000""#, r#"["a\u0000b"]"#, r#"{"a\u0000":1}"#] {
        let Err(error @ Error::Syntax { .. }) = json::parse(text) else {
            panic!("{text}")
        };
        assert!(
            error.to_string().contains("\\u0000 cannot be converted to text"),
            "{error}"
        );
    }
    assert!(json::parse(r#""\\u0000""#).is_ok());
}

#[test]
fn numbers_longer_than_the_tokenizer_takes_are_exact_anywhere() {
    let long = "7".repeat(5000);
    for text in [
        format!("[1, {long}, 2]"),
        format!("{{\"a\": {long}.{long}, \"b\": -{long}}}"),
        format!("-{long}"),
    ] {
        assert_eq!(
            json::to_text(&json::parse(&text).expect("JSON")).expect("payload"),
            text
        );
    }
    let printed = json::to_text(&json::parse(&format!("[{long}e10,{long}E-3,3]")).expect("JSON"));
    assert_eq!(
        printed.expect("payload"),
        format!("[{long}0000000000, {}.777, 3]", "7".repeat(4997))
    );
    for broken in [
        format!("[{long}x]"),
        format!("[0{long}]"),
        format!("{long}."),
        format!("[{long}e]"),
        format!("[{long} 1]"),
    ] {
        assert!(matches!(json::parse(&broken), Err(Error::Syntax { .. })));
    }
    // Places are still counted from the start of the text.
    let Err(Error::Syntax { offset, .. }) = json::parse(&format!("[{long},x]")) else {
        panic!("parsed")
    };
    assert_eq!(offset, 5002);
    assert_eq!(
        json::parse(&format!("1{}", "0".repeat(131_072))),
        Err(Error::NumericOverflow)
    );
    assert_eq!(json::parse("1e-16384"), Err(Error::NumericOverflow));
}
