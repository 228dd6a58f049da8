// Runs before the first paint, so that a chosen theme never flashes in the other's colours.
try {
  const theme = localStorage.getItem("homing.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden; then the system's theme is used.
}
