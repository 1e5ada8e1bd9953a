// The messages between the main thread and the thread of the components, besides the calls to the API server.

import type { MessagePort } from 'node:worker_threads';
import type { LoggerConfig } from '#machinery/log.ts';
import type { HeartbeatBatch } from '#kubelet/node/heartbeat-batches.ts';
import type { Decision } from '#scheduler/decisions.ts';
import type { ControlConfig } from '../components/index.ts';
import type { KubeletPorts } from '../nodes/kubelet-ports.ts';
import type { SimulatedNode } from '../nodes/cluster-node.ts';

/** The settings of the thread's logger. */
export type Logging = Pick<LoggerConfig, 'format' | 'level' | 'dated'>;

/** The configuration of a thread. */
export interface ThreadConfig {
  /** Connects to the API server. */
  readonly port: MessagePort;
  /** Absent: nothing is logged. */
  readonly logging: Logging | undefined;
  /** Errors that nothing catches restart a component of the thread, and not the thread. */
  readonly keepRunning: boolean;
  /**
   * The file in which the containers of the nodes are recorded: the thread reads it at once.
   * Absent: they end with the process.
   */
  readonly journal: string | undefined;
}

export type ToThread =
  | {
      readonly kind: 'start';
      readonly control: ControlConfig;
      readonly nodes: readonly SimulatedNode[];
      readonly nodesInAll: number;
      readonly kubeletPorts: KubeletPorts | undefined;
    }
  /** The other end of the port wants to talk to the node's kubelet. */
  | { readonly kind: 'connect'; readonly node: string; readonly port: MessagePort }
  /** PEM: the kubelets serve with it from now on. */
  | { readonly kind: 'kubelet-certificate'; readonly cert: string; readonly key: string }
  | { readonly kind: 'metrics'; readonly id: number }
  | { readonly kind: 'decisions'; readonly id: number }
  /** The answer to `make-heartbeats`: the nodes whose heartbeats were not made. */
  | { readonly kind: 'heartbeats-made'; readonly id: number; readonly refused: readonly string[] }
  | { readonly kind: 'stop' };

/** An error has no other properties there than these. */
export interface SentError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
}

export type FromThread =
  | { readonly kind: 'started'; readonly error?: SentError }
  /** So many kubelets have begun. */
  | { readonly kind: 'nodes-started'; readonly count: number }
  | { readonly kind: 'metrics'; readonly id: number; readonly text: string }
  | { readonly kind: 'decisions'; readonly id: number; readonly decisions: readonly Decision[] }
  | { readonly kind: 'make-heartbeats'; readonly id: number; readonly batch: HeartbeatBatch }
  | { readonly kind: 'failed'; readonly error: SentError }
  /** An error that nothing caught was logged. */
  | { readonly kind: 'uncaught'; readonly component: string }
  | { readonly kind: 'stopped'; readonly errors: readonly SentError[] };

export function sentError(err: unknown): SentError {
  if (!(err instanceof Error)) return { name: 'Error', message: String(err), stack: undefined };
  const { name, message, stack } = err;
  return { name, message, stack };
}

export function receivedError({ name, message, stack }: SentError): Error {
  return Object.assign(new Error(message), { name, stack });
}
