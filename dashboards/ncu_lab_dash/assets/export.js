// Saving what a card shows: its figure as PNG or SVG, its table as CSV. Nothing leaves the browser.
(function () {
  "use strict";

  function title(card) {
    const heading = card.querySelector("h2, h1");
    return heading ? heading.textContent : "figure";
  }

  function fileName(card, kind) {
    const words = title(card).toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    return (words || "figure").slice(0, 80) + "." + kind;
  }

  function save(url, name) {
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    document.body.appendChild(link);
    link.click();
    link.remove();
  }

  function saveFigure(card, kind) {
    const plot = card.querySelector(".js-plotly-plot");
    if (!plot || !window.Plotly) { return; }
    const colour = getComputedStyle(card).backgroundColor;
    const text = getComputedStyle(card).color;
    const box = plot.getBoundingClientRect();
    const margin = plot._fullLayout.margin;
    // The title is the card's and not in the figure; in a file it has to be.
    const layout = Object.assign({}, plot.layout, {
      paper_bgcolor: colour,
      plot_bgcolor: "rgba(0,0,0,0)",
      width: box.width,
      height: box.height + 34,
      margin: Object.assign({}, plot.layout.margin, { t: margin.t + 34 }),
      title: { text: title(card).replace(/&/g, "&amp;").replace(/</g, "&lt;"), x: 0.01, xanchor: "left",
        y: 1, yref: "container", yanchor: "top", pad: { t: 10 }, font: { size: 15, color: text } },
    });
    const options = { format: kind, width: box.width, height: box.height + 34, scale: kind === "png" ? 2 : 1 };
    window.Plotly.toImage({ data: plot.data, layout: layout }, options).then(function (url) {
      save(url, fileName(card, kind));
    });
  }

  function quoted(value) {
    return /[",\n\r]/.test(value) ? '"' + value.replace(/"/g, '""') + '"' : value;
  }

  function cell(one) {
    const held = one.hasAttribute("data-value") ? one : one.querySelector("[data-value]");
    const shown = one.textContent.replace(/[\u2009\u202f]/g, " ").replace(/[\u2068\u2069]/g, "").trim();
    const text = held ? held.getAttribute("data-value") : shown;
    // A spreadsheet takes what begins so as a formula.
    return quoted(/^[=+@\t]/.test(text) ? "'" + text : text);
  }

  function saveTable(card) {
    const lines = [];
    for (const table of card.querySelectorAll("table")) {
      if (lines.length) { lines.push(""); }
      for (const row of table.rows) {
        lines.push([...row.cells].map(cell).join(","));
      }
    }
    const url = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    save(url, fileName(card, "csv"));
    setTimeout(function () { URL.revokeObjectURL(url); }, 1000);
  }

  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-export]");
    const card = button && button.closest(".card");
    if (card) {
      if (button.dataset.export === "csv") { saveTable(card); } else { saveFigure(card, button.dataset.export); }
    }
  });
})();
