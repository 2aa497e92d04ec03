// The icons, drawn in one stroke each: 16 by 16, in the colour of the text beside them. Decoration: words stand beside them.
const shapes = {
  services:
    'M2 4c0-1.1 2.7-2 6-2s6 .9 6 2-2.7 2-6 2-6-.9-6-2zm0 0v8c0 1.1 2.7 2 6 2s6-.9 6-2V4M2 8c0 1.1 2.7 2 6 2s6-.9 6-2',
  networks:
    'M8 5V2.5M8 5a2.2 2.2 0 1 0 0 4.4A2.2 2.2 0 0 0 8 5zm0 4.4V11M6.2 8.6 3 12m6.8-3.4L13 12M8 2.5h.01M3 12.5h.01M13 12.5h.01',
  members:
    'M6 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 6 8zm-4.6 5.6c.2-2.2 2-3.8 4.6-3.8s4.4 1.6 4.6 3.8M11 3a2.4 2.4 0 0 1 0 4.7m1 2.4c1.5.5 2.5 1.7 2.6 3.5',
  tokens: 'M10 9.2a3.8 3.8 0 1 0-3.4-2.1L2 11.7V14h2.3v-1.8h1.8v-1.8h1.4l.7-.8A3.8 3.8 0 0 0 10 9.2zM11 5h.01',
  audit: 'M4 2h6l3 3v9H4zM10 2v3h3M6.2 8h4.6M6.2 10.8h4.6',
  settings:
    'M2 4.5h7m3 0h2M9 4.5a1.5 1.5 0 1 0 3 0 1.5 1.5 0 0 0-3 0zM2 11.5h2m3 0h7M4 11.5a1.5 1.5 0 1 0 3 0 1.5 1.5 0 0 0-3 0z',
  installation: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zm3.6-1.4L14 14',
  plus: 'M8 3v10M3 8h10',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  copy: 'M6 6h7.5v8H6zM3 10.5V2.5h7.5V4',
  edit: 'M3 13l.6-2.9L10.8 3a1.2 1.2 0 0 1 1.7 0l.6.6a1.2 1.2 0 0 1 0 1.7l-7.2 7.1zM9.5 4.3l2.3 2.3',
  check: 'M3 8.5 6.5 12 13 4.5',
  close: 'M4 4l8 8m0-8-8 8',
  down: 'M4 6l4 4 4-4',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  fork: 'M4.5 5.5v5m0-5a1.6 1.6 0 1 0 0-3.1 1.6 1.6 0 0 0 0 3.1zm0 5a1.6 1.6 0 1 0 0 3.1 1.6 1.6 0 0 0 0-3.1zm7-5a1.6 1.6 0 1 0 0-3.1 1.6 1.6 0 0 0 0 3.1zm0 0c0 2.5-2.3 3-7 3.6',
  theme:
    'M8 11.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM8 1.5v1.3m0 10.4v1.3M1.5 8h1.3m10.4 0h1.3M3.4 3.4l.9.9m7.4 7.4.9.9m0-9.2-.9.9m-7.4 7.4-.9.9',
  account: 'M8 8.2a2.9 2.9 0 1 0 0-5.8 2.9 2.9 0 0 0 0 5.8zm-5.5 5.6c.3-2.4 2.5-4 5.5-4s5.2 1.6 5.5 4',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zm0-9v3.2l2 1.3',
  out: 'M6.5 3H3v10h3.5M7 8h6.5m-2.7-2.8L13.5 8l-2.7 2.8',
  download: 'M8 2.5v7.2M5 7l3 3 3-3M3 13h10',
  warning: 'M8 2.2 14.4 13H1.6zM8 6.3v3M8 11.2h.01',
} as const

export type IconName = keyof typeof shapes

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 2.6 : 1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={shapes[name]} />
    </svg>
  )
}
