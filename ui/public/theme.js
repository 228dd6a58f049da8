// Runs before the first paint, so that a chosen theme never flashes in the other's colours.
(function () {
  try {
    var theme = localStorage.getItem("homing.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch (_) {
    // Storage may be forbidden; the system's theme is a good one.
  }
})();
