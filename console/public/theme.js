// Sets the chosen theme and density before anything is painted. Without a choice the theme is the system's, and tables are dense.
{
  const kept = (name) => {
    try {
      return localStorage.getItem(`howdah.${name}`)
    } catch {
      return null // A browser without storage has no choice.
    }
  }
  const { dataset } = document.documentElement
  const theme = kept('theme')
  if (theme === 'light' || theme === 'dark') dataset.theme = theme
  if (kept('density') === 'comfortable') dataset.density = 'comfortable'
}
