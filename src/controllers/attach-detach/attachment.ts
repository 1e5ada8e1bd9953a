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

/**
 * Returns the volume's name as nodes list it in their status; undefined if it is not of a CSI
 * driver.
 */
export function uniqueName({ spec }: ReadVolume): string | undefined {
  return spec.csi === undefined
    ? undefined
    : `kubernetes.io/csi/${spec.csi.driver}^${spec.csi.volumeHandle}`;
}

/**
 * Returns the name of the VolumeAttachment. Every controller derives the same name, so no second
 * attachment is created. Undefined if the volume is not of a CSI driver.
 */
export function attachmentNameOf({ spec }: ReadVolume, nodeName: string): string | undefined {
  if (spec.csi === undefined) return undefined;
  const { driver, volumeHandle } = spec.csi;
  return `csi-${createHash('sha256').update(`${volumeHandle}${driver}${nodeName}`).digest('hex')}`;
}

/** Reports whether the node's kubelet leaves attaching to this controller. */
export function isManaged({ metadata }: ReadNode): boolean {
  return metadata.annotations?.[MANAGED] === 'true';
}

/**
 * Reports whether the pod needs its volumes. A pod that has ended does not, unless its node keeps
 * the volumes of ended pods.
 */
export function needsVolumes(pod: Immutable<Pod>, node: ReadNode): boolean {
  return !isPodTerminal(pod) || node.metadata.annotations?.[KEEP_TERMINATED] === 'true';
}

/**
 * Reports whether the volume may be attached to several nodes at once. A volume without access
 * modes may.
 */
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

/**
 * Returns the message for a volume that pods on other nodes (`others`) use. Names of pods in other
 * namespaces are left out, since users may not see them.
 */
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

/** Returns the full name of the attaching plugin, for metrics. */
export function pluginOf({ spec }: Immutable<PersistentVolume>): string {
  return spec.csi === undefined ? 'N/A' : `kubernetes.io/csi:${spec.csi.driver}`;
}
