"use strict";
// What the theme's scripts add to pages: buttons beside code are no navigation, and code, tables and pictures that
// scroll take the focus, so that they can be scrolled from the keyboard.
function mend() {
  for (const buttons of document.querySelectorAll("nav.md-code__nav")) buttons.setAttribute("role", "none");
  for (const area of document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .md-typeset p:has(> img)")) {
    if (area.scrollWidth > area.clientWidth) area.tabIndex = 0;
    else area.removeAttribute("tabindex");
  }
}
new MutationObserver(mend).observe(document.documentElement, { childList: true, subtree: true });
addEventListener("resize", mend);
addEventListener("load", mend);
