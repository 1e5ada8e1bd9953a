// The dependencies of plugins and schedulers in tests.

import type { Client } from '#client/client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import { VirtualClock } from '#machinery/clock.ts';
import type { Logger, LogValues } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { Snapshot } from '../cache/snapshot.ts';
import type { SnapshotReader } from '../framework/snapshot.ts';
import { Extenders } from '../extenders/extenders.ts';
import type { Handle } from '../framework/handle.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { WaitingPods } from '../framework/waiting-pods.ts';

export interface RecordedLine {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly message: string;
  readonly values: LogValues;
}

/** Keeps log lines, so that a test can check that there were no problems. */
export class RecordingLogger implements Logger {
  readonly lines: RecordedLine[] = [];

  error(message: string, values: LogValues = {}): void {
    this.lines.push({ level: 'error', message, values });
  }

  warn(message: string, values: LogValues = {}): void {
    this.lines.push({ level: 'warn', message, values });
  }

  info(message: string, values: LogValues = {}): void {
    this.lines.push({ level: 'info', message, values });
  }

  debug(message: string, values: LogValues = {}): void {
    this.lines.push({ level: 'debug', message, values });
  }

  with(): Logger {
    return this;
  }

  /** The messages of errors and warnings. */
  get problems(): readonly string[] {
    return this.lines
      .filter(({ level }) => level === 'error' || level === 'warn')
      .map(({ message }) => message);
  }
}

export function snapshotOf(nodes: readonly NodeInfo[]): SnapshotReader {
  const snapshot = new Snapshot();
  snapshot.nodes = [...nodes];
  snapshot.versions = new Float64Array(nodes.length);
  nodes.forEach((node, position) => snapshot.positions.set(node.name, position));
  return snapshot;
}

/** A client for plugins that only compute: any call fails the test. */
const noClient: Client = {
  resource() {
    throw new Error('a test without API server called it');
  },
  transport: undefined as never,
};

export function makeHandle(overrides: Partial<Handle> = {}): Handle {
  const clock = new VirtualClock();
  const random = new SeededRandom('scheduler');
  const logger = new RecordingLogger();
  const client = overrides.client ?? noClient;
  return {
    client,
    informers: new SharedInformerFactory({
      client: { resource: () => ({}) as never, transport: undefined as never },
      clock,
      random,
      logger,
    }),
    clock,
    random,
    logger,
    snapshot: snapshotOf([]),
    nominator: {
      nominatedPodsForNode: () => [],
      isEmpty: () => true,
      nominatedNode: () => undefined,
    },
    recorderOf: () => undefined,
    waitingPods: new WaitingPods(),
    extenders: new Extenders({ extenders: [], logger, signal: new AbortController().signal }),
    activate: () => undefined,
    startInformers: () => undefined,
    ended: new AbortController().signal,
    ...overrides,
  };
}
