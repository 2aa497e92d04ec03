// Fields of forms: a label above, a hint and a problem below, both told to readers with the field.
import { type InputHTMLAttributes, type ReactNode, useId } from 'react'
import css from './field.module.css'

/** The look of labels and hints. */
export const field = css

type FieldProps = { label: string; hint?: ReactNode; problem?: string | undefined }

type Described = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined }

function Field({ label, hint, problem, children }: FieldProps & { children: (props: Described) => ReactNode }) {
  const id = useId()
  const described = [hint !== undefined && `${id}-hint`, problem !== undefined && `${id}-problem`].filter(Boolean)
  return (
    <div className={css['field']}>
      <label className={css['label']} htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': described.length > 0 ? described.join(' ') : undefined,
        'aria-invalid': problem === undefined ? undefined : true,
      })}
      {hint !== undefined && (
        <p className={css['hint']} id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {problem !== undefined && (
        <p className={css['wrong']} id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  )
}

type TextProps = FieldProps & {
  value: string
  onChange: (value: string) => void
  mono?: boolean
} & Pick<
    InputHTMLAttributes<HTMLInputElement>,
    | 'autoComplete'
    | 'autoFocus'
    | 'placeholder'
    | 'required'
    | 'type'
    | 'maxLength'
    | 'min'
    | 'max'
    | 'step'
    | 'onBlur'
    | 'onFocus'
  >

export function TextField({ label, hint, problem, value, onChange, mono = false, ...more }: TextProps) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(described) => (
        <input
          {...described}
          {...more}
          className={`${css['input']} ${mono ? css['mono'] : ''}`}
          value={value}
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

export type Option<Value extends string> = { value: Value; label: string }

type SelectProps<Value extends string> = FieldProps & {
  value: Value
  options: readonly Option<Value>[]
  onChange: (value: Value) => void
}

export function SelectField<Value extends string>({
  label,
  hint,
  problem,
  value,
  options,
  onChange,
}: SelectProps<Value>) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(described) => (
        <select
          {...described}
          className={css['input']}
          value={value}
          // Only the values of the options can be chosen.
          onChange={(event) => onChange(event.target.value as Value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

type CheckProps = {
  label: ReactNode
  checked: boolean
  onChange: (checked: boolean) => void
  reason?: string | undefined
}

export function CheckField({ label, checked, onChange, reason }: CheckProps) {
  const id = useId()
  return (
    <div className={css['field']}>
      <label className={`${css['check']} ${reason === undefined ? '' : css['stopped']}`}>
        <input
          type="checkbox"
          checked={checked}
          aria-disabled={reason !== undefined || undefined}
          aria-describedby={reason === undefined ? undefined : id}
          onChange={(event) => reason === undefined && onChange(event.target.checked)}
        />
        <span>{label}</span>
      </label>
      {reason !== undefined && (
        <p className={`${css['hint']} ${css['below']}`} id={id}>
          {reason}
        </p>
      )}
    </div>
  )
}

export type CardOption<Value extends string> = {
  value: Value
  title: string
  about: string
  reason?: string | undefined
}

type CardsProps<Value extends string> = {
  label: string
  name: string
  value: Value
  options: readonly CardOption<Value>[]
  onChange: (value: Value) => void
}

/** A choice among options, each with its meaning; an option that is not offered says why. */
export function CardsField<Value extends string>({ label, name, value, options, onChange }: CardsProps<Value>) {
  return (
    <fieldset className={css['field']}>
      <legend className={css['label']}>{label}</legend>
      <div className={css['cards']}>
        {options.map((option) => (
          <label key={option.value} className={css['card']} title={option.reason}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              aria-disabled={option.reason !== undefined || undefined}
              onChange={() => option.reason === undefined && onChange(option.value)}
            />
            <strong>{option.title}</strong>
            <span>{option.reason === undefined ? option.about : 'not offered here'}</span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

type SegmentsProps<Value extends string> = Omit<SelectProps<Value>, 'problem'> & {
  name: string
  hide_label?: boolean
}

export function Segments<Value extends string>({
  label,
  name,
  value,
  options,
  onChange,
  hint,
  hide_label = false,
}: SegmentsProps<Value>) {
  const id = useId()
  return (
    <fieldset
      className={css['field']}
      aria-label={hide_label ? label : undefined}
      aria-describedby={hint === undefined ? undefined : id}
    >
      {!hide_label && <legend className={css['label']}>{label}</legend>}
      <div className={css['segments']}>
        {options.map((option) => (
          <label key={option.value} className={css['segment']}>
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            {option.label}
          </label>
        ))}
      </div>
      {hint !== undefined && (
        <p className={css['hint']} id={id}>
          {hint}
        </p>
      )}
    </fieldset>
  )
}
