// The events that the kubelet records, with upstream's reasons.

import type { ResizeEvent } from './status/resize-events.ts';
import type { Container, ObjectReference, Pod } from './types.ts';

/** The sink of events: it never blocks and never throws. */
export interface EventSink {
  event(
    regarding: ObjectReference,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    extras?: { readonly annotations?: Readonly<Record<string, string>> },
  ): void;
}

export type EventReason =
  | 'AllocationFailed'
  | 'BackOff'
  | 'Created'
  | 'ErrImageNeverPull'
  | 'Evicted'
  | 'EvictionThresholdMet'
  | 'ExceededGracePeriod'
  | 'Failed'
  | 'FailedCreatePodContainer'
  | 'FailedCreatePodSandBox'
  | 'FailedKillPod'
  | 'FailedMount'
  | 'FailedPostStartHook'
  | 'FailedPreStopHook'
  | 'FailedPrepareDynamicResources'
  | 'FailedSync'
  | 'FailedToRetrieveImagePullSecret'
  | 'FailedUnMount'
  | 'FreeDiskSpaceFailed'
  | 'ImageGCFailed'
  | 'InspectFailed'
  | 'InvalidDiskCapacity'
  | 'InvalidEnvironmentVariableNames'
  | 'Killing'
  | 'MissingClusterDNS'
  | 'CgroupV1'
  | 'DNSConfigForming'
  | 'NetworkNotReady'
  | 'NodeAllocatableEnforced'
  | 'NodeHasDiskPressure'
  | 'NodeShutdown'
  | 'NodeHasInsufficientMemory'
  | 'NodeHasInsufficientPID'
  | 'NodeHasNoDiskPressure'
  | 'NodeHasSufficientMemory'
  | 'NodeHasSufficientPID'
  | 'NodeNotReady'
  | 'NodeNotSchedulable'
  | 'NodeReady'
  | 'NodeSchedulable'
  | 'Preempting'
  | 'ProbeWarning'
  | 'Pulled'
  | 'Pulling'
  | 'Rebooted'
  | 'ResizeCompleted'
  | 'ResizeDeferred'
  | 'ResizeError'
  | 'ResizeInfeasible'
  | 'ResizeStarted'
  | 'SandboxChanged'
  | 'Started'
  | 'Starting'
  | 'SystemOOM'
  | 'Unhealthy';

export class PodEvents {
  readonly #sink: EventSink;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  normal(pod: Pod, reason: EventReason, message: string): void {
    this.#sink.event(podReference(pod), 'Normal', reason, message);
  }

  /** Records a warning. `reason` may also be an admission reason (OutOfcpu …). */
  warning(
    pod: Pod,
    reason: EventReason | (string & {}),
    message: string,
    annotations?: Readonly<Record<string, string>>,
  ): void {
    const extras = annotations === undefined ? {} : { annotations };
    this.#sink.event(podReference(pod), 'Warning', reason, message, extras);
  }

  resize(pod: Pod, { type, reason, message }: ResizeEvent): void {
    this.#sink.event(podReference(pod), type, reason, message);
  }

  container(
    pod: Pod,
    container: Container,
    type: 'Normal' | 'Warning',
    reason: EventReason,
    message: string,
  ): void {
    this.#sink.event(containerReference(pod, container), type, reason, message);
  }
}

function podReference(pod: Pod): ObjectReference {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    namespace: pod.metadata.namespace ?? '',
    name: pod.metadata.name,
    uid: pod.metadata.uid,
    resourceVersion: pod.metadata.resourceVersion,
  };
}

/** Returns a reference to the pod with the container's field path. */
function containerReference(pod: Pod, container: Container): ObjectReference {
  return { ...podReference(pod), fieldPath: `${containerList(pod, container)}{${container.name}}` };
}

function containerList(pod: Pod, container: Container): string {
  const named = (candidate: { readonly name: string }): boolean =>
    candidate.name === container.name;
  if ((pod.spec.initContainers ?? []).some(named)) return 'spec.initContainers';
  if ((pod.spec.ephemeralContainers ?? []).some(named)) return 'spec.ephemeralContainers';
  return 'spec.containers';
}
