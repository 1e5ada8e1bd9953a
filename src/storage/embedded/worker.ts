// The entry point of the worker thread: it owns the database and executes the main thread's
// requests (protocol.ts) in order.

import { errorMessage } from '#machinery/error-message.ts';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { StorageError } from '../interface.ts';
import { awaitRoom } from './load-window.ts';
import { LogDatabase } from './log-database.ts';
import type { LoadMessage, Request, Response, WorkerConfig } from './protocol.ts';
import { sqliteFailure } from './sqlite.ts';

async function run(port: MessagePort, config: WorkerConfig): Promise<void> {
  const send = (message: LoadMessage | Response): void => port.postMessage(message);
  let database: LogDatabase;
  try {
    database = await LogDatabase.open(config);
    const { compactedRevision, rows } = database;
    send({ type: 'opened', compactedRevision, rows });
    let sent = 0;
    database.load((records) => {
      send({ type: 'rows', records: inSharedMemory(records) });
      awaitRoom(config.taken, ++sent);
    });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    // The thread has no listener, so it ends, which closes the database.
    send({ type: 'refused', reason: error.reason, message: error.message });
    return;
  }
  port.on('message', (request: Request) => {
    send(responseTo(database, request));
    // The checkpoint follows the response, so that no writer waits for it. An error ends the
    // thread, and with it the store.
    if (request.type !== 'close') database.checkpointIfDue();
    // Without a listener the port does not keep the thread alive.
    if (request.type === 'close') port.close();
  });
  send({ type: 'loaded' });
}

/**
 * Returns a copy in memory that V8 does not count in any isolate. Most of these values stay as long as
 * the store: as ArrayBuffers, each 64 MiB of them would make a full collection in the main thread
 * (`external memory pressure` in --trace-gc).
 */
function inSharedMemory(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

function responseTo(database: LogDatabase, request: Request): Response {
  try {
    perform(database, request);
    return { type: 'done' };
  } catch (error) {
    const failure = sqliteFailure(error);
    if (failure === undefined) throw error;
    const reason = failure === 'NoSpace' ? 'NoSpace' : 'Unavailable';
    return { type: 'failed', reason, message: errorMessage(error) };
  }
}

function perform(database: LogDatabase, request: Request): void {
  switch (request.type) {
    case 'commit':
      return database.commit(request.records);
    case 'compact':
      return database.compact(request.compactedRevision, request.obsolete);
    case 'probe':
      return database.probe();
    case 'close':
      return database.close();
  }
}

if (parentPort === null) throw new Error('the storage worker runs in a worker thread only');
await run(parentPort, workerData as WorkerConfig);
