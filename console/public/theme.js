// Sets the chosen theme before anything is painted. `auto`: as the system has it.
{
  let theme = null
  try {
    theme = localStorage.getItem('howdah.theme')
  } catch {
    // A browser without storage has the system's theme.
  }
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
}
