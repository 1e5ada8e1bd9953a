// Watches every resource whose objects can be deleted, and updates the graph of owners with each
// event. Only the graph is kept of the objects.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { Reflector } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { nextTurn } from '#machinery/turn.ts';
import { apiVersionOf, type DiscoveredResource } from '../discovery.ts';
import type { Graph } from './graph.ts';

export interface MonitorsConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly graph: Graph;
  /** Called when an object was written or deleted that may change which resources are served. */
  readonly onDefinition: () => void;
}

/** Objects of these resources define which other resources are served. 'resource.group'. */
const DEFINITIONS: ReadonlySet<string> = new Set([
  'customresourcedefinitions.apiextensions.k8s.io',
  'apiservices.apiregistration.k8s.io',
]);

/** The number of objects of a first list that are put into the graph in one turn of the event loop. */
const PUT_PER_TURN = 1000;

const NOTHING = (): void => undefined;

interface Monitor {
  readonly stop: AbortController;
  readonly run: Promise<void>;
  readonly synced: Promise<void>;
}

export class Monitors {
  readonly #config: MonitorsConfig;
  readonly #monitors = new Map<string, Monitor>();

  constructor(config: MonitorsConfig) {
    this.#config = config;
  }

  /**
   * Watches these resources from now on, and no others. Resolves when the first list of each new
   * one is in the graph.
   */
  async watch(resources: readonly DiscoveredResource[]): Promise<void> {
    const wanted = new Map(
      resources.map((resource) => [
        `${resource.resource}.${resource.group}/${resource.version}`,
        resource,
      ]),
    );
    for (const [id, monitor] of this.#monitors) {
      if (wanted.has(id)) continue;
      this.#monitors.delete(id);
      monitor.stop.abort();
    }
    for (const [id, resource] of wanted) {
      if (!this.#monitors.has(id)) this.#monitors.set(id, this.#start(id, resource));
    }
    await Promise.all([...this.#monitors.values()].map(({ synced }) => synced));
  }

  async stop(): Promise<void> {
    const running = [...this.#monitors.values()];
    for (const { stop } of running) stop.abort();
    await Promise.all(running.map(({ run }) => run));
  }

  #start(id: string, resource: DiscoveredResource): Monitor {
    const { client, clock, random, logger, graph } = this.#config;
    const onChange = DEFINITIONS.has(`${resource.resource}.${resource.group}`)
      ? this.#config.onDefinition
      : NOTHING;
    const type = { apiVersion: apiVersionOf(resource), kind: resource.kind };
    const stop = new AbortController();
    let listed = false;
    let resolveSynced: () => void = () => undefined;
    const synced = new Promise<void>((resolve) => {
      resolveSynced = resolve;
      stop.signal.addEventListener('abort', () => resolve());
    });
    const reflector = new Reflector<KubeObject>({
      name: id,
      source: client.resource(resource),
      store: {
        put: (object) => {
          graph.put(object, type);
          onChange();
        },
        delete: (object) => {
          graph.delete(object.metadata.uid);
          onChange();
        },
        replace: async (objects) => {
          // Deleted objects are only found by a search of the whole graph.
          if (listed) graph.replace(objects, type);
          else {
            for (const [index, object] of objects.entries()) {
              if (index > 0 && index % PUT_PER_TURN === 0) await nextTurn();
              if (stop.signal.aborted) return;
              graph.put(object, type);
            }
          }
          listed = true;
          resolveSynced();
          onChange();
        },
      },
      clock,
      random,
      logger,
    });
    return { stop, run: reflector.run(stop.signal), synced };
  }
}
