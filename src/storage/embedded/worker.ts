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
  const send = (message: LoadMessage | Response, transfer: ArrayBuffer[] = []): void =>
    port.postMessage(message, transfer);
  let database: LogDatabase;
  try {
    database = await LogDatabase.open(config);
    const { compactedRevision, rows } = database;
    send({ type: 'opened', compactedRevision, rows });
    let sent = 0;
    database.load((records) => {
      send({ type: 'rows', records }, [records.buffer]);
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
