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
const letters = new Set([...(field("side0")?.options ?? [])].map((option) => option.value).filter(Boolean));
function beside() {
  const sides = [chosen("side0"), chosen("side1")];
  const pair = sides.filter(Boolean);
  const hides = (letter) => pair.length > 0 && letters.has(letter) && !pair.includes(letter);
  const counts = [0, 0];
  for (const table of document.querySelectorAll("table:not(.ladder)")) {
    const heads = [...(table.tHead?.rows[0].cells ?? [])].map((cell) => cell.textContent.trim());
    if (!heads.some((head) => letters.has(head))) continue;
    for (const row of table.rows)
      for (const cell of row.cells) if (cell.colSpan === 1) cell.hidden = hides(heads[cell.cellIndex]);
  }
  for (const box of document.querySelectorAll(".g>div"))
    box.hidden = [...box.querySelectorAll(":scope>.k")].every((key) => hides(key.textContent));
  for (const row of document.querySelectorAll("tr[data-ends]")) {
    const ends = Object.fromEntries(row.dataset.ends.split(" ").map((end) => end.split(":")));
    const [before, after] = sides.map((side) => Number(ends[side]));
    if (after > before) counts[0] += 1;
    if (after < before) counts[1] += 1;
  }
  const [won, lost] = counts;
  if (field("pair")) field("pair").textContent = pair.length === 2 ? `${sides[1]} against ${sides[0]}: ${won} won, ${lost} lost` : "";
}
for (const id of ["side0", "side1"]) field(id)?.addEventListener("input", beside);
for (const id of ["find", "which", "tool"]) field(id)?.addEventListener("input", filter);
if (field("filter")) field("filter").hidden = false;
unpack().then(() => {
  texts.clear();
  if (field("side0")) beside();
  filter();
  openTarget();
});
