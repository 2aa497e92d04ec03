// How pages look and answer to keys: the choices that this browser keeps.
import { useState } from 'react'
import { useTheme } from '../frame/theme.ts'
import { keep, kept, type KeptName } from '../keep.ts'
import { type Option, Segments } from '../part/field.tsx'
import { Card } from '../part/layout.tsx'

type Choice = { name: KeptName; label: string; /** The usual one first. */ options: readonly Option<string>[] }

const choices: readonly Choice[] = [
  {
    name: 'density',
    label: 'Tables',
    options: [
      { value: 'dense', label: 'Dense' },
      { value: 'comfortable', label: 'Comfortable' },
    ],
  },
  {
    name: 'clock',
    label: 'Exact times',
    options: [
      { value: 'local', label: 'Local' },
      { value: 'utc', label: 'UTC' },
    ],
  },
  {
    name: 'keys',
    label: 'Keys (press ? for the list)',
    options: [
      { value: 'on', label: 'On' },
      { value: 'off', label: 'Off' },
    ],
  },
]

export function Looks() {
  const [theme, setTheme] = useTheme()
  return (
    <Card title="How pages look">
      <Segments
        label="Theme"
        name="theme"
        value={theme}
        options={[
          { value: 'auto', label: 'As the system' },
          { value: 'light', label: 'Light' },
          { value: 'dark', label: 'Dark' },
        ]}
        onChange={setTheme}
      />
      {choices.map((choice) => (
        <KeptChoice key={choice.name} {...choice} />
      ))}
    </Card>
  )
}

/** What is usual is not kept. */
function KeptChoice({ name, label, options }: Choice) {
  const usual = options[0]?.value ?? ''
  const [value, setValue] = useState(kept(name) ?? usual)
  const choose = (next: string) => {
    setValue(next)
    keep(name, next === usual ? undefined : next)
    if (name === 'density') document.documentElement.dataset['density'] = next
  }
  return <Segments {...{ name, label, options, value }} onChange={choose} />
}
