// What only the browser can do: tell its width and preferred theme, copy a link, take Escape.
(function () {
  "use strict";

  // Figures are built for a width; steps of 20 px keep a window that is being dragged from redrawing on every pixel.
  const STEP_PX = 20;
  const SETTLE_MS = 200;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  function tell() {
    const width = document.documentElement.clientWidth;
    return { width: width < 700 ? width : Math.floor(width / STEP_PX) * STEP_PX, dark: dark.matches };
  }

  function same(one, other) {
    return one && one.width === other.width && one.dark === other.dark;
  }

  let told = null;
  let timer = null;

  function retell() {
    clearTimeout(timer);
    timer = setTimeout(function () {
      const now = tell();
      if (!same(told, now)) {
        told = now;
        window.dash_clientside.set_props("screen", { data: now });
      }
    }, SETTLE_MS);
  }

  const FIT_MS = 100;
  let fitting = null;

  // Figures follow the width of their cards and keep the height that they were drawn with.
  function fit() {
    for (const plot of document.querySelectorAll(".js-plotly-plot")) {
      const drawn = plot._fullLayout && plot._fullLayout.width;
      if (drawn && plot.clientWidth && Math.abs(plot.clientWidth - drawn) > 1) {
        window.Plotly.relayout(plot, { autosize: true });
      }
    }
  }

  // The body also tells of a scroll bar that came, and of a figure that was hidden when it was drawn.
  new ResizeObserver(function () {
    clearTimeout(fitting);
    fitting = setTimeout(fit, FIT_MS);
  }).observe(document.body);

  function effective(chosen, screen) {
    return chosen || (screen && screen.dark ? "dark" : "light");
  }

  // Escape clears what is selected, on whichever page has such a thing: component, property, what tells that it is there.
  const SELECTIONS = [
    ["stage", "value", "stage"], ["focus", "data", "matrix-legend"], ["spot", "data", "spots-body"],
    ["pair", "data", "pairs-body"],
  ];

  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") {
      for (const [id, property, shown] of SELECTIONS) {
        if (document.getElementById(shown)) {
          window.dash_clientside.set_props(id, { [property]: null });
        }
      }
    }
  });

  // Arrow keys go from row to row of a table whose rows have a button.
  document.addEventListener("keydown", function (event) {
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
    const button = step && event.target.closest(".spot-button, .tick");
    const row = button && button.closest("tr")[step];
    const next = row && row.querySelector(".spot-button, .tick");
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });

  // A button with data-choose puts its data-key into that store; a second press takes it out. So does its row.
  document.addEventListener("click", function (event) {
    const link = event.target.closest("a[data-page]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      window.history.pushState({}, "", link.href);
      window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
      window.scrollTo(0, 0);
      return;
    }
    // A tick says which one was pressed; the server knows what was ticked.
    const tick = event.target.closest("[data-tick]");
    if (tick) {
      window.dash_clientside.set_props(tick.dataset.tick, { data: { key: tick.dataset.key, at: Date.now() } });
      return;
    }
    const row = event.target.closest("[data-choose], tr[data-row]");
    const button = row && (row.matches("[data-choose]") ? row : row.querySelector("[data-choose]"));
    if (button && String(window.getSelection()) === "") {
      const pressed = button.getAttribute("aria-pressed") === "true";
      window.dash_clientside.set_props(button.dataset.choose, { data: pressed ? null : button.dataset.key });
    }
    const copy = event.target.closest("[data-copy]");
    if (copy && navigator.clipboard) {
      navigator.clipboard.writeText(copy.dataset.copy).then(function () { copy.textContent = "Copied"; });
    }
  });

  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    browser: {
      screen: function () {
        if (told === null) {
          window.addEventListener("resize", retell);
          dark.addEventListener("change", retell);
        }
        told = tell();
        return told;
      },
      toggleTheme: function (clicks, chosen, screen) {
        return effective(chosen, screen) === "dark" ? "light" : "dark";
      },
      applyTheme: function (chosen, screen) {
        if (chosen) {
          document.documentElement.dataset.theme = chosen;
        } else {
          delete document.documentElement.dataset.theme;
        }
        return effective(chosen, screen) === "dark" ? "☀ Light" : "☾ Dark";
      },
      // An address that names a theme sets it; one that does not leaves what was chosen.
      themeOf: function (search, chosen) {
        const named = new URLSearchParams(search || "").get("theme");
        const theme = named === "dark" || named === "light" ? named : (chosen || null);
        // Every figure hangs on the theme: set again, though the same, it would draw them all again.
        return theme === chosen ? window.dash_clientside.no_update : theme;
      },
      // The bar: which page is shown, and links that keep the chosen theme.
      lead: function (theme, path) {
        const links = [...document.querySelectorAll("#nav a")];
        const paths = links.map(function (link) { return new URL(link.href).pathname; });
        links.forEach(function (link, at) {
          link.toggleAttribute("aria-current", false);
          if (paths[at] === path) {
            link.setAttribute("aria-current", "page");
            document.title = link.textContent + " · ncu-lab";
          }
        });
        const hrefs = paths.map(function (one) { return theme ? one + "?theme=" + theme : one; });
        return [...hrefs, ...paths.map(function (one) { return one === path ? "current" : ""; })];
      },
      // Marks the family that is looked at in every legend, once these are drawn.
      focused: function (focus) {
        requestAnimationFrame(function () {
          for (const family of document.querySelectorAll(".legend .family")) {
            const button = family.querySelector("[data-choose='focus']");
            const pressed = Boolean(button) && button.dataset.key === focus;
            if (button) { button.setAttribute("aria-pressed", String(pressed)); }
            family.classList.toggle("dimmed", Boolean(focus) && !pressed);
          }
        });
        return focus || "";
      },
      // Said once: that the first figure is there, for the others to follow.
      drawn: function (figure, said) {
        const there = figure && figure.data && figure.data.length;
        return there && !said ? true : window.dash_clientside.no_update;
      },
      // A link shows what the page shows, also where the address left the choice to the page.
      copyLink: function () {
        const link = new URL(window.location.href);
        const shown = document.querySelector(".shown-query");
        for (const [name, value] of new URLSearchParams(shown ? shown.textContent : "")) {
          if (value && !link.searchParams.has(name)) {
            link.searchParams.set(name, value);
          }
        }
        if (!navigator.clipboard) {
          return "Copy the address bar";
        }
        return navigator.clipboard.writeText(link.href).then(
          function () { return "Copied"; },
          function () { return "Copy the address bar"; }
        );
      },
    },
  });
})();
