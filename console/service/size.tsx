// Sizes as cards, those that the region cannot run with its reason; and a size in words.
import { useQuery } from '@tanstack/react-query'
import type { Service } from '#contract/service.ts'
import { sizes } from '#contract/size.ts'
import { cores } from '../part/amount.ts'
import { type CardOption, CardsField } from '../part/field.tsx'
import { q } from '../query.ts'

/** `shared`, or milli-cores. */
type SizeChoice = string

export function bodyOfSize(choice: SizeChoice): { cpu_millis: string; memory_gbs: string } {
  const size = sizes.find(({ cpu_millis }) => String(cpu_millis) === choice)
  return size === undefined
    ? { cpu_millis: 'shared', memory_gbs: 'shared' }
    : { cpu_millis: String(size.cpu_millis), memory_gbs: String(size.memory_gbs) }
}

export function sizeOf(service: Service): SizeChoice {
  return String(service.resources[0]?.spec.cpu_millis ?? 'shared')
}

export function sizeInWords(service: Service): string {
  const { cpu_millis, memory_gbs } = service.resources[0]?.spec ?? {}
  return cpu_millis === undefined ? 'shared' : `${cores(cpu_millis)} · ${memory_gbs} GB`
}

type SizePickerProps = {
  value: SizeChoice
  onChange: (value: SizeChoice) => void
  region_code?: string | undefined
  /** Of nodes, which always have a size of their own. */
  without_shared?: boolean
}

export function SizePicker({ value, onChange, region_code, without_shared = false }: SizePickerProps) {
  const { data } = useQuery(q('getCapabilities', {}))
  const region = data?.regions.find(({ code, is_default }) =>
    region_code === undefined ? is_default : code === region_code,
  )
  const options: CardOption<string>[] = (region?.sizes ?? []).map(({ cpu_millis, memory_gbs, offered, reason }) => ({
    value: String(cpu_millis),
    title: cores(cpu_millis),
    about: `${memory_gbs} GB memory`,
    reason: offered ? undefined : (reason ?? 'not offered here'),
  }))
  const shared: CardOption<string> = {
    value: 'shared',
    title: 'Shared',
    about: 'what is left over',
    reason: region?.shared.offered === false ? (region.shared.reason ?? 'not offered here') : undefined,
  }
  return (
    <CardsField
      label="Size"
      name="size"
      value={value}
      options={without_shared ? options : [shared, ...options]}
      onChange={onChange}
    />
  )
}
