// The components of a cluster besides its API server: controllers, scheduler and kubelets, each
// made from its Config with a client of its own. Only the clients know whether the API server is in
// this thread or in another.

import type { Duplex } from 'node:stream';
import type { Decision } from '#scheduler/decisions.ts';
import type { KeyPair } from '../credentials/pki.ts';
import type { ComponentsConfig, RunningComponents } from './config.ts';
import { ControlPlane } from './control-plane.ts';
import { Kubelets } from './kubelets.ts';
import { NodeNetwork } from './node-network.ts';
import { Supervisor } from './supervisor.ts';

export class Components implements RunningComponents {
  readonly #config: ComponentsConfig;
  readonly #supervisor: Supervisor;
  readonly #controlPlane: ControlPlane | undefined;
  readonly #network: NodeNetwork;
  /** For those who stop, start, wake and connect to single nodes. */
  readonly kubelets: Kubelets;
  #stopping: Promise<void> | undefined;

  constructor(config: ComponentsConfig) {
    this.#config = config;
    const supervisor = new Supervisor(config);
    this.#supervisor = supervisor;
    if (config.control !== undefined)
      this.#controlPlane = new ControlPlane(config, config.control, {
        supervisor,
        renewedAt: (node) => this.kubelets.renewedAt(node),
      });
    const network = new NodeNetwork(config, {
      supervisor,
      onChange: (node) => this.kubelets.checkNode(node),
    });
    this.#network = network;
    this.kubelets = new Kubelets(config, { supervisor, network });
  }

  get failed(): Promise<Error> {
    return this.#supervisor.failed;
  }

  /**
   * Once. Resolves when the kubelets have begun. Throws what is wrong with the scheduler's
   * configuration.
   */
  async start(): Promise<void> {
    const { nodes } = this.#config;
    this.#controlPlane?.start();
    for (const node of nodes) this.#network.startPolicies(node);
    await this.kubelets.start();
    for (const node of nodes) this.#network.start(node);
  }

  metrics(): string {
    return (this.#controlPlane?.metrics() ?? '') + this.#network.metrics();
  }

  decisions(): readonly Decision[] {
    return this.#controlPlane?.decisions() ?? [];
  }

  setKubeletCertificate(pair: KeyPair): void {
    this.kubelets.setCertificate(pair);
  }

  connect(node: string): Duplex | undefined {
    return this.kubelets.connect(node);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const stopped = await this.kubelets.stop();
    this.#supervisor.abort();
    stopped.push(...(await this.kubelets.stopRestarted()));
    stopped.push(...(await this.#supervisor.ended()));
    const problems = stopped.flatMap((result): unknown[] =>
      result.status === 'rejected' ? [result.reason] : [],
    );
    if (problems.length > 0)
      throw new AggregateError(problems, 'components have not stopped cleanly');
  }
}
