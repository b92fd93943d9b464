// The script of an exported page: unpacks figures when they come into view, and draws them for their width and theme.
(function () {
  "use strict";

  const CONFIG = { displayModeBar: false, responsive: true, doubleClick: false, scrollZoom: false };
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const state = document.getElementById("state");
  const button = document.getElementById("theme");
  const shown = new Map();
  let plotly = null;

  function theme() {
    return root.dataset.theme || (dark.matches ? "dark" : "light");
  }

  async function unpack(holder) {
    const bytes = Uint8Array.from(atob(holder.textContent), function (one) { return one.charCodeAt(0); });
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // Once, when the first figure is drawn.
  function library() {
    plotly = plotly || unpack(document.getElementById("plotly")).then(function (text) {
      const script = document.createElement("script");
      script.textContent = text;
      document.head.appendChild(script);
      return window.Plotly;
    });
    return plotly;
  }

  // The widest variant that fits, else the narrowest.
  function variant(variants, width) {
    const widths = Object.keys(variants).map(Number).sort(function (a, b) { return a - b; });
    const fitting = widths.filter(function (one) { return one <= width; });
    return fitting.length ? fitting[fitting.length - 1] : widths[0];
  }

  function openStage(event) {
    const stage = event.points && event.points[0] && event.points[0].customdata;
    const article = this.closest("article");
    const details = article && stage && document.getElementById(article.id + "-" + stage);
    if (details) {
      details.open = true;
      details.scrollIntoView({ behavior: "smooth" });
    }
  }

  async function draw(box) {
    const width = box.clientWidth;
    if (!width) { return; }
    const one = shown.get(box) || {};
    shown.set(box, one);
    one.variants = one.variants || unpack(box.querySelector("script")).then(JSON.parse);
    const variants = await one.variants;
    const key = variant(variants, width);
    const name = theme();
    if (one.drawn === key + name) { return; }
    one.drawn = key + name;
    const Plotly = await library();
    const figure = variants[key][name];
    one.themes = variants[key];
    box.style.minHeight = figure.layout.height + "px";
    if (!one.plot) {
      one.plot = document.createElement("div");
      box.appendChild(one.plot);
    }
    one.plot.style.width = key + "px";
    await Plotly.react(one.plot, figure.data, figure.layout, CONFIG);
    if (!one.listens) {
      one.listens = true;
      one.plot.on("plotly_click", openStage.bind(box));
    }
    if (key < Number(box.dataset.namedFrom || 0) && box.nextElementSibling) { box.nextElementSibling.open = true; }
    box.dataset.drawn = key;
  }

  function fail(error) {
    state.textContent = "A figure could not be drawn: " + error.message + ". Tables hold its values.";
    throw error;
  }

  function redraw() {
    for (const box of shown.keys()) { draw(box).catch(fail); }
  }

  // Paper is white: what was drawn is drawn again in light colours, at once, as printing does not wait.
  let chosen = null;
  function paint(name) {
    for (const one of shown.values()) {
      if (one.plot && one.themes) { window.Plotly.react(one.plot, one.themes[name].data, one.themes[name].layout, CONFIG); }
    }
  }
  window.addEventListener("beforeprint", function () {
    chosen = root.dataset.theme || "";
    root.dataset.theme = "light";
    paint("light");
  });
  window.addEventListener("afterprint", function () {
    if (chosen) { root.dataset.theme = chosen; } else { delete root.dataset.theme; }
    paint(theme());
  });

  function label() {
    button.textContent = theme() === "dark" ? "☀ Light" : "☾ Dark";
  }

  button.addEventListener("click", function () {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    label();
    redraw();
  });
  dark.addEventListener("change", function () { label(); redraw(); });
  label();

  if (!("DecompressionStream" in window)) {
    state.textContent = "This browser is too old to unpack the figures; tables hold their values.";
    return;
  }

  const near = new IntersectionObserver(function (entries) {
    for (const entry of entries) {
      if (entry.isIntersecting) { draw(entry.target).catch(fail); }
    }
  }, { rootMargin: "400px" });
  const boxes = [...document.querySelectorAll(".figure")];
  boxes.forEach(function (box) { near.observe(box); });

  let timer = null;
  window.addEventListener("resize", function () {
    clearTimeout(timer);
    timer = setTimeout(redraw, 200);
  });

  // A link to a kernel opens it.
  function follow() {
    const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") { target.open = true; }
  }
  window.addEventListener("hashchange", follow);
  follow();
})();
