// In the head, so that a dark page never flashes light.
{
  const wanted = new URLSearchParams(location.search).get("theme");
  let kept = null;
  try { kept = localStorage.getItem("teiji-theme"); } catch { /* a file may have no storage */ }
  const name = [wanted, kept].find((one) => one === "light" || one === "dark");
  if (name) document.documentElement.dataset.theme = name;
}
