// The API types of the kubelet, in the immutable form of clients and informers.

import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export type Pod = Immutable<v1.Pod>;
export type PodSpec = Immutable<v1.PodSpec>;
export type PodStatus = Immutable<v1.PodStatus>;
export type PodCondition = Immutable<v1.PodCondition>;
export type Container = Immutable<v1.Container>;
export type ContainerStatus = Immutable<v1.ContainerStatus>;
export type ContainerState = Immutable<v1.ContainerState>;
export type ContainerStateTerminated = Immutable<v1.ContainerStateTerminated>;
export type LifecycleHandler = Immutable<v1.LifecycleHandler>;
export type Probe = Immutable<v1.Probe>;
export type HTTPGetAction = Immutable<v1.HTTPGetAction>;
export type Volume = Immutable<v1.Volume>;
export type VolumeMount = Immutable<v1.VolumeMount>;
export type KeyToPath = Immutable<v1.KeyToPath>;
export type DownwardAPIVolumeFile = Immutable<v1.DownwardAPIVolumeFile>;
export type ConfigMap = Immutable<v1.ConfigMap>;
export type Secret = Immutable<v1.Secret>;
export type Service = Immutable<v1.Service>;
export type Node = Immutable<v1.Node>;
export type NodeStatus = Immutable<v1.NodeStatus>;
export type NodeCondition = Immutable<v1.NodeCondition>;
export type NodeAddress = Immutable<v1.NodeAddress>;
export type ObjectReference = Immutable<v1.ObjectReference>;
export type ResourceRequirements = Immutable<v1.ResourceRequirements>;
export type ResourceList = Readonly<Record<string, string>>;

/** Returns 'namespace/name(uid)', for logs. */
export function describePod(pod: Pod): string {
  return `${pod.metadata.namespace ?? ''}/${pod.metadata.name ?? ''}(${pod.metadata.uid ?? ''})`;
}

/** Returns the identity of a pod. A later pod with the same name has another one. */
export function podUid(pod: Pod): string {
  return pod.metadata.uid ?? '';
}
