// The thread of controllers, scheduler and simulated nodes, as the main thread sees it: on a
// machine with several cores they work beside the API server, and none of them keeps it from
// answering.

import type { Duplex } from 'node:stream';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { InProcessHandler } from '#client/in-process.ts';
import { ThreadServer } from '#client/thread/index.ts';
import type { MakeHeartbeats } from '#kubelet/node/heartbeat-batches.ts';
import type { Logger } from '#machinery/log.ts';
import { portDuplex } from '#machinery/streams/port-duplex.ts';
import { workerSource } from '#machinery/worker-source.ts';
import type { Decision } from '#scheduler/decisions.ts';
import type { ControlConfig, RunningComponents, User } from '../components/index.ts';
import type { KubeletPorts } from '../nodes/kubelet-ports.ts';
import type { SimulatedNode } from '../nodes/cluster-node.ts';
import type { KeyPair } from '../credentials/pki.ts';
import { heapLimitMb } from './heap-limit.ts';
import {
  type FromThread,
  type Logging,
  receivedError,
  type ThreadConfig,
  type ToThread,
} from './messages.ts';

export interface ComponentsThreadStart {
  /** The API server's chain behind authentication, as this user. */
  readonly handlerOf: (user: User) => InProcessHandler;
  readonly logger: Logger;
  /** Without plugins of the scheduler: functions do not go to another thread. */
  readonly control: ControlConfig;
  readonly nodes: readonly SimulatedNode[];
  /** See ComponentsConfig. */
  readonly nodesInAll: number;
  /** See ComponentsConfig. */
  readonly makeHeartbeats: MakeHeartbeats;
  readonly kubeletPorts?: KubeletPorts;
  /** See ComponentsConfig. */
  readonly onNodeStarted?: (started: number) => void;
}

/** The components of another thread. */
export interface ComponentsRunner extends RunningComponents {
  /** Once. Resolves when the kubelets have begun. */
  start(config: ComponentsThreadStart): Promise<void>;
}

export interface ComponentsThreadConfig {
  /** Absent: the thread logs nothing. */
  readonly logging?: Logging;
  /**
   * Called for each error that nothing in the thread caught, after which a component was restarted.
   * Absent: such an error ends the thread.
   */
  readonly onUncaught?: (component: string) => void;
  /** See ThreadConfig. */
  readonly journal?: string;
}

export class ComponentsThread implements ComponentsRunner {
  readonly #worker: Worker;
  /** Connects to the thread's clients. */
  readonly #port: MessagePort;
  readonly #metrics = new Map<number, (text: string) => void>();
  readonly #decisions = new Map<number, (decisions: readonly Decision[]) => void>();
  #asked = 0;
  #onNodeStarted: ((started: number) => void) | undefined;
  #makeHeartbeats: MakeHeartbeats = ({ nodes }) => Promise.resolve(nodes);
  #nodes: ReadonlySet<string> = new Set();
  #started: (error: Error | undefined) => void = () => undefined;
  #stopped: (errors: readonly Error[]) => void = () => undefined;
  readonly #exited: Promise<void>;
  #hasExited = false;
  #stopping: Promise<void> | undefined;
  #fail: (reason: Error) => void = () => undefined;
  readonly failed: Promise<Error>;
  readonly #onUncaught: ((component: string) => void) | undefined;

  /** The thread loads its program, and reads the journal, meanwhile; start() gives it work. */
  constructor({ logging, onUncaught, journal }: ComponentsThreadConfig = {}) {
    this.#onUncaught = onUncaught;
    this.failed = new Promise((resolve) => (this.#fail = resolve));
    const { url } = workerSource(
      new URL('./components-thread.js', import.meta.url),
      new URL('./main.ts', import.meta.url),
    );
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const workerData: ThreadConfig = {
      port: port2,
      logging,
      keepRunning: onUncaught !== undefined,
      journal,
    };
    this.#worker = new Worker(url, {
      workerData,
      transferList: [port2],
      resourceLimits: { maxOldGenerationSizeMb: heapLimitMb() },
    });
    this.#worker.on('message', (message: FromThread) => this.#receive(message));
    this.#worker.on('error', (err) => this.#fail(err));
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        this.#hasExited = true;
        this.#fail(new Error(`the thread of the components ended with status ${code}`));
        for (const tell of this.#metrics.values()) tell('');
        for (const tell of this.#decisions.values()) tell([]);
        resolve();
      });
    });
  }

  /** Once. Resolves when the kubelets have begun. Rejects with what Components.start() does. */
  async start(options: ComponentsThreadStart): Promise<void> {
    const { handlerOf, logger, control, nodes, nodesInAll, kubeletPorts, onNodeStarted } = options;
    if (control.schedulerPlugins !== undefined)
      throw new TypeError('plugins of the scheduler cannot go to another thread');
    this.#onNodeStarted = onNodeStarted;
    this.#makeHeartbeats = options.makeHeartbeats;
    this.#nodes = new Set(nodes.map(({ name }) => name));
    new ThreadServer({ port: this.#port, handlerOf, logger }).start();
    const started = new Promise<Error | undefined>((resolve) => (this.#started = resolve));
    this.#tell({
      kind: 'start',
      control,
      nodes,
      nodesInAll,
      kubeletPorts,
    });
    const error = await Promise.race([started, this.failed]);
    if (error !== undefined) throw error;
  }

  metrics(): Promise<string> {
    if (this.#hasExited) return Promise.resolve('');
    return new Promise((resolve) => {
      const id = this.#asked++;
      this.#metrics.set(id, resolve);
      this.#tell({ kind: 'metrics', id });
    });
  }

  decisions(): Promise<readonly Decision[]> {
    if (this.#hasExited) return Promise.resolve([]);
    return new Promise((resolve) => {
      const id = this.#asked++;
      this.#decisions.set(id, resolve);
      this.#tell({ kind: 'decisions', id });
    });
  }

  setKubeletCertificate({ cert, key }: KeyPair): void {
    this.#tell({ kind: 'kubelet-certificate', cert, key });
  }

  connect(node: string): Duplex | undefined {
    if (!this.#nodes.has(node)) return undefined;
    const { port1, port2 } = new MessageChannel();
    this.#tell({ kind: 'connect', node, port: port2 }, port2);
    return portDuplex(port1);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const stopped = new Promise<readonly Error[]>((resolve) => (this.#stopped = resolve));
    this.#tell({ kind: 'stop' });
    // The thread may have ended long ago.
    const errors = await Promise.race([stopped, this.#exited.then(() => [])]);
    await this.#exited;
    this.#port.close();
    if (errors.length > 0) throw new AggregateError(errors, 'components have not stopped cleanly');
  }

  #tell(message: ToThread, ...transfer: MessagePort[]): void {
    this.#worker.postMessage(message, transfer);
  }

  async #renew({ id, batch }: Extract<FromThread, { kind: 'make-heartbeats' }>): Promise<void> {
    const refused = await this.#makeHeartbeats(batch);
    if (!this.#hasExited) this.#tell({ kind: 'heartbeats-made', id, refused });
  }

  #receive(message: FromThread): void {
    switch (message.kind) {
      case 'started':
        this.#started(message.error === undefined ? undefined : receivedError(message.error));
        break;
      case 'nodes-started':
        this.#onNodeStarted?.(message.count);
        break;
      case 'metrics':
        this.#metrics.get(message.id)?.(message.text);
        this.#metrics.delete(message.id);
        break;
      case 'decisions':
        this.#decisions.get(message.id)?.(message.decisions);
        this.#decisions.delete(message.id);
        break;
      case 'make-heartbeats':
        void this.#renew(message);
        break;
      case 'failed':
        this.#fail(receivedError(message.error));
        break;
      case 'uncaught':
        this.#onUncaught?.(message.component);
        break;
      case 'stopped':
        this.#stopped(message.errors.map(receivedError));
    }
  }
}
