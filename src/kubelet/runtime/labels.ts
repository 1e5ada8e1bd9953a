// The labels and annotations by which the kubelet finds its pods again in the runtime, after a
// restart too. The keys are those of every Kubernetes node, so that other tools (crictl, log
// collectors) understand them.

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

/** Labels of a pod's sandbox: the pod's own, then the kubelet's. */
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

/** The information of a container that killing it needs, also if its pod is gone from the API. */
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
  /** Seconds, from the pod's deletion or else its spec; undefined if neither said. */
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
 * A container whose hash differs from that of its running instance is restarted. Only what may
 * change in the spec of a pod and takes a restart counts: the image (and the name, which says whose
 * it is).
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

/** Specs are immutable, and asked about at every sync. */
const hashes = new WeakMap<Container, string>();
