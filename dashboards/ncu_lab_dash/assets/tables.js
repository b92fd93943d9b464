// Draws large tables: hot spots (ncu_lab_dash/kernel_spots.py says what of), runs (runs_table.py), comparisons
// (ncu_lab/render/compare_tables.py). All words are set as text, never as markup.
(function () {
  "use strict";

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) { made.className = className; }
    if (text !== undefined) { made.textContent = text; }
    return made;
  }

  function bar(parts) {
    const stack = element("div", "stack");
    for (const [width, colour, words] of parts) {
      const part = element("i");
      part.style.width = width + "%";
      part.style.background = colour;
      part.title = words;
      stack.appendChild(part);
    }
    return stack;
  }

  // How B compares with A: from the middle, 1, to the left or right; nothing where there is no ratio.
  function ratioBar(place) {
    const track = element("div", "ratio");
    track.setAttribute("aria-hidden", "true");
    if (place.length) {
      const part = element("i");
      part.style.left = place[0] + "%";
      part.style.width = place[1] + "%";
      track.appendChild(part);
    }
    return track;
  }

  function fill(cell, content, row) {
    if (typeof content === "string") { cell.textContent = content; return; }
    if (content.value !== undefined) { cell.dataset.value = content.value; }
    if (content.title) { cell.title = content.title; }
    if (content.tick !== undefined) {
      const box = element("button", "quiet tick", content.tick ? "☑" : "☐");
      box.type = "button";
      box.setAttribute("role", "checkbox");
      box.setAttribute("aria-checked", String(content.tick));
      box.setAttribute("aria-label", content.label);
      box.dataset.tick = content.into;
      box.dataset.key = row.key;
      cell.appendChild(box);
    } else if (content.link !== undefined) {
      const link = element("a", "", content.text);
      link.href = content.link;
      link.dataset.page = "";
      cell.appendChild(link);
    } else if (content.chip !== undefined) {
      cell.appendChild(element("span", "chip " + content.chip, content.text));
    } else if (content.place !== undefined) {
      const button = element("button", "quiet spot-button", content.place);
      button.type = "button";
      button.dataset.choose = content.choose || "spot";
      button.dataset.key = row.key;
      button.setAttribute("aria-pressed", String(row.chosen));
      cell.appendChild(button);
    } else if (content.code !== undefined) {
      if (content.file) { cell.appendChild(element("span", "muted", content.file + "  ")); }
      cell.appendChild(element("code", "", content.code));
      cell.title = content.code;
    } else if (content.bar !== undefined) {
      cell.appendChild(bar(content.bar));
    } else if (content.ratio !== undefined) {
      cell.appendChild(ratioBar(content.ratio));
    } else {
      if (content.into) { cell.dataset.into = content.into; }
      cell.appendChild(content.over ? element("span", "chip worse", "✗ " + content.text) : document.createTextNode(content.text));
    }
  }

  function table(data, plainRows) {
    const side = element("div", "spots-side");
    const scroll = element("div", "table-scroll");
    const made = element("table", "spots");
    const head = made.createTHead().insertRow();
    for (const column of data.columns) {
      const title = element("th", column.kind, column.title);
      title.scope = "col";
      head.appendChild(title);
    }
    const body = made.createTBody();
    for (const row of data.rows) {
      const line = body.insertRow();
      if (row.group !== undefined) {
        const title = element("th", "text group", row.group);
        title.scope = "rowgroup";
        title.colSpan = data.columns.length;
        line.appendChild(title);
        continue;
      }
      if (!plainRows) { line.dataset.row = "spot"; }
      if (row.chosen) { line.className = "chosen"; }
      row.cells.forEach(function (content, at) {
        const cell = line.insertCell();
        cell.className = data.columns[at].kind;
        fill(cell, content, row);
      });
    }
    scroll.appendChild(made);
    side.appendChild(scroll);
    if (data.note) { side.appendChild(element("p", "muted note", data.note)); }
    return side;
  }

  function draw(id, tables, plainRows) {
    const body = document.getElementById(id);
    if (!body) { return ""; }
    const focused = document.activeElement && document.activeElement.dataset.key;
    const tops = [...body.querySelectorAll(".table-scroll")].map(function (one) { return one.scrollTop; });
    body.replaceChildren(...(tables || []).map(function (one) { return table(one, plainRows); }));
    body.querySelectorAll(".table-scroll").forEach(function (one, at) { one.scrollTop = tops[at] || 0; });
    const again = focused && body.querySelector('[data-key="' + CSS.escape(focused) + '"]');
    if (again) { again.focus({ preventScroll: true }); }
    return String((tables || []).reduce(function (sum, one) { return sum + one.rows.length; }, 0));
  }

  // The values behind a figure: whatever has a data-table gets the table that it holds.
  function plainTable(data) {
    const made = element("table");
    const head = made.createTHead().insertRow();
    data.header.forEach(function (words, at) {
      const title = element("th", data.kinds[at], words);
      title.scope = "col";
      head.appendChild(title);
    });
    const body = made.createTBody();
    for (const cells of data.rows) {
      const row = body.insertRow();
      cells.forEach(function (content, at) {
        const cell = row.insertCell();
        cell.className = data.kinds[at];
        cell.textContent = typeof content === "string" ? content : content.text;
        if (content.value !== undefined && content.value !== null) { cell.dataset.value = content.value; }
      });
    }
    return made;
  }

  new MutationObserver(function (changes) {
    for (const change of changes) {
      const held = change.target.getAttribute("data-table");
      change.target.replaceChildren(...(held ? [plainTable(JSON.parse(held))] : []));
    }
  }).observe(document.documentElement, { subtree: true, attributes: true, attributeFilter: ["data-table"] });

  const STRIPS_AT_ONCE = 40;
  let strips = {};

  function fillStrips() {
    for (const [run, found] of Object.entries(strips)) {
      const cell = document.querySelector('[data-into="' + CSS.escape("strip-" + run) + '"]');
      const holds = document.querySelector('[data-into="' + CSS.escape("holds-" + run) + '"]');
      if (!found || !cell || !holds || cell.dataset.filled) { continue; }
      cell.dataset.filled = "yes";
      holds.textContent += ", " + found.holds;
      const strip = element("div", "strip-bars");
      strip.title = found.title;
      strip.setAttribute("role", "img");
      strip.setAttribute("aria-label", found.title);
      for (const height of found.heights) {
        const bar = element("i");
        bar.style.height = 100 * height + "%";
        strip.appendChild(bar);
      }
      cell.replaceChildren(strip);
    }
  }

  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    tables: {
      drawSpots: function (tables) { return draw("spots-body", tables, false); },
      drawPairs: function (tables) { return draw("pairs-body", tables, false); },
      drawMoved: function (tables) { return draw("moved-body", tables, true); },
      drawCompared: function (tables) { return draw("compared-body", tables, true); },
      drawRuns: function (tables) {
        const rows = draw("runs-body", tables, true);
        fillStrips();
        return rows;
      },
      // Fills in what came, and asks for what rows still lack.
      fillStrips: function (found, tables) {
        strips = Object.assign({}, strips, found || {});
        fillStrips();
        const shown = ((tables || [])[0] || {}).shown || [];
        const wanted = shown.filter(function (run) { return !(run in strips); }).slice(0, STRIPS_AT_ONCE);
        if (wanted.length) { window.dash_clientside.set_props("runs-wanted", { data: wanted }); }
        return String(Object.keys(strips).length);
      },
    },
  });
})();
