// The page of an object: its state in words, and tabs for everything else.

import { Alert, Button, Tabs } from '@mantine/core';
import { type ReactNode, Suspense } from 'react';
import { lazyComponent } from '../parts/lazy-component.ts';
import { Link, useLocation } from 'wouter';
import { pluralTitle } from '../data/lists/categories.ts';
import type { KubeObject, ObjectSnapshot } from '../data/lists/live-object.ts';
import { hasLogs } from '../data/insight/pods-of.ts';
import { printable } from '../data/text/printable.ts';
import { type ResourceType, typeId } from '../data/server/resource-type.ts';
import { listRoute, objectRoute } from '../data/server/routes.ts';
import { statusWords } from '../data/insight/status-words.ts';
import { Age, Empty, ErrorBox, Loading, SeverityMark } from '../parts/basics.tsx';
import { useExtra, useLiveObject, useTypes } from '../parts/hooks.ts';
import { Actions } from './object/actions.tsx';
import { Summary } from './object/summary.tsx';

const YamlTab = lazyComponent(async () => (await import('./object/yaml.tsx')).YamlTab);
const LogsTab = lazyComponent(async () => (await import('./object/logs.tsx')).LogsTab);
const TerminalTab = lazyComponent(async () => (await import('./object/terminal.tsx')).TerminalTab);
const WhyTab = lazyComponent(async () => (await import('./object/why.tsx')).WhyTab);
const RolloutTab = lazyComponent(async () => (await import('./object/rollout.tsx')).RolloutTab);
const ManagedFieldsTab = lazyComponent(
  async () => (await import('./object/managed-fields.tsx')).ManagedFieldsTab,
);

export interface ObjectPageProps {
  readonly typeName: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly tab: string | undefined;
}

export function ObjectPage({ typeName, ...rest }: ObjectPageProps): ReactNode {
  const types = useTypes();
  const type = types.byId(typeName);
  if (type === undefined)
    return <Empty>The server does not serve the kind “{printable(typeName)}”.</Empty>;
  return <LoadedPage type={type} {...rest} />;
}

function LoadedPage({
  type,
  namespace,
  name,
  tab,
}: Omit<ObjectPageProps, 'typeName'> & { readonly type: ResourceType }): ReactNode {
  const snapshot = useLiveObject(type, namespace, name);
  const { object, missing, state } = snapshot;
  return (
    <>
      <nav className="crumbs" aria-label="Path">
        <Link href={listRoute(type)}>{printable(pluralTitle(type))}</Link>
        {namespace !== undefined && <span> / {printable(namespace)}</span>}
      </nav>
      {object !== undefined ? (
        <ObjectView type={type} object={object} missing={missing} tab={tab} />
      ) : (
        <>
          <h1 className="page-title">{printable(name)}</h1>
          <NotThere snapshot={snapshot} kind={type.kind} />
        </>
      )}
      {state.kind === 'retrying' && (
        <p className="muted" role="status">
          Reconnecting: {printable(state.message)}
        </p>
      )}
    </>
  );
}

function NotThere({
  snapshot: { missing, state },
  kind,
}: {
  readonly snapshot: ObjectSnapshot;
  readonly kind: string;
}): ReactNode {
  if (state.kind === 'failed')
    return <ErrorBox title={`You may not see this ${kind}`} error={new Error(state.message)} />;
  return missing ? <Empty>There is no such {kind}.</Empty> : <Loading what={kind} />;
}

interface ObjectViewProps {
  readonly type: ResourceType;
  readonly object: KubeObject;
  readonly missing: boolean;
  readonly tab: string | undefined;
}

const ROLLOUTS: ReadonlySet<string> = new Set([
  'deployments.apps',
  'statefulsets.apps',
  'daemonsets.apps',
]);

function ObjectView({ type, object, missing, tab = 'summary' }: ObjectViewProps): ReactNode {
  const [, navigate] = useLocation();
  const canExplain = useExtra('why');
  const { metadata } = object;
  const words = statusWords(object);
  const isPod = typeId(type) === 'pods';
  const go = (to: string | null): void => {
    if (to === null) return;
    const name = to === 'summary' ? undefined : to;
    navigate(objectRoute(type, metadata.namespace, metadata.name, name), { replace: true });
  };
  return (
    <>
      <div className="object-head">
        <div className="object-title">
          <h1 className="page-title">{printable(metadata.name)}</h1>
          <p className="object-status">
            <SeverityMark severity={missing ? 'neutral' : words.severity} />{' '}
            <span>
              {type.kind}: {missing ? 'is gone' : printable(words.text)}
            </span>
            <span className="muted">
              {' '}
              · created <Age time={metadata.creationTimestamp} /> ago
            </span>
          </p>
        </div>
        {!missing && <Actions type={type} object={object} />}
      </div>
      {missing && (
        <Alert color="yellow" title={`This ${type.kind} was deleted`} role="status">
          The page shows its last state. If an object with the same name is created, the page
          follows it.{' '}
          <Button component={Link} href={listRoute(type)} size="compact-sm" variant="default">
            All {printable(pluralTitle(type))}
          </Button>
        </Alert>
      )}
      <Tabs value={tab} onChange={go} keepMounted={false} className="tabs">
        <Tabs.List>
          <Tabs.Tab value="summary">Summary</Tabs.Tab>
          {canExplain && <Tabs.Tab value="why">Why</Tabs.Tab>}
          {hasLogs(type) && <Tabs.Tab value="logs">Logs</Tabs.Tab>}
          {isPod && <Tabs.Tab value="terminal">Terminal</Tabs.Tab>}
          {ROLLOUTS.has(typeId(type)) && <Tabs.Tab value="rollout">Rollout</Tabs.Tab>}
          <Tabs.Tab value="yaml">YAML</Tabs.Tab>
          <Tabs.Tab value="fields">Field owners</Tabs.Tab>
        </Tabs.List>
        <Suspense fallback={<Loading what="the tab" />}>
          <Tabs.Panel value="summary">
            <Summary type={type} object={object} />
          </Tabs.Panel>
          <Tabs.Panel value="why">
            <WhyTab type={type} object={object} />
          </Tabs.Panel>
          <Tabs.Panel value="logs">
            <LogsTab type={type} object={object} />
          </Tabs.Panel>
          <Tabs.Panel value="terminal">
            <TerminalTab object={object} missing={missing} />
          </Tabs.Panel>
          <Tabs.Panel value="rollout">
            <RolloutTab type={type} object={object} />
          </Tabs.Panel>
          <Tabs.Panel value="yaml">
            <YamlTab type={type} object={object} missing={missing} />
          </Tabs.Panel>
          <Tabs.Panel value="fields">
            <ManagedFieldsTab object={object} />
          </Tabs.Panel>
        </Suspense>
      </Tabs>
    </>
  );
}
