// MathJax 2 lays formulas out once, for the width that the page has then. When a phone is turned they are laid out again.
(() => {
  let width = window.innerWidth, waiting;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (window.innerWidth === width || !window.MathJax || !MathJax.Hub) return;
      width = window.innerWidth;
      MathJax.Hub.Queue(["Rerender", MathJax.Hub]);
    }, 200);
  });
})();
