//! How large values come: one by one, or in clusters.

/// The extremal index by the intervals estimator (Ferro and Segers 2003): the
/// share of the values above `threshold` that begin a cluster of their own. 1 if
/// they are independent, 1/k if every cause makes k neighbours large. Never below
/// one cluster; 1 where there are fewer than two such values.
pub fn extremal_index(samples: &[i64], threshold: i64) -> f64 {
    let above: Vec<usize> =
        (0..samples.len()).filter(|index| samples[*index] > threshold).collect();
    let gaps = || above.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
    let count = above.len().saturating_sub(1) as f64;
    if count == 0.0 {
        return 1.0;
    }
    let (sum, squares) = if gaps().all(|gap| gap <= 2.0) {
        (gaps().sum::<f64>(), gaps().map(|gap| gap * gap).sum::<f64>())
    } else {
        (
            gaps().map(|gap| gap - 1.0).sum::<f64>(),
            gaps().map(|gap| (gap - 1.0) * (gap - 2.0)).sum::<f64>(),
        )
    };
    let index = if squares > 0.0 { 2.0 * sum * sum / (count * squares) } else { 1.0 };
    index.clamp(1.0 / above.len() as f64, 1.0)
}
