// Serves an embedded store to its parent process, by messages, until it is killed. Every
// acknowledgement is first written to DIR/acks, so that a file layer sees it in order with the
// store's operations on its files.

import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { openEmbeddedStorage } from '#storage/embedded/index.ts';
import {
  type KeyValue,
  type Storage,
  StorageError,
  type StorageEvent,
} from '#storage/interface.ts';

export type ServerRequest =
  | { readonly id: number; readonly op: 'put'; readonly key: string; readonly value: string }
  /** Fails with Conflict unless the key has this revision (0: does not exist). */
  | {
      readonly id: number;
      readonly op: 'swap';
      readonly key: string;
      readonly value: string;
      readonly expected: number;
    }
  | { readonly id: number; readonly op: 'delete'; readonly key: string }
  | { readonly id: number; readonly op: 'compact'; readonly revision: number }
  | { readonly id: number; readonly op: 'list' }
  | { readonly id: number; readonly op: 'watch'; readonly afterRevision: number };

/** The value is undefined if the key was deleted. */
export interface ServedEvent {
  readonly revision: number;
  readonly key: string;
  readonly value?: string;
}

export type ServerMessage =
  | { readonly type: 'ready'; readonly revision: number }
  | {
      readonly type: 'answer';
      readonly id: number;
      readonly revision: number;
      readonly items?: readonly ServedEvent[];
    }
  | {
      readonly type: 'refused';
      readonly id: number;
      readonly reason: string;
      readonly message: string;
    }
  | { readonly type: 'event'; readonly id: number; readonly event: ServedEvent }
  /** The store cannot be opened, or cannot be written any more. */
  | { readonly type: 'failed'; readonly reason: string; readonly message: string };

const tell = (message: ServerMessage): void => {
  process.send?.(message);
};
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const served = (kv: KeyValue): ServedEvent => ({
  revision: kv.modRevision,
  key: kv.key,
  value: new TextDecoder().decode(kv.value),
});

class Conflict extends Error {}

async function serve(dir: string): Promise<void> {
  const acks = openSync(join(dir, 'acks'), 'a');
  const storage = await openEmbeddedStorage({
    clock: systemClock,
    logger: silentLogger,
    dataDir: join(dir, 'store'),
    maxHistoryRevisions: 20_000,
    onFailure: (error) => tell({ type: 'failed', reason: error.reason, message: error.message }),
  });
  process.on('message', (request: ServerRequest) => {
    perform(storage, request).then(
      ({ revision, items }) => {
        if (request.op === 'put' || request.op === 'swap')
          writeSync(acks, `${JSON.stringify([revision, request.key, request.value])}\n`);
        if (request.op === 'delete')
          writeSync(acks, `${JSON.stringify([revision, request.key, null])}\n`);
        tell({ type: 'answer', id: request.id, revision, ...(items && { items }) });
      },
      (error: unknown) => {
        const reason =
          error instanceof Conflict
            ? 'Conflict'
            : error instanceof StorageError
              ? error.reason
              : 'Bug';
        tell({ type: 'refused', id: request.id, reason, message: String(error) });
      },
    );
  });
  process.on('disconnect', () => process.exit(0));
  tell({ type: 'ready', revision: await storage.currentRevision() });
}

async function perform(
  storage: Storage,
  request: ServerRequest,
): Promise<{ revision: number; items?: ServedEvent[] }> {
  switch (request.op) {
    case 'put':
      return await storage.guaranteedUpdate(request.key, () => ({
        action: 'put',
        value: bytes(request.value),
      }));
    case 'swap':
      return await storage.guaranteedUpdate(request.key, (current) => {
        if ((current?.modRevision ?? 0) !== request.expected) throw new Conflict();
        return { action: 'put', value: bytes(request.value) };
      });
    case 'delete':
      return { revision: (await storage.delete(request.key)).revision };
    case 'compact':
      await storage.compact(request.revision);
      return { revision: request.revision };
    case 'list': {
      const { items, revision } = await storage.list('/t/');
      return { revision, items: items.map(served) };
    }
    case 'watch':
      // The watch lasts as long as the process.
      void watch(storage, request.id, request.afterRevision);
      return { revision: request.afterRevision };
  }
}

async function watch(storage: Storage, id: number, afterRevision: number): Promise<void> {
  try {
    for await (const event of storage.watch('/t/', { afterRevision })) {
      const served = toServed(event);
      if (served !== undefined) tell({ type: 'event', id, event: served });
    }
  } catch (error) {
    tell({
      type: 'refused',
      id,
      reason: error instanceof StorageError ? error.reason : 'Bug',
      message: String(error),
    });
  }
}

function toServed(event: StorageEvent): ServedEvent | undefined {
  switch (event.type) {
    case 'put':
      return served(event.kv);
    case 'delete':
      return { revision: event.revision, key: event.key };
    case 'progress':
      return undefined;
  }
}

const directory = process.argv[2];
if (directory === undefined) throw new Error('usage: store-server DIRECTORY');
try {
  await serve(directory);
} catch (error) {
  if (!(error instanceof StorageError)) throw error;
  tell({ type: 'failed', reason: error.reason, message: error.message });
  process.disconnect();
}
