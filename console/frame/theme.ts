// The theme: as the system has it, or as the reader chose. theme.js has set it before the first paint.
import { useState } from 'react'
import { keep, kept } from '../keep.ts'

const themes = ['auto', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(themes.find((one) => one === kept('theme')) ?? 'auto')
  return [
    theme,
    (next) => {
      setTheme(next)
      keep('theme', next === 'auto' ? undefined : next)
      if (next === 'auto') delete document.documentElement.dataset['theme']
      else document.documentElement.dataset['theme'] = next
    },
  ]
}

export function nextTheme(theme: Theme): Theme {
  return themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'auto'
}

export function themeInWords(theme: Theme): string {
  return theme === 'auto' ? 'Theme: as the system' : `Theme: ${theme}`
}
