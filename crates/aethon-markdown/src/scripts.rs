//! Which characters belong to scripts without blanks between words, and which end a sentence.

/// Returns whether a character belongs to a script that writes words without blanks between them, or attaches endings to
/// foreign words.
pub(crate) fn is_unspaced(c: char) -> bool {
    is_east_asian(c) || is_southeast_asian(c)
}

fn is_east_asian(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' // Hangul letters
        | '\u{2e80}'..='\u{2fdf}' // radicals
        | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3031}'..='\u{3035}'
        | '\u{3041}'..='\u{309f}' // Hiragana
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' // Katakana
        | '\u{3105}'..='\u{312f}' // Bopomofo
        | '\u{3131}'..='\u{318f}' // Hangul letters
        | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}' // Hangul syllables
        | '\u{f900}'..='\u{faff}' | '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}'
        | '\u{ff66}'..='\u{ffdc}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Thai, Lao, Burmese and Khmer, with their vowel signs and tone marks.
pub(crate) fn is_southeast_asian(c: char) -> bool {
    matches!(c, '\u{0e01}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e59}' | '\u{0e81}'..='\u{0edf}'
        | '\u{1000}'..='\u{1049}' | '\u{104c}'..='\u{109f}' | '\u{1780}'..='\u{17d3}' | '\u{17dc}'..='\u{17ff}')
}

/// Returns whether a character is punctuation that no address goes on after: it ends or divides a sentence, or it opens or
/// closes a quotation or a remark.
pub(crate) fn ends_address(c: char) -> bool {
    matches!(c,
        '、' | '。' | '〃' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301b}' | '\u{301d}'..='\u{301f}'
        | '！' | '＂' | '＇' | '（' | '）' | '，' | '．' | '：' | '；' | '＜' | '＞' | '？' | '［' | '］'
        | '｛' | '｜' | '｝' | '\u{ff5f}'..='\u{ff64}' | '\u{fe10}'..='\u{fe19}' | '\u{fe30}'..='\u{fe4f}'
        | '“' | '”' | '„' | '‟' | '‘' | '‚' | '‛' | '…' | '‥' | '—' | '―' | '«' | '»' | '‹' | '›' | '¡' | '¿'
        // Marks of sentences in Arabic, Armenian, Devanagari, Tibetan, Burmese, Ethiopic and Khmer.
        | '،' | '؛' | '؟' | '۔' | '։' | '।' | '॥' | '།' | '၊' | '။' | '፣' | '።' | '។' | '៕')
        || is_invisible(c)
}

/// Returns whether a character only directs how text is laid out.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Returns whether a character may be within an address, but does not end one.
pub(crate) fn never_ends_address(c: char) -> bool {
    matches!(c, '・' | '･' | '·' | '～' | '〜' | '’' | '–')
}
