"use strict";
// Sorts the leaderboard by the clicked column; without scripts it stays as ranked.
(() => {
  const table = document.getElementById("models");
  if (!table) return;
  const body = table.tBodies[0];
  const value = (row, column, numeric) => {
    const cell = row.cells[column];
    if (!numeric) return cell.textContent.trim().toLowerCase();
    return cell.dataset.v === "" ? NaN : Number(cell.dataset.v);
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const numeric = head.classList.contains("num");
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [value(row, column, numeric), row]);
      rows.sort(([a], [b]) => {
        if (numeric && (Number.isNaN(a) || Number.isNaN(b))) return Number.isNaN(a) - Number.isNaN(b);
        return (a < b ? -1 : a > b ? 1 : 0) * (descending ? -1 : 1);
      });
      body.append(...rows.map(([, row]) => row));
    });
  });
})();
