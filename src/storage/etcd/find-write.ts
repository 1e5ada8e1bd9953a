// Finds out at which revision a key got a value, from the history of etcd.

import type { Clock } from '#machinery/clock.ts';
import { type Revision, StorageError } from '../interface.ts';
import type { EtcdConnection } from './connection.ts';
import type { KeyRange } from './keys.ts';
import type { WatchResponse } from './schema.ts';

export interface FindWriteConfig {
  readonly connection: EtcdConnection;
  readonly clock: Clock;
  /** Has the key, and a key that was written at `upTo`. */
  readonly range: KeyRange;
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  /** The key got the value after this revision, if at all. */
  readonly after: Revision;
  /** A revision after that of the value. */
  readonly upTo: Revision;
  readonly timeoutMs: number;
}

/**
 * Resolves with the revision at which the key got the value; undefined if it did not. Rejects with
 * Expired if history does not reach back so far, and with other errors if the member fails.
 */
export function findWrite(config: FindWriteConfig): Promise<Revision | undefined> {
  const { connection, clock, range, key, value, after, upTo, timeoutMs } = config;
  const { call, failed } = connection.watch();
  return new Promise<Revision | undefined>((resolve, reject) => {
    const timer = clock.setTimer(timeoutMs, () =>
      call.emit('error', new Error('the member does not send its history')),
    );
    let isOver = false;
    const finish = (settle: () => void): void => {
      if (isOver) return;
      isOver = true;
      timer.cancel();
      settle();
      call.cancel();
    };
    call.on('data', ({ canceled, compactRevision, cancelReason, events }: WatchResponse) => {
      if (compactRevision > 0) {
        const message = `revision ${after} has been compacted`;
        finish(() => reject(new StorageError('Expired', message)));
      } else if (canceled) finish(() => reject(new Error(cancelReason)));
      for (const { type, kv } of events) {
        const isIt =
          type === 0 && Buffer.compare(kv.key, key) === 0 && Buffer.compare(kv.value, value) === 0;
        if (isIt || kv.modRevision >= upTo)
          return finish(() => resolve(isIt ? kv.modRevision : undefined));
      }
    });
    call.on('error', (error: unknown) => {
      finish(() => {
        failed(error);
        reject(error);
      });
    });
    call.on('end', () => finish(() => reject(new Error('the member ended the stream'))));
    call.write({
      create: { key: range.from, rangeEnd: range.to, startRevision: after + 1, fragment: true },
    });
  });
}
