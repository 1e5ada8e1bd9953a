// Finds the pod or the container that a request names.

import { type ContainerRecord, findContainer } from '../pod/pod-status.ts';
import { type Pod, podUid } from '../types.ts';
import type { KubeletServerConfig } from './config.ts';
import { HttpError } from './http-request.ts';

type PodSource = Pick<KubeletServerConfig, 'pods' | 'runtimeStatus'>;

/**
 * Returns the container that the rest of a path names: namespace/pod/container, or
 * namespace/pod/uid/container. Throws HttpError (404).
 */
export function runningContainer(
  config: PodSource,
  rest: readonly string[],
): {
  readonly pod: Pod;
  readonly record: ContainerRecord;
} {
  const [namespace = '', name = ''] = rest;
  const container = rest.at(-1) ?? '';
  const pod = podOf(config, namespace, name, rest.length > 3 ? rest[2] : undefined);
  const status = config.runtimeStatus(podUid(pod));
  const record = status === undefined ? undefined : findContainer(status, container);
  if (record?.state !== 'running') throw new HttpError(404, `container not found ("${container}")`);
  return { pod, record };
}

/** Returns a pod of the node. Throws HttpError (404). */
export function podOf({ pods }: PodSource, namespace: string, name: string, uid?: string): Pod {
  const pod = pods().find(
    (candidate) =>
      candidate.metadata.name === name &&
      candidate.metadata.namespace === namespace &&
      (uid === undefined || podUid(candidate) === uid),
  );
  if (pod === undefined) throw new HttpError(404, `pod "${name}" cannot be found`);
  return pod;
}
