// Numbers with their units, as people read them. Pure.

const units = ['B', 'KB', 'MB', 'GB', 'TB'] as const

export function bytes(count: number): string {
  let value = count
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

export function cores(millis: number): string {
  return `${Number((millis / 1000).toFixed(millis >= 1000 ? 1 : 3))} CPU`
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${value} ${value === 1 ? one : many}`
}

/** A value of a metric, by the unit that the API names. */
export function measured(value: number, unit: string): string {
  if (unit === 'bytes') return bytes(value)
  if (unit === 'ratio') return `${(value * 100).toFixed(value > 0.99 && value < 1 ? 2 : 1)} %`
  if (unit === 'millicores') return cores(Math.round(value))
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toFixed(2)))
}
