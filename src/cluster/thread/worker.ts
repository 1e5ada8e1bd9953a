// The entry of the thread of the components.

import type { MessagePort } from 'node:worker_threads';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { ThreadClients } from '#client/thread/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { createStderrLogger } from '#machinery/line-writer.ts';
import { type Logger, silentLogger } from '#machinery/log.ts';
import { portDuplex } from '#machinery/streams/port-duplex.ts';
import { systemRandom } from '#machinery/random.ts';
import { Components } from '../components/index.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { SimulationJournal } from '#runtime/simulated/index.ts';
import { UncaughtErrors } from '../faults/index.ts';
import { simulatedNode } from '../nodes/simulated-machine.ts';
import { type FromThread, sentError, type ThreadConfig, type ToThread } from './messages.ts';

/**
 * Runs once, in a thread of ComponentsThread. `parent`: its port to the parent thread. `onStopped`:
 * called when everything has been stopped.
 */
export function runComponents(
  parent: MessagePort,
  { port, logging, keepRunning, journal: journalPath }: ThreadConfig,
  onStopped?: (logger: Logger) => void,
): void {
  const clock = systemClock;
  const random = systemRandom;
  // Not the thread's own stderr: what is written there is lost if the process ends at once.
  const logger = logging === undefined ? silentLogger : createStderrLogger({ ...logging, clock });
  const clients = new ThreadClients(port);
  let components: Components | undefined;
  let nodes: readonly ClusterNode[] = [];
  /** By the number of the message: what gets its answer. */
  const renewals = new Map<number, (refused: readonly string[]) => void>();
  let asked = 0;
  const tell = (message: FromThread): void => parent.postMessage(message, []);

  const faults = keepRunning
    ? new UncaughtErrors({
        clock,
        logger,
        onFatal: (err) => tell({ kind: 'failed', error: sentError(err) }),
        onCount: (component) => tell({ kind: 'uncaught', component }),
      })
    : undefined;
  faults?.install();
  const journal = journalPath === undefined ? undefined : readJournal(journalPath, logger);

  const start = async (message: Extract<ToThread, { kind: 'start' }>): Promise<void> => {
    if (journal instanceof Error) throw journal;
    nodes = message.nodes.map((node) => simulatedNode(node, { clock, random, journal }));
    components = new Components({
      clock,
      random,
      logger,
      clientOf: (user, userAgent) =>
        createClient(
          createInProcessTransport({
            handler: clients.handlerOf(user),
            userAgent,
            // The renewals are made here, and known to what needs them (HeartbeatBatches).
            withoutRenewals: true,
          }),
        ),
      control: message.control,
      nodes,
      nodesInAll: message.nodesInAll,
      makeHeartbeats: (batch) =>
        new Promise((resolve) => {
          const id = asked++;
          renewals.set(id, resolve);
          tell({ kind: 'make-heartbeats', id, batch });
        }),
      limitsEvents: true,
      dormantNodes: true,
      faults,
      kubeletPorts: message.kubeletPorts,
      onNodeStarted: (count) => tell({ kind: 'nodes-started', count }),
    });
    void components.failed.then((err) => tell({ kind: 'failed', error: sentError(err) }));
    await components.start();
  };

  const stop = async (): Promise<void> => {
    const stopped = await Promise.allSettled([
      components?.stop(),
      ...nodes.map(({ runtime }) => runtime.close()),
    ]);
    const problems = stopped.flatMap((result): unknown[] => {
      if (result.status === 'fulfilled') return [];
      return result.reason instanceof AggregateError ? result.reason.errors : [result.reason];
    });
    if (journal instanceof SimulationJournal) journal.close();
    clients.close();
    onStopped?.(logger);
    tell({ kind: 'stopped', errors: problems.map(sentError) });
    // Ends this thread. Handles of libraries must not keep it alive.
    process.exit();
  };

  parent.on('message', (message: ToThread) => {
    switch (message.kind) {
      case 'start':
        start(message).then(
          () => tell({ kind: 'started' }),
          (error: unknown) => tell({ kind: 'started', error: sentError(error) }),
        );
        break;
      case 'connect': {
        const connection = portDuplex(message.port);
        if (components?.kubelets.accept(message.node, connection) !== true) connection.destroy();
        break;
      }
      case 'kubelet-certificate':
        components?.setKubeletCertificate(message);
        break;
      case 'metrics':
        tell({ kind: 'metrics', id: message.id, text: components?.metrics() ?? '' });
        break;
      case 'decisions':
        tell({ kind: 'decisions', id: message.id, decisions: components?.decisions() ?? [] });
        break;
      case 'heartbeats-made':
        renewals.get(message.id)?.(message.refused);
        renewals.delete(message.id);
        break;
      case 'stop':
        void stop();
    }
  });
}

/** Returns the journal, or the error that the start has to fail with. */
function readJournal(path: string, logger: Logger): SimulationJournal | Error {
  try {
    return new SimulationJournal({ path, logger });
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
