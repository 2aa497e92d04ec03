// The settings of a service: name, environment, size, password, protection, and its end.
import type { Service } from '#contract/service.ts'
import { environments } from '#contract/schema.ts'
import { useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { Segments } from '../part/field.tsx'
import { Card, layout } from '../part/layout.tsx'
import type { Act } from '../part/act.ts'
import { Problem } from '../part/problem.tsx'
import { useAct } from '../query.ts'
import { EndSetting, SnapshotSetting } from './time-settings.tsx'
import { useServiceActs } from './acts.tsx'
import { useService } from './frame.tsx'
import { sizeInWords } from './size.tsx'

export function ServiceSettings() {
  const service = useService()
  const { groups, dialog } = useServiceActs(service)
  const acts = groups.flat()
  const act = (label: string) => acts.find((one) => one.label === label)
  return (
    <div className={`${layout['stack']} ${layout['narrow']}`}>
      <Setting title="Name" text={service.name} act={act('Rename')} button="Rename" />
      <EnvironmentSetting service={service} />
      <Setting title="Size" text={sizeInWords(service)} act={act('Resize')} button="Resize" />
      <Setting
        title="Master password"
        text="Only its verifier is stored; it cannot be shown again."
        act={act('Set the password')}
        button="Set another"
      />
      <SnapshotSetting service={service} />
      <ProtectionSetting service={service} />
      <EndSetting service={service} />
      <Setting
        title="Delete this service"
        text="With all its data and its snapshots. Forks of it stay."
        act={act('Delete')}
        button="Delete"
      />
      {dialog}
    </div>
  )
}

type SettingProps = { title: string; text: string; act: Act | undefined; button: string }

function Setting({ title, text, act, button }: SettingProps) {
  return (
    <Card
      title={title}
      actions={
        act && (
          <Button kind={act.danger ? 'danger' : 'plain'} reason={act.reason} onPress={act.run}>
            {button}
          </Button>
        )
      }
    >
      <p className={layout['muted']}>{text}</p>
    </Card>
  )
}

function EnvironmentSetting({ service }: { service: Service }) {
  const { mutate, error } = useAct('setEnvironment')
  const may = useMay(service.project_id, service.status)
  const { project_id, service_id } = service
  const reason = may('setEnvironment')
  return (
    <Card title="Environment">
      <Segments
        label="Environment"
        hide_label
        hint="A tag. Acts on PROD are confirmed, and PROD is protected unless you say otherwise."
        name="environment"
        value={service.metadata.environment}
        options={environments.map((value) => ({ value, label: value }))}
        onChange={(environment) => reason === undefined && mutate({ project_id, service_id, body: { environment } })}
      />
      {reason !== undefined && <p className={layout['muted']}>{reason}</p>}
      <Problem error={error} />
    </Card>
  )
}

const protections = [
  { value: 'yes', label: 'Protected' },
  { value: 'no', label: 'Not protected' },
] as const

function ProtectionSetting({ service }: { service: Service }) {
  const { mutate, error, isPending, variables } = useAct('setProtection')
  const may = useMay(service.project_id, service.status)
  const { project_id, service_id } = service
  const shown = isPending ? variables.body.protected : service.protected
  const reason = may('setProtection')
  return (
    <Card title="Protection">
      <Segments
        label="Protection"
        hide_label
        hint="A protected service is not deleted and does not expire."
        name="protection"
        value={shown ? 'yes' : 'no'}
        options={protections}
        onChange={(value) =>
          reason === undefined && mutate({ project_id, service_id, body: { protected: value === 'yes' } })
        }
      />
      {reason !== undefined && <p className={layout['muted']}>{reason}</p>}
      <Problem error={error} />
    </Card>
  )
}
