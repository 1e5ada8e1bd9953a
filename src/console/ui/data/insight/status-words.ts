// The state of an object in words: one sentence, and how good it is. Pure functions by kind; kinds
// without one are described by their conditions.

import type { KubeObject } from '../lists/live-object.ts';
import type { Severity } from '../lists/cell-severity.ts';

export interface StatusWords {
  readonly severity: Severity;
  readonly text: string;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export const conditionsOf = ({ status }: KubeObject): readonly Condition[] =>
  Array.isArray(status?.['conditions']) ? (status['conditions'] as readonly Condition[]) : [];

/** Conditions that are good when they are false. */
const GOOD_WHEN_FALSE = new RegExp(
  'Pressure$|NetworkUnavailable|ReplicaFailure|Failed$|FailureTarget|Stalled|Degraded|' +
    'Terminating|Conflict|NonStructuralSchema|Disruption|DeletionDiscoveryFailure|' +
    'ContentDeletionFailure|NamespaceDeletion|FinalizersRemaining|ContentRemaining|Suspended|' +
    'ScalingLimited|ResizePending|ResizeInProgress',
);

/** Returns how good a condition is. */
export function conditionSeverity({ type, status }: Condition): Severity {
  if (status === 'Unknown') return 'waiting';
  const good = GOOD_WHEN_FALSE.test(type) ? status === 'False' : status === 'True';
  if (good) return 'ok';
  return GOOD_WHEN_FALSE.test(type) ? 'problem' : 'waiting';
}

export function statusWords(object: KubeObject): StatusWords {
  if (object.metadata.deletionTimestamp != null) {
    const { finalizers = [] } = object.metadata;
    return {
      severity: 'waiting',
      text:
        finalizers.length > 0
          ? `is being deleted, and waits for ${finalizers.join(', ')}`
          : 'is being deleted',
    };
  }
  const group = object.apiVersion?.includes('/') === true ? object.apiVersion.split('/')[0]! : '';
  return (WORDS[`${group}/${object.kind ?? ''}`] ?? byConditions)(object);
}

const numberAt = (part: Readonly<Record<string, unknown>> | undefined, field: string): number =>
  typeof part?.[field] === 'number' ? part[field] : 0;

const problem = (text: string): StatusWords => ({ severity: 'problem', text });
const waiting = (text: string): StatusWords => ({ severity: 'waiting', text });
const ok = (text: string): StatusWords => ({ severity: 'ok', text });

const messageOf = ({ reason = '', message = '' }: Condition): string =>
  message === '' ? reason : message;

interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly terminated?: { readonly reason?: string; readonly exitCode?: number };
    readonly running?: object;
  };
}

function podWords({ status, ...object }: KubeObject): StatusWords {
  const phase = String(status?.['phase'] ?? 'Unknown');
  const containers = [
    ...((status?.['initContainerStatuses'] ?? []) as readonly ContainerStatus[]),
    ...((status?.['containerStatuses'] ?? []) as readonly ContainerStatus[]),
  ];
  if (phase === 'Succeeded') return ok('has finished');
  if (phase === 'Failed') {
    const failed = containers.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
    const why =
      failed === undefined
        ? String(status?.['message'] ?? status?.['reason'] ?? '')
        : `container ${failed.name} ended with code ${failed.state?.terminated?.exitCode}`;
    return problem(why === '' ? 'has failed' : `has failed: ${why}`);
  }
  const stuck = containers.find(
    ({ state }) =>
      state?.waiting?.reason !== undefined &&
      !/^(ContainerCreating|PodInitializing)$/.test(state.waiting.reason),
  );
  if (stuck !== undefined) {
    const { reason = '', message = '' } = stuck.state?.waiting ?? {};
    const why = message === '' ? reason : `${reason}: ${message}`;
    return problem(`container ${stuck.name} does not run: ${why}`);
  }
  const conditions = conditionsOf({ ...object, status });
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False')
    return (scheduled.reason === 'Unschedulable' ? problem : waiting)(
      `has no node: ${messageOf(scheduled)}`,
    );
  if (phase === 'Pending') return waiting('starts');
  const ready = containers.filter((each) => each.ready === true).length;
  const isReady = conditions.find(({ type }) => type === 'Ready')?.status === 'True';
  if (isReady) return ok(`runs, and is ready on ${String(object.spec?.['nodeName'] ?? '')}`);
  const notReady = containers.filter((each) => each.ready !== true).map(({ name }) => name);
  const what = notReady.length === 0 ? '' : `${notReady.join(', ')} `;
  return waiting(`runs, but ${what}is not ready (${ready} of ${containers.length})`);
}

function deploymentWords(object: KubeObject): StatusWords {
  const { spec, status } = object;
  const want = typeof spec?.['replicas'] === 'number' ? spec['replicas'] : 1;
  const updated = numberAt(status, 'updatedReplicas');
  const available = numberAt(status, 'availableReplicas');
  const total = numberAt(status, 'replicas');
  const conditions = conditionsOf(object);
  const failure = conditions.find(
    ({ type, status: s }) => type === 'ReplicaFailure' && s === 'True',
  );
  if (failure !== undefined) return problem(`cannot create pods: ${messageOf(failure)}`);
  const progressing = conditions.find(({ type }) => type === 'Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded')
    return problem(`does not progress: ${available} of ${want} pods are available`);
  if (numberAt(status, 'observedGeneration') < (object.metadata.generation ?? 0))
    return waiting('has changes that the controller has not seen yet');
  if (spec?.['paused'] === true)
    return waiting(`is paused; ${available} of ${want} pods are available`);
  if (updated < want) return waiting(`rolls out: ${updated} of ${want} pods are updated`);
  if (total > updated) return waiting(`rolls out: ${total - updated} old pods are still there`);
  if (available < want) return waiting(`${available} of ${want} pods are available`);
  return ok(want === 0 ? 'is scaled to zero' : `all ${want} pods are available`);
}

const replicasWords =
  (readyField: string, wantOf: (object: KubeObject) => number) =>
  (object: KubeObject): StatusWords => {
    const want = wantOf(object);
    const ready = numberAt(object.status, readyField);
    if (ready < want) return waiting(`${ready} of ${want} pods are ready`);
    return ok(want === 0 ? 'wants no pods' : `all ${want} pods are ready`);
  };

const specReplicas = ({ spec }: KubeObject): number =>
  typeof spec?.['replicas'] === 'number' ? spec['replicas'] : 1;

function jobWords(object: KubeObject): StatusWords {
  const conditions = conditionsOf(object);
  const failed = conditions.find(({ type, status }) => type === 'Failed' && status === 'True');
  if (failed !== undefined) return problem(`has failed: ${messageOf(failed)}`);
  if (conditions.some(({ type, status }) => type === 'Complete' && status === 'True'))
    return ok('is complete');
  if (object.spec?.['suspend'] === true) return waiting('is suspended');
  const { status } = object;
  return waiting(
    ['active', 'succeeded', 'failed']
      .map((field) => `${numberAt(status, field)} ${field}`)
      .join(', '),
  );
}

function nodeWords(object: KubeObject): StatusWords {
  const conditions = conditionsOf(object);
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready?.status !== 'True')
    return problem(
      `is not ready: ${ready === undefined ? 'it has not reported' : messageOf(ready)}`,
    );
  const pressure = conditions.find(
    ({ type, status }) => type.endsWith('Pressure') && status === 'True',
  );
  if (pressure !== undefined) return problem(`has ${pressure.type}: ${messageOf(pressure)}`);
  return object.spec?.['unschedulable'] === true
    ? waiting('is ready, but takes no new pods (cordoned)')
    : ok('is ready');
}

function claimWords({ status, spec }: KubeObject): StatusWords {
  const phase = String(status?.['phase'] ?? 'Pending');
  if (phase === 'Bound') return ok(`is bound to ${String(spec?.['volumeName'] ?? 'a volume')}`);
  return phase === 'Lost' ? problem('has lost its volume') : waiting('waits for a volume');
}

function phaseWords(object: KubeObject): StatusWords {
  const phase = object.status?.['phase'];
  if (phase === 'Active' || phase === 'Bound' || phase === 'Available')
    return ok(`is ${phase.toLowerCase()}`);
  return typeof phase === 'string' ? waiting(`is ${phase.toLowerCase()}`) : byConditions(object);
}

function byConditions(object: KubeObject): StatusWords {
  const conditions = conditionsOf(object);
  const rank: Record<Severity, number> = { problem: 0, waiting: 1, ok: 2, neutral: 3 };
  const worst = conditions
    .map((condition) => ({ condition, severity: conditionSeverity(condition) }))
    .sort((a, b) => rank[a.severity] - rank[b.severity])[0];
  if (worst !== undefined) {
    if (worst.severity === 'ok') return ok('all conditions are good');
    const message = messageOf(worst.condition);
    return {
      severity: worst.severity,
      text: `${worst.condition.type} is ${worst.condition.status}${message === '' ? '' : `: ${message}`}`,
    };
  }
  const phase = object.status?.['phase'];
  return { severity: 'neutral', text: typeof phase === 'string' ? `phase ${phase}` : 'exists' };
}

const WORDS: Readonly<Record<string, (object: KubeObject) => StatusWords>> = {
  '/Pod': podWords,
  'apps/Deployment': deploymentWords,
  'apps/ReplicaSet': replicasWords('readyReplicas', specReplicas),
  'apps/StatefulSet': replicasWords('readyReplicas', specReplicas),
  '/ReplicationController': replicasWords('readyReplicas', specReplicas),
  'apps/DaemonSet': replicasWords('numberReady', ({ status }) =>
    numberAt(status, 'desiredNumberScheduled'),
  ),
  'batch/Job': jobWords,
  '/Node': nodeWords,
  '/PersistentVolumeClaim': claimWords,
  '/PersistentVolume': phaseWords,
  '/Namespace': phaseWords,
};
