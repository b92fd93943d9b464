// The ends of the waterfall: whatever has data-ends gets the native lists that it tells of (ncu_lab_dash/ladder_cards.py).
// A native list costs the page nothing before its first figure, and is at home on phones and keyboards.
(function () {
  "use strict";

  function list(end) {
    const label = document.createElement("label");
    label.className = "end";
    const words = document.createElement("span");
    words.className = "segmented-label";
    words.textContent = end.label;
    const select = document.createElement("select");
    select.id = end.into + "-list";
    select.addEventListener("change", function () {
      window.dash_clientside.set_props(end.into, { data: select.value });
    });
    label.append(words, select);
    return label;
  }

  function fill(select, end) {
    const told = JSON.stringify(end.options);
    if (select.dataset.told !== told) {
      select.dataset.told = told;
      select.replaceChildren(...end.options.map(function (one) { return new Option(one.label, one.value); }));
    }
    select.value = end.value;
  }

  new MutationObserver(function (changes) {
    for (const change of changes) {
      const ends = JSON.parse(change.target.getAttribute("data-ends") || "[]");
      for (const end of ends) {
        if (!document.getElementById(end.into + "-list")) { change.target.appendChild(list(end)); }
        fill(document.getElementById(end.into + "-list"), end);
      }
    }
  }).observe(document.documentElement, { subtree: true, attributes: true, attributeFilter: ["data-ends"] });
})();

// The stages that lie over the matrix are radio buttons, between which arrow keys move the selection. Enter chooses the
// one that has the focus, Home and End the first and the last; Escape clears (browser.js).
(function () {
  "use strict";

  const ROWS = "#matrix-rows input:not(:disabled)";

  document.addEventListener("keydown", function (event) {
    const row = event.target.closest(ROWS);
    if (!row || event.ctrlKey || event.metaKey || event.altKey) { return; }
    const rows = [...document.querySelectorAll(ROWS)];
    const chosen = { Enter: row, Home: rows[0], End: rows[rows.length - 1] }[event.key];
    if (chosen) {
      event.preventDefault();
      chosen.focus();
      chosen.click();
    }
  });

  // A button with data-clear takes back what that control holds.
  document.addEventListener("click", function (event) {
    const clear = event.target.closest("[data-clear]");
    if (clear) { window.dash_clientside.set_props(clear.dataset.clear, { value: null }); }
  });
})();
