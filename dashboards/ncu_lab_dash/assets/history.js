// The History page: of all that a figure tells of its layout, only what somebody dragged out is passed on.
(function () {
  "use strict";

  window.dash_clientside = Object.assign({}, window.dash_clientside, {
    history: {
      drag: function (told) {
        const ends = told ? [told["xaxis.range[0]"], told["xaxis.range[1]"]] : [];
        return ends.length === 2 && ends.every(Number.isFinite) ? ends : window.dash_clientside.no_update;
      },
    },
  });
})();
