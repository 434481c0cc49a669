//! The page around the report: style sheets, scripts and data, all inside.
//!
//! The parts under `assets/` are put together as they are: there is no build
//! step, and what is read there is what a browser runs.

use super::escape::text;

const CSS: [&str; 5] = [
    include_str!("../../assets/css/colours.css"),
    include_str!("../../assets/css/page.css"),
    include_str!("../../assets/css/tables.css"),
    include_str!("../../assets/css/charts.css"),
    include_str!("../../assets/css/print.css"),
];
const EARLY_JS: &str = include_str!("../../assets/js/early.js");
/// In order of use: `main.js` starts it all.
const JS: [&str; 10] = [
    include_str!("../../assets/js/theme.js"),
    include_str!("../../assets/js/text.js"),
    include_str!("../../assets/js/data.js"),
    include_str!("../../assets/js/loads.js"),
    include_str!("../../assets/js/panel.js"),
    include_str!("../../assets/js/figure.js"),
    include_str!("../../assets/js/gestures.js"),
    include_str!("../../assets/js/curves.js"),
    include_str!("../../assets/js/found.js"),
    include_str!("../../assets/js/main.js"),
];
const UPLOT_CSS: &str = include_str!("../../assets/vendor/uPlot.min.css");
const UPLOT_JS: &str = include_str!("../../assets/vendor/uPlot.iife.min.js");
/// Has to go where the code goes.
const UPLOT_LICENSE: &str = include_str!("../../assets/vendor/LICENSE-uPlot");

/// What a page is made of beside its body.
pub struct Page<'a> {
    pub title: &'a str,
    /// Program and version.
    pub generator: &'a str,
    /// The packed series, as JSON for a script element.
    pub data: &'a str,
}

/// `body` as a complete file.
pub fn page(page: &Page<'_>, body: &str) -> String {
    let (title, generator, data) = (text(page.title), text(page.generator), page.data);
    let (css, js) = (CSS.concat(), JS.concat());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"{generator}\">\n<title>{title} · Teiji</title>\n\
         <script>\n{EARLY_JS}</script>\n<style>\n{UPLOT_CSS}\n{css}</style>\n</head>\n\
         <body>\n{body}\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>\n/* {UPLOT_LICENSE} */\n{UPLOT_JS}\n</script>\n\
         <script>\n(() => {{\n\"use strict\";\n{js}}})();\n</script>\n</body>\n</html>\n"
    )
}
