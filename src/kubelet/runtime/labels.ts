// Labels and annotations by which the kubelet recognizes its pods in the runtime, also after a
// restart. The keys are upstream's, so that other tools (crictl, log collectors) understand them.

import type { Container, Pod } from '../types.ts';
import { fnv32a } from '#machinery/text/hash.ts';

export const POD_NAME_LABEL = 'io.kubernetes.pod.name';
export const POD_NAMESPACE_LABEL = 'io.kubernetes.pod.namespace';
export const POD_UID_LABEL = 'io.kubernetes.pod.uid';
export const CONTAINER_NAME_LABEL = 'io.kubernetes.container.name';

const CONTAINER_HASH = 'io.kubernetes.container.hash';
const RESTART_COUNT = 'io.kubernetes.container.restartCount';
const TERMINATION_MESSAGE_PATH = 'io.kubernetes.container.terminationMessagePath';
const TERMINATION_MESSAGE_POLICY = 'io.kubernetes.container.terminationMessagePolicy';
const PRE_STOP_HANDLER = 'io.kubernetes.container.preStopHandler';
const CONTAINER_PORTS = 'io.kubernetes.container.ports';
const POD_DELETION_GRACE = 'io.kubernetes.pod.deletionGracePeriod';
const POD_TERMINATION_GRACE = 'io.kubernetes.pod.terminationGracePeriod';

type StringMap = Readonly<Record<string, string>>;

/** Returns the labels of a pod's sandbox: the pod's own, and the kubelet's. */
export function sandboxLabels(pod: Pod): StringMap {
  return { ...pod.metadata.labels, ...podLabels(pod) };
}

export function containerLabels(pod: Pod, container: Container): StringMap {
  return { ...podLabels(pod), [CONTAINER_NAME_LABEL]: container.name };
}

function podLabels(pod: Pod): StringMap {
  return {
    [POD_NAME_LABEL]: pod.metadata.name ?? '',
    [POD_NAMESPACE_LABEL]: pod.metadata.namespace ?? '',
    [POD_UID_LABEL]: pod.metadata.uid ?? '',
  };
}

/**
 * Returns the annotations of a container: the information that stopping it needs, also if its pod
 * is gone from the API.
 */
export function containerAnnotations(
  pod: Pod,
  container: Container,
  restartCount: number,
): StringMap {
  const annotations: Record<string, string> = {
    [CONTAINER_HASH]: hashContainer(container),
    [RESTART_COUNT]: String(restartCount),
    [TERMINATION_MESSAGE_PATH]: container.terminationMessagePath ?? '',
    [TERMINATION_MESSAGE_POLICY]: container.terminationMessagePolicy ?? '',
  };
  if (
    pod.metadata.deletionGracePeriodSeconds !== undefined &&
    pod.metadata.deletionGracePeriodSeconds !== null
  ) {
    annotations[POD_DELETION_GRACE] = String(pod.metadata.deletionGracePeriodSeconds);
  }
  const grace = pod.spec?.terminationGracePeriodSeconds;
  if (grace !== undefined && grace !== null) annotations[POD_TERMINATION_GRACE] = String(grace);
  if (container.lifecycle?.preStop)
    annotations[PRE_STOP_HANDLER] = JSON.stringify(container.lifecycle.preStop);
  if ((container.ports ?? []).length > 0)
    annotations[CONTAINER_PORTS] = JSON.stringify(container.ports);
  return annotations;
}

export interface ContainerAnnotations {
  readonly hash: string;
  readonly restartCount: number;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
  /** The grace period in seconds, from the pod's deletion or its spec; undefined without one. */
  readonly gracePeriodSeconds: number | undefined;
}

export function readContainerAnnotations(annotations: StringMap): ContainerAnnotations {
  const grace = annotations[POD_DELETION_GRACE] ?? annotations[POD_TERMINATION_GRACE];
  return {
    hash: annotations[CONTAINER_HASH] ?? '',
    restartCount: toInteger(annotations[RESTART_COUNT]) ?? 0,
    terminationMessagePath: annotations[TERMINATION_MESSAGE_PATH] ?? '',
    terminationMessagePolicy: annotations[TERMINATION_MESSAGE_POLICY] ?? '',
    gracePeriodSeconds: toInteger(grace),
  };
}

function toInteger(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/**
 * Returns a hash of the container. A running instance with another hash is restarted. Only fields
 * count that are mutable and require a restart: the image (and the name, which identifies the
 * container).
 */
export function hashContainer(container: Container): string {
  let hash = hashes.get(container);
  if (hash === undefined) {
    hash = fnv32a(JSON.stringify({ name: container.name, image: container.image ?? '' })).toString(
      16,
    );
    hashes.set(container, hash);
  }
  return hash;
}

/** Cached, since specs are immutable, and needed at every sync. */
const hashes = new WeakMap<Container, string>();
