const value = (cell) => cell.dataset.v ?? cell.textContent.trim();
function sort(table, column) {
  const head = table.tHead.rows[0].cells[column];
  const descends = head.ariaSort !== "descending" && (column > 0 || head.ariaSort === "ascending");
  for (const cell of table.tHead.rows[0].cells) cell.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descends ? "descending" : "ascending");
  const keyed = [...table.tBodies[0].rows].map((row) => [value(row.cells[column]), row]);
  const compared = (a, b) => (isNaN(a) || isNaN(b) ? String(a).localeCompare(b) : a - b);
  keyed.sort(([a], [b]) => (descends ? compared(b, a) : compared(a, b)));
  table.tBodies[0].append(...keyed.map(([, row]) => row));
}
document.addEventListener("click", (event) => {
  const head = event.target.closest("[data-sort] thead th");
  if (head) sort(head.closest("table"), head.cellIndex);
});
