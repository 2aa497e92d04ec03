// The one style sheet of the documentation page: plain CSS, light and dark by the reader's own setting, and contrast of
// at least 4.5 to 1 in both. It loads nothing.

export const docs_style = `
:root { color-scheme: light dark; --ink: light-dark(#1c2330, #e6e9ef); --soft: light-dark(#566072, #a5afc0);
  --paper: light-dark(#ffffff, #12161d); --panel: light-dark(#f4f6f9, #1b212b); --line: light-dark(#d9dee7, #313a48);
  --link: light-dark(#0b57c2, #86b4ff); --get: light-dark(#0b6b45, #6fd3a5); --post: light-dark(#0b57c2, #86b4ff);
  --delete: light-dark(#a92222, #ff9b94); }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem 1rem; z-index: 1; }
header { padding: 2rem max(1.5rem, calc((100vw - 80rem) / 2 + 1.5rem)) 1rem; border-bottom: 1px solid var(--line); }
h1 { margin: 0; font-size: 1.9rem; letter-spacing: -.02em; }
header p { margin: .3rem 0 0; color: var(--soft); }
.columns { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 80rem; margin: 0 auto; }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; padding: 1.5rem; font-size: .92rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav ul ul { margin: .2rem 0 1rem; }
nav a { display: block; padding: .15rem 0; text-decoration: none; }
nav a:hover { text-decoration: underline; }
main { padding: 1rem clamp(1.5rem, 4vw, 3rem) 4rem; min-width: 0; }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.4rem; }
h3 { margin: 0; font-size: 1.15rem; }
h4 { margin: 1.2rem 0 .4rem; font-size: .95rem; }
article { margin: 1rem 0; padding: 1.2rem 1.4rem; border: 1px solid var(--line); border-radius: 10px; }
article:target { border-color: var(--link); }
code, pre { font: .88em/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: var(--panel); padding: .8rem 1rem; border-radius: 8px; overflow: auto; }
.call { margin: .4rem 0; }
.method { font: 700 .8rem ui-monospace, monospace; border: 1px solid currentcolor; border-radius: 5px; padding: .1rem .45rem; }
.get { color: var(--get); } .post { color: var(--post); } .delete { color: var(--delete); }
.facts { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--soft); font-size: .82rem; }
summary { cursor: pointer; }
@media (min-width: 50rem) { tbody :first-child > code { overflow-wrap: normal; } }
@media (max-width: 50rem) { .columns { display: block; } nav { position: static; max-height: none; } }
`
