// Evicts the chosen victims: they get a condition with the reason, and are deleted.

import { type PodCondition, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Handle } from '#scheduler/framework/handle.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import type { Candidate } from './victims.ts';

/**
 * Deletes the victims that are not being deleted yet, all at once. Rejects with the first error
 * after all have been tried.
 */
export async function evict(
  handle: Handle,
  plugin: string,
  pod: PodInfo,
  { node, victims }: Candidate,
): Promise<void> {
  // Pods of lower priority that are nominated to this node need another one.
  const nominated = handle.nominator
    .nominatedPodsForNode(node)
    .filter((other) => other.priority < pod.priority);
  const going = victims.pods.filter(
    (victim) => victim.pod.metadata.deletionTimestamp === undefined,
  );
  const outcomes = await Promise.allSettled([
    ...nominated.map((other) => clearNomination(handle, other.pod)),
    ...going.map((victim) => evictOne(handle, plugin, pod.pod, victim.pod, node)),
  ]);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

async function evictOne(
  handle: Handle,
  plugin: string,
  preemptor: Pod,
  victim: Pod,
  node: string,
): Promise<void> {
  const { client, ended: signal } = handle;
  const waiting = handle.waitingPods.get(victim.metadata.uid);
  if (waiting !== undefined) {
    // The victim is not bound yet: it only loses its reserved node.
    waiting.reject(plugin, 'preempted');
  } else {
    const { name, namespace = '', uid } = victim.metadata;
    const resource = client.resource(pods).namespace(namespace);
    try {
      const status = { conditions: [disruption(preemptor, victim, handle.clock.now())] };
      const patch = { metadata: { uid }, status };
      await resource.patch(name, 'application/strategic-merge-patch+json', patch, {
        subresource: 'status',
        signal,
      });
      await resource.delete(name, { preconditions: { uid }, signal });
    } catch (error) {
      // The victim is gone already, or another pod has its name.
      if (apierrors.isNotFound(error) || apierrors.isConflict(error)) return;
      throw error;
    }
  }
  const { namespace, name, uid, resourceVersion } = victim.metadata;
  const message = `Preempted by pod ${preemptor.metadata.uid} on node ${node}`;
  handle
    .recorderOf(preemptor.spec.schedulerName ?? '')
    ?.event(
      { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, resourceVersion },
      'Normal',
      'Preempted',
      message,
      {
        action: 'Preempting',
      },
    );
}

function disruption(preemptor: Pod, victim: Pod, now: number): Immutable<PodCondition> {
  const present = victim.status.conditions?.find(({ type }) => type === 'DisruptionTarget');
  const { generation } = victim.metadata;
  return {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'PreemptionByScheduler',
    message: `${preemptor.spec.schedulerName}: preempting to accommodate a higher priority pod`,
    ...(generation !== undefined && { observedGeneration: generation }),
    lastProbeTime: null,
    lastTransitionTime: present?.status === 'True' ? present.lastTransitionTime : formatTime(now),
  };
}

async function clearNomination(
  { client, ended: signal }: Handle,
  { metadata }: Pod,
): Promise<void> {
  const { name, namespace = '', uid } = metadata;
  const patch = { metadata: { uid }, status: { nominatedNodeName: null } };
  try {
    const resource = client.resource(pods).namespace(namespace);
    await resource.patch(name, 'application/merge-patch+json', patch, {
      subresource: 'status',
      signal,
    });
  } catch (error) {
    if (!apierrors.isNotFound(error) && !apierrors.isConflict(error)) throw error;
  }
}
