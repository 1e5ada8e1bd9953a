// The containers of a pod: image, state, restarts, resources.

import type { ReactNode } from 'react';
import type { Severity } from '../../data/lists/cell-severity.ts';
import type { KubeObject } from '../../data/lists/live-object.ts';
import { containersOf } from '../../data/insight/pods-of.ts';
import { printable } from '../../data/text/printable.ts';
import { PlainTable, Section, StatusBadge } from '../../parts/basics.tsx';

interface State {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: {
    readonly reason?: string;
    readonly exitCode?: number;
    readonly message?: string;
  };
}

interface Status {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: State;
  readonly lastState?: State;
}

interface Resources {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

export function Containers({ object }: { readonly object: KubeObject }): ReactNode {
  const statuses = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses']
    .flatMap((field) => (object.status?.[field] ?? []) as readonly Status[])
    .reduce((map, status) => map.set(status.name, status), new Map<string, Status>());
  const resources = new Map(
    ['containers', 'initContainers'].flatMap((field) =>
      ((object.spec?.[field] ?? []) as readonly { name: string; resources?: Resources }[]).map(
        (each) => [each.name, each.resources] as const,
      ),
    ),
  );
  return (
    <Section title="Containers">
      <PlainTable of="containers">
        <thead>
          <tr>
            <th>Name</th>
            <th>State</th>
            <th>Restarts</th>
            <th>Image</th>
            <th>Requests / limits</th>
          </tr>
        </thead>
        <tbody>
          {containersOf(object).map(({ name, kind, image }) => {
            const status = statuses.get(name);
            const { severity, text, detail } = stateWords(status, kind === 'init');
            return (
              <tr key={name}>
                <td>
                  {printable(name)}
                  {kind !== 'container' && <span className="muted"> ({kind})</span>}
                </td>
                <td>
                  <StatusBadge severity={severity}>{printable(text)}</StatusBadge>
                  {detail !== undefined && <div className="muted">{printable(detail)}</div>}
                  <LastEnd status={status} />
                </td>
                <td className="number">{status?.restartCount ?? 0}</td>
                <td className="mono">{printable(image)}</td>
                <td className="mono">{resourceText(resources.get(name))}</td>
              </tr>
            );
          })}
        </tbody>
      </PlainTable>
    </Section>
  );
}

function LastEnd({ status }: { readonly status: Status | undefined }): ReactNode {
  const last = status?.lastState?.terminated;
  if (last === undefined) return null;
  return (
    <div className="muted">
      before: {printable(last.reason ?? 'ended')}, exit code {last.exitCode}
    </div>
  );
}

function stateWords(
  status: Status | undefined,
  isInit: boolean,
): { severity: Severity; text: string; detail?: string } {
  const { waiting, running, terminated } = status?.state ?? {};
  if (waiting !== undefined) {
    const reason = waiting.reason ?? 'waiting';
    const normal = /^(ContainerCreating|PodInitializing)$/.test(reason);
    return { severity: normal ? 'waiting' : 'problem', text: reason, detail: waiting.message };
  }
  if (running !== undefined)
    return status?.ready === true || isInit
      ? { severity: 'ok', text: 'Running' }
      : { severity: 'waiting', text: 'Running, not ready' };
  if (terminated !== undefined) {
    const failed = terminated.exitCode !== 0;
    const text = `${terminated.reason ?? 'ended'}${failed ? ` (exit code ${terminated.exitCode})` : ''}`;
    return { severity: failed ? 'problem' : 'ok', text, detail: terminated.message };
  }
  return { severity: 'waiting', text: 'Not started' };
}

function resourceText(resources: Resources | undefined): string {
  const names = new Set([
    ...Object.keys(resources?.requests ?? {}),
    ...Object.keys(resources?.limits ?? {}),
  ]);
  return [...names]
    .map(
      (name) =>
        `${name} ${resources?.requests?.[name] ?? '–'} / ${resources?.limits?.[name] ?? '–'}`,
    )
    .map(printable)
    .join(', ');
}
