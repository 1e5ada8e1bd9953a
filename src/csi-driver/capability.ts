// Checks the capabilities that volumes are asked for. Pure.

import type { CsiMessage } from '#csi/schema.ts';
import { RpcError } from '#machinery/grpc/rpc-error.ts';

type Capability = CsiMessage<'VolumeCapability'>;

/**
 * Volumes are on one node. Of the modes for several nodes, only the one without writers is supported:
 * a volume that is accessible from one node keeps all that this mode promises.
 */
const MODES: ReadonlySet<string> = new Set([
  'SINGLE_NODE_WRITER',
  'SINGLE_NODE_READER_ONLY',
  'SINGLE_NODE_SINGLE_WRITER',
  'SINGLE_NODE_MULTI_WRITER',
  'MULTI_NODE_READER_ONLY',
]);
const READER_MODES: ReadonlySet<string> = new Set([
  'SINGLE_NODE_READER_ONLY',
  'MULTI_NODE_READER_ONLY',
]);
const FILE_SYSTEMS: ReadonlySet<string> = new Set(['', 'ext3', 'ext4', 'xfs']);
const MAX_FLAGS = 64;

/** Returns the reason why the driver has no such volume; undefined if it has. */
export function unsupported(capability: Capability): string | undefined {
  const { accessMode, block, mount } = capability;
  if (block === undefined && mount === undefined) return 'the capability has no access type';
  if (block !== undefined && mount !== undefined) return 'the capability has two access types';
  const mode = accessMode?.mode ?? 'UNKNOWN';
  if (!MODES.has(mode)) return `the access mode ${mode} is not supported: volumes are on one node`;
  if (mount === undefined) return undefined;
  if (!FILE_SYSTEMS.has(mount.fsType)) return `the file system ${mount.fsType} is not supported`;
  if (mount.mountFlags.length > MAX_FLAGS) return `there are more than ${MAX_FLAGS} mount flags`;
  return undefined;
}

/** Reports whether the access mode allows no writes. */
export const isReadOnly = ({ accessMode }: Capability): boolean =>
  READER_MODES.has(accessMode?.mode ?? '');

/** Throws InvalidArgument unless there are capabilities and all are supported. */
export function checkCapabilities(capabilities: readonly Capability[]): void {
  if (capabilities.length === 0)
    throw new RpcError('INVALID_ARGUMENT', 'volume capabilities are missing');
  for (const capability of capabilities) {
    const reason = unsupported(capability);
    if (reason !== undefined) throw new RpcError('INVALID_ARGUMENT', reason);
  }
  const isBlock = capabilities.map(({ block }) => block !== undefined);
  if (isBlock.includes(true) && isBlock.includes(false))
    throw new RpcError('INVALID_ARGUMENT', 'a volume cannot be both a device and a file system');
}

/** Returns the capability of a call. Throws InvalidArgument if it is missing or not supported. */
export function requireCapability(capability: Capability | undefined): Capability {
  if (capability === undefined)
    throw new RpcError('INVALID_ARGUMENT', 'volume capability is missing');
  checkCapabilities([capability]);
  return capability;
}

/** Returns the value. Throws InvalidArgument if it is empty. */
export function required(value: string, name: string): string {
  if (value === '') throw new RpcError('INVALID_ARGUMENT', `${name} is missing`);
  return value;
}
