"use strict";
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", openTarget);
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (link && link.hash === location.hash) openTarget();
});
async function unpack() {
  const packed = document.getElementById("packed");
  if (!packed) return;
  const bytes = Uint8Array.from(atob(packed.textContent), (each) => each.charCodeAt(0));
  const told = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  document.getElementById("transcripts").innerHTML = await new Response(told).text();
  packed.remove();
}
const field = (id) => document.getElementById(id);
const chosen = (id) => field(id)?.value ?? "";
const texts = new Map();
function textOf(view) {
  if (!texts.has(view)) texts.set(view, field("c" + view)?.textContent.toLowerCase() ?? "");
  return texts.get(view);
}
function filter() {
  const words = chosen("find").toLowerCase().split(/\s+/).filter(Boolean);
  const [which, tool] = [chosen("which"), chosen("tool")];
  const shown = new Set();
  const all = new Set();
  for (const row of document.querySelectorAll("tr[data-view]")) {
    const { view, right, tools } = row.dataset;
    const said = row.textContent.toLowerCase() + " " + tools.toLowerCase();
    row.hidden = !(
      (!which || (which === "differs" ? "differs" in row.dataset : right === which)) &&
      (!tool || tools.split(" ").includes(tool)) &&
      words.every((word) => said.includes(word) || textOf(view).includes(word))
    );
    all.add(view);
    if (!row.hidden) shown.add(view);
  }
  for (const view of all) if (field("c" + view)) field("c" + view).hidden = !shown.has(view);
  field("found").textContent = shown.size < all.size ? `${shown.size} of ${all.size} conversations` : "";
}
for (const id of ["find", "which", "tool"]) field(id)?.addEventListener("input", filter);
if (field("filter")) field("filter").hidden = false;
unpack().then(() => {
  texts.clear();
  filter();
  openTarget();
});
