//! The page in a real browser: every frame is unpacked and drawn, without an
//! error, in both themes and on paper.

mod html_page;

use std::path::Path;
use std::process::{Command, Output};

use html_page::{FRAMES, page};

/// Runs Chromium on `url`; `None` if there is none.
fn chromium(scratch: &Path, url: &str, arguments: &[&str]) -> Option<Output> {
    Command::new("chromium")
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,2000",
            "--virtual-time-budget=10000",
        ])
        .args(arguments)
        .arg(format!("--user-data-dir={}", scratch.join("profile").display()))
        .arg(url)
        .output()
        .ok()
}

/// The start tag of a page.
fn root_of(dom: &str) -> &str {
    dom.find("<html").and_then(|at| dom[at..].split('>').next()).unwrap_or("")
}

#[test]
fn a_browser_draws_every_frame_without_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("report.html");
    std::fs::write(&path, page()).unwrap();
    for theme in ["dark", "light"] {
        let url = format!("file://{}?theme={theme}", path.display());
        let Some(output) = chromium(scratch.path(), &url, &["--dump-dom"]) else {
            println!("SKIP a_browser_draws_every_frame_without_an_error: chromium is missing");
            return;
        };
        let dom = String::from_utf8_lossy(&output.stdout);
        let root = root_of(&dom);
        let facts = [
            "data-errors=\"0\"".to_owned(),
            "data-ready=\"yes\"".to_owned(),
            format!("data-points=\"{}\"", 2 * (FRAMES - 1)),
            format!("data-theme=\"{theme}\""),
        ];
        for fact in facts {
            assert!(root.contains(&fact), "{fact} is missing in {root}");
        }
        // ±500 ns beside ±20 µs: each case has its own scale until somebody wants one.
        assert!(dom.contains("aria-pressed=\"false\">One scale"), "{theme}");
        assert_eq!(dom.matches("<span class=\"own\">own scale</span>").count(), 2);
        let drawn = format!("data-drawn=\"{}\"", FRAMES - 1);
        assert_eq!(dom.matches(&drawn).count(), 2, "each panel draws all its frames");
        assert_eq!(dom.matches("data-loads=\"1\"").count(), 1, "and the loads of its own case");
    }
}

#[test]
fn an_address_shows_its_frame_in_the_chart() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("report.html");
    std::fs::write(&path, page()).unwrap();
    // An outlier, any other frame, one that is no frame of the run, and none at all.
    for (address, found) in [("7", true), ("12", true), ("999999", false), ("results", false)] {
        let url = format!("file://{}#{address}", path.display());
        let Some(output) = chromium(scratch.path(), &url, &["--dump-dom"]) else {
            println!("SKIP an_address_shows_its_frame_in_the_chart: chromium is missing");
            return;
        };
        let dom = String::from_utf8_lossy(&output.stdout);
        assert!(dom.contains("data-errors=\"0\""), "{address}");
        assert_eq!(dom.contains(&format!("data-found=\"{address}\"")), found, "{address}");
        let marked = dom.matches("class=\"found\" style=\"display: block").count();
        assert_eq!(marked, usize::from(found), "{address}: one panel marks it");
        let whole = format!("data-drawn=\"{}\"", FRAMES - 1);
        assert_eq!(dom.contains(&whole), !found, "{address}: the others are out of sight");
    }
}

/// The name of a cause may be longer than the page is wide.
#[test]
fn the_figures_of_causes_with_long_names_are_on_the_page() {
    const NAME: &str = "the &lt;BH&gt; lock";
    const MEASURE: &str = "<script>addEventListener('load', () => {
        const table = document.querySelector('#causes .wide');
        document.documentElement.dataset.hidden = table.scrollWidth - table.clientWidth;
    });</script></body>";
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("report.html");
    let page = page();
    assert!(page.contains(NAME));
    let page = page.replace(NAME, &"interrupt pending until a function ".repeat(8));
    std::fs::write(&path, page.replace("</body>", MEASURE)).unwrap();
    let url = format!("file://{}", path.display());
    let Some(output) = chromium(scratch.path(), &url, &["--dump-dom"]) else {
        println!("SKIP the_figures_of_causes_with_long_names_are_on_the_page: chromium is missing");
        return;
    };
    let dom = String::from_utf8_lossy(&output.stdout);
    let root = root_of(&dom);
    assert!(root.contains("data-hidden=\"0\""), "{root}");
}

#[test]
fn a_browser_prints_the_page() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("report.html");
    let pdf = scratch.path().join("report.pdf");
    std::fs::write(&path, page()).unwrap();
    let print = format!("--print-to-pdf={}", pdf.display());
    let url = format!("file://{}", path.display());
    if chromium(scratch.path(), &url, &[&print]).is_none() {
        println!("SKIP a_browser_prints_the_page: chromium is missing");
        return;
    }
    let printed = std::fs::read(&pdf).unwrap_or_default();
    assert!(printed.starts_with(b"%PDF") && printed.len() > 20_000, "{} bytes", printed.len());
}
