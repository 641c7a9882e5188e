//! Tells from the subject whether a mail was forwarded or is an answer: programs put a mark before it, each in its own
//! language.

use super::phrases::{FORWARDS, REPLIES};

/// The longest mark of letters alone that is taken for one in a language that is not in the lists.
const MAX_UNKNOWN: usize = 3;

/// Returns whether a subject says that the mail was forwarded.
pub(super) fn says_forwarded(subject: &str) -> bool {
    let Some(mark) = mark(subject) else { return false };
    let is_unknown = || {
        // `KW: plan`: short and in capitals, as such marks are.
        let letters = mark.original.chars().count();
        letters <= MAX_UNKNOWN
            && mark.original.chars().all(char::is_alphabetic)
            && mark.original.chars().any(char::is_uppercase)
            && !mark.original.chars().any(char::is_lowercase)
    };
    let is_reply = REPLIES.contains(&mark.lowered.as_str());
    FORWARDS.contains(&mark.lowered.as_str()) || !is_reply && is_unknown()
}

/// Returns whether a subject was taken from another mail: `Re: plan`, `Fwd: plan`, `AW[2]: plan`.
pub(super) fn is_of_another(subject: &str) -> bool {
    let is_reply = || mark(subject).is_some_and(|mark| REPLIES.contains(&mark.lowered.as_str()));
    says_forwarded(subject) || is_reply()
}

/// The mark before a subject, without the number that some programs add.
struct Mark {
    original: String,
    lowered: String,
}

fn mark(subject: &str) -> Option<Mark> {
    // Lists and gateways put a word in brackets before everything else: `[EXTERNAL] Fwd: plan`.
    let mut rest = subject.trim_start();
    while let Some((_, behind)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        rest = behind.trim_start();
    }
    let (mark, _) = rest.split_once([':', '：'])?;
    let is_count = |c: char| c.is_ascii_digit() || matches!(c, '[' | ']' | '(' | ')' | '*' | ' ' | '\u{a0}');
    let original = mark.trim().trim_end_matches(is_count).to_owned();
    let lowered = original.to_lowercase();
    Some(Mark { original, lowered })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forwarded_mail_is_recognised_by_its_subject_in_any_language() {
        for subject in [
            "Fwd: plan",
            "FW: plan",
            "fwd(3): plan",
            "[EXTERNAL] Fwd: plan",
            "[a] [b] FW: plan",
            "WG: Plan",
            "TR : plan",
            "RV: plan",
            "ENC: plano",
            "I: piano",
            "VB: plan",
            "VL: suunnitelma",
            "VS: plan",
            "Doorst: plan",
            "PD: plan",
            "Fs: plan",
            "Tov: terv",
            "Továbbítás: terv",
            "İLT: plan",
            "ilt: plan",
            "Redir: plan",
            "Přeposláno: plán",
            "Proslijeđeno: plan",
            "Пер: план",
            "Переслано: план",
            "ΠΡΘ: plan",
            "הועבר: תוכנית",
            "إعادة توجيه: خطة",
            "转发：计划",
            "轉寄: 計畫",
            "転送: 計画",
            "전달: 계획",
            "ส่งต่อ: แผน",
            "Chuyển tiếp: kế hoạch",
            "Fwd: Re: plan",
            // Marks of languages that are not listed, recognised by their shape.
            "ZX: plan",
            "ԱԲ: plan",
        ] {
            assert!(says_forwarded(subject) && is_of_another(subject), "{subject}");
        }
        for subject in [
            "Re: plan",
            "AW[2]: plan",
            "SV: plan",
            "Odp: plan",
            "回复：计划",
            "返信: 計画",
            "Ynt: plan",
            "Re: Fwd: plan",
        ] {
            assert!(!says_forwarded(subject) && is_of_another(subject), "{subject}");
        }
        for subject in ["plan", "Note: milk", "MEMO: milk", "10:30 dentist", "", ":", "Urgent: call mum"] {
            assert!(!is_of_another(subject), "{subject}");
        }
    }
}
