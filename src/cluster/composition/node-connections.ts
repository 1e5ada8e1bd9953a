// Connections of the API server to kubelets: to those of this process without a port, and to those
// that joined from other machines at their own ports.

import type { Duplex } from 'node:stream';
import { createTlsNodeConnector, type NodeConnector } from '#apiserver/node-connector.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Simulation } from '#simulation/index.ts';
import type { RunningComponents } from '../components/index.ts';
import type { Pki } from '../credentials/pki.ts';

interface Config {
  readonly clock: Clock;
  /** Absent: only nodes of this process are reached. */
  readonly pki: Pki | undefined;
  readonly simulation: Simulation | undefined;
  /** The nodes of this process. */
  readonly names: readonly string[];
  /** Resolves when the node's kubelet runs, if it was asleep. */
  readonly wake: (node: string) => Promise<void>;
  /** The components of all threads. */
  readonly running: () => readonly RunningComponents[];
}

type Connect = NodeConnector['connect'];

export class NodeConnections implements NodeConnector {
  readonly #config: Config;
  /** Connects to nodes of other processes. Made at the first connection. */
  #elsewhere: Promise<NodeConnector> | undefined;

  constructor(config: Config) {
    this.#config = config;
  }

  async connect(...[target, signal]: Parameters<Connect>): Promise<Duplex> {
    const { simulation, wake, running } = this.#config;
    simulation?.checkNode(target.name);
    await wake(target.name);
    for (const components of running()) {
      const connection = components.connect(target.name);
      if (connection !== undefined) return connection;
    }
    return (await this.#connectorOf(target.name)).connect(target, signal);
  }

  /** The client certificate for kubelets is read, and renewed, with the next connection. */
  forgetCertificate(): void {
    this.#elsewhere = undefined;
  }

  async #connectorOf(node: string): Promise<NodeConnector> {
    const { pki, names, clock } = this.#config;
    if (pki === undefined || names.includes(node))
      throw new Error(`node ${node} does not run in this process`);
    this.#elsewhere ??= pki
      .certificate('apiserver-kubelet-client', {
        commonName: 'kube-apiserver-kubelet-client',
        usage: 'client',
      })
      .then((pair) => createTlsNodeConnector({ pair: () => pair, clock, ca: pki.caCertificate }));
    return this.#elsewhere;
  }
}
