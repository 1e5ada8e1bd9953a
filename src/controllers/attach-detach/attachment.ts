// The names of attachments, and the conditions under which a volume cannot be attached.

import { createHash } from 'node:crypto';
import type { Node, PersistentVolume, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { isPodTerminal } from '../pod-state.ts';
import { TAINT_OUT_OF_SERVICE } from '../taints.ts';

type ReadNode = Immutable<Node>;
type ReadVolume = Immutable<PersistentVolume>;

const MANAGED = 'volumes.kubernetes.io/controller-managed-attach-detach';
const KEEP_TERMINATED = 'volumes.kubernetes.io/keep-terminated-pod-volumes';
const SHARED_MODES: ReadonlySet<string> = new Set(['ReadWriteMany', 'ReadOnlyMany']);

/** As nodes name it in their status; undefined if it is not of a CSI driver. */
export function uniqueName({ spec }: ReadVolume): string | undefined {
  return spec.csi === undefined
    ? undefined
    : `kubernetes.io/csi/${spec.csi.driver}^${spec.csi.volumeHandle}`;
}

/**
 * The name of the VolumeAttachment: the same for every controller, so that none creates a second
 * one. Undefined as `uniqueName`.
 */
export function attachmentNameOf({ spec }: ReadVolume, nodeName: string): string | undefined {
  if (spec.csi === undefined) return undefined;
  const { driver, volumeHandle } = spec.csi;
  return `csi-${createHash('sha256').update(`${volumeHandle}${driver}${nodeName}`).digest('hex')}`;
}

/** Its kubelet leaves attaching to the controller. */
export function isManaged({ metadata }: ReadNode): boolean {
  return metadata.annotations?.[MANAGED] === 'true';
}

/** Pods that have ended need no volumes, unless their node keeps them. */
export function needsVolumes(pod: Immutable<Pod>, node: ReadNode): boolean {
  return !isPodTerminal(pod) || node.metadata.annotations?.[KEEP_TERMINATED] === 'true';
}

/** It may be attached to several nodes at once, or does not say that it may not. */
export function isShared({ spec }: ReadVolume): boolean {
  const modes = spec.accessModes ?? [];
  return modes.length === 0 || modes.some((mode) => SHARED_MODES.has(mode));
}

export function isMounted(node: ReadNode, volumeName: string): boolean {
  return node.status.volumesInUse?.includes(volumeName) === true;
}

export function isOutOfService({ spec }: ReadNode): boolean {
  return spec.taints?.some(({ key }) => key === TAINT_OUT_OF_SERVICE) === true;
}

export function isHealthy({ status }: ReadNode): boolean {
  return status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}

/** `others`: pods that have the volume on other nodes. People see no names of other namespaces. */
export function multiAttachMessage(
  volume: string,
  namespace: string,
  others: readonly Immutable<Pod>[],
): string {
  const local = others
    .filter(({ metadata }) => metadata.namespace === namespace)
    .map(({ metadata }) => metadata.name);
  const foreign = others.length - local.length;
  const elsewhere = `${foreign} pod(s) in different namespaces`;
  const why =
    others.length === 0
      ? "Volume is already exclusively attached to one node and can't be attached to another"
      : local.length === 0
        ? `Volume is already used by ${elsewhere}`
        : `Volume is already used by pod(s) ${local.join(', ')}${foreign > 0 ? ` and ${elsewhere}` : ''}`;
  return `Multi-Attach error for volume "${volume}" ${why}`;
}

/** The full name of what attaches it, for metrics. */
export function pluginOf({ spec }: Immutable<PersistentVolume>): string {
  return spec.csi === undefined ? 'N/A' : `kubernetes.io/csi:${spec.csi.driver}`;
}
