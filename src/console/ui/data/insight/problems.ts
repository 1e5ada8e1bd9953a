// Problems of a cluster, from tables and warnings: the beginning of the overview. Pure, so
// that it is tested as a value.

import type { Row } from '../lists/row.ts';
import type { KubeObject } from '../lists/live-object.ts';
import type { TableColumn } from '../lists/table.ts';

export interface Problem {
  readonly severity: 'problem' | 'waiting';
  /** The id of the kind, such as 'deployments.apps'. */
  readonly typeId: string;
  readonly namespace: string;
  readonly name: string;
  readonly text: string;
  /** Milliseconds since the epoch; NaN if unknown. */
  readonly since: number;
}

/** Rows of one kind, with the columns to read them by. */
export interface Rows {
  readonly columns: readonly TableColumn[];
  readonly rows: readonly Row[];
}

export interface ClusterRows {
  readonly nodes?: Rows;
  /** Pods that neither run nor have succeeded. */
  readonly pods?: Rows;
  readonly deployments?: Rows;
  readonly statefulSets?: Rows;
  readonly daemonSets?: Rows;
  readonly jobs?: Rows;
  readonly claims?: Rows;
  /** Events of type Warning. */
  readonly warnings?: readonly KubeObject[];
}

/** An object that is younger than this is not a problem yet. */
const PATIENCE_MS = 120_000;
/** A back-off, or a failed probe, that has not been reported for this time is over. */
const BACKOFF_MS = 600_000;

/** Returns the problems: those that do not work first, the newest of them first. */
export function problemsOf(cluster: ClusterRows, now: number): readonly Problem[] {
  const problems = [
    ...nodeProblems(cluster.nodes),
    ...workloadProblems('deployments.apps', cluster.deployments, 'Ready', undefined, now),
    ...workloadProblems('statefulsets.apps', cluster.statefulSets, 'Ready', undefined, now),
    ...workloadProblems('daemonsets.apps', cluster.daemonSets, 'Ready', 'Desired', now),
    ...stateProblems('jobs.batch', cluster.jobs, /Failed|FailureTarget/, 'has failed', now),
    ...stateProblems('persistentvolumeclaims', cluster.claims, /Pending|Lost/, 'is', now),
    ...podProblems(cluster.pods, unschedulable(cluster.warnings ?? []), now),
    ...ofEvents(cluster.warnings ?? [], now),
  ];
  const rank = ({ severity }: Problem): number => (severity === 'problem' ? 0 : 1);
  return problems.sort((a, b) => rank(a) - rank(b) || (b.since || 0) - (a.since || 0));
}

const cellOf = ({ columns }: Rows, row: Row, name: string): string => {
  const index = columns.findIndex((column) => column.name === name);
  return index === -1 ? '' : String(row.cells[index] ?? '');
};

function nodeProblems(nodes: Rows | undefined): Problem[] {
  return (nodes?.rows ?? []).flatMap((row): Problem[] => {
    const status = cellOf(nodes!, row, 'Status');
    const common = { typeId: 'nodes', namespace: '', name: row.name, since: Number.NaN };
    if (/NotReady|Unknown/.test(status))
      return [{ ...common, severity: 'problem', text: 'is not ready' }];
    if (status.includes('SchedulingDisabled'))
      return [{ ...common, severity: 'waiting', text: 'takes no new pods (cordoned)' }];
    return [];
  });
}

function workloadProblems(
  typeId: string,
  rows: Rows | undefined,
  readyColumn: string,
  desiredColumn: string | undefined,
  now: number,
): Problem[] {
  return (rows?.rows ?? []).flatMap((row): Problem[] => {
    const ready = cellOf(rows!, row, readyColumn);
    const [have = '', want = ''] =
      desiredColumn === undefined ? ready.split('/') : [ready, cellOf(rows!, row, desiredColumn)];
    if (want === '' || Number(have) >= Number(want)) return [];
    return [
      {
        severity: now - row.created > PATIENCE_MS ? 'problem' : 'waiting',
        typeId,
        namespace: row.namespace,
        name: row.name,
        text: `${have} of ${want} pods are ready`,
        since: row.created,
      },
    ];
  });
}

function stateProblems(
  typeId: string,
  rows: Rows | undefined,
  pattern: RegExp,
  verb: string,
  now: number,
): Problem[] {
  return (rows?.rows ?? []).flatMap((row): Problem[] => {
    const status = cellOf(rows!, row, 'Status');
    if (!pattern.test(status)) return [];
    const pending = status === 'Pending';
    return [
      {
        severity: pending && now - row.created < PATIENCE_MS ? 'waiting' : 'problem',
        typeId,
        namespace: row.namespace,
        name: row.name,
        text: verb === 'is' ? `is ${status.toLowerCase()}` : verb,
        since: row.created,
      },
    ];
  });
}

/** Returns the scheduler's messages by the namespace and name of the pods that fit nowhere. */
function unschedulable(warnings: readonly KubeObject[]): ReadonlyMap<string, string> {
  return new Map(
    warnings
      .map(warningOf)
      .filter(({ kind, reason }) => kind === 'Pod' && reason === 'FailedScheduling')
      .map(({ namespace, name, message }) => [`${namespace}/${name}`, message]),
  );
}

function podProblems(
  pods: Rows | undefined,
  noNode: ReadonlyMap<string, string>,
  now: number,
): Problem[] {
  return (pods?.rows ?? []).map((row) => {
    const status = cellOf(pods!, row, 'Status');
    const message = status === 'Pending' ? noNode.get(`${row.namespace}/${row.name}`) : undefined;
    const slow = now - row.created > PATIENCE_MS;
    const bad = !/^(Pending|ContainerCreating|PodInitializing|Init:\d|Terminating)/.test(status);
    return {
      severity: bad || slow || message !== undefined ? 'problem' : 'waiting',
      typeId: 'pods',
      namespace: row.namespace,
      name: row.name,
      text: message === undefined ? `does not run: ${status}` : `has no node: ${message}`,
      since: row.created,
    };
  });
}

interface EventParts {
  readonly involvedObject?: {
    readonly kind?: string;
    readonly name?: string;
    readonly namespace?: string;
  };
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly lastObservedTime?: string; readonly count?: number };
}

export interface Warning {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly last: number;
}

/** Returns the parts of an event, whichever of its time fields are set. */
export function warningOf(event: KubeObject): Warning {
  const parts = event as KubeObject & EventParts;
  const time =
    parts.series?.lastObservedTime ??
    parts.lastTimestamp ??
    parts.eventTime ??
    event.metadata.creationTimestamp;
  return {
    kind: parts.involvedObject?.kind ?? '',
    namespace: parts.involvedObject?.namespace ?? '',
    name: parts.involvedObject?.name ?? '',
    reason: parts.reason ?? '',
    message: parts.message ?? '',
    count: parts.series?.count ?? parts.count ?? 1,
    last: time == null ? Number.NaN : Date.parse(time),
  };
}

/** A probe may fail a few times while a container starts. */
const PROBE_FAILURES = 5;

/** Running pods whose containers restart again and again, or whose probes fail, are seen by their events. */
function ofEvents(warnings: readonly KubeObject[], now: number): Problem[] {
  const byPod = new Map<string, Problem>();
  for (const event of warnings) {
    const warning = warningOf(event);
    const { kind, namespace, name, reason, message, count, last } = warning;
    if (kind !== 'Pod' || now - last > BACKOFF_MS) continue;
    const key = `${namespace}/${name}`;
    const problem = { typeId: 'pods', namespace, name, since: last };
    if (reason === 'BackOff' && message.includes('restarting'))
      byPod.set(key, { ...problem, severity: 'problem', text: 'a container ends again and again' });
    else if (reason === 'Unhealthy' && count >= PROBE_FAILURES && !byPod.has(key))
      byPod.set(key, {
        ...problem,
        severity: 'waiting',
        text: `a probe has failed ${count} times: ${message}`,
      });
  }
  return [...byPod.values()];
}
