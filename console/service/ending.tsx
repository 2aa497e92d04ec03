// When a service ends by itself, as a choice.
import { SelectField } from '../part/field.tsx'

const hour_ms = 3_600_000
const day_ms = 24 * hour_ms

export const endings = { '1h': hour_ms, '1d': day_ms, '7d': 7 * day_ms, '30d': 30 * day_ms } as const
export type Ending = keyof typeof endings | 'never'

export const ending_options = [
  { value: 'never', label: 'never' },
  { value: '1h', label: 'in an hour' },
  { value: '1d', label: 'in a day' },
  { value: '7d', label: 'in a week' },
  { value: '30d', label: 'in 30 days' },
] as const

export function EndingField({ value, onChange }: { value: Ending; onChange: (value: Ending) => void }) {
  return <SelectField label="Ends by itself" value={value} options={ending_options} onChange={onChange} />
}
