// Runs before the page is painted, so that it never shows the other theme first.
'use strict';
{
  const kept = localStorage.getItem('hearth.theme');
  if (kept === '"dark"' || kept === '"light"') document.documentElement.dataset.theme = JSON.parse(kept);
}
