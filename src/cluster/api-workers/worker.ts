// A worker: a complete API server whose storage is the main process' one, over a channel, behind a
// watch cache of its own. It serves connections of the main process' listening socket.

import { Server, Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { ApiServerConfig } from '#apiserver/config.ts';
import type { ServingTls } from '#apiserver/http/serving-tls.ts';
import { ApiServer } from '#apiserver/server.ts';
import { systemClock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { createStderrLogger } from '#machinery/line-writer.ts';
import { type Logger, silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { openChannelStorage } from '#storage/channel/index.ts';
import type { Storage } from '#storage/interface.ts';
import { openWatchCache } from '#storage/watch-cache/index.ts';
import { COXSWAIN_VERSION } from '../version.ts';
import { RemoteAuditSink } from './audit-stream.ts';
import { forwardConsole } from './forward-console.ts';
import { eventLoopBusyShare } from './event-loop.ts';
import { MainProcess } from './main-process.ts';
import { type FromWorker, LINK_FD, STORAGE_FD, type ToWorker } from './messages.ts';
import type { WorkerSettings } from './settings.ts';

const LOAD_PERIOD_MS = 1000;
/** The prefix of every key that the API server reads often. */
const PREFIX = '/registry/';

const clock = systemClock;
const random = systemRandom;

/** Runs once, in a process of WorkerProcess, and ends it. `onStopped`: called before a normal end. */
export async function runApiWorker(onStopped?: (logger: Logger) => void): Promise<void> {
  // The main process' end is this process' end, at once: a new main process needs the port.
  const gone = (): never => process.exit(0);
  process.on('disconnect', gone);
  // Signals of a terminal reach every process. The main process says when to stop.
  process.on('SIGINT', () => undefined);
  const channel = new Socket({ fd: STORAGE_FD, readable: true, writable: true });
  channel.once('close', gone);
  const main = new MainProcess(new Socket({ fd: LINK_FD, readable: true, writable: true }), gone);
  let logger = silentLogger;
  const end = (error: unknown): never => {
    logger.error('API server worker: failed, ending', { err: error });
    process.exit(1);
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
  try {
    const settings = await main.settings();
    logger = loggerOf(settings);
    if (settings.programVersion !== COXSWAIN_VERSION)
      throw new Error(
        `the installed version is ${COXSWAIN_VERSION}, and the main process is ${settings.programVersion}`,
      );
    const storage = await openWatchCache({
      storage: await openChannelStorage({ stream: channel, logger }),
      clock,
      logger,
      prefix: PREFIX,
    });
    channel.off('close', gone);
    channel.once('close', () => process.exit(0));
    await serve({ main, settings, storage, logger, onStopped });
  } catch (error) {
    tell({ kind: 'failed', message: errorMessage(error) });
    end(error);
  }
}

interface Worker {
  readonly main: MainProcess;
  readonly settings: WorkerSettings;
  readonly storage: Storage;
  readonly logger: Logger;
  readonly onStopped: ((logger: Logger) => void) | undefined;
}

async function serve(worker: Worker): Promise<void> {
  const { main, storage, logger, onStopped } = worker;
  let { proxyClientCertificate, authorizers, jwt } = worker.settings;
  let tls = servingTlsOf(worker.settings);
  const server = new ApiServer({
    ...configOf(worker),
    aggregation: { proxyClientCertificate: () => proxyClientCertificate },
    ...(authorizers !== undefined && { authorizers: () => authorizers! }),
    ...(jwt !== undefined && { jwt: () => jwt! }),
  });
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    await server.stop();
    onStopped?.(logger);
    await storage.close();
    process.exit(0);
  };
  const receive = async (message: ToWorker, handle: unknown): Promise<void> => {
    switch (message.kind) {
      case 'listen':
        if (!(handle instanceof Server)) throw new Error('the listening socket did not arrive');
        await server.listen(handle);
        tell({ kind: 'listening' });
        break;
      case 'settings': {
        const settings = await main.settings();
        proxyClientCertificate = settings.proxyClientCertificate;
        // The settings arrive as JSON, so that they are another value each time.
        if (!isDeepStrictEqual(settings.authorizers, authorizers)) ({ authorizers } = settings);
        if (!isDeepStrictEqual(settings.jwt, jwt)) ({ jwt } = settings);
        const next = servingTlsOf(settings);
        if (!isDeepStrictEqual(next, tls)) {
          server.setTls(next);
          tls = next;
        }
        break;
      }
      case 'shed':
        server.shedConnections(message.share);
        break;
      case 'stop':
        await stop();
    }
  };
  process.on('message', (message: ToWorker, handle) => {
    receive(message, handle).catch((error: unknown) => {
      logger.error('API server worker: message failed', { kind: message.kind, err: error });
      process.exit(1);
    });
  });
  process.on('SIGTERM', () => void stop());
  await server.start();
  const busyShare = eventLoopBusyShare();
  clock.setInterval(LOAD_PERIOD_MS, () => tell({ kind: 'load', busy: busyShare() }));
  tell({ kind: 'ready' });
}

function configOf({ main, settings, storage, logger }: Worker): ApiServerConfig {
  const { server, port, tokens, maxInFlight, auditPolicy } = settings;
  const { hasNodes, components, hasConsole } = settings;
  return {
    ...server,
    worker: true,
    storage,
    clock,
    random,
    logger: logger.with({ component: 'apiserver' }),
    port,
    ...(tokens !== undefined && { tokens: new Map(tokens) }),
    maxInFlight: {
      ...(maxInFlight.maxReads !== undefined && { maxReads: maxInFlight.maxReads ?? Infinity }),
      ...(maxInFlight.maxWrites !== undefined && { maxWrites: maxInFlight.maxWrites ?? Infinity }),
    },
    ...(auditPolicy !== undefined && {
      audit: { policy: auditPolicy, sink: () => new RemoteAuditSink(() => main.openAudit()) },
    }),
    ...(hasNodes && { nodeConnector: main.nodeConnector }),
    ...(components.length > 0 && { componentHealth: main.componentHealth(components) }),
    ...(hasConsole && { mounts: [forwardConsole(main, clock)] }),
  };
}

function loggerOf({ logging }: WorkerSettings): Logger {
  if (logging === undefined) return silentLogger;
  // Not process.stderr: what is written there is lost if the process ends at once.
  return createStderrLogger({ ...logging, clock }).with({ worker: process.pid });
}

function tell(message: FromWorker): void {
  // The main process may have ended.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

function servingTlsOf({ server: { tls, requestHeader } }: WorkerSettings): Partial<ServingTls> {
  if (tls === undefined) return {};
  const { cert, key, named, clientCa } = tls;
  return { cert, key, named, clientCa, requestHeaderCa: requestHeader?.ca };
}
