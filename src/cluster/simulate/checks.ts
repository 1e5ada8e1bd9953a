// Decides when the invariants of a run are checked: at the full minute after a write. They depend on
// the state alone, so a quiet hour costs no check. Heartbeats and events do not count as writes,
// because no invariant depends on them.

import { events as coreEvents } from '#api/groups/core/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { storagePrefix } from '#apiserver/registry/storage-prefix.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import type { Storage, StorageEvent } from '#storage/interface.ts';

export const CHECK_EVERY_MS = 60_000;

const IGNORED = [leases, coreEvents].map((type) => storagePrefix(type));

export interface ChecksConfig {
  readonly clock: Clock;
  readonly storage: Pick<Storage, 'watch'>;
  readonly check: () => Promise<void>;
  /** Called with the error of a check, or of the watch of the store. */
  readonly onError: (error: unknown) => void;
}

/**
 * Follows the store, and checks at most once a minute, counted from now. Returns the function that
 * ends it. Not guaranteed: that a check has ended when the next one begins.
 */
export function checkAfterWrites({ clock, storage, check, onError }: ChecksConfig): () => void {
  const origin = clock.monotonic();
  let planned: Timer | undefined;
  const plan = (): void => {
    if (planned !== undefined) return;
    const delayMs = CHECK_EVERY_MS - ((clock.monotonic() - origin) % CHECK_EVERY_MS);
    planned = clock.setTimer(delayMs, () => {
      planned = undefined;
      check().catch(onError);
    });
  };
  const writes = storage.watch('/registry/');
  const follow = async (): Promise<void> => {
    for await (const event of writes) if (isWriteOfState(event)) plan();
  };
  follow().catch(onError);
  return () => {
    writes.stop();
    planned?.cancel();
  };
}

function isWriteOfState(event: StorageEvent): boolean {
  if (event.type === 'progress') return false;
  const key = event.type === 'put' ? event.kv.key : event.key;
  return !IGNORED.some((prefix) => key.startsWith(prefix));
}
