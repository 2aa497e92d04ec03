// An act as a menu and the palette offer it. What is not possible is there all the same, and says why.
export type Act = {
  label: string
  reason?: string | undefined
  danger?: boolean
  run: () => void
}
