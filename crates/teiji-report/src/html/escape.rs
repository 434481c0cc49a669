//! Text that others wrote, made harmless.

/// As text or attribute value of an HTML element.
pub fn text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// JSON inside a `<script>` element: nothing in it may look like a tag.
pub fn json_in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_cannot_end_the_script() {
        let json = json_in_script("\"</script><script>alert(1)</script>\"");
        assert!(!json.contains('<') && !json.contains('>'));
        assert_eq!(
            serde_json::from_str::<String>(&json).unwrap(),
            "</script><script>alert(1)</script>"
        );
        assert_eq!(text("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
    }
}
