// The parts of the kubelet that its CSI needs, and the volumes that pods ask for.

import type * as v1 from '#api/groups/core/v1/index.ts';
import type { CSIDriver, VolumeAttachment } from '#api/groups/storage/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Pod } from '../../types.ts';
import type { Mounter } from '../mounter.ts';
import type { CsiNodeService } from './node-client.ts';

export interface CsiHost {
  readonly rootDir: string;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mounter: Mounter;
  /** Returns a registered driver. Throws if it is not registered. */
  readonly service: (driver: string) => CsiNodeService;
  /** Returns the driver's object in the API; undefined if there is none. */
  readonly driverObject: (driver: string) => Immutable<CSIDriver> | undefined;
  /** Reads the driver's object from the API. */
  readonly readDriverObject: (driver: string) => Promise<Immutable<CSIDriver> | undefined>;
  readonly attachment: (name: string) => Promise<Immutable<VolumeAttachment>>;
  /** Returns the volumes in the status of this Node. */
  readonly nodeVolumes: () => NodeVolumes;
  /** The volumes in use have changed: the Node's status must be reported. */
  readonly onVolumesInUse: () => void;
  readonly secret: (namespace: string, name: string) => Promise<Immutable<v1.Secret>>;
  /** Returns a token of the pod's service account, with its end. */
  readonly token: (request: CsiTokenRequest) => Promise<CsiToken>;
  /** Called when the driver cannot attach one more volume to this node. */
  readonly onAttachLimit: (driver: string) => void;
  /** Called after a volume was mounted, before containers use it. */
  readonly afterMount: (pod: Pod, volume: CsiVolume, mounted: MountedVolume) => Promise<void>;
}

/** Names of volumes, as in the status of the Node. */
export interface NodeVolumes {
  readonly inUse: readonly string[];
  readonly attached: readonly string[];
}

export interface CsiTokenRequest {
  readonly pod: Pod;
  /** Undefined: that of the API server. */
  readonly audience: string | undefined;
  readonly expirationSeconds: number;
}

export interface CsiToken {
  readonly token: string;
  readonly expirationTimestamp: string;
}

export interface MountedVolume {
  /** The path of the directory, or of the device. */
  readonly path: string;
  /** Where the volume is staged; '' if the driver does not stage. */
  readonly stagingPath: string;
}

/** A volume that a pod wants. */
export interface CsiVolume {
  /** The name of the persistent volume, or of the inline volume in its pod. */
  readonly name: string;
  readonly driver: string;
  readonly handle: string;
  readonly isInline: boolean;
  readonly isBlock: boolean;
  readonly readOnly: boolean;
  readonly fsType: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly accessModes: readonly string[];
  readonly mountOptions: readonly string[];
  readonly stageSecret: SecretReference | undefined;
  readonly publishSecret: SecretReference | undefined;
  readonly expandSecret: SecretReference | undefined;
}

export interface SecretReference {
  readonly namespace: string;
  readonly name: string;
}

/** An operation on a volume failed; the message is that of the event. */
export class CsiOperationError extends Error {
  /** The operation, for example 'MountVolume.SetUp failed'. */
  readonly operation: string;

  constructor(operation: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.operation = operation;
  }
}

/** The volume was not attached in time. */
export class UnattachedError extends Error {}

/** The volume was not attached in time, since the node has as many volumes as it can have. */
export class AttachLimitError extends UnattachedError {}
