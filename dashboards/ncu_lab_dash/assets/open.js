// Opening a file: dropped on the page's zone or chosen, sent to the server, whose answer names it (ncu_lab_dash/opening.py).
(function () {
  "use strict";

  const MOST_BYTES = 64e6;

  function say(words) {
    const state = document.getElementById("drop-state");
    if (state) { state.textContent = words; }
  }

  function arrived(data) {
    window.dash_clientside.set_props("opened-arrived", { data: Object.assign({ at: Date.now() }, data) });
  }

  function send(file) {
    if (file.size > MOST_BYTES) {
      arrived({ name: file.name, refused: "Files up to 64 MB are opened here. For larger ones: ncu-lab import FILE" });
      return Promise.resolve();
    }
    say("Reading " + file.name + " …");
    const headers = { "X-File-Name": encodeURIComponent(file.name), "Content-Type": "application/octet-stream" };
    return fetch("/open", { method: "POST", headers: headers, body: file }).then(
      function (answer) {
        if (answer.ok) { return answer.json().then(arrived); }
        return answer.text().then(function (words) { arrived({ name: file.name, refused: words.trim() }); });
      }
    ).catch(function () {
      arrived({ name: file.name, refused: "The server does not answer. Start it again with ncu-lab dashboard." });
    });
  }

  function sendAll(files) {
    let chain = Promise.resolve();
    for (const file of files) {
      chain = chain.then(function () { return send(file); });
    }
    chain.then(function () { say(""); });
  }

  // One input for all: it outlives the page, and stays out of sight; the button is what keyboards reach.
  const input = document.createElement("input");
  input.type = "file";
  input.id = "file-input";
  input.multiple = true;
  input.hidden = true;
  input.accept = ".ncu-rep,.ncu-repz,.csv,.gz";
  input.addEventListener("change", function () {
    sendAll([...input.files]);
    input.value = "";
  });
  document.addEventListener("DOMContentLoaded", function () { document.body.appendChild(input); });
  if (document.body) { document.body.appendChild(input); }

  document.addEventListener("click", function (event) {
    if (event.target.closest("[data-pick]")) { input.click(); }
  });

  function zone(event) {
    return event.target.closest && event.target.closest(".drop");
  }

  document.addEventListener("dragover", function (event) {
    const over = zone(event);
    document.querySelectorAll(".drop.over").forEach(function (one) { if (one !== over) { one.classList.remove("over"); } });
    if (over) {
      event.preventDefault();
      over.classList.add("over");
    }
  });
  document.addEventListener("drop", function (event) {
    const over = zone(event);
    if (over) {
      event.preventDefault();
      over.classList.remove("over");
      sendAll([...event.dataTransfer.files]);
    }
  });
})();
