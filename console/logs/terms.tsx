// The texts that must occur in an entry, all of them: each a chip, and the last one as it is typed. Enter makes it a chip, and Backspace
// takes the last chip back.
import { useId } from 'react'
import { field } from '../part/field.tsx'
import { Icon } from '../part/icon.tsx'
import type { Search } from '../search.ts'
import css from './logs.module.css'
import { termsOf, termsText } from './query.ts'

type Props = { view: Search; setView: (changes: Search) => void }

export function Terms({ view, setView }: Props) {
  const id = useId()
  const { said, typed } = termsOf(view)
  const pid = view['pid'] ?? ''
  const change = (next: readonly string[], text: string) => setView({ q: termsText(next, text) })
  return (
    <div className={field['field']}>
      <label className={field['label']} htmlFor={id}>
        Texts, all of which must occur
      </label>
      <div className={`${field['input']} ${css['box']}`}>
        {pid !== '' && <Chip text={`pid ${pid}`} onRemove={() => setView({ pid: '' })} />}
        {said.map((term) => (
          <Chip
            key={term}
            text={term}
            onRemove={() =>
              change(
                said.filter((one) => one !== term),
                typed,
              )
            }
          />
        ))}
        <input
          id={id}
          type="search"
          value={typed}
          spellCheck={false}
          placeholder={said.length === 0 ? 'deadlock (Enter adds another text)' : ''}
          onChange={(event) => change(said, event.target.value)}
          onKeyDown={({ key }) => {
            if (key === 'Enter' && typed.trim() !== '') change([...said, typed], '')
            if (key === 'Backspace' && typed === '' && said.length > 0) change(said.slice(0, -1), said.at(-1) ?? '')
          }}
        />
      </div>
    </div>
  )
}

function Chip({ text, onRemove }: { text: string; onRemove: () => void }) {
  return (
    <span className={css['chip']}>
      <span>{text}</span>
      <button type="button" aria-label={`Without ${text}`} onClick={onRemove}>
        <Icon name="close" />
      </button>
    </span>
  )
}
