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

  function effective(chosen, screen) {
    return chosen || (screen && screen.dark ? "dark" : "light");
  }

  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") {
      window.dash_clientside.set_props("stage", { value: null });
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
      // A link shows what the page shows, also where the address left the choice to the page.
      copyLink: function (clicks, problem, device) {
        const link = new URL(window.location.href);
        for (const [name, shown] of [["problem", problem], ["device", device]]) {
          if (shown && !link.searchParams.has(name)) {
            link.searchParams.set(name, shown);
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
