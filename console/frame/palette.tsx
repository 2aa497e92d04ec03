// The palette: where one was before, every act of what is on screen, pages, services and VPCs by name or id. And the list of keys.
import { Dialog } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useAllOffered } from '../actions.ts'
import { paths } from '../paths.ts'
import { q } from '../query.ts'
import { useServices } from '../service-list.ts'
import { key_list, type Panel } from './keys.ts'
import { visited } from './visited.ts'
import css from './palette.module.css'
import { placesOf, useProjectId } from './rail.tsx'

type Entry = {
  text: string
  kind: string
  words: string
  /** Of a page. */
  to?: string
  reason?: string | undefined
  run: () => void
}

const shown_max = 50

export function Palette({ panel, onClose }: { panel: Exclude<Panel, undefined>; onClose: () => void }) {
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={css['backdrop']} />
        <Dialog.Popup className={css['popup']} aria-label={panel === 'keys' ? 'Keys' : 'Find and act'}>
          {panel === 'keys' ? <KeyList /> : <Finder onClose={onClose} />}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function KeyList() {
  return (
    <>
      <Dialog.Title className={css['title']}>Keys</Dialog.Title>
      <dl className={css['keys']}>
        {key_list.map(([keys, text]) => (
          <KeyRow key={keys} keys={keys} text={text} />
        ))}
      </dl>
    </>
  )
}

function KeyRow({ keys, text }: { keys: string; text: string }) {
  return (
    <>
      <dt>
        <kbd>{keys}</kbd>
      </dt>
      <dd>{text}</dd>
    </>
  )
}

function Finder({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const all = useEntries()
  const recent = text === '' ? recentOf(all) : []
  const others = all.filter((entry) => matches(entry.words, text) && !recent.includes(entry))
  const entries = [...recent.map((entry) => ({ ...entry, kind: 'recent' })), ...others].slice(0, shown_max)
  const chosen = Math.min(at, entries.length - 1)
  const run = (entry: Entry | undefined) => {
    if (entry === undefined || entry.reason !== undefined) return
    onClose()
    entry.run()
  }
  return (
    <>
      <input
        className={css['input']}
        placeholder="Find a page, a service, or something to do"
        role="combobox"
        aria-label="Find and act"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={chosen < 0 ? undefined : `palette-${chosen}`}
        value={text}
        spellCheck={false}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={(event) => {
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
          if (step !== undefined) setAt((chosen + step + entries.length) % Math.max(1, entries.length))
          if (event.key === 'Enter') run(entries[chosen])
          if (step !== undefined || event.key === 'Enter') event.preventDefault()
        }}
      />
      <Found entries={entries} chosen={chosen} onChoose={run} />
    </>
  )
}

function Found({
  entries,
  chosen,
  onChoose,
}: {
  entries: readonly Entry[]
  chosen: number
  onChoose: (entry: Entry) => void
}) {
  return (
    <div className={css['list']} id="palette-list" role="listbox" aria-label="Found">
      {entries.map((entry, index) => (
        <div
          key={`${entry.kind} ${entry.words}`}
          id={`palette-${index}`}
          role="option"
          aria-selected={index === chosen}
          aria-disabled={entry.reason !== undefined || undefined}
          className={css['item']}
          ref={(element) => {
            if (index === chosen) element?.scrollIntoView({ block: 'nearest' })
          }}
          onClick={() => onChoose(entry)}
        >
          {entry.text}
          <span className={css['kind']}>{entry.reason ?? entry.kind}</span>
        </div>
      ))}
      {entries.length === 0 && <p className={css['none']}>Nothing has that name.</p>}
    </div>
  )
}

/** Those that were on screen before, the last one first. */
function recentOf(all: readonly Entry[]): Entry[] {
  return visited().flatMap((path) => all.find(({ to }) => to === path) ?? [])
}

function useEntries(): Entry[] {
  const project_id = useProjectId()
  const navigate = useNavigate()
  const of_project = { project_id: project_id ?? '' }
  const enabled = project_id !== undefined
  const services = useServices(project_id)
  const { data: vpcs = [] } = useQuery({ ...q('listVpcs', of_project), enabled })
  const offered = useAllOffered()
  const go = (to: string) => ({ to, run: () => void navigate({ to }) })
  return [
    ...offered.map(({ label, reason, run }) => ({ text: label, kind: 'act', words: label, reason, run })),
    ...placesOf(project_id).map(({ text, to }) => ({ text, kind: 'page', words: text, ...go(to) })),
    { text: 'Account', kind: 'page', words: 'Account', ...go(paths.account()) },
    { text: 'Projects', kind: 'page', words: 'Projects', ...go(paths.projects()) },
    ...services.map(({ name, service_id }) => ({
      text: name,
      kind: `service ${service_id}`,
      words: `${name} ${service_id}`,
      ...go(paths.service(project_id ?? '', service_id)),
    })),
    ...services.flatMap(({ service_id, name: of, read_replica_sets }) =>
      read_replica_sets.map(({ id, name }) => ({
        text: name,
        kind: `replica set of ${of}`,
        words: `${name} ${id}`,
        ...go(paths.service(project_id ?? '', service_id, 'replicas')),
      })),
    ),
    ...vpcs.map(({ name, id, cidr }) => ({
      text: name,
      kind: `VPC ${cidr}`,
      words: `${name} ${id} ${cidr}`,
      ...go(paths.vpc(project_id ?? '', id)),
    })),
  ]
}

function matches(words: string, text: string): boolean {
  const all = words.toLowerCase()
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((part) => all.includes(part))
}
