// Faults of the store: a full disk, slow writes, writes whose outcome is unknown.

import { storagePrefix } from '#apiserver/registry/storage-prefix.ts';
import { StorageError } from '#storage/interface.ts';
import type { Fault } from './active-faults.ts';
import { durationMs, type FaultContext, type FaultDuration } from './context.ts';
import { selectedKind } from './kinds.ts';
import type { FaultSelector } from './selector.ts';
import type { StorageFate } from './faulty-storage.ts';

/** Which writes of the store. The store does not know components and verbs. */
export type StorageSelector = Pick<
  FaultSelector,
  'kind' | 'namespace' | 'name' | 'skip' | 'count' | 'probability'
>;

export interface SlowDiskOptions extends StorageSelector {
  /** How long each write takes longer. */
  readonly by: FaultDuration;
}

export interface StorageTimeoutOptions extends StorageSelector {
  /** Whether the write was made. Default: 'either', drawn from the cluster's seed each time. */
  readonly outcome?: 'done' | 'not done' | 'either';
}

/** Lets writes fail as on a full disk: they are not made, and reads go on. */
export function diskFull(context: FaultContext, options: StorageSelector): Fault {
  return addStorageFault(context, 'diskFull', options, [], (key) => ({
    written: false,
    error: new StorageError('NoSpace', 'fault: no space left on device', { key }),
  }));
}

/** Lets writes fail without telling whether they were made, as an engine does that loses its connection. */
export function storageTimeout(context: FaultContext, options: StorageTimeoutOptions): Fault {
  const { outcome = 'either' } = options;
  if (outcome !== 'done' && outcome !== 'not done' && outcome !== 'either')
    throw new TypeError("fault storageTimeout: outcome is 'done', 'not done' or 'either'");
  const { random } = context.config;
  return addStorageFault(context, 'storageTimeout', options, ['outcome'], (key) => ({
    written: outcome === 'either' ? random.float() < 0.5 : outcome === 'done',
    error: new StorageError('Unavailable', 'fault: the outcome of the write is unknown', { key }),
  }));
}

/** Lets writes take longer. */
export function slowDisk(context: FaultContext, options: SlowDiskOptions): Fault {
  const byMs = durationMs('slowDisk', 'by', options.by);
  const { clock } = context.config;
  return addStorageFault(context, 'slowDisk', options, ['by'], async () => {
    await clock.sleep(byMs);
    return undefined;
  });
}

function addStorageFault(
  context: FaultContext,
  name: string,
  options: StorageSelector,
  own: readonly string[],
  fate: (key: string) => StorageFate | undefined | Promise<undefined>,
): Fault {
  for (const field of ['component', 'verb', 'subresource'])
    if (field in options) throw new TypeError(`fault ${name}: the store does not know ${field}s`);
  const { kind, namespace, name: objectName } = options;
  const prefix = kind === undefined ? undefined : storagePrefix(selectedKind(kind));
  if (prefix === undefined && (namespace !== undefined || objectName !== undefined))
    throw new TypeError(`fault ${name}: namespace and name need a kind`);
  const { fault, matches, take } = context.add(name, options, own);
  const remove = context.config.storage.add((key) => {
    if (prefix !== undefined) {
      if (!key.startsWith(prefix)) return undefined;
      const parts = key.slice(prefix.length).split('/');
      const found = parts.pop() ?? '';
      const resource = selectedKind(kind as NonNullable<typeof kind>);
      const call = { component: 'storage', verb: 'update', subresource: '', ...resource };
      if (!matches({ ...call, namespace: parts.join('/'), name: found })) return undefined;
    }
    return take() ? fate(key) : undefined;
  });
  fault.onEnd(remove);
  return fault;
}
