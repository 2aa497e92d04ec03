// How pages look and answer to keys: the choices that this browser keeps.
import { useState } from 'react'
import { useTheme } from '../frame/theme.ts'
import { keep, kept, type KeptName } from '../keep.ts'
import { Segments } from '../part/field.tsx'
import { Card } from '../part/layout.tsx'

export function Looks() {
  const [theme, setTheme] = useTheme()
  const density = useKept('density', 'dense')
  const clock = useKept('clock', 'local')
  const keys = useKept('keys', 'on')
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
      <Segments
        label="Tables"
        name="density"
        {...density}
        options={[
          { value: 'dense', label: 'Dense' },
          { value: 'comfortable', label: 'Comfortable' },
        ]}
        onChange={(value) => {
          density.onChange(value)
          document.documentElement.dataset['density'] = value
        }}
      />
      <Segments
        label="Exact times"
        name="clock"
        {...clock}
        options={[
          { value: 'local', label: 'Local' },
          { value: 'utc', label: 'UTC' },
        ]}
      />
      <Segments
        label="Keys (press ? for the list)"
        name="keys"
        {...keys}
        options={[
          { value: 'on', label: 'On' },
          { value: 'off', label: 'Off' },
        ]}
      />
    </Card>
  )
}

/** What is usual is not kept. */
function useKept(name: KeptName, usual: string) {
  const [value, setValue] = useState(kept(name) ?? usual)
  const onChange = (next: string) => {
    setValue(next)
    keep(name, next === usual ? undefined : next)
  }
  return { value, onChange }
}
