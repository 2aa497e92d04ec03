// How many replicas can take over, and for how many of them each commit waits: the two choices, and what they mean.
import { replica_count_max } from '#contract/service-input.ts'
import { Segments } from '../part/field.tsx'

type ReplicaCounts = { replicas: number; sync: number }

type Props = ReplicaCounts & { label: string; onChange: (counts: ReplicaCounts) => void }

export function ReplicaChoice({ label, replicas, sync, onChange }: Props) {
  return (
    <>
      <Segments
        label={label}
        name="replicas"
        value={String(replicas)}
        options={optionsUpTo(replica_count_max)}
        onChange={(value) => onChange({ replicas: Number(value), sync: Math.min(sync, Number(value)) })}
      />
      {replicas > 0 && (
        <Segments
          label="Of these synchronous"
          name="sync"
          value={String(sync)}
          options={optionsUpTo(replicas)}
          onChange={(value) => onChange({ replicas, sync: Number(value) })}
        />
      )}
    </>
  )
}

const optionsUpTo = (max: number) =>
  Array.from({ length: max + 1 }, (_, count) => ({ value: String(count), label: String(count) }))

export function replicasInWords(replicas: number, sync: number): string {
  if (replicas === 0) return 'A database that dies is restarted within seconds; nothing takes its place meanwhile.'
  if (sync === 0) return 'A lost primary is replaced; the last commits before the loss may be lost with it.'
  const waited = sync === 1 ? 'one replica has it' : `${sync} replicas have it`
  return `Every commit waits until ${waited}: a lost primary loses nothing.`
}
