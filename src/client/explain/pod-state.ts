// Explains why a pod does not run, from the pod alone. This is cheap enough for every pod of a cluster.

import type { Container, ContainerStatus, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { humanDuration } from '#machinery/text/duration.ts';
import { asInfo, type Cause, cause, worst } from './cause.ts';
import { type Condition, conditionsOf } from './conditions.ts';

type PodObject = Immutable<Pod>;
type Status = Immutable<ContainerStatus>;

/** A pod that has been on its way for less is not reported as a problem. */
const PATIENCE_MS = 60_000;
/** Reasons for which a container waits as long as all goes well. */
const NORMAL_WAITING = new Set(['ContainerCreating', 'PodInitializing']);

/** Returns the problem of a pod, or what it waits for, in one line. Undefined if it runs, or has done its work. */
export function podProblem(pod: PodObject, now: number): Cause | undefined {
  const causes = podStateCauses(pod, now);
  const severity = worst(causes);
  if (severity === 'ok') return undefined;
  return causes.find((each) => each.severity === severity);
}

/** Returns what the pod's own status says: deletion, phase, scheduling, containers, readiness. */
export function podStateCauses(pod: PodObject, now: number): readonly Cause[] {
  const causes = statusCauses(pod, now);
  if (!pod.metadata.deletionTimestamp) return causes;
  // The deletion explains how the containers end.
  const explained = causes.map((each) => (each.severity === 'problem' ? asInfo(each) : each));
  return [deletionCause(pod, now), ...explained];
}

function statusCauses(pod: PodObject, now: number): readonly Cause[] {
  const { status } = pod;
  const phase = status?.phase ?? 'Pending';
  if (phase === 'Succeeded') return [cause('ok', 'the pod has succeeded')];
  if (phase === 'Failed') return [failedCause(pod)];
  const scheduled = conditionOf(pod, 'PodScheduled');
  if (scheduled?.status === 'False') return [unscheduledCause(pod, scheduled)];
  const containers = containerCauses(pod, now);
  const causes = [...containers];
  if (!pod.spec.nodeName)
    causes.push(cause('waiting', 'no scheduler has looked at the pod yet', { source: 'status' }));
  const ready = conditionOf(pod, 'Ready');
  if (worst(containers) === 'ok' && ready?.status === 'False' && phase === 'Running')
    causes.push(...unreadyCauses(pod, ready));
  return causes;
}

export function conditionOf(object: unknown, type: string): Condition | undefined {
  return conditionsOf(object).find((condition) => condition.type === type);
}

/** `finalizers` and the grace period are what keeps an object that is being deleted. */
export function deletionCause(
  object: {
    readonly metadata: Pick<
      Immutable<Pod>['metadata'],
      'deletionTimestamp' | 'finalizers' | 'deletionGracePeriodSeconds'
    >;
  },
  now: number,
): Cause {
  const { deletionTimestamp = '', finalizers = [] } = object.metadata;
  // The timestamp is when the grace period ends.
  const overdueMs = now - Date.parse(deletionTimestamp);
  const overdue = overdueMs > PATIENCE_MS;
  const since = overdue ? ` since ${humanDuration(overdueMs)}` : '';
  const kept = finalizers.length > 0 ? `, kept by the finalizers ${finalizers.join(', ')}` : '';
  return cause(overdue ? 'problem' : 'waiting', `is being deleted${since}${kept}`, {
    source: 'metadata.deletionTimestamp',
  });
}

function failedCause(pod: PodObject): Cause {
  const { reason, message, containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  if (reason || message)
    return cause('problem', `has failed: ${[reason, message].filter(Boolean).join(': ')}`, {
      source: 'status',
    });
  const failed = [...initContainerStatuses, ...containerStatuses].find(
    ({ state }) => (state?.terminated?.exitCode ?? 0) !== 0,
  );
  const ended =
    failed === undefined ? '' : `: container ${failed.name} ${terminatedText(failed.state)}`;
  return cause('problem', `has failed${ended}`, { source: 'status' });
}

function unscheduledCause(pod: PodObject, condition: Condition): Cause {
  const { reason = '', message = '' } = condition;
  if (reason === 'SchedulingGated') {
    const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name).join(', ');
    return cause('waiting', `is not scheduled: waits for the scheduling gates ${gates}`, {
      source: 'spec.schedulingGates',
    });
  }
  return cause('problem', `is not scheduled: ${message || reason}`, {
    source: 'condition PodScheduled',
  });
}

function containerCauses(pod: PodObject, now: number): readonly Cause[] {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const specs = new Map(
    [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map((each) => [each.name, each]),
  );
  const age = now - Date.parse(pod.status?.startTime ?? pod.metadata.creationTimestamp ?? '');
  const inits = initContainerStatuses.flatMap((status) =>
    stateCauses('init container', status, specs.get(status.name), age),
  );
  // Containers only wait for init containers.
  if (worst(inits) !== 'ok') return inits;
  return [
    ...inits,
    ...containerStatuses.flatMap((status) =>
      stateCauses('container', status, specs.get(status.name), age),
    ),
  ];
}

function stateCauses(
  what: string,
  status: Status,
  spec: Immutable<Container> | undefined,
  age: number,
): readonly Cause[] {
  const { name, state, lastState, restartCount = 0, ready } = status;
  const title = `${what} ${name}`;
  const source = `status of ${title}`;
  const { waiting, running, terminated } = state ?? {};
  if (waiting !== undefined) {
    const { reason = '', message = '' } = waiting;
    if (NORMAL_WAITING.has(reason) || reason === '') {
      const late = age > PATIENCE_MS;
      const since = late ? ` for ${humanDuration(age)}` : '';
      return [cause('waiting', `${title} is not started yet${since} (${reason})`, { source })];
    }
    const last = lastState?.terminated === undefined ? [] : [lastCause(title, lastState)];
    return [
      cause('problem', `${title}: ${reason}${message ? `: ${message}` : ''}`, {
        source,
        causes: last,
      }),
    ];
  }
  if (terminated !== undefined) {
    if (terminated.exitCode === 0) return [];
    return [cause('problem', `${title} ${terminatedText(state)}`, { source })];
  }
  if (running === undefined) return [cause('waiting', `${title} is not started yet`, { source })];
  const restarted =
    restartCount > 0 && lastState?.terminated !== undefined
      ? [
          cause('info', `${title} was restarted ${restartCount} times`, {
            source,
            causes: [lastCause(title, lastState)],
          }),
        ]
      : [];
  if (ready || (what === 'init container' && spec?.restartPolicy !== 'Always')) return restarted;
  return [
    cause(age > PATIENCE_MS ? 'problem' : 'waiting', unreadyText(title, status, spec), {
      source,
      causes: restarted,
    }),
  ];
}

function unreadyText(
  title: string,
  { started }: Status,
  spec: Immutable<Container> | undefined,
): string {
  if (started === false && spec?.startupProbe !== undefined)
    return `${title} runs, but its startup probe has not succeeded yet`;
  if (spec?.readinessProbe !== undefined)
    return `${title} runs, but its readiness probe does not succeed`;
  return `${title} runs, but is not ready`;
}

function lastCause(title: string, state: Status['lastState']): Cause {
  return cause('problem', `${title} ${terminatedText(state)} before`, {
    source: 'last state of the container',
  });
}

/** 'has ended with exit code 137 (OOMKilled): message'. */
function terminatedText(state: Status['state'] | undefined): string {
  const { exitCode, signal, reason, message } = state?.terminated ?? {};
  const ended = signal ? `was ended by signal ${signal}` : `has ended with exit code ${exitCode}`;
  const why = reason && reason !== 'Error' ? ` (${reason})` : '';
  return `${ended}${why}${message ? `: ${message}` : ''}`;
}

function unreadyCauses(pod: PodObject, ready: Condition): readonly Cause[] {
  const gates = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = conditionOf(pod, conditionType);
    return gate?.status === 'True'
      ? []
      : [
          cause('waiting', `the readiness gate ${conditionType} is ${gate?.status ?? 'not set'}`, {
            source: 'spec.readinessGates',
          }),
        ];
  });
  const { reason, message } = ready;
  const why = [reason, message].filter(Boolean).join(': ');
  return [
    cause(gates.length > 0 ? 'waiting' : 'problem', `is not ready${why ? `: ${why}` : ''}`, {
      source: 'condition Ready',
      causes: gates,
    }),
  ];
}
