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
unpack().then(openTarget);
