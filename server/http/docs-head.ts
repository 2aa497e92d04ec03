// How every page of the documentation begins, up to its body: the style sheet is in the console's colours, and nothing is loaded.
import { escaped } from './html.ts'
import { tokens_css } from './tokens-css.ts'

export const docsHead = (title: string, more_style = ''): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<style>${docs_style}${more_style}</style>
</head>`

const docs_style = `
${tokens_css}* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.6 var(--font); }
a { color: var(--accent); }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: 1rem; background: var(--page); padding: .5rem 1rem; z-index: 1; }
header { padding: 2rem max(1.5rem, calc((100vw - 80rem) / 2 + 1.5rem)) 1rem; border-bottom: 1px solid var(--line); }
h1 { margin: 0; font-size: 1.9rem; letter-spacing: -.02em; }
header p { margin: .3rem 0 0; color: var(--muted); }
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
article:target { border-color: var(--accent); }
code, pre { font: .88em/1.5 var(--mono); overflow-wrap: anywhere; }
pre { background: var(--panel); padding: .8rem 1rem; border-radius: 8px; overflow: auto; }
.call { margin: .4rem 0; }
.method { font: 700 .8rem var(--mono); border: 1px solid currentcolor; border-radius: 5px; padding: .1rem .45rem; }
.get { color: var(--good); } .post { color: var(--accent); } .delete { color: var(--bad); }
.facts { color: var(--muted); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--muted); font-size: .82rem; }
summary { cursor: pointer; }
@media (min-width: 50rem) { tbody :first-child > code { overflow-wrap: normal; } }
.narrow { display: none; }
@media (max-width: 50rem) {
  .columns { display: flex; flex-direction: column; }
  .narrow { display: inline; }
  header { padding-top: 1.2rem; }
  nav { position: static; order: 1; max-height: none; border-top: 1px solid var(--line); }
  nav a { padding: .3rem 0; }
  main { padding: 0 1rem 2rem; }
  article { padding: 1rem; }
}
@media (max-width: 34rem) {
  thead { display: none; }
  tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  th, td { display: block; padding: 0; border: 0; }
  td:nth-child(2) { color: var(--muted); font-size: .85rem; }
}
`
