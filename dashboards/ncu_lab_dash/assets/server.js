// Says when the server does not answer, and how old what is shown has become; goes on by itself when it is back.
(function () {
  "use strict";

  // The page asks every 5 s whether the folder of runs has changed; that is how both are noticed.
  const CALLS = "_dash-update-component";
  const WATCH = '"version.data"';
  const SILENT_MS = 20000;
  const BEHIND_A_PROXY = [502, 503, 504];

  let answered = Date.now();
  let asked = null;
  let gone = false;
  let lost = false;
  let notice = null;

  function ago(ms) {
    const seconds = Math.floor(ms / 1000);
    const [count, unit] = seconds < 90 ? [seconds, "second"]
      : seconds < 5400 ? [Math.floor(seconds / 60), "minute"] : [Math.floor(seconds / 3600), "hour"];
    return count + " " + unit + (count === 1 ? "" : "s") + " ago";
  }

  function tell() {
    if (!notice) {
      notice = document.createElement("div");
      notice.className = "server-gone";
      notice.setAttribute("role", "status");
      notice.append(document.createElement("b"), document.createElement("span"));
      document.body.appendChild(notice);
    }
    notice.hidden = !gone;
    if (gone) {
      notice.firstChild.textContent = "The server does not answer.";
      notice.lastChild.textContent = " What is shown was read " + ago(Date.now() - answered)
        + ". The page goes on by itself once it is back: ncu-lab dashboard.";
    }
  }

  function missed(isWatch) {
    gone = true;
    lost = lost || !isWatch;
    tell();
  }

  function heard() {
    answered = Date.now();
    if (!gone) { return; }
    gone = false;
    tell();
    // What was asked meanwhile is answered by asking again: the address holds the view.
    if (lost) { window.location.reload(); }
  }

  const fetchAsBefore = window.fetch;
  window.fetch = function (resource, options) {
    const answer = fetchAsBefore.apply(this, arguments);
    const address = typeof resource === "string" ? resource : String(resource && resource.url);
    if (!address.includes(CALLS)) { return answer; }
    const isWatch = Boolean(options && typeof options.body === "string" && options.body.includes(WATCH));
    if (isWatch && asked === null) { asked = Date.now(); }
    answer.then(function (response) {
      asked = null;
      if (BEHIND_A_PROXY.includes(response.status)) { missed(isWatch); } else { heard(); }
    }, function (error) {
      asked = null;
      // A page that is being left takes its calls back: that says nothing of the server.
      if (!error || error.name !== "AbortError") { missed(isWatch); }
    });
    return answer;
  };

  setInterval(function () {
    if (asked !== null && Date.now() - asked > SILENT_MS) { missed(true); } else if (gone) { tell(); }
  }, 1000);
})();
