// Controllers, and simulated nodes with a scheduler, in the process of `cox apiserver --store
// memory`: what tests want that start an API server.

import type { ApiServer } from '#apiserver/server.ts';
import type { NodeConnector } from '#apiserver/node-connector.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import { Components } from '../components/index.ts';
import { defaultPodRange, nodeRanges } from '../flags/network-ranges.ts';
import { simulatedNode } from '../nodes/simulated-machine.ts';
import { UserError } from '../user-error.ts';
import { selectedControllers } from './controller-manager.ts';
import type { RoleConfig } from './role.ts';

/** Settings of the components that run beside the API server. */
export interface InnerComponentsConfig {
  /** The controllers to run, as `--controllers` names them. */
  readonly withControllers?: readonly string[];
  /** Simulated nodes. Default: 0. */
  readonly withNodes?: number;
}

export interface InnerComponentsServices
  extends InnerComponentsConfig, Pick<RoleConfig, 'clock' | 'random' | 'logger'> {
  readonly store: 'etcd' | 'memory';
  readonly serviceCidr: string;
  /** PEM: signs the tokens of ServiceAccounts. Absent: there are no legacy tokens. */
  readonly serviceAccountKey?: string;
  /** PEM: the server's certificate and its issuers, by which pods verify it. */
  readonly rootCa: string;
}

const AUTHENTICATED = 'system:authenticated';

export class InnerComponents {
  readonly #components: Components;
  #server: ApiServer | undefined;

  /** Returns undefined where nothing is to run beside the server. Throws UserError where it cannot. */
  static of(services: InnerComponentsServices): InnerComponents | undefined {
    const { withControllers, withNodes = 0, store } = services;
    if (withControllers === undefined && withNodes === 0) return undefined;
    if (store !== 'memory') {
      throw new UserError(
        '--with-controllers and --with-nodes need --store memory: on etcd, `cox ' +
          'controller-manager`, `cox scheduler` and `cox kubelet` run beside the server',
      );
    }
    return new InnerComponents(services, selectedControllers(withControllers ?? ['*']), withNodes);
  }

  private constructor(
    services: InnerComponentsServices,
    controllers: ReturnType<typeof selectedControllers>,
    nodeCount: number,
  ) {
    const { clock, random, logger, serviceCidr, serviceAccountKey, rootCa } = services;
    const range = defaultPodRange(Math.max(1, nodeCount));
    const nodes = Array.from({ length: nodeCount }, (_, index) => {
      const node = { name: `simulated-${index + 1}`, podCidrs: nodeRanges(range, index) };
      return simulatedNode(node, { clock, random: random.derive(node.name), journal: undefined });
    });
    this.#components = new Components({
      clock,
      random,
      logger,
      clientOf: ({ name, groups }, userAgent) => {
        if (this.#server === undefined)
          throw new Error('the components were started before the API server');
        const handler = this.#server.inProcess({
          name,
          groups: groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED],
        });
        return createClient(createInProcessTransport({ handler, userAgent }));
      },
      control: {
        podCidrs: [range.cidr],
        serviceCidr,
        controllers,
        ...(serviceAccountKey !== undefined && { serviceAccountKey }),
        rootCa,
        scheduler: nodeCount > 0,
      },
      nodes,
      nodesInAll: nodeCount,
    });
  }

  /** Starts everything; resolves when the kubelets have begun. */
  async start(server: ApiServer): Promise<void> {
    this.#server = server;
    await this.#components.start();
  }

  /** Returns a connector that reaches the kubelets of this process, and others by `elsewhere`. */
  connector(elsewhere: NodeConnector): NodeConnector {
    return {
      connect: async (target, signal) =>
        this.#components.connect(target.name) ?? elsewhere.connect(target, signal),
    };
  }

  /** Resolves with the reason when a component ends that should not. */
  get failed(): Promise<Error> {
    return this.#components.failed;
  }

  stop(): Promise<void> {
    return this.#components.stop();
  }
}
