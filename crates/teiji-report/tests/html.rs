//! The page: complete, harmless, self-contained, well formed.

mod html_page;
mod remedies;

use html_page::{page, page_of};
use teiji_record::summary::{ClockSummary, PeriodicFlow, Testbed};
use teiji_record::{BridgeHeadroom, Verdict};
use teiji_stats::{DelayCounts, DelayStatistics};

/// The page without what is inside `<script>` and `<style>`.
fn markup(page: &str) -> String {
    let mut rest = page;
    let mut kept = String::new();
    while let Some(start) = ["<script", "<style"].iter().filter_map(|t| rest.find(t)).min() {
        let name = if rest[start..].starts_with("<script") { "script" } else { "style" };
        let close = format!("</{name}>");
        kept.push_str(&rest[..start]);
        let end = rest[start..].find(&close).expect("it is closed");
        rest = &rest[start + end + close.len()..];
    }
    kept + rest
}

#[test]
fn nothing_of_the_users_text_becomes_markup() {
    let page = page();
    assert!(!page.contains("<script>alert"), "a question became a script");
    for raw in [
        "<b>text</b>",
        "<angle>",
        "<data>",
        "<late>",
        "<eight>",
        "woke </b>",
        "<!-- 'this",
        "<invented>",
        "<one>",
        "<b>2000",
        "run-<1>",
        "<other>",
        "<BH>",
        "ptp4l </b>",
    ] {
        assert!(!page.contains(raw), "{raw}");
    }
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert!(page.contains("A warning with &lt;angle&gt; brackets."));
    assert!(page.contains("<li>It has &lt;other&gt; queues.</li>"));
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let page = page();
    let loaders =
        ["src=", "@import", "url(", "fetch(", "XMLHttpRequest", "import(", "WebSocket", "<link"];
    for loader in loaders {
        assert!(!page.contains(loader), "{loader}");
    }
    let links: Vec<&str> = page.split("href=\"").skip(1).collect();
    // Links are within the page, and to the runs beside it.
    let near = |link: &&str| link.starts_with('#') || link.starts_with("../");
    assert!(!links.is_empty() && links.iter().all(near));
    // The vendored library names its home in a comment, and that is all.
    let named = page.matches("https://").count() + page.matches("http://").count();
    let own = page.matches("/*! https://github.com/leeoniya/uPlot").count();
    assert_eq!(named, own, "an address that is not the library's");
}

#[test]
fn the_library_comes_with_its_licence() {
    let page = page();
    assert!(page.contains("Leon Sorokin") && page.contains("Permission is hereby granted"));
}

#[test]
fn the_page_has_all_parts_of_the_design_in_their_order() {
    let page = markup(&page());
    let order = [
        "Synthetic data.",
        "<h1>",
        "class=\"answer\"",
        "Margin for &lt;one&gt;",
        "0 of &lt;b&gt;2000",
        "resolution",
        "measured / paper",
        "23\u{202f}460\u{a0}ns",
        "Deviation of every frame",
        "Histogram",
        "Tail",
        "wake-up latency",
        "What the kernel did",
        "polls ended by the budget on CPU 0",
        "BQL limit of talker.line at the end, bytes",
        "028</td>",
        "wake-ups of ksoftirqd/0",
        "234</td>",
        "run time of ksoftirqd/0",
        "4.5",
        "Why frames took their time",
        "200 frames",
        "waited for the &lt;BH&gt; lock",
        "cycle #77: 40.000 µs",
        "ptp4l &lt;/b&gt;",
        "waited for the &lt;BH&gt; lock</b> 24.000 µs (+24.000)",
        "Outliers",
        "frame #7",
        "It woke &lt;late&gt;.",
        "Set-up as observed",
        "configured: 4",
        "Warnings",
        "teiji run --replay x",
        "What this does not prove",
    ];
    let mut at = 0;
    for words in order {
        let found = page[at..].find(words);
        assert!(found.is_some(), "`{words}` is missing or out of order");
        at += found.unwrap_or(0);
    }
}

#[test]
fn an_outlier_has_an_address_and_leads_to_its_chart() {
    let page = markup(&page());
    let text = section(&page, "outliers");
    assert_eq!(text.matches("id=\"7\"").count(), 1, "{text}");
    assert!(text.contains("<a href=\"#7\" data-seq=\"7\" data-case="), "{text}");
}

#[test]
fn the_contents_lead_to_the_causes_where_there_are_some() {
    assert!(markup(&page()).contains("<a href=\"#causes\">Causes</a>"));
}

#[test]
fn every_plot_names_its_units() {
    let page = markup(&page());
    let plots: Vec<&str> = page.split("<figure").skip(1).collect();
    assert_eq!(plots.len(), 6, "still, histogram, tail, loads, causes, a frame");
    let units = [
        ["deviation in µs", "time since the first frame in s"],
        ["deviation in µs", "number of intervals"],
        ["\u{a0}µs</text>", "share of intervals"],
        ["\u{a0}Mbit/s</text>", "time since the first departure in ms"],
        ["microseconds</text>", "share of the frames that are faster"],
        ["the frame</text>", "time since the timer’s expiry in µs"],
    ];
    for (plot, labels) in plots.iter().zip(units) {
        for label in labels {
            assert!(plot.contains(label), "{label} is missing in {plot}");
        }
    }
}

#[test]
fn the_verdict_on_requirements_is_the_headline() {
    let page = markup(&page_of(|summary| {
        let verdict = |requirement: &str, holds| Verdict {
            case: "etf".to_owned(),
            requirement: requirement.to_owned(),
            holds,
            measured: "<cycle>: 2".to_owned(),
        };
        summary.verdicts = vec![verdict("range <= 20us", true), verdict("lost = 0", false)];
    }));
    let headline = "</h1>\n<p class=\"verdict fail\"><strong>FAIL</strong> 1 of 2 requirements: \
                    etf: lost = 0 (&lt;cycle&gt;: 2).</p>\n<p class=\"answer\">";
    assert!(page.contains(headline), "{page}");
    let table = section(&page, "requirements");
    assert!(table.contains("<td class=\"pass\">pass</td>"), "{table}");
    assert!(table.contains("<td class=\"fail\">FAIL</td>"), "{table}");
    assert!(page.contains("href=\"#requirements\""));
}

#[test]
fn a_case_that_a_common_scale_flattens_is_drawn_on_its_own() {
    let page = markup(&page());
    let still = &page[page.find("class=\"still\"").unwrap()..];
    let still = &still[..still.find("</figure>").unwrap()];
    for part in ["normal, own scale", "etf, own scale", "deviation in µs", "deviation in ns"] {
        assert!(still.contains(part), "{part}");
    }
}

#[test]
fn every_element_is_closed_in_order() {
    const VOID: [&str; 2] = ["meta", "!doctype"];
    let page = markup(&page());
    let mut open: Vec<&str> = Vec::new();
    for tag in page.split('<').skip(1) {
        let (tag, _) = tag.split_once('>').expect("a tag ends");
        if tag.ends_with('/') || VOID.iter().any(|void| tag.starts_with(void)) {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes something else");
        } else {
            open.push(tag.split_whitespace().next().unwrap_or(tag));
        }
    }
    assert!(open.is_empty(), "{open:?} stay open");
}

#[test]
fn a_setting_that_differs_from_the_plan_is_marked_at_the_top_too() {
    let page = markup(&page());
    assert!(page.contains("Set-up (1 setting not as configured)"));
    assert!(page.contains("class=\"differs\""));
}

#[test]
fn a_bridges_queue_space_is_shown_without_receivers_with_flow_control() {
    assert!(!page().contains("Headroom of"));
    let page = markup(&page_of(|summary| {
        summary.cases[0].members[0].bridge_headrooms = vec![BridgeHeadroom {
            host: "<x>".to_owned(),
            wire: "s".to_owned(),
            room: 426,
            headroom: 213,
            pause_requests: 5,
            most: 203,
            over_limit: 0,
        }];
    }));
    assert!(page.contains("href=\"#bridge-headroom\""));
    let text = section(&page, "bridge-headroom");
    assert!(text.contains("s of &lt;x&gt;") && text.contains("203"), "{text}");
    assert!(!text.contains("fullest"), "no sockets: {text}");
}

#[test]
fn a_captures_missing_frames_are_not_lost_on_the_way() {
    let page = markup(&page_of(|summary| {
        summary.testbed = Testbed::Capture;
        let members = summary.cases.iter_mut().flat_map(|case| &mut case.members);
        for flow in members.flat_map(|member| member.flows.values_mut()) {
            flow.counts.lost = 3;
        }
    }));
    assert!(page.contains("not in the capture") && !page.contains("lost on the way"));
}

#[test]
fn several_periodic_flows_of_a_capture_are_a_table() {
    let flow = |flow: &str, analysed| PeriodicFlow {
        flow: flow.to_owned(),
        options: "--flow 3".to_owned(),
        frames: 1_000,
        period_ns: 1_000_000,
        range_ns: Some(2_500_000),
        analysed,
    };
    let of = |flows: Vec<PeriodicFlow>| markup(&page_of(move |summary| summary.periodic = flows));
    let page = of(vec![flow("one", true), flow("<two>", false)]);
    assert!(page.contains("href=\"#periodic\""));
    let text = section(&page, "periodic");
    assert!(text.contains("&lt;two&gt;") && text.contains("2.5\u{a0}ms"), "{text}");
    assert!(text.contains("<code>--flow 3</code>"), "{text}");
    assert!(!of(vec![flow("one", true)]).contains("id=\"periodic\""));
}

#[test]
fn the_delay_between_two_captures_has_figures_and_plots() {
    let of = |lowest: i64| {
        markup(&page_of(move |summary| {
            let delay = teiji_stats::delay::delays((0..100).map(|k| lowest + k * 10));
            let counts = DelayCounts { matched: 100, ..DelayCounts::default() };
            let member = &mut summary.cases[0].members[0];
            member.flows.clear();
            member.delays =
                [("<flow>".to_owned(), DelayStatistics { counts, delay })].into_iter().collect();
            summary.cases.truncate(1);
            summary.cases[0].members.truncate(1);
        }))
    };
    let text = of(4_420);
    let text = section(&text, "results");
    assert!(text.contains("Delay from the first capture to the second"), "{text}");
    assert!(text.contains("&lt;flow&gt;") && text.contains("Histogram of the delays"));
    assert!(text.contains("Tail of the delays") && text.contains("<th>p90</th>"));
    let below = of(-400);
    assert!(!section(&below, "results").contains("Tail of"), "no tail of absolute values");
}

#[test]
fn the_note_below_the_figures_explains_a_percentile_that_is_there() {
    let page = markup(&page());
    let (_, note) = page.split_once("is the absolute deviation that").expect("a note");
    let share = note.trim_start().split(' ').next().unwrap();
    assert!(page.contains(&format!("<th>p{share}</th>")), "p{share} has no row");
}

/// The section with this `id`, without drawings: those are looked at in a browser.
fn section(page: &str, id: &str) -> String {
    let start = page.find(&format!("<section id=\"{id}\">")).expect(id);
    let end = start + page[start..].find("</section>").expect("it is closed");
    let mut rest = &page[start..end];
    let mut kept = String::new();
    while let Some(drawing) = rest.find("<svg") {
        kept.push_str(&rest[..drawing]);
        rest = &rest[drawing + rest[drawing..].find("</svg>").expect("it is closed") + 6..];
    }
    kept + rest + "</section>\n"
}

/// Compares with `tests/golden/<name>`; `TEIJI_BLESS=1` writes it anew.
#[track_caller]
fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("TEIJI_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(text == expected, "{name} reads otherwise now:\n{text}");
}

#[test]
fn round_trips_and_the_ranking_read_as_they_did() {
    let page = page_of(remedies::remedies);
    golden("round-trips.html", &section(&page, "round-trips-0"));
    assert!(!page.contains("<best>"), "a file became markup");
    golden("ranking.html", &section(&page, "ranking"));
}

#[test]
fn how_busy_each_cpu_was_is_a_table_with_a_column_for_each() {
    let page = page();
    let table = page.split("id=\"cpu-time\"").nth(1).expect("the section").split("</section>");
    let table = table.into_iter().next().unwrap();
    assert!(table.contains("<th>CPU 0</th>"), "{table}");
    assert_eq!(table.matches("87.5").count(), 2, "{table}");
    // Older runs have none.
    let older = page_of(|s| s.cases.iter_mut().for_each(|c| c.members[0].cpu_time.clear()));
    assert!(!older.contains("id=\"cpu-time\""));
}

#[test]
fn the_offset_of_clocks_is_drawn_on_the_time_of_the_frames() {
    let page = page_of(|summary| {
        summary.cases[0].members[0].clocks = vec![ClockSummary {
            clock: "talker.<line>".to_owned(),
            reference: "listener.line".to_owned(),
            settled_ns: 21_000_000_000,
            samples: 2,
            mean_ns: 10.0,
            rms_ns: 30.0,
            worst_ns: 40,
        }];
    });
    let clocks = page.split("<section id=\"clocks\">").nth(1).unwrap();
    let clocks = clocks.split("</section>").next().unwrap();
    assert!(clocks.contains("Offset of each clock over time"), "{clocks}");
    assert!(clocks.contains(">normal, talker.&lt;line&gt;<"), "{clocks}");
    // Frames were seen for 2 s less 1 ms. The convergence before them is not on their time.
    assert_eq!(clocks.matches("class=\"line\"").count(), 1);
    let path = clocks.split("class=\"line\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(path, "M84.0 20.0L398.2 56.0");
}
