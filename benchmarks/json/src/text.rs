//! Text that looks and compresses somewhat like what people write: words of a fixed vocabulary, common ones more often.

use amax_ssb::rng::RowRng;

const ONSETS: [&str; 20] = [
    "b", "br", "c", "ch", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v", "w",
];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "ou", "é"];
const CODAS: [&str; 10] = ["", "", "", "n", "r", "s", "t", "l", "nd", "ck"];
const KANA: [char; 24] = [
    'の', 'は', 'い', 'し', 'た', 'て', 'に', 'を', 'と', 'が', 'で', 'す', 'か', 'な', 'ま', 'る', 'も', 'こ', '日',
    '本', '語', '今', '人', '見',
];
const ASIDES: [&str; 8] = ["\n", "\n\n", " \"", "\" ", "! ", "? ", " 🎉 ", " ❤️ "];
const VOCABULARY: u64 = 8192;

/// Word `number` of the vocabulary: short if common.
fn word(number: u64, out: &mut String) {
    let mut rng = RowRng::new(0, 0x77, number);
    let syllables = 1 + number.ilog2() / 5 + rng.below(2) as u32;
    for _ in 0..syllables {
        out.push_str(rng.pick(&ONSETS));
        out.push_str(rng.pick(&VOWELS));
        out.push_str(rng.pick(&CODAS));
    }
}

/// A common word more often: 1..=VOCABULARY, the chance of n about 1/n.
fn any(rng: &mut RowRng) -> u64 {
    let bits = rng.below(u64::from(VOCABULARY.ilog2()) + 1);
    (1 << bits) + rng.below(1 << bits).min(VOCABULARY - (1 << bits))
}

/// One word, for names and tags.
pub fn single(rng: &mut RowRng) -> String {
    let mut text = String::new();
    word(any(rng), &mut text);
    text
}

/// So many words, with what people put between them.
pub fn words(rng: &mut RowRng, count: u64) -> String {
    let mut text = String::with_capacity(count as usize * 7);
    for at in 0..count {
        if at > 0 {
            match rng.below(16) {
                0 => text.push_str(rng.pick(&ASIDES)),
                1 => text.push_str(", "),
                2 => text.push_str(". "),
                _ => text.push(' '),
            }
        }
        word(any(rng), &mut text);
    }
    text
}

/// Japanese, in looks.
pub fn kana(rng: &mut RowRng, count: u64) -> String {
    (0..count).map(|_| rng.pick(&KANA)).collect()
}
