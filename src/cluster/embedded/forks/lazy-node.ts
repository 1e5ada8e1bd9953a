// A simulated node whose runtime is made when it is first used.

import type { NodeAddress, ResourceList } from '#api/groups/core/v1/index.ts';
import type { Runtime } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { CountingClock } from '#machinery/counting-clock.ts';
import type { NodeState } from '#runtime/simulated/node-state.ts';
import type { SimulatedRuntimeConfig } from '#runtime/simulated/config.ts';
import { createSimulatedRuntime, type SimulatedNodeRuntime } from '#runtime/simulated/runtime.ts';
import type { ClusterNode } from '../../nodes/cluster-node.ts';

export class LazyNode implements ClusterNode {
  readonly name: string;
  readonly simulated = true;
  readonly podCidrs: readonly [string, ...string[]];
  readonly addresses: readonly NodeAddress[];
  readonly capacity: ResourceList;
  readonly runtime: Runtime;
  readonly #config: SimulatedRuntimeConfig;
  readonly #clock: CountingClock;
  /** The state to begin with, until the runtime is made. */
  #state: NodeState | undefined;
  #made: SimulatedNodeRuntime | undefined;

  constructor(
    node: Required<Pick<ClusterNode, 'name' | 'podCidrs' | 'addresses' | 'capacity'>>,
    config: SimulatedRuntimeConfig & { readonly clock: Clock },
    state: NodeState | undefined,
  ) {
    this.name = node.name;
    this.podCidrs = node.podCidrs;
    this.addresses = node.addresses;
    this.capacity = node.capacity;
    this.#clock = new CountingClock(config.clock);
    this.#config = { ...config, clock: this.#clock };
    this.#state = state;
    const services = (): Runtime => this.#make();
    this.runtime = {
      name: 'simulated',
      get runtime() {
        return services().runtime;
      },
      get images() {
        return services().images;
      },
      close: () => this.#made?.close() ?? Promise.resolve(),
    };
  }

  /** Reports whether containers change as time goes by. */
  get isBusy(): boolean {
    return this.#clock.pending > 0;
  }

  freeze(): NodeState {
    return this.#state ?? this.#make().freeze();
  }

  #make(): SimulatedNodeRuntime {
    if (this.#made === undefined) {
      const state = this.#state;
      this.#state = undefined;
      this.#made = createSimulatedRuntime({
        ...this.#config,
        ...(state !== undefined && { state }),
      });
    }
    return this.#made;
  }
}
