// Statistics of the files of a pod.

/** The usage of a file system, or of one part of it. The time is in wall-clock milliseconds. */
export interface FsStats {
  readonly time: number;
  readonly availableBytes: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly inodesUsed: number;
}

export interface VolumeStats extends FsStats {
  /** The name of the volume in its pod. */
  readonly name: string;
  readonly claim?: { readonly name: string; readonly namespace: string };
  /** The condition of the volume, where its driver reports conditions. */
  readonly abnormal?: boolean;
  /** Whether the volume's data counts as ephemeral storage of the node. */
  readonly isEphemeral: boolean;
}

export interface Used {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export interface PodFiles {
  readonly volumes: readonly VolumeStats[];
  /** The logs of each container, by its name. */
  readonly logs: ReadonlyMap<string, Used>;
  /** The file /etc/hosts of the pod. */
  readonly hosts: Used | undefined;
}
